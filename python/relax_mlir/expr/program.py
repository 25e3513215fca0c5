"""View the values of a finished function as expressions: variables, or nested expressions."""

from __future__ import annotations

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.changes import Version, version
from relax_mlir.dialects.extern_func import ExternFunc, ExternFuncOp
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.nodes import Constant, Node, PrimValue, Resolver, ShapeExpr, Tuple, TupleGetItem
from relax_mlir.dialects.structure import TUPLE, ConstantOp, PrimValueOp, ShapeExprOp, TupleGetItemOp
from relax_mlir.dialects.traits import IsLoop, WrittenInside, has_trait
from relax_mlir.dialects.types import StructInfo, struct_info
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError, RelaxError
from relax_mlir.ir_queries import defining_op, entry_block, has_one_use
from relax_mlir.mlir import func, ir

DATAFLOW, OUTPUT, EXTRACT = "relax.dataflow", "relax.output", "tensor.extract"

LEAVES: dict[str, type[Node]] = {
    ConstantOp.OPERATION_NAME: Constant,
    ExternFuncOp.OPERATION_NAME: ExternFunc,
    PrimValueOp.OPERATION_NAME: PrimValue,
    ShapeExprOp.OPERATION_NAME: ShapeExpr,
    TUPLE: Tuple,
    TupleGetItemOp.OPERATION_NAME: TupleGetItem,
}
"""The ops without regions that have a dedicated expression class."""


class DataflowVar(Var):
    """A variable that is visible only in its dataflow block."""


class Program(Resolver):
    """Creates the expressions of one function, and keeps its module alive."""

    def __init__(self, keep: ir.Operation | ir.OpView) -> None:
        self.keep = keep
        self._version = version(keep)

    def is_current(self) -> bool:
        """True if the module has not changed since."""
        return self._version.is_current

    def retire(self) -> None:
        """Invalidate the views of this program: `check` raises from now on."""
        self._version = Version()

    def check(self, value: object) -> None:
        """Raise `ArgumentError` if a pass has run since, because the viewed op may be gone."""
        if not self.is_current():
            raise ArgumentError(
                f"this {type(value).__name__} is part of a program that has been changed since: take the "
                'function again, mod["main"]'
            )

    def expression(self, ssa: ir.Value) -> Value:
        """The expression of an operand: a variable, or a nested expression."""
        self.check(self)
        identity = visible_source(ssa)
        op = defining_op(identity)
        if op is None or not is_inside(op):
            return self.variable(ssa)
        return self.expression(op.operands[0]) if op.name == EXTRACT else self.node(op, ssa)

    def node(self, op: ir.Operation, ssa: ir.Value | None = None) -> Node:
        """The expression that an op computes; `ssa`: its value as the user of the expression sees it."""
        from relax_mlir.expr.compound import Call, If, LocalFunction, Loop

        if op.name in LEAVES:
            return LEAVES[op.name].view(op, self, ssa)
        if op.name == "scf.if":
            return If.view(op, self, ssa)
        if op.name == "relax.lambda":
            return LocalFunction.view(op, self, ssa)
        if has_trait(op, IsLoop):
            return Loop.view(op, self, ssa)
        return Call.view(op, self, ssa)

    def variable(self, ssa: ir.Value) -> Var:
        """The variable of a value: a `DataflowVar` if a dataflow block binds it and does not output it."""
        identity = visible_source(ssa)
        op = defining_op(identity)
        local = op is not None and _is_local(op, identity)
        kind = DataflowVar if local else Var
        var = kind.__new__(kind)
        var.name = _name(identity, op, "lv" if local else "gv")
        var._ssa, var._identity, var._frame = ssa, identity, self
        var._info = _info(ssa)
        return var


def _info(ssa: ir.Value) -> StructInfo | None:
    """The struct info of a value, computed eagerly; None for upstream ops, whose types carry none."""
    try:
        return struct_info(ssa.type)
    except RelaxError:
        return None


def visible_source(ssa: ir.Value) -> ir.Value:
    """The value inside a dataflow block that leaves it as `ssa`; other values are returned unchanged."""
    while True:
        op = defining_op(ssa)
        if op is None:
            return ssa
        if op.name == DATAFLOW:
            leaving = outputs_of(op)
            if len(leaving) != 1 or _is_unpacked(op):
                return ssa
            ssa = leaving[0]
        elif is_unpacking(op):
            block = defining_op(op.operands[0])
            assert block is not None
            ssa = outputs_of(block)[ir.IntegerAttr(op.attributes["index"]).value]
        else:
            return ssa


def outputs_of(dataflow: ir.Operation) -> list[ir.Value]:
    """The values that leave a dataflow block."""
    leaving = entry_block(dataflow).operations[-1].operation.operands[0]
    if not _is_unpacked(dataflow):
        return [leaving]
    packing = defining_op(leaving)
    assert packing is not None
    return list(packing.operands)


def _is_unpacked(dataflow: ir.Operation) -> bool:
    """True if the block yields several values as one tuple, which ops after the block unpack."""
    packing = defining_op(entry_block(dataflow).operations[-1].operation.operands[0])
    if packing is None or packing.name != TUPLE or packing.block != entry_block(dataflow):
        return False
    users = [use.owner.operation for use in dataflow.results[0].uses]
    taken = all(user.name == TupleGetItemOp.OPERATION_NAME for user in users)
    return name_of(packing.location) is None and taken and has_one_use(packing.results[0])


def is_unpacking(op: ir.Operation) -> bool:
    """True if the op takes one field of the tuple that a dataflow block yields."""
    if op.name != TupleGetItemOp.OPERATION_NAME:
        return False
    source = defining_op(op.operands[0])
    return source is not None and source.name == DATAFLOW and _is_unpacked(source)


def is_inside(op: ir.Operation) -> bool:
    """True if the op is nested in the expressions that use it: it has no name and is not a binding."""
    if not has_trait(op, WrittenInside) or (op.name != EXTRACT and name_of(op.location) is not None):
        return False
    users = [use.owner.operation for use in op.results[0].uses]
    return bool(users) and not any(user.name == OUTPUT for user in users)


def is_hidden(op: ir.Operation) -> bool:
    """True if the op is no binding: it is nested in expressions, or (un)packs the outputs of a dataflow block."""
    if is_inside(op) or is_unpacking(op):
        return True
    block = op.parent
    if op.name != TUPLE or block is None or block.operation.name != DATAFLOW:
        return False
    leaving = entry_block(block.operation).operations[-1].operation.operands[0]
    return bool(leaving == op.results[0]) and _is_unpacked(block.operation)


def _is_local(op: ir.Operation, value: ir.Value) -> bool:
    block = op.parent
    return (
        block is not None
        and block.operation.name == DATAFLOW
        and all(value != leaving for leaving in outputs_of(block.operation))
    )


def _name(value: ir.Value, op: ir.Operation | None, default: str) -> str:
    if op is not None:
        return name_of(op.location) or default
    owner = ir.BlockArgument(value).owner.owner.operation
    number: int = ir.BlockArgument(value).arg_number
    view = owner.opview
    if isinstance(view, func.FuncOp):
        return parameter_names(view)[number]
    if owner.name == "relax.lambda":
        return str(ir.StringAttr(ir.ArrayAttr(owner.attributes["names"])[number]).value)
    return name_of(value.location) or default
