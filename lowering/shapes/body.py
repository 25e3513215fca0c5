"""Body of a Relax function at level T: one handler per op that level R1 keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Union

from relax_mlir.diagnostics import locate, where
from relax_mlir.dialects.location import name_value, unnamed
from relax_mlir.dialects.traits import IsView, has_trait
from relax_mlir.dialects.types import (
    Object,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    struct_info,
)
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.abi.runtime_declarations import RuntimeDeclarations
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import func, ir, tensor
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.lowering.shapes.headers import Header

Lowered = Union[ir.Value, tuple["Lowered", ...], "ShapeValue", "Handle"]
"""A tensor or integer is one SSA value, a shape its index values, a tuple its fields; other values are handles."""


@dataclass(frozen=True)
class ShapeValue:
    """A shape value at level T."""

    dims: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Handle:
    """A value only known at run time: the two words (i64) of a TVMFFIAny, borrowed from the frame."""

    kind: ir.Value
    payload: ir.Value


def is_handle(info: StructInfo) -> bool:
    """True if a value described by `info` is a handle at level T: an object, or of unknown rank or dtype."""
    if isinstance(info, Tensor):
        return info.shape is None or info.dtype is None
    return isinstance(info, Object) or (isinstance(info, Shape) and info.values is None)


@dataclass(frozen=True)
class Update:
    """A buffer or handle that a packed function may have changed. `kept`: it may have other users."""

    value: ir.Value | Handle
    kept: bool = False


@dataclass
class BodyLowering:
    """Lowers the ops of one function (or region), in order, at the current insertion point."""

    declarations: RuntimeDeclarations
    symbols: SymbolTable
    values: dict[ir.Value, Lowered]
    callees: dict[str, func.FuncOp]
    headers: dict[str, Header]
    stack: ir.Value | None = None
    """In a recursive function, the address that stack depth is measured from; it is passed to recursive callees."""

    received: dict[ir.Value, Handle] = field(default_factory=dict)
    """Tensors that called functions returned, with their objects, which have no other owner."""

    entry_checks: set[str] = field(default_factory=set)
    """Functions whose arguments a caller checks at run time."""

    checked: set[ir.Value] = field(default_factory=set)
    """Tensors that must not be computed in a destination of the function.

    The size of some is only correct if a run-time check passes, but the destination is allocated with the expected
    size. Others are results of conditionals, whose branches may yield a tensor that has other uses.
    """

    updates: dict[ir.Value, Update] = field(default_factory=dict)
    """Where `relax.updated` reads the tensors (for handles: the payloads) that packed functions may have changed."""

    location: ir.Location | None = None
    """The location of the op that is being lowered, with its name; the memory of its result gets it."""

    def nested(self) -> BodyLowering:
        """The lowering of a region; its definitions are local to it."""
        return replace(self, symbols=self.symbols.nested(), values=dict(self.values), received={})

    def mark(self, value: ir.Value, checked: bool, source: ir.Value) -> ir.Value:
        """Return `value`, a view of `source`; it is checked if `checked` is set or `source` is."""
        if checked or source in self.checked:
            self.checked.add(value)
        return value

    def lower_block(self, block: ir.Block) -> list[Lowered]:
        """Lower all ops of `block`; return the lowered operands of its terminator."""
        operations = [view.operation for view in block.operations]
        for op in operations[:-1]:
            self.location = op.location
            with unnamed(op.location):
                self.lower_op(op)
        return [self.values[operand] for operand in operations[-1].operands]

    def lower_op(self, op: ir.Operation) -> None:
        """Lower one op; raise `UnsupportedError` for an op that level R1 does not allow."""
        handler = _HANDLERS.get(op.name)
        if handler is None:
            raise UnsupportedError(
                f"{where(op)}: {op.name} is left over after legalisation; lower-symbolic-shapes cannot lower it"
            )
        try:
            results = handler(self, op)
        except RelaxError as error:
            locate(error, op)
            raise
        for old, new in zip(op.results, results, strict=True):
            self.values[old] = new
            if isinstance(new, ir.Value):
                name_value(new, op.location)

    # -- values

    def tensor(self, value: ir.Value) -> ir.Value:
        """The level-T tensor of a Relax value; raise `UnsupportedError` if its rank or dtype is unknown."""
        lowered = self.values[value]
        if isinstance(lowered, Handle):
            raise UnsupportedError(
                f"{self.symbols.function}: a value is {struct_info(value.type)} where a tensor of known rank and dtype "
                "is needed: match_shape it first"
            )
        assert isinstance(lowered, ir.Value)
        return lowered

    def flat(self, value: ir.Value) -> list[ir.Value]:
        """The SSA values that pass a Relax value as an argument."""
        return flatten(self.values[value])

    def dims(self, value: ir.Value, info: Tensor) -> list[ir.Value]:
        """The sizes of a tensor: computed from the symbols if they are known, otherwise read from the tensor."""
        lowered = self.values[value]
        if isinstance(lowered, Handle):
            return object_sizes(self.declarations, lowered, len(info.shape or ()))
        lowered = self.tensor(value)
        return [self._dim(lowered, axis, dim) for axis, dim in enumerate(info.shape or ())]

    def _dim(self, lowered: ir.Value, axis: int, dim: Dim | None) -> ir.Value:
        if dim is not None and not self.symbols.undefined(dim):
            return self.symbols.value(dim)
        return tensor.dim(lowered, index_constant(axis))

    def empty(self, info: Tensor) -> ir.Value:
        """An uninitialised tensor for a result."""
        assert info.known_shape is not None and info.dtype is not None
        sizes = [d if isinstance(d, int) else self.symbols.size(d) for d in info.known_shape]
        return tensor.empty(sizes, info.dtype.storage_type(), loc=self.location)


def object_sizes(declarations: RuntimeDeclarations, tensor_handle: Handle, rank: int) -> list[ir.Value]:
    """The sizes of a tensor object of known rank, given by its handle."""
    index = ir.IndexType.get()
    return [
        declarations.object("size", [tensor_handle.payload, index_constant(axis)], [index])[0]
        for axis in range(rank)
    ]


def flatten(value: Lowered) -> list[ir.Value]:
    """The SSA values of a lowered value, in order."""
    if isinstance(value, ShapeValue):
        return list(value.dims)
    if isinstance(value, Handle):
        return [value.kind, value.payload]
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def unflatten(info: StructInfo, values: list[ir.Value]) -> Lowered:
    """Take the SSA values of a value described by `info` off the front of `values`."""
    if isinstance(info, Tuple):
        return tuple(unflatten(item, values) for item in info.fields)
    if is_handle(info):
        return Handle(values.pop(0), values.pop(0))
    if isinstance(info, Shape):
        return ShapeValue(tuple(values.pop(0) for _ in info.values or ()))
    return values.pop(0)


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Cast `value` to a type with other static and dynamic sizes."""
    return value if value.type == type_ else tensor.cast(type_, value)


Handler = Callable[[BodyLowering, ir.Operation], Sequence[Lowered]]
_HANDLERS: dict[str, Handler] = {}


def memory_of(value: ir.Value) -> ir.Value:
    """The level-T tensor that `value` is a view of."""
    while not isinstance(value, ir.BlockArgument) and has_trait(value.owner.operation, IsView):
        value = value.owner.operation.operands[0]
    return value


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register the lowering of the ops called `names`."""

    def register(handler: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = handler
        return handler

    return register


def place(op: ir.Operation) -> str:
    """``file:line:column`` of an op, for the message of a run-time check."""
    return verbatim(where(op))
