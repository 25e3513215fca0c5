"""Ops on values whose types were unknown at compile time, compiled for the ranks and dtypes of each call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tvm_ffi

from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import dialect
from relax_mlir.dialects.base import OpArgs, RelaxOp, as_sequence, op_classes
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.dialects.elementwise import bound_attr
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.shapes import TensorToShapeOp
from relax_mlir.dialects.structure import make_tuple
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value, Var, create
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.ffi import to_ffi, to_numpy
from relax_mlir.fork_safety import RenewedLock, after_fork_in_child
from relax_mlir.lowering.legalize.runtime_calls import RUN_OP, RUN_SHAPE_TO_TENSOR, RUN_TENSOR_TO_SHAPE
from relax_mlir.mlir import ir
from relax_mlir.runtime.build import build
from relax_mlir.runtime.cache_store import LRU
from relax_mlir.runtime.executable import CompiledFunction
from relax_mlir.runtime.packed_functions import registered
from relax_mlir.script.printer import python_value
from relax_mlir.symbolic import Dim
from relax_mlir.transform import PassContext

# Specialise an op for the run-time ranks and dtypes of its operands.
#
# Operand sizes stay symbolic if the op's shape rule gives the same result for symbols as for the actual sizes. Three
# variants are tried, the most general first: a separate symbol for every dimension; one symbol per distinct size, with
# 1 constant; constant sizes.


Renaming = Callable[[int], Dim]


@dataclass(frozen=True)
class OpRequest:
    """An op on operands of known sizes; `infos` are the struct infos of the operands, with tuples flattened.

    `grouping` has one entry per operand of the op: the number of fields of a tuple, or None. `symbols` are those of the
    attributes, with their values.
    """

    name: str
    attributes: str
    grouping: tuple[int | None, ...]
    infos: tuple[Tensor | Shape, ...]
    symbols: tuple[tuple[str, int], ...]

    def specialized(self, context: ir.Context) -> OpRequest:
        """Return the op on operands with symbolic sizes. Raises the shape rule's errors for the actual sizes."""
        with context, ir.Location.unknown():
            expected = _evaluated(_infer(self), dict(self.symbols))
            for rename in self._renamings():
                candidate, values = self._renamed(rename)
                try:
                    found = _evaluated(_infer(candidate), values)
                except ShapeError:
                    continue  # the rule needs more constant sizes
                if found == expected:
                    return candidate
        return self

    def _renamings(self) -> Iterator[Renaming]:
        taken = {name for name, _ in self.symbols}
        names = (name for i in itertools.count() if (name := f"d{i}") not in taken)
        yield lambda size: symbolic.symbol(next(names))
        shared: dict[int, Dim] = {1: 1}

        def share(size: int) -> Dim:
            if size not in shared:
                shared[size] = symbolic.symbol(next(names))
            return shared[size]

        yield share

    def _renamed(self, rename: Renaming) -> tuple[OpRequest, Mapping[str, int]]:
        values = dict(self.symbols)

        def renamed(dims: Sequence[Dim | None] | None) -> list[Dim]:
            found = []
            for size in dims or ():
                assert isinstance(size, int)
                dim = rename(size)
                values.update(dict.fromkeys(symbolic.symbols(dim), size))
                found.append(dim)
            return found

        infos = tuple(
            Tensor(renamed(info.shape), info.dtype) if isinstance(info, Tensor) else Shape(renamed(info.values))
            for info in self.infos
        )
        nameless = tuple((name, 0) for name, _ in self.symbols)
        return OpRequest(self.name, self.attributes, self.grouping, infos, nameless), values

    def grouped(self, items: Sequence[StructInfo]) -> list[StructInfo]:
        """Return one struct info per operand of the op."""
        rest = iter(items)
        return [next(rest) if count is None else Tuple(list(itertools.islice(rest, count))) for count in self.grouping]

    def op_class(self) -> type[RelaxOp]:
        """The class of the op."""
        return op_classes()[self.name]

    def parsed_attributes(self) -> dict[str, ir.Attribute]:
        """Return the op's attributes for operands of these dtypes; needs a current context."""
        attributes = ir.DictAttr(ir.Attribute.parse(self.attributes))
        found = {attributes[i].name: attributes[i].attr for i in range(len(attributes))}
        if self.name == "relax.clip":
            data = self.infos[0]
            assert isinstance(data, Tensor)
            return {name: bound_attr(data.dtype, name, python_value(attr)) for name, attr in found.items()}
        return found


def _infer(request: OpRequest) -> Sequence[StructInfo]:
    cls = request.op_class()
    args = OpArgs(
        request.name.removeprefix("relax."),
        cls.operand_names(),
        request.grouped(request.infos),
        request.parsed_attributes(),
    )
    return as_sequence(cls.infer(args))


def _evaluated(infos: Sequence[StructInfo], values: Mapping[str, int]) -> list[StructInfo]:
    """Return `infos` with symbols replaced by their values."""

    def evaluated(info: StructInfo) -> StructInfo:
        if isinstance(info, Tuple):
            return Tuple([evaluated(item) for item in info.fields])
        if not isinstance(info, Tensor) or info.shape is None:
            return info
        return Tensor([None if d is None else symbolic.evaluate(d, values) for d in info.shape], info.dtype)

    return [evaluated(info) for info in infos]


def compile_op(request: OpRequest) -> CompiledFunction:
    """Compile an op on operands of known ranks and dtypes, which become separate parameters."""
    builder = BlockBuilder()
    params = [Var(f"x{i}", info) for i, info in enumerate(request.infos)]
    if request.symbols:
        params.append(Var("symbols", Shape([name for name, _ in request.symbols])))
    name = request.name.removeprefix("relax.")
    with located_at(name, 0, 0), PassContext():
        with builder.function(name, params):
            rest: Iterator[Value] = iter(params)
            operands = [
                next(rest) if count is None else make_tuple(*itertools.islice(rest, count))
                for count in request.grouping
            ]
            results = create(request.op_class(), operands, request.parsed_attributes())
            builder.emit_func_output(results[0])
        return build(builder.get())[name]


# Ops on values whose types were unknown at compile time.


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


def _request(name: str, attributes: str, grouping: str, symbols: str, described: Sequence[Description]) -> OpRequest:
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
