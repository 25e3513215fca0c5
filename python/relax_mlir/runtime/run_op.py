"""Ops on values whose types were unknown at compile time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import tvm_ffi

from relax_mlir.arrays import to_ffi, to_numpy
from relax_mlir.dialects import dialect
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.dialects.shape_values import TensorToShapeOp
from relax_mlir.dialects.types import Shape, Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.fork_safety import RenewedLock, after_fork_in_child
from relax_mlir.lowering.legalize.runtime_calls import RUN_OP, RUN_SHAPE_TO_TENSOR, RUN_TENSOR_TO_SHAPE
from relax_mlir.mlir import ir
from relax_mlir.runtime.executable import CompiledFunction
from relax_mlir.runtime.lru import LRU
from relax_mlir.runtime.registration import registered
from relax_mlir.runtime.specialize import OpRequest, compile_op

PROGRAMS = 256
"""The maximum number of cached compiled ops."""
REQUESTS = 4096
"""The maximum number of ops with operand sizes whose compiled op is remembered."""


class CompiledOps:
    """The ops compiled so far; thread-safe."""

    def __init__(self, programs: int = PROGRAMS, requests: int = REQUESTS) -> None:
        self._lock = RenewedLock()
        self._context: ir.Context | None = None
        self.requests: LRU[Hashable, OpRequest] = LRU(requests)
        self.programs: LRU[OpRequest, CompiledFunction] = LRU(programs)

    def function(
        self, name: str, attributes: str, grouping: str, symbols: str, operands: Sequence[object]
    ) -> CompiledFunction:
        """Return native code for an op on `operands`; the last operand holds the values of `symbols`, if there are any.

        Raises the errors of the op's shape rule for these operands.
        """
        described = tuple(_description(name, operand) for operand in operands)
        key = (name, attributes, grouping, symbols, described)
        with self._lock.held():
            special = self.requests.get(key)
            if special is None:
                if self._context is None:
                    self._context = dialect.context()
                special = _request(*key).specialized(self._context)
                self.requests.put(key, special)
            program = self.programs.get(special)
            if program is None:
                program = compile_op(special)
                self.programs.put(special, program)
            return program

    def forget_context(self) -> None:
        """Abandon the context, in which a thread that no longer exists may have been working."""
        self._context = None


compiled_ops = CompiledOps()
after_fork_in_child(compiled_ops.forget_context)


@registered(RUN_OP)
def run_op(name: str, attributes: str, grouping: str, symbols: str, place: str, *operands: object) -> object:
    """Run op `name` on `operands`; the last operand holds the values of `symbols`, if there are any.

    Raises the errors that the op raises for such operands at build time, with the location of the op.
    """
    try:
        return compiled_ops.function(name, attributes, grouping, symbols, operands).ffi(*operands)
    except RelaxError as error:
        raise type(error)(f"{error} (at {place})") from None


Description = tuple[str | None, tuple[int, ...]]
"""dtype and shape of a tensor; None and the values of a shape."""


def _description(name: str, operand: object) -> Description:
    if isinstance(operand, tvm_ffi.Tensor):
        return _dtype_name(name, operand), operand.shape
    if isinstance(operand, tvm_ffi.Shape):
        return None, tuple(operand)
    what = f"{operand!r} ({type(operand).__name__})"
    raise ArgumentError(f"{_short(name)}: an operand is {what}, expected a tensor")


def _dtype_name(name: str, operand: tvm_ffi.Tensor) -> str:
    try:
        dtype = str(operand.dtype)
    except ValueError:  # no FFI counterpart
        dtype = "unknown to the FFI"
    if dtype not in DTYPES:
        raise DTypeError(f"{_short(name)}: an operand has dtype {dtype}, expected one of {', '.join(DTYPES)}")
    return dtype


def _short(name: str) -> str:
    return name.removeprefix("relax.")


def _request(
    name: str, attributes: str, grouping: str, symbols: str, described: Sequence[Description]
) -> OpRequest:
    names = symbols.split(",") if symbols else []
    values = described[-1][1] if names else ()
    infos = tuple(_info(name, *item) for item in (described[:-1] if names else described))
    groups = tuple(None if item == "." else int(item) for item in grouping.split(","))
    return OpRequest(name, attributes, groups, infos, tuple(zip(names, values, strict=True)))


def _info(name: str, dtype: str | None, sizes: tuple[int, ...]) -> Tensor | Shape:
    if dtype is not None:
        return Tensor(sizes, dtype)
    if any(size < 0 for size in sizes):
        raise ShapeError(f"{_short(name)}: the shape {sizes} has a negative dimension")
    return Shape(sizes)


@registered(RUN_SHAPE_TO_TENSOR)
def shape_to_tensor(shape: tvm_ffi.Shape, place: str) -> object:
    """See `ShapeToTensorOp`; `place` is that of the op."""
    return to_ffi(np.array([int(size) for size in shape], np.int64))


@registered(RUN_TENSOR_TO_SHAPE)
def tensor_to_shape(tensor: tvm_ffi.Tensor, place: str) -> tvm_ffi.Shape:
    """See `TensorToShapeOp`; raises its errors and, for negative elements, `ShapeError`."""
    try:
        info = _info("tensor_to_shape", *_description("tensor_to_shape", tensor))
        TensorToShapeOp.infer(OpArgs("tensor_to_shape", TensorToShapeOp.operand_names(), [info], {}))
        sizes = to_numpy(tensor).tolist()
        for position, size in enumerate(sizes):
            if size < 0:
                raise ShapeError(f"tensor_to_shape: element {position} is {size}, which is no size")
    except RelaxError as error:
        raise type(error)(f"{error} (at {place})") from None
    return tvm_ffi.Shape(tuple(sizes))
