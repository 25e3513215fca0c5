"""Decide which functions have a script form; the others are printed as MLIR text."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable
from typing import TypeGuard

from relax_mlir.dialects.attributes import BY_SIZE, PARAM_NAME, PRIM_FUNC
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.loops import known_integer, loop_symbol
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.traits import ListsArguments, has_trait
from relax_mlir.dialects.types import Callable as CallableInfo
from relax_mlir.dialects.types import struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.script.inlining import inlined_ops

SIGNATURE = frozenset({"sym_name", "function_type", "sym_visibility", "arg_attrs"})
"""Attributes that the head of a function shows."""
OPERATORS = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.floordivsi": "//"}
"""Python's operators on integers."""
PREDICATES = ("==", "!=", "<", "<=", ">", ">=")
"""Comparisons of integers, in the order of `arith`'s predicates."""
RESERVED = frozenset({"R", "T", "I", "cls", "constants", "float", "range"})
"""Names that are reserved in a script."""


def is_scriptable(op: ir.OpView) -> TypeGuard[func.FuncOp]:
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
    return all(map(_is_value_type, op.type.inputs)) and _block(entry_block(op))


def _keys(attributes: ir.Attribute) -> list[str]:
    return [item.name for item in ir.DictAttr(attributes)]


def _is_value_type(type_: ir.Type) -> bool:
    """True if an annotation can name the type; ``index``, a type of MLIR, has none."""
    if isinstance(type_, ir.IndexType):
        return False
    try:
        info = struct_info(type_)
    except RelaxError:
        return False
    with type_.context:
        return bool(info.to_type() == type_)


def _block(block: ir.Block, skip: int = 0) -> bool:
    """True if all ops after the first `skip` have a script form."""
    ops = [view.operation for view in block.operations][skip:]
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
        return op in inside and _user(op) in ("scf.if", "scf.condition")
    if op.name == "arith.cmpi":
        is_signed = ir.IntegerAttr(op.attributes["predicate"]).value < len(PREDICATES)
        is_condition = op in inside and _user(op) in ("scf.if", "scf.condition", "tensor.from_elements")
        return is_signed and is_condition and _are_values(op.operands)
    if not _are_values(op.results):
        return False
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(op, inside)
    if op_class(op) is None or len(op.results) > 1:
        return False
    return not has_trait(op, ListsArguments) or defining_op(op.operands[0]) in inside


def _are_values(values: Iterable[ir.Value]) -> bool:
    return all(_is_value_type(value.type) for value in values)


def _user(op: ir.Operation) -> str:
    uses = list(op.results[0].uses)
    return str(uses[0].owner.operation.name) if len(uses) == 1 else ""


def _is_flag(value: ir.Value, inside: set[ir.Operation]) -> bool:
    """True if a condition is printed where it is used."""
    defining = defining_op(value)
    return defining in inside and defining is not None and defining.name in ("tensor.extract", "arith.cmpi")


def _conditional(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    """True if a conditional has a script form. One that selects between implementations (`BY_SIZE`) has none."""
    if BY_SIZE in op.attributes or not _is_flag(op.operands[0], inside):
        return False
    return all(_block(block) for region in op.regions for block in region.blocks)


def _for(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    if not _are_values(op.operands):
        return False
    symbol, step = loop_symbol(op), known_integer(Value(op.operands[2]))
    if symbol is None or not symbol.isidentifier() or keyword.iskeyword(symbol) or symbol in RESERVED:
        return False
    lower = known_integer(Value(op.operands[0]))
    counts_up = isinstance(step, int) and step > 0 and not (isinstance(lower, int) and lower < 0)
    return counts_up and _block(entry_block(op), skip=1)


def _while(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    before, after = (region.blocks[0] for region in op.regions)
    ops = [view.operation for view in before.operations]
    if list(ops[-1].operands)[1:] != list(before.arguments):
        return False
    within = inlined_ops(ops, as_expression=True)
    is_expression = set(ops[:-1]) == within and all(_op(item, within) for item in ops[:-1])
    return is_expression and _is_flag(ops[-1].operands[0], within) and _block(after)


def _tuple(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return str(op.results[0].type) == str(ir.TupleType.get_tuple([v.type for v in op.operands]))


def _dataflow(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return _block(entry_block(op))


def _arithmetic(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return _are_values(op.operands)


def _from_elements(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    if len(op.operands) != 1 or ir.RankedTensorType(op.results[0].type).rank != 0:
        return False
    defining = defining_op(op.operands[0])
    is_comparison = defining in inside and defining is not None and defining.name == "arith.cmpi"
    return is_comparison or _are_values(op.operands)


def _is_lambda(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    """True if parsing a nested function would infer its type again, apart from its purity, which is printed."""
    body = entry_block(op)
    ends = body.operations[-1].operation
    declared = struct_info(op.results[0].type)
    params = [struct_info(argument.type) for argument in body.arguments]
    pure = isinstance(declared, CallableInfo) and declared.pure
    if declared != CallableInfo(params, struct_info(ends.operands[0].type), pure):
        return False
    return all(map(_is_value_type, (argument.type for argument in body.arguments))) and _block(body)


_SPECIAL: dict[str, Callable[[ir.Operation, set[ir.Operation]], bool]] = {
    "scf.if": _conditional,
    "scf.for": _for,
    "scf.while": _while,
    "relax.dataflow": _dataflow,
    "tensor.from_elements": _from_elements,
    "relax.lambda": _is_lambda,
    TUPLE: _tuple,
    **dict.fromkeys(OPERATORS, _arithmetic),
}
