"""Ops on values of which nothing was known when the program was compiled."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.dialects import dialect
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.dialects.types import Shape, Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.lowering.legalize.unknown import (
    RUN_OP,
    RUN_SHAPE_TO_TENSOR,
    RUN_TENSOR_TO_SHAPE,
)
from relax_mlir.mlir import ir
from relax_mlir.runtime.arrays import to_ffi, to_numpy
from relax_mlir.runtime.executable import CompiledFunction
from relax_mlir.runtime.lru import LRU
from relax_mlir.runtime.registration import registered
from relax_mlir.runtime.specialize import OpRequest, compile_op

PROGRAMS = 256
"""How many compiled ops are kept."""
REQUESTS = 4096
"""For how many combinations of op and operand sizes the compiled op is remembered."""


class CompiledOps:
    """Ops compiled so far; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._context: ir.Context | None = None
        self.requests: LRU[OpRequest, OpRequest] = LRU(REQUESTS)
        self.programs: LRU[OpRequest, CompiledFunction] = LRU(PROGRAMS)

    def function(self, request: OpRequest) -> CompiledFunction:
        """Native code for `request`; raises what the op's shape rule raises on such operands."""
        with self._lock:
            special = self.requests.get(request)
            if special is None:
                if self._context is None:
                    self._context = dialect.context()
                special = request.specialized(self._context)
                self.requests.put(request, special)
            program = self.programs.get(special)
            if program is None:
                program = compile_op(special)
                self.programs.put(special, program)
            return program


compiled_ops = CompiledOps()


@registered(RUN_OP)
def run_op(name: str, attributes: str, grouping: str, symbols: str, place: str, *operands: Any) -> object:  # noqa: ANN401 - FFI values
    """The result of op `name` on `operands`, the last of which holds the values of `symbols`, if there are any.

    Raises what the op raises for such operands when a program is built, with the place of the op.
    """
    names = symbols.split(",") if symbols else []
    values = [int(v) for v in operands[-1]] if names else []
    inputs = operands[: len(operands) - 1] if names else operands
    try:
        groups = tuple(None if item == "." else int(item) for item in grouping.split(","))
        infos = tuple(_info(name, operand) for operand in inputs)
        request = OpRequest(name, attributes, groups, infos, tuple(zip(names, values, strict=True)))
        result = compiled_ops.function(request).ffi(*operands)
    except (RelaxError, AssertionError) as error:
        raise type(error)(f"{error} (at {place})") from None
    is_single = isinstance(result, tvm_ffi.Array) and len(result) == 1
    return result[0] if is_single else result


def _info(name: str, operand: object) -> Tensor | Shape:
    if isinstance(operand, tvm_ffi.Shape):
        return Shape([int(size) for size in operand])
    op = name.removeprefix("relax.")
    if not isinstance(operand, tvm_ffi.Tensor):
        raise ArgumentError(f"{op}: an operand is {operand!r} ({type(operand).__name__}), expected a tensor")
    dtype = str(operand.dtype)
    if dtype not in DTYPES:
        raise DTypeError(f"{op}: an operand has dtype {dtype}, expected one of {', '.join(DTYPES)}")
    return Tensor([int(size) for size in operand.shape], dtype)


@registered(RUN_SHAPE_TO_TENSOR)
def shape_to_tensor(shape: tvm_ffi.Shape) -> object:
    """See `ShapeToTensorOp`."""
    return to_ffi(np.array([int(size) for size in shape], np.int64))


@registered(RUN_TENSOR_TO_SHAPE)
def tensor_to_shape(tensor: tvm_ffi.Tensor) -> tvm_ffi.Shape:
    """See `TensorToShapeOp`; raises `ShapeError` and `DTypeError` for what is no vector of sizes."""
    array = to_numpy(tensor)
    if array.dtype != np.int64:
        raise DTypeError(f"tensor_to_shape: operand 'tensor' has dtype {tensor.dtype}, expected int64")
    if array.ndim != 1:
        raise ShapeError(f"tensor_to_shape: operand 'tensor' has shape {array.shape}, expected a vector")
    for position, size in enumerate(array.tolist()):
        if size < 0:
            raise ShapeError(f"tensor_to_shape: element {position} is {size}, which is no size")
    return tvm_ffi.Shape(tuple(array.tolist()))
