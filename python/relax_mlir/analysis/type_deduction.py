"""Deduction of the types of all values of a function from the shape rules of its ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relax_mlir import symbolic
from relax_mlir.analysis.call_inference import infer_call
from relax_mlir.dialects.base import OpArgs, RelaxOp, as_sequence, implies, op_class
from relax_mlir.dialects.conversion import converted, is_convertible
from relax_mlir.dialects.infer_rules import deduced
from relax_mlir.dialects.structure import TUPLE, TupleGetItemOp
from relax_mlir.dialects.traits import IsLoop, has_trait
from relax_mlir.dialects.types import StructInfo, Tuple, dims_from_attr, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import FunctionTable, callee_of, defining_op, entry_block
from relax_mlir.mlir import arith, func, ir

Functions = Mapping[str, func.FuncOp]
"""The functions of a module by name."""


def deduce_types(function: func.FuncOp, module: ir.Module) -> None:
    """Give every value of `function`, and its results, the best type that the shape rules give, printed canonically.

    A value keeps its vaguer type where one of its users could not do with the better one: sizes that cannot be told
    equal when the program is compiled may be when it runs.
    """
    functions = FunctionTable(module.operation)
    block = entry_block(function)
    for argument in block.arguments:
        info = struct_info(argument.type)
        if isinstance(argument.type, ir.IndexType):
            _keep_index(argument)
        if argument.type != info.to_type():
            argument.set_type(info.to_type())
    _deduce_block(block, functions)
    returned = block.operations[-1].operation.operands
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned])
    )


def _keep_index(parameter: ir.BlockArgument) -> None:
    """Let ops of MLIR, which do not take an ``i64`` in its place, go on reading a parameter as ``index``."""
    uses = [
        (use.owner.operation, use.operand_number)
        for use in parameter.uses
        if use.owner.operation.name.startswith("arith.")
        or (use.owner.operation.name == "scf.for" and use.operand_number < 3)
    ]
    if uses:
        with ir.InsertionPoint.at_block_begin(parameter.owner), parameter.location:
            cast = arith.index_cast(parameter.type, parameter)
        for op, number in uses:
            op.operands[number] = cast


def retype_results(op: ir.Operation, functions: Functions) -> None:
    """Give the results of `op` the best types that are known and that their users can do with."""
    forced = op.name in (TUPLE, "scf.if") or has_trait(op, IsLoop)
    for result, info in zip(op.results, _best(op, functions), strict=True):
        if info is None or result.type == info.to_type():
            continue  # no Relax value, or nothing new
        if forced or _accepted(result, info, functions):
            result.set_type(info.to_type())


def _accepted(value: ir.Value, info: StructInfo, functions: Functions) -> bool:
    """Whether all users of `value` can do with `info` instead of what is known now."""
    return all(_accepts(use.owner.operation, use.operand_number, info, functions) for use in value.uses)


def _accepts(user: ir.Operation, index: int, info: StructInfo, functions: Functions) -> bool:
    """Whether the op `user` would be valid if its operand `index` were known as `info`.

    Where control flow goes on with a declared type, the better one must be convertible to that.
    """
    if user.name == TUPLE:
        fields = [info if i == index else struct_info(v.type) for i, v in enumerate(user.operands)]
        return _accepted(user.results[0], Tuple(fields), functions)
    going = _goes_on_as(user, index)
    if going is not None:
        return is_convertible(info, struct_info(going.type))
    cls = op_class(user)
    if cls is None or user.name == "relax.output":
        return True
    args = cls.args_of(user)
    infos = [info if i == index else old for i, old in enumerate(args.infos)]
    try:
        return _stays_valid(user, cls, replace(args, infos=infos), functions)
    except RelaxError:
        return False


def _goes_on_as(user: ir.Operation, index: int) -> ir.Value | None:
    """The value as which operand `index` of control flow goes on: a result of a conditional, what a loop carries."""
    if has_trait(user, IsLoop):
        first = len(user.operands) - len(carried_by(user))
        return carried_by(user)[index - first] if index >= first else None
    if user.name == "scf.condition":
        return user.parent.operation.regions[1].blocks[0].arguments[index - 1] if index else None
    if user.name != "scf.yield":
        return None
    parent = user.parent.operation
    return carried_by(parent)[index] if has_trait(parent, IsLoop) else parent.results[index]


def carried_by(loop: ir.Operation) -> list[ir.BlockArgument]:
    """The values that a round of a loop is given, without its variable."""
    arguments = list(entry_block(loop).arguments)
    return arguments[1:] if loop.name == "scf.for" else arguments


def _stays_valid(op: ir.Operation, cls: type[RelaxOp], args: OpArgs, functions: Functions) -> bool:
    """Whether the results of `op` follow from `args`; may raise a `RelaxError` where they do not."""
    results = [struct_info(result.type) for result in op.results]
    if op.name != "relax.call":
        cls.check(args, results)
        return True
    found = _infer(op, cls, args, functions)
    return found is None or all(map(implies, found, results))


def _deduce_block(block: ir.Block, functions: Functions) -> None:
    for view in list(block.operations):
        op = view.operation
        if has_trait(op, IsLoop):
            _prepare_loop(op)
        for region in op.regions:
            for nested in region.blocks:
                _deduce_block(nested, functions)
        if op.name == TupleGetItemOp.OPERATION_NAME and forward_field(op, functions):
            continue
        retype_results(op, functions)


def forward_field(op: ir.Operation, functions: Functions) -> bool:
    """Let the users of a field of a tuple that is at hand use what the tuple is made of, if they can do with its type.

    If so, the op is erased.
    """
    defining = defining_op(op.operands[0])
    if defining is None or defining.name != TUPLE:
        return False
    field, old = defining.operands[ir.IntegerAttr(op.attributes["index"]).value], op.results[0]
    if field.type != old.type and not _accepted(old, struct_info(field.type), functions):
        return False
    old.replace_all_uses_with(field)
    op.erase()
    return True


def _best(op: ir.Operation, functions: Functions) -> Sequence[StructInfo | None]:
    """The best infos known of the results of `op`; None for ops of other dialects."""
    if op.name == "scf.if":
        return _branches(op, functions)
    if has_trait(op, IsLoop):
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


def _branches(op: ir.Operation, functions: Functions) -> list[StructInfo]:
    """Infos of a conditional's results: those of its branches where they agree, else the branches give in."""
    yields = [region.blocks[0].operations[-1].operation for region in op.regions if len(region.blocks)]
    infos = []
    for index, result in enumerate(op.results):
        declared = struct_info(result.type)
        given = [struct_info(y.operands[index].type) for y in yields]
        agreed = given[0]
        is_agreed = all(info == agreed for info in given) and not _is_local(agreed, declared, op)
        if not is_agreed or not _accepted(result, agreed, functions):
            agreed = declared
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
            if op.name == "scf.for" and argument.arg_number == 0:
                continue  # the variable has the type of the bounds
            info = _info(argument.type)
            if info is not None and argument.type != info.to_type():
                argument.set_type(info.to_type())


def _carried(op: ir.Operation) -> list[StructInfo | None]:
    """Infos of a loop's results. A loop keeps the types it carries: what goes into it gives in."""
    carried = [_info(value.type) for value in carried_by(op)]
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
    with ir.InsertionPoint(terminator), terminator.location:
        terminator.operands[index] = converted(terminator.operands[index], wanted)
