"""Emit computations as ``linalg`` ops on tensors, if they are in block form (see `relax_mlir.loops.nests`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.loops import values
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.nests import COMBINERS, Access, Axis, Nest, Nests, NotBlocks
from relax_mlir.loops.values import ALIASES, INDEX, Buffer, Scalar, Term, as_scalar
from relax_mlir.mlir import ir, linalg
from relax_mlir.symbolic import Dim
from relax_mlir.te.evaluate import FUNCTIONS, Evaluator
from relax_mlir.te.expressions import (
    REDUCTION,
    Binary,
    Call,
    Expr,
    IterVar,
    Load,
    Number,
    Size,
    loads_of,
    post_order,
)
from relax_mlir.te.reductions import Combiner, Reduction
from relax_mlir.te.tensors import ComputeOp, Operation, Tensor


class _Variables(dict[Expr, Term]):
    """The values of the axes of a nest, emitted at the first use."""

    def __init__(self, axes: Sequence[IterVar]) -> None:
        super().__init__()
        self.axes = axes

    def __missing__(self, key: Expr) -> Term:
        number = next(number for number, axis in enumerate(self.axes) if axis is key)
        self[key] = Scalar(linalg.IndexOp(number).result, INDEX)
        return self[key]


@dataclass
class Blocks:
    """Emits computations on tensors; raises `NotBlocks`."""

    builder: LoopBuilder
    nests: Nests
    names: Mapping[Tensor, str]
    bodies: Mapping[Operation, Sequence[Expr]] = field(default_factory=dict)

    def allocate(self, tensor: Tensor) -> None:
        """Emit an empty tensor for a result that is no parameter."""
        self.nests.allocate(self.names[tensor], tensor.shape, self.size, dtypes.dtype(tensor.dtype))

    def size(self, dim: Dim) -> ir.Value:
        """The value of a dimension that is a bare symbol of a parameter; others may be negative."""
        name = symbolic.linear_definition(dim)
        if name is None or isinstance(self.builder.symbols[name].ssa, ir.BlockArgument):
            raise NotBlocks
        return self.builder.symbols[name].ssa

    def emit(self, op: ComputeOp) -> None:
        """Emit the nests of the outputs, located at the line of the operation in the source."""
        with ir.Location.file(*op.position, 0):
            for tensor, value in zip(op.outputs, self.bodies.get(op, op.body), strict=True):
                made = self.reduction if isinstance(value, Reduction) else self.elements
                self.nests.emit(made(op, tensor, value))

    def elements(self, op: ComputeOp, tensor: Tensor, value: Expr) -> Nest:
        """The nest of an output whose elements are expressions."""
        axes, target = self.axes(op.axis), self.target(tensor)
        loads = self.loads(op.axis, [value])

        def stored(elements: Mapping[Access, Scalar]) -> ir.Value:
            return values.stored(self.evaluator(op.axis, elements).value(value), self.buffer(tensor))

        return Nest(axes, target, loads, stored, title=self.names[tensor])

    def reduction(self, op: ComputeOp, tensor: Tensor, value: Expr) -> Nest:
        """The nest of a reduction with one result."""
        assert isinstance(value, Reduction)
        combiner, axes = value.combiner, [*op.axis, *value.axis]
        if len(combiner.lhs) > 1 or not _combines(combiner):
            raise NotBlocks
        (first,), (part,) = value.initial, value.source
        if any(isinstance(item, Load | IterVar) for item in post_order(first)):
            raise NotBlocks
        target = self.target(tensor)

        def stored(elements: Mapping[Access, Scalar]) -> ir.Value:
            evaluator = self.evaluator(axes, elements)
            evaluator.variables[combiner.rhs[0]] = evaluator.value(part)
            evaluator.variables[combiner.lhs[0]] = elements[target]
            return values.stored(evaluator.value(combiner.result[0]), self.buffer(tensor))

        def initial() -> ir.Value:
            evaluator = Evaluator(self.builder, {}, _no_element)
            start = as_scalar(evaluator.value(first), self.buffer(tensor).dtype)
            if start.dtype != self.buffer(tensor).dtype:
                raise NotBlocks
            return start.ssa

        loads = self.loads(axes, [part])
        return Nest(self.axes(axes), target, loads, stored, True, initial, self.names[tensor])

    def buffer(self, tensor: Tensor) -> Buffer:
        return self.nests.buffers[self.names[tensor]]

    def evaluator(self, axes: Sequence[IterVar], elements: Mapping[Access, Scalar]) -> Evaluator:
        """Computes expressions over `axes` whose reads are block arguments."""

        def element(load: Load, indices: Sequence[Term]) -> Scalar:
            return elements[self.access(load, axes)]

        return Evaluator(self.builder, _Variables(axes), element, is_lazy=False)

    @staticmethod
    def axes(axes: Sequence[IterVar]) -> list[Axis]:
        """The axes of a nest; raise `NotBlocks` if there are none, or one does not begin at 0."""
        if not axes or any(axis.dom.begin != 0 for axis in axes):
            raise NotBlocks
        return [Axis(axis.name, axis.dom.extent, axis.iter_type == REDUCTION) for axis in axes]

    def target(self, tensor: Tensor) -> Access:
        return Access(self.names[tensor], tuple(range(tensor.ndim)))

    def loads(self, axes: Sequence[IterVar], items: Sequence[Expr]) -> list[Access]:
        """The accesses that expressions read, each once."""
        return list(dict.fromkeys(self.access(load, axes) for load in loads_of(*items)))

    def access(self, load: Load, axes: Sequence[IterVar]) -> Access:
        """An access whose indices are axes with the extent of the dimension, or 0 in dimensions of 1."""
        found: list[int | None] = []
        for index, size in zip(load.children, load.tensor.shape, strict=True):
            if size == 1 and _is_zero(index):
                found.append(None)
                continue
            number = next((number for number, axis in enumerate(axes) if axis is index), None)
            if number is None or number in found or axes[number].dom.extent != size:
                raise NotBlocks
            found.append(number)
        return Access(self.names[load.tensor], tuple(found))


def _no_element(load: Load, indices: Sequence[Term]) -> Scalar:
    raise NotBlocks


def _is_zero(index: Expr) -> bool:
    value = index.value if isinstance(index, Number) else index.dim if isinstance(index, Size) else None
    return type(value) is int and value == 0


def _combines(combiner: Combiner) -> bool:
    """True if the result combines the accumulator with a value that does not depend on it."""
    result = combiner.result[0]
    if isinstance(result, Binary):
        name = FUNCTIONS[result.operator]
    elif isinstance(result, Call) and len(result.children) == 2:
        name = ALIASES.get(result.function, result.function)
    else:
        return False
    (lhs,) = combiner.lhs
    others = [child for child in result.children if child is not lhs]
    return name in COMBINERS and len(others) == 1 and all(item is not lhs for item in post_order(*others))
