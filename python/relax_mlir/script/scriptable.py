"""Which functions have a script form; the others appear as MLIR text."""

from __future__ import annotations

import keyword

from relax_mlir.dialects.attributes import PARAM_NAME, PRIM_FUNC
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.structure import TUPLE, maker_of
from relax_mlir.dialects.types import Callable, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func, ir
from relax_mlir.script.inlining import inlined_ops

SIGNATURE = frozenset({"sym_name", "function_type", "sym_visibility", "arg_attrs"})
"""Attributes that the head of a function says."""
ACTIONS = frozenset({"relax.assert_op", "relax.print"})
"""Ops without a result."""
PACKED = ACTIONS | {"relax.call_packed", "relax.call_pure_packed", "relax.call_dps_packed"}
"""Ops whose arguments are written one by one."""


def is_scriptable(op: ir.OpView) -> bool:
    """True for Relax functions whose every op, type and attribute has a script form."""
    if not isinstance(op, func.FuncOp) or op.is_external or PRIM_FUNC in op.attributes:
        return False
    name = op.name.value
    if not name.isidentifier() or keyword.iskeyword(name) or "res_attrs" in op.attributes:
        return False
    if (
        "sym_visibility" in op.attributes
        and ir.StringAttr(op.attributes["sym_visibility"]).value != "private"
    ):
        return False
    parameters = op.attributes["arg_attrs"] if "arg_attrs" in op.attributes else ()  # noqa: SIM401 - no dict
    if any(set(_keys(item)) - {PARAM_NAME} for item in parameters):
        return False
    if len(op.type.results) != 1 or len(op.regions[0].blocks) != 1:
        return False
    return all(map(_is_value_type, op.type.inputs)) and _block(op.regions[0].blocks[0])


def _keys(attributes: ir.Attribute) -> list[str]:
    return [item.name for item in ir.DictAttr(attributes)]


def _is_value_type(type_: ir.Type) -> bool:
    """Types that annotations name; ``index`` is one of MLIR's own."""
    if isinstance(type_, ir.IndexType):
        return False
    try:
        info = struct_info(type_)
    except RelaxError:
        return False
    with type_.context:
        return bool(info.to_type() == type_)


def _block(block: ir.Block) -> bool:
    ops = [view.operation for view in block.operations]
    if len(ops) == 0:
        return False
    inside = inlined_ops(ops)
    return all(_op(op, inside) for op in ops)


def _op(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    if op.name in ("func.return", "relax.output", "relax.lambda_return"):
        return len(op.operands) == 1
    if op.name == "scf.yield":
        return True
    if op.name == "tensor.extract":
        uses = [use.owner.operation.name for use in op.results[0].uses]
        return op in inside and uses == ["scf.if"]
    if not all(_is_value_type(result.type) for result in op.results):
        return False
    if op.name == "scf.if":
        condition = maker_of(op.operands[0])
        is_read = condition is not None and condition.name == "tensor.extract" and condition in inside
        return is_read and all(_block(block) for region in op.regions for block in region.blocks)
    if op.name == TUPLE:
        return str(op.results[0].type) == str(ir.TupleType.get_tuple([v.type for v in op.operands]))
    if op.name == "relax.lambda":
        return _is_lambda(op)
    if op.name == "relax.dataflow":
        return _block(op.regions[0].blocks[0])
    if op_class(op) is None or len(op.results) > 1:
        return False
    return op.name not in PACKED or maker_of(op.operands[0]) in inside


def _is_lambda(op: ir.Operation) -> bool:
    """Whether a function inside a function has the type that reading it gives, up to its purity, which is written."""
    body = op.regions[0].blocks[0]
    ends = body.operations[-1].operation
    declared = struct_info(op.results[0].type)
    params = [struct_info(argument.type) for argument in body.arguments]
    pure = isinstance(declared, Callable) and declared.pure
    if declared != Callable(params, struct_info(ends.operands[0].type), pure):
        return False
    return all(map(_is_value_type, (argument.type for argument in body.arguments))) and _block(body)
