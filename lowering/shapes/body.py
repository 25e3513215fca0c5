"""Body of a Relax function at level T: one handler per op that level R1 keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Union

from relax_mlir.diagnostics import locate, where
from relax_mlir.dialects.types import (
    Shape,
    StructInfo,
    Tensor,
    Tuple,
)
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.lowering.hooks import Hooks
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import func, ir, tensor
from relax_mlir.symbolic import Dim

Lowered = Union[ir.Value, tuple["Lowered", ...], "ShapeValue"]
"""A tensor or integer is one SSA value, a shape its index values, a tuple its fields."""


@dataclass(frozen=True)
class ShapeValue:
    """A shape value at level T."""

    dims: tuple[ir.Value, ...]


@dataclass
class BodyLowering:
    """Lowers the ops of one function (or region), in order, at the current insertion point."""

    hooks: Hooks
    symbols: SymbolTable
    values: dict[ir.Value, Lowered]
    callees: dict[str, func.FuncOp]
    checked: set[ir.Value] = field(default_factory=set)
    """Tensors that must not be computed in a destination of the function: those whose size is right only if a
    run-time check passes, as the destination has the size that the check has yet to confirm; and those of
    conditionals, as a branch may yield a tensor that has other uses."""

    updates: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """Buffers of tensors that packed functions may have changed: where `relax.updated` reads them."""

    def mark(self, value: ir.Value, checked: bool, source: ir.Value) -> ir.Value:
        """`value`, which is `source` seen differently, with what is known of the size of its memory."""
        if checked or source in self.checked:
            self.checked.add(value)
        return value

    def lower_block(self, block: ir.Block) -> list[Lowered]:
        """Lower all ops of `block`; returns the operands of its terminator."""
        operations = [view.operation for view in block.operations]
        for op in operations[:-1]:
            with op.location:
                self.lower_op(op)
        return [self.values[operand] for operand in operations[-1].operands]

    def lower_op(self, op: ir.Operation) -> None:
        """Lower one op; raises `UnsupportedError` for one that level R1 does not have."""
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

    # -- values

    def tensor(self, value: ir.Value) -> ir.Value:
        """The level-T tensor of a Relax value."""
        lowered = self.values[value]
        assert isinstance(lowered, ir.Value)
        return lowered

    def flat(self, value: ir.Value) -> list[ir.Value]:
        """A Relax value as the arguments that pass it."""
        return flatten(self.values[value])

    def dims(self, value: ir.Value, info: Tensor) -> list[ir.Value]:
        """Sizes of a tensor: from the symbols where they are known, else read off the tensor."""
        lowered = self.tensor(value)
        return [self._dim(lowered, axis, dim) for axis, dim in enumerate(info.shape or ())]

    def _dim(self, lowered: ir.Value, axis: int, dim: Dim | None) -> ir.Value:
        if dim is not None and not self.symbols.undefined(dim):
            return self.symbols.value(dim)
        return tensor.dim(lowered, index_constant(axis))

    def empty(self, info: Tensor) -> ir.Value:
        """An uninitialised tensor for a result."""
        assert info.known_shape is not None and info.dtype is not None
        sizes = [d if isinstance(d, int) else self.symbols.value(d) for d in info.known_shape]
        return tensor.empty(sizes, info.dtype.storage_type())


def flatten(value: Lowered) -> list[ir.Value]:
    """The SSA values of a lowered value, in order."""
    if isinstance(value, ShapeValue):
        return list(value.dims)
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def unflatten(info: StructInfo, values: list[ir.Value]) -> Lowered:
    """Take the SSA values of a value described by `info` off the front of `values`."""
    if isinstance(info, Tuple):
        return tuple(unflatten(item, values) for item in info.fields)
    if isinstance(info, Shape):
        return ShapeValue(tuple(values.pop(0) for _ in info.values or ()))
    return values.pop(0)


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """`value` with another mix of static and dynamic sizes."""
    return value if value.type == type_ else tensor.cast(type_, value)


Handler = Callable[[BodyLowering, ir.Operation], Sequence[Lowered]]
_HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register the lowering of the ops called `names`."""

    def register(handler: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = handler
        return handler

    return register


def place(op: ir.Operation) -> str:
    """``file:line:column`` of an op, as the text of a run-time message, in which braces stand for values."""
    return where(op).replace("{", "(").replace("}", ")")
