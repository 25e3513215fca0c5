"""Deduction of the types of all values of a function from the shape rules of its ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir import symbolic
from relax_mlir.analysis.call_inference import infer_call
from relax_mlir.dialects.base import OpArgs, RelaxOp, as_sequence, implies, op_class
from relax_mlir.dialects.infer_rules import deduced
from relax_mlir.dialects.structure import TUPLE, TupleGetItemOp
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, dims_attr, dims_from_attr, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block
from relax_mlir.mlir import func, ir

LOOPS = frozenset({"scf.for", "scf.while"})

Functions = dict[str, func.FuncOp]
"""The functions of a module by name."""


def deduce_types(function: func.FuncOp, module: ir.Module) -> None:
    """Give every value of `function`, and its results, the best type that the shape rules give, printed canonically.

    A value keeps its vaguer type where one of its users could not do with the better one: sizes that cannot be told
    equal when the program is compiled may be when it runs.
    """
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    block = entry_block(function)
    for argument in block.arguments:
        info = struct_info(argument.type)
        if argument.type != info.to_type():
            argument.set_type(info.to_type())
    _deduce_block(block, functions)
    returned = block.operations[-1].operation.operands
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned])
    )


def retype_results(op: ir.Operation, functions: Functions) -> None:
    """Give the results of `op` the best types that are known and that their users can do with."""
    forced = op.name in (TUPLE, "scf.if") or op.name in LOOPS
    for result, info in zip(op.results, _best(op, functions), strict=True):
        if info is None or result.type == info.to_type():
            continue  # no Relax value, or nothing new
        if forced or _accepted(result, info, functions):
            result.set_type(info.to_type())


def _accepted(value: ir.Value, info: StructInfo, functions: Functions) -> bool:
    """Whether all users of `value` can do with `info` instead of what is known now."""
    return all(_accepts(use.owner.operation, use.operand_number, info, functions) for use in value.uses)


def _accepts(user: ir.Operation, index: int, info: StructInfo, functions: Functions) -> bool:
    if user.name == TUPLE:
        fields = [info if i == index else struct_info(v.type) for i, v in enumerate(user.operands)]
        return _accepted(user.results[0], Tuple(fields), functions)
    if user.name == "scf.yield" and user.parent.name == "scf.if":
        return _accepted(user.parent.operation.results[index], info, functions)
    cls = op_class(user)
    if cls is None or user.name in ("relax.output", "relax.match_shape"):
        return True  # the latter are checked at run time, or say what they make of it
    args = cls.args_of(user)
    infos = [info if i == index else old for i, old in enumerate(args.infos)]
    try:
        _infer(user, cls, replace(args, infos=infos), functions)
    except RelaxError:
        return False
    return True


def _deduce_block(block: ir.Block, functions: Functions) -> None:
    for view in list(block.operations):
        op = view.operation
        if op.name in LOOPS:
            _prepare_loop(op)
        for region in op.regions:
            for nested in region.blocks:
                _deduce_block(nested, functions)
        if op.name == TupleGetItemOp.OPERATION_NAME and _forward_field(op):
            continue
        retype_results(op, functions)


def _forward_field(op: ir.Operation) -> bool:
    maker = defining_op(op.operands[0])
    if maker is None or maker.name != TUPLE:
        return False
    op.results[0].replace_all_uses_with(maker.operands[ir.IntegerAttr(op.attributes["index"]).value])
    op.erase()
    return True


def _best(op: ir.Operation, functions: Functions) -> Sequence[StructInfo | None]:
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


def deduce(op: ir.Operation, current: Sequence[StructInfo], functions: Functions) -> list[StructInfo]:
    """What the operands of a Relax op, or of a tuple, give for its results, of which `current` is known.

    Raises the errors of the op's shape rule.
    """
    if op.name == TUPLE:
        return [Tuple([struct_info(operand.type) for operand in op.operands])]
    if op.name == "relax.dataflow":
        return [struct_info(entry_block(op).operations[-1].operation.operands[0].type)]
    cls = op_class(op)
    told = None if cls is None else _infer(op, cls, cls.args_of(op), functions)
    return [new if implies(new, old) else old for old, new in zip(current, told or current, strict=True)]


def _infer(
    op: ir.Operation, cls: type[RelaxOp], args: OpArgs, functions: Functions
) -> list[StructInfo] | None:
    """What follows for the results of `op` from `args`; None where the result is the caller's choice."""
    if op.name == "relax.call":
        callee = functions.get(callee_of(op))
        return None if callee is None else [infer_call(callee.name.value, callee, args.tuple(0).fields)]
    if "func" in op.attributes and "arg_spec" in op.attributes:
        ruled = None if struct_info(op.results[0].type) == Tuple() else deduced(args)
        return None if ruled is None else [ruled]
    if cls.infer.__func__ is RelaxOp.infer.__func__:  # type: ignore[attr-defined]  # classmethods
        return None
    return list(as_sequence(cls.infer(args)))


def _branches(op: ir.Operation) -> list[StructInfo]:
    """Infos of a conditional's results: those of its branches where they agree, else the branches give in."""
    yields = [region.blocks[0].operations[-1].operation for region in op.regions if len(region.blocks)]
    infos = []
    for index, result in enumerate(op.results):
        declared = struct_info(result.type)
        given = [struct_info(y.operands[index].type) for y in yields]
        is_agreed = all(info == given[0] for info in given) and not _is_local(given[0], declared, op)
        agreed = given[0] if is_agreed else declared
        for terminator in yields:
            _forget(terminator, index, agreed)
        infos.append(agreed)
    return infos


def _is_local(info: StructInfo, declared: StructInfo, op: ir.Operation) -> bool:
    """Whether `info` may name symbols that the branches of `op` define, each for itself."""
    defined: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "relax.match_shape":
            dims = dims_from_attr(inner.attributes["pattern"])
            defined.update(s for d in dims if d is not None for s in symbolic.symbols(d))
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return not defined.isdisjoint(set(info.symbols()) - set(declared.symbols()))


def _prepare_loop(op: ir.Operation) -> None:
    """Print the types of what a loop carries canonically, before its body is looked at."""
    for region in op.regions:
        for argument in region.blocks[0].arguments:
            info = _info(argument.type)
            if info is not None and argument.type != info.to_type():
                argument.set_type(info.to_type())


def _carried(op: ir.Operation) -> list[StructInfo | None]:
    """Infos of a loop's results. A loop keeps the types it carries: what goes into it gives in."""
    carried = [_info(argument.type) for argument in entry_block(op).arguments]
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
    condition = entry_block(op).operations[-1].operation
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
