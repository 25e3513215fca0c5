"""Pass ``normalize``: every op has the best type that its operands give, in canonical form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.analysis.call_inference import infer_call
from relax_mlir.dialects.base import RelaxOp, as_sequence, implies, op_class
from relax_mlir.dialects.structure import TUPLE, TupleGetItemOp, maker_of
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, dims_attr, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func, ir
from relax_mlir.transform import FunctionPass, PassContext

LOOPS = frozenset({"scf.for", "scf.while"})


@dataclass(frozen=True)
class Normalize(FunctionPass):
    """Re-deduce result types, print shapes canonically, take fields of tuples that are at hand.

    A result that claims less than its op's shape rule says (an unknown dimension or dtype) gets the better type;
    so do the results of dataflow blocks, conditionals, calls and functions that depend on it. What a loop carries
    keeps its type.
    """

    name: ClassVar[str] = "normalize"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        block = function.regions[0].blocks[0]
        for argument in block.arguments:
            _retype(argument, struct_info(argument.type))
        _normalize_block(block, functions)
        returned = block.operations[-1].operation.operands
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned])
        )


def _retype(value: ir.Value, info: StructInfo | None) -> None:
    """Give `value` the type of `info` (None: it is no Relax value, and stays)."""
    if info is not None and value.type != info.to_type():
        value.set_type(info.to_type())


def _normalize_block(block: ir.Block, functions: dict[str, func.FuncOp]) -> None:
    for view in list(block.operations):
        op = view.operation
        if op.name in LOOPS:
            _prepare_loop(op)
        for region in op.regions:
            for nested in region.blocks:
                _normalize_block(nested, functions)
        if op.name == TupleGetItemOp.OPERATION_NAME and _forward_field(op):
            continue
        for result, info in zip(op.results, _best(op, functions), strict=True):
            _retype(result, info)


def _forward_field(op: ir.Operation) -> bool:
    maker = maker_of(op.operands[0])
    if maker is None or maker.name != TUPLE:
        return False
    op.results[0].replace_all_uses_with(maker.operands[ir.IntegerAttr(op.attributes["index"]).value])
    op.erase()
    return True


def _best(op: ir.Operation, functions: dict[str, func.FuncOp]) -> Sequence[StructInfo | None]:
    """The best infos known of the results of `op`; None for ops of other dialects."""
    if op.name == "scf.if":
        return _branches(op)
    if op.name in LOOPS:
        return _carried(op)
    if not op.name.startswith("relax.") and op.name != TUPLE:
        return [None] * len(op.results)
    current = [struct_info(result.type) for result in op.results]
    try:
        return deduce(op, current, functions)
    except RelaxError:
        return current  # the verifier reports it with its location


def deduce(
    op: ir.Operation, current: Sequence[StructInfo], functions: dict[str, func.FuncOp]
) -> list[StructInfo]:
    """What the operands of a Relax op, or of a tuple, give for its results, of which `current` is known.

    Raises the errors of the op's shape rule.
    """
    if op.name == TUPLE:
        return [Tuple([struct_info(operand.type) for operand in op.operands])]
    if op.name == "relax.dataflow":
        return [struct_info(op.regions[0].blocks[0].operations[-1].operation.operands[0].type)]
    deduced = _deduced(op, current, functions)
    return [new if implies(new, old) else old for old, new in zip(current, deduced, strict=True)]


def _deduced(
    op: ir.Operation, current: Sequence[StructInfo], functions: dict[str, func.FuncOp]
) -> Sequence[StructInfo]:
    if op.name == "relax.call":
        callee = functions.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        arguments = struct_info(op.operands[0].type)
        if callee is None or not isinstance(arguments, Tuple):
            return current
        return [infer_call(callee.name.value, callee, arguments.fields)]
    cls = op_class(op)
    if cls is None or cls.infer.__func__ is RelaxOp.infer.__func__:  # type: ignore[attr-defined]  # classmethods
        return current  # calls: their types are the caller's choice
    return as_sequence(cls.infer(cls.args_of(op)))


def _branches(op: ir.Operation) -> list[StructInfo]:
    """Infos of a conditional's results: those of its branches where they agree, else the branches give in."""
    yields = [region.blocks[0].operations[-1].operation for region in op.regions if len(region.blocks)]
    infos = []
    for index, result in enumerate(op.results):
        declared = struct_info(result.type)
        given = [struct_info(y.operands[index].type) for y in yields]
        agreed = given[0] if all(info == given[0] for info in given) else declared
        for terminator in yields:
            _forget(terminator, index, agreed)
        infos.append(agreed)
    return infos


def _prepare_loop(op: ir.Operation) -> None:
    """Print the types of what a loop carries canonically, before its body is looked at."""
    for region in op.regions:
        for argument in region.blocks[0].arguments:
            _retype(argument, _info(argument.type))


def _carried(op: ir.Operation) -> list[StructInfo | None]:
    """Infos of a loop's results. A loop keeps the types it carries: what goes into it gives in."""
    carried = [_info(argument.type) for argument in op.regions[0].blocks[0].arguments]
    if op.name == "scf.for":
        carried = carried[1:]
    first = len(op.operands) - len(carried)
    ends = [(op, first), (op.regions[-1].blocks[0].operations[-1].operation, 0)]
    for terminator, offset in ends:
        for index, info in enumerate(carried):
            if info is not None:
                _forget(terminator, offset + index, info)
    if op.name == "scf.for":
        return carried
    after = [_info(argument.type) for argument in op.regions[1].blocks[0].arguments]
    condition = op.regions[0].blocks[0].operations[-1].operation
    for index, info in enumerate(after):
        if info is not None:
            _forget(condition, 1 + index, info)
    return after


def _info(type_: ir.Type) -> StructInfo | None:
    try:
        return struct_info(type_)
    except RelaxError:
        return None  # a type of MLIR's own


def _forget(terminator: ir.Operation, index: int, wanted: StructInfo) -> None:
    """Give operand `index` of a branch's terminator, or of a loop, the vaguer info that it is to have."""
    value = terminator.operands[index]
    if struct_info(value.type) == wanted or not isinstance(wanted, Tensor) or wanted.shape is None:
        return
    with ir.InsertionPoint(terminator), terminator.location:
        matched = ir.Operation.create(
            "relax.match_shape",
            results=[wanted.to_type()],
            operands=[value],
            attributes={"pattern": dims_attr(wanted.shape), "result_dtype": ir.UnitAttr.get()},
        )
    terminator.operands[index] = matched.results[0]
