"""Emit computations as loops on buffers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, Term
from relax_mlir.mlir import ir
from relax_mlir.te.evaluate import Evaluator
from relax_mlir.te.expressions import (
    DATA_PARALLEL,
    INDEX,
    Binary,
    Call,
    Expr,
    ExprLike,
    IterVar,
    Leaf,
    Load,
    ScalarVar,
    as_expr,
    substitute,
    variables_of,
)
from relax_mlir.te.recurrence import ScanOp
from relax_mlir.te.reductions import Combiner, Reduction
from relax_mlir.te.tensors import ComputeOp, LoopOp, Operation, Tensor

TOGETHER = 8
"""Number of rows that are added to a row in one pass, which loads and stores that row once."""


@dataclass
class Loops:
    """Emits computations at the insertion point; `buffers` are those of all tensors."""

    builder: LoopBuilder
    buffers: dict[Tensor, Buffer]
    bodies: Mapping[Operation, Sequence[Expr]] = field(default_factory=dict)
    """Values that replace the bodies of some operations."""
    variables: dict[Expr, Term] = field(default_factory=dict)
    """The values of axes and of the variables of combiners."""
    fixed: dict[IterVar, Scalar] = field(default_factory=dict)
    """Axes of loops around the computation, with their variables."""

    def emit(self, op: Operation) -> None:
        """Emit the loops of an operation, located at its line in the source."""
        with ir.Location.file(*op.position, 0):
            if isinstance(op, ScanOp):
                self.recurrence(op)
            elif isinstance(op, LoopOp):
                op.body(self.builder, *(self.buffers[tensor] for tensor in (*op.inputs, *op.outputs)))
            else:
                assert isinstance(op, ComputeOp)
                self.computation(op)

    def computation(self, op: ComputeOp) -> None:
        """Emit the loops that fill the outputs, in order; outputs of one reduction share a loop nest."""
        done: set[int] = set()
        for tensor, value in zip(op.outputs, self.bodies.get(op, op.body), strict=True):
            if id(tensor) in done:
                continue
            if not isinstance(value, Reduction):
                with self.independent(op.axis) as at:
                    self.store([(tensor, at)], [value])
                continue
            together = self.together(op, value) if len(value.combiner.lhs) > 1 else [tensor]
            done |= {id(part) for part in together}
            self.reduction(op, value, together)

    def together(self, op: ComputeOp, value: Reduction) -> list[Tensor]:
        """The tensors of all results of one reduction, in order."""
        found: dict[int, Tensor] = {}
        for tensor, other in zip(op.outputs, self.bodies.get(op, op.body), strict=True):
            if isinstance(other, Reduction) and other.combiner is value.combiner:
                found.setdefault(other.value_index, tensor)
        return [found[number] for number in sorted(found)]

    def recurrence(self, op: ScanOp) -> None:
        """Emit a scan: the initial elements, then, per step, its computations and the state."""
        b = self.builder
        begin, end = op.init[0].shape[0], op.outputs[0].shape[0]
        count = begin if symbolic.prove_less_equal(begin, end) else symbolic.minimum(begin, end)
        for target, first in zip(op.outputs, op.init, strict=True):
            with b.grid([count, *target.shape[1:]]) as at:
                self.buffers[target][at] = self.buffers[first][at]
        for state, target in zip(op.state_placeholder, op.outputs, strict=True):
            self.buffers[state] = self.buffers[target]
        with b.loop(begin, end) as step:
            for inner in op.steps:
                self.fixed[inner.axis[0]] = step
                with ir.Location.file(*inner.position, 0):
                    self.computation(inner)
            for target, later in zip(op.outputs, op.update, strict=True):
                with b.grid(target.shape[1:]) as rest:
                    self.buffers[target][step, rest] = self.buffers[later][step, rest]

    # -- reductions

    def reduction(self, op: ComputeOp, value: Reduction, targets: Sequence[Tensor]) -> None:
        """Emit the initial values of a reduction, then the loops that combine elements."""
        with self.loops(op.axis) as at:
            self.store([(target, at) for target in targets], value.initial)
        if self.reduced_by_rows(op, value, targets):
            return
        with self.loops([*op.axis, *value.axis]) as at:
            self.combine(value.combiner, [(target, at) for target in targets], value.source)

    def combine(
        self,
        combiner: Combiner,
        elements: Sequence[tuple[Tensor, Sequence[Term]]],
        source: Sequence[Expr],
    ) -> None:
        """Combine values with the current elements."""
        read: dict[Expr, ExprLike] = {
            var: self.current(target, at) for var, (target, at) in zip(combiner.lhs, elements, strict=True)
        }
        if is_one_operation(combiner):
            self.variables[combiner.lhs[0]] = self.value(as_expr(read[combiner.lhs[0]]))
        for var, part in zip(combiner.rhs, source, strict=True):
            self.variables[var] = self.value(part)
        if is_one_operation(combiner):
            self.store(elements, combiner.result)
        else:
            self.store(elements, [substitute(item, read) for item in combiner.result])

    def current(self, target: Tensor, at: Sequence[Term]) -> Load:
        """The current element of a result, which is read where it is needed: a branch predicts better."""
        places = [ScalarVar("at", INDEX) for _ in at]
        self.variables |= zip(places, at, strict=True)
        return Load(target, places)

    def reduced_by_rows(self, op: ComputeOp, value: Reduction, targets: Sequence[Tensor]) -> bool:
        """Emit a reduction along one axis in a step of a scan, with the last two dimensions innermost.

        Returns False if it is not such a reduction. Several rows are added to a row in one pass, which reuses them
        while they are cached. Each element is summed in the order of the axis.
        """
        own = self.open_axes(op.axis)
        if len(own) == len(op.axis) or len(own) < 2 or len(value.axis) != 1:
            return False
        if len(targets) != 1 or not is_one_operation(value.combiner):
            return False
        b, (along,) = self.builder, value.axis
        *outer, row, inner = own
        extent = along.dom.extent
        whole = symbolic.floordiv(extent, TOGETHER)
        for begin, end, count in ((0, whole, TOGETHER), (whole * TOGETHER, extent, 1)):
            with (
                b.grid([axis.dom.extent for axis in outer]) as places,
                b.loop(begin, end) as block,
                b.loop(row.dom.extent) as place,
            ):
                known = dict(zip((*outer, row), (*places, place), strict=True))
                reduced = [block if count == 1 else block * count + number for number in range(count)]
                self.add_rows(value, (op.axis, targets[0]), known, inner, reduced)
        return True

    def add_rows(
        self,
        value: Reduction,
        target: tuple[Sequence[IterVar], Tensor],
        known: Mapping[IterVar, Scalar],
        inner: IterVar,
        reduced: Sequence[Scalar],
    ) -> None:
        """Emit the loop over `inner` that combines an element with those at positions of the reduced axis."""
        axes, tensor = target
        (along,), (lhs,), (rhs,) = value.axis, value.combiner.lhs, value.combiner.rhs
        parts: list[Expr] = []
        for position in reduced:
            self.bind([axis for axis in axes if axis is not inner], known)
            self.bind([along], {along: position})
            parts.append(self.factored(value.source[0], inner))
        with self.builder.loop(inner.dom.extent, kind="vectorized") as place:
            at = self.bind(axes, {**known, inner: place})
            total: Term = self.buffers[tensor][at]
            for position, part in zip(reduced, parts, strict=True):
                self.bind([along], {along: position})
                self.variables[lhs], self.variables[rhs] = total, self.value(part)
                total = self.value(value.combiner.result[0])
            self.buffers[tensor][at] = total

    def factored(self, source: Expr, inner: IterVar) -> Expr:
        """Compute factors of a product that do not depend on `inner` before its loop."""
        if not (isinstance(source, Binary) and source.operator == "*"):
            return source
        children = list(source.children)
        for number, child in enumerate(children):
            if not isinstance(child, Leaf) and all(axis is not inner for axis in variables_of(child)):
                scalar = ScalarVar("factor", child.kind)
                self.variables[scalar] = self.value(child)
                children[number] = scalar
        return source.rebuilt(children)

    # -- elements

    def value(self, item: Expr) -> Term:
        """The value of an expression."""
        return Evaluator(self.builder, self.variables, self.element).value(item)

    def element(self, load: Load, indices: Sequence[Term]) -> Scalar:
        return self.buffers[load.tensor][tuple(indices)]

    def store(self, elements: Sequence[tuple[Tensor, Sequence[Term]]], items: Sequence[Expr]) -> None:
        """Store values in elements; several values are all computed before the first store."""
        computed = [self.value(item) for item in items]
        for (target, at), term in zip(elements, computed, strict=True):
            self.buffers[target][tuple(at)] = term

    # -- loops

    def open_axes(self, axes: Sequence[IterVar]) -> list[IterVar]:
        """The axes that have no loop around the computation."""
        return [axis for axis in axes if axis not in self.fixed]

    @contextlib.contextmanager
    def loops(self, axes: Sequence[IterVar]) -> Iterator[list[Term]]:
        """Loops over `axes`; the indices of the current element."""
        own = self.open_axes(axes)
        with self.builder.grid([axis.dom.extent for axis in own]) as found:
            yield self.bind(axes, dict(zip(own, found, strict=True)))

    @contextlib.contextmanager
    def independent(self, axes: Sequence[IterVar]) -> Iterator[list[Term]]:
        """Annotated loops over independent elements: the outer loop parallel, the innermost vectorised.

        If the lowering cannot prove them independent, it runs them as serial loops. A step of a scan has too few rows
        for threads.
        """
        own = self.open_axes(axes)
        b, ends = self.builder, [axis.dom.extent for axis in own]
        threaded = len(own) == len(axes) > 1
        with contextlib.ExitStack() as stack:
            found: list[Scalar] = []
            if threaded:
                found.append(stack.enter_context(b.loop(ends[0], kind="parallel")))
            found += stack.enter_context(b.grid(ends[len(found) : -1]))
            if ends:
                found.append(stack.enter_context(b.loop(ends[-1], kind="vectorized")))
            yield self.bind(axes, dict(zip(own, found, strict=True)))

    def bind(self, axes: Sequence[IterVar], found: Mapping[IterVar, Scalar]) -> list[Term]:
        """Bind axes to the variables of loops; return the values of those of the outputs."""
        for axis in axes:
            place: Term = found[axis] if axis in found else self.fixed[axis]
            if axis.dom.begin != 0:
                place = self.builder.call("add", axis.dom.begin, place)
            self.variables[axis] = place
        return [self.variables[axis] for axis in axes if axis.iter_type == DATA_PARALLEL]


def tensors_of(op: Operation) -> list[Tensor]:
    """The tensors that an operation fills: its outputs, and the intermediate tensors of a scan's steps."""
    inner = [tensor for step in op.steps for tensor in step.outputs] if isinstance(op, ScanOp) else []
    return [*inner, *op.outputs]


def is_one_operation(combiner: Combiner) -> bool:
    """True if the result is a single operator or function of the two values."""
    result, operands = combiner.result[0], (*combiner.lhs, *combiner.rhs)
    return (
        len(combiner.result) == 1
        and isinstance(result, Binary | Call)
        and len(result.children) == 2
        and all(child is operand for child, operand in zip(result.children, operands, strict=True))
    )
