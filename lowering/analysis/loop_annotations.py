"""Loop annotations of prim funcs: queries, constant bounds, and records of how annotated loops run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, LOOP_KIND, PRIM_FUNC
from relax_mlir.ir_queries import ancestors, defining_op, entry_block, function_of, ops_of
from relax_mlir.mlir import arith, func, ir
from relax_mlir.transform import Pass, PassContext, Sequential
from relax_mlir.transform.context import LoopDecision, open_report

# Annotated loops of prim funcs: queries, constant bounds, and notes on loops that run serially.


PARALLEL, VECTORIZED, UNROLL = "parallel", "vectorized", "unroll"
INDEPENDENT = "relax.independent"
"""Attribute of a loop with provably independent iterations; vectorised inner loops make the proof harder."""
NOTE = "relax.loop_note"
"""Attribute of a loop that runs serially in spite of its annotation: the reason."""


def kind_of(loop: ir.Operation) -> str | None:
    """The annotation of a loop; None for serial loops and other ops."""
    kind = loop.attributes.get(LOOP_KIND)
    return kind.value if loop.name == "scf.for" and isinstance(kind, ir.StringAttr) else None


def loops_of_kind(root: ir.Operation, *kinds: str) -> list[ir.Operation]:
    """The loops in `root` with one of these annotations, inner loops before outer ones."""
    loops = ops_of(root, "scf.for", order=ir.WalkOrder.POST_ORDER)
    return [loop for loop in loops if kind_of(loop) in kinds]


def annotated_functions(module: ir.Module, *kinds: str) -> list[func.FuncOp]:
    """The prim funcs with loops that have one of these annotations, or any if none is given."""
    wanted = kinds or (PARALLEL, VECTORIZED, UNROLL)
    tops = [op for op in module.body.operations if PRIM_FUNC in op.attributes]
    return [op for op in tops if isinstance(op, func.FuncOp) and _has_loops(op.operation, wanted)]


def _has_loops(function: ir.Operation, kinds: Sequence[str]) -> bool:
    return any(kind_of(loop) in kinds for loop in ops_of(function, "scf.for"))


class WhereAnnotated(Sequential):
    """Passes on annotated loops, which are skipped together if a module has no such loop."""

    def __init__(self, passes: Sequence[Pass], name: str, opt_level: int = 0) -> None:
        super().__init__(passes, opt_level, name)

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        if annotated_functions(module):
            super().execute(module, ctx)


def body_of(loop: ir.Operation) -> list[ir.Operation]:
    """The ops of a loop's body without the terminator."""
    return [op.operation for op in entry_block(loop).operations][:-1]


def variable_of(loop: ir.Operation) -> ir.Value:
    """The induction variable of a loop."""
    return entry_block(loop).arguments[0]


def is_inside(value: ir.Value, loop: ir.Operation) -> bool:
    """True if a value is defined in a loop."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        around = owner.owner.operation
        return around == loop or loop in ancestors(around)
    return loop in ancestors(owner.operation)


def constant_of(value: ir.Value) -> int | None:
    """The value of an ``index`` constant; None for other values."""
    op = defining_op(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def trip_count(loop: ir.Operation) -> int | None:
    """The number of iterations of a loop if it is constant; else None."""
    begin, end, step = (constant_of(operand) for operand in list(loop.operands)[:3])
    if begin is None or end is None or step is None or step < 1:
        return None
    return max(0, -(-(end - begin) // step))


def least_bound(value: ir.Value) -> int | None:
    """A constant lower bound of a value; None if none is known."""
    return _bound(value, greatest=False)


def most_bound(value: ir.Value) -> int | None:
    """A constant upper bound of a value; None if none is known."""
    return _bound(value, greatest=True)


def _bound(value: ir.Value, *, greatest: bool) -> int | None:
    number, op = constant_of(value), defining_op(value)
    if number is not None:
        return number
    if op is None:
        loop = value.owner.owner.operation
        if loop.name != "scf.for" or value != variable_of(loop):
            return None
        if not greatest:
            return _bound(loop.operands[0], greatest=False)
        end = _bound(loop.operands[1], greatest=True)
        begin, step = constant_of(loop.operands[0]), constant_of(loop.operands[2])
        if end is None or begin is None or step is None or step < 1:
            return None if end is None else end - 1
        return begin + (end - 1 - begin) // step * step
    rule = _BOUNDS.get(op.name)
    return None if rule is None else rule(op, greatest)


def _bound_of_extreme(op: ir.Operation, greatest: bool) -> int | None:
    """Bound a minimum or maximum, for which one bounded operand may be enough."""
    sides = [_bound(operand, greatest=greatest) for operand in op.operands]
    known = [side for side in sides if side is not None]
    one_is_enough = greatest == (op.name == "arith.minsi")
    if len(known) < (1 if one_is_enough else 2):
        return None
    return min(known) if op.name == "arith.minsi" else max(known)


def _bound_of_sum(op: ir.Operation, greatest: bool) -> int | None:
    sign = 1 if op.name == "arith.addi" else -1
    left = _bound(op.operands[0], greatest=greatest)
    right = _bound(op.operands[1], greatest=greatest == (sign == 1))
    return None if left is None or right is None else left + sign * right


def _bound_of_multiple(op: ir.Operation, greatest: bool) -> int | None:
    """Bound a non-negative value that is multiplied or divided by a positive constant."""
    factor, value = constant_of(op.operands[1]), _bound(op.operands[0], greatest=greatest)
    least = _bound(op.operands[0], greatest=False)
    if factor is None or factor < 1 or value is None or least is None or least < 0:
        return None
    return value * factor if op.name == "arith.muli" else value // factor


_BOUNDS: dict[str, Callable[[ir.Operation, bool], int | None]] = {
    "arith.minsi": _bound_of_extreme,
    "arith.maxsi": _bound_of_extreme,
    "arith.addi": _bound_of_sum,
    "arith.subi": _bound_of_sum,
    "arith.muli": _bound_of_multiple,
    "arith.divui": _bound_of_multiple,
    "arith.floordivsi": _bound_of_multiple,
}
"""Ops whose values are bounded by the bounds of their operands."""


def note(loop: ir.Operation, reason: str) -> None:
    """Note at a loop why it runs serially, and remove its annotation."""
    with loop.context:
        loop.attributes[NOTE] = ir.StringAttr.get(f"{kind_of(loop)}: {reason}")
        del loop.attributes[LOOP_KIND]


def clone_ops(ops: Sequence[ir.Operation], known: dict[ir.Value, ir.Value]) -> None:
    """Clone ops at the insertion point; `known` maps values to their replacements, and gets the results of the ops."""
    for op in ops:
        copy = op.clone()
        for inner in ops_of(copy):
            for position, operand in enumerate(inner.operands):
                if operand in known:
                    inner.operands[position] = known[operand]
        known.update(zip(op.results, copy.results, strict=True))


def index(value: int) -> ir.Value:
    """A constant at the insertion point."""
    return arith.constant(ir.IndexType.get(), value)


def enclosing_loops(op: ir.Operation) -> Iterator[ir.Operation]:
    """The loops around an op, from the innermost."""
    return (around for around in ancestors(op) if around.name == "scf.for")


# Records for `explain_loops` how annotated loops run, and notes it at those that run serially.


def honoured(loop: ir.Operation, how: str) -> None:
    """Record that a loop runs as annotated; to be called before the loop changes."""
    _record(loop, True, how)


def serial(loop: ir.Operation, reason: str) -> None:
    """Record that a loop runs serially, and note the reason at the loop."""
    _record(loop, False, reason)
    note(loop, reason)


def _record(loop: ir.Operation, as_written: bool, reason: str) -> None:
    report = open_report()
    if report is None:
        return
    name = ir.StringAttr(function_of(loop).attributes["sym_name"]).value.removesuffix(EXPOSED_SUFFIX)
    report.decisions.append(LoopDecision(name, where(loop), str(kind_of(loop)), as_written, reason))
