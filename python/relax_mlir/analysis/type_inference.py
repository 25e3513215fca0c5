"""Inference of types: the results of calls from the callee's signature, the values of a function by the shape rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from relax_mlir import symbolic
from relax_mlir.dialects.base import OpArgs, RelaxOp, as_sequence, implies, op_class
from relax_mlir.dialects.calls import deduced
from relax_mlir.dialects.structure import TUPLE, TupleGetItemOp, converted, is_convertible
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.traits import IsLoop, has_trait
from relax_mlir.dialects.types import (
    Callable,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_from_attr,
    info_or_none,
    struct_info,
    substitute,
)
from relax_mlir.error import ArgumentError, RelaxError, ShapeError
from relax_mlir.ir_queries import FunctionTable, callee_of, defining_op, entry_block
from relax_mlir.mlir import arith, func, ir
from relax_mlir.symbolic import Dim

# Infer the result of a call of a Relax function: the callee's signature with the call's dimensions substituted.


def infer_call(callee: str, target: func.FuncOp, args: Sequence[StructInfo]) -> StructInfo:
    """The struct info of the result of calling `target` with `args`: its signature, with the call's dimensions.

    Dimensions whose symbols only the callee defines are unknown to its callers. Arguments may be less precise than the
    parameters (of unknown dimension, rank or dtype): the call then checks them at run time, see `needs_checks`.

    Raises `ArgumentError`, `ShapeError` if the arguments contradict the signature, or the bounds of its symbols.
    """
    mapping = call_mapping(callee, target, args)
    return substitute(_forget(struct_info(target.type.results[0]), set(mapping)), mapping)


def needs_checks(param: StructInfo, arg: StructInfo) -> bool:
    """True if the parameter is more precise than the argument: in a dimension, the rank or the dtype."""
    if isinstance(param, Tuple) and isinstance(arg, Tuple):
        return any(map(needs_checks, param.fields, arg.fields))
    if isinstance(param, Tensor) and isinstance(arg, Tensor):
        return (param.dtype is not None and arg.dtype is None) or _says_more(param.shape, arg.shape)
    return isinstance(param, Shape) and isinstance(arg, Shape) and _says_more(param.values, arg.values)


def _says_more(wanted: tuple[Dim | None, ...] | None, given: tuple[Dim | None, ...] | None) -> bool:
    if wanted is None or given is None:
        return wanted is not None
    return any(want is not None and have is None for want, have in zip(wanted, given, strict=True))


def _forget(info: StructInfo, known: set[str]) -> StructInfo:
    """`info` with None for the dimensions that use a symbol outside of `known`."""

    def dims(shape: tuple[Dim | None, ...] | None) -> list[Dim | None] | None:
        if shape is None:
            return None
        return [d if d is None or known.issuperset(symbolic.symbols(d)) else None for d in shape]

    if isinstance(info, Tensor):
        return Tensor(dims(info.shape), info.dtype)
    if isinstance(info, Shape):
        return Shape(dims(info.values))
    if isinstance(info, Tuple):
        return Tuple([_forget(f, known) for f in info.fields])
    return info


def call_mapping(callee: str, target: func.FuncOp, args: Sequence[StructInfo]) -> dict[str, Dim]:
    """The dimensions of the symbols of the parameters of `target` in a call with `args`.

    Raises `ArgumentError`, `ShapeError` if the arguments contradict the signature.
    """
    params = [struct_info(t) for t in target.type.inputs]
    if len(params) != len(args):
        raise ArgumentError(f"call of '{callee}': {len(args)} arguments given, {len(params)} expected")
    pairs = [
        pair
        for index, (param, arg) in enumerate(zip(params, args, strict=True))
        for pair in _pairs(f"call of '{callee}': argument {index}", param, arg)
    ]
    mapping = _solved(pairs, any(map(needs_checks, params, args)))
    _check(pairs, mapping)
    _check_bounds(callee, target, mapping)
    return mapping


@dataclass(frozen=True)
class _Pair:
    """A dimension of a parameter and that of its argument; `what` describes both in messages."""

    what: str
    axis: int
    want: Dim
    have: Dim


def _pairs(what: str, param: StructInfo, arg: StructInfo) -> Iterator[_Pair]:
    if isinstance(param, Tuple) and isinstance(arg, Tuple) and len(param.fields) == len(arg.fields):
        for index, (p, a) in enumerate(zip(param.fields, arg.fields, strict=True)):
            yield from _pairs(f"{what}, field {index}", p, a)
        return
    if type(param) is not type(arg):
        raise ArgumentError(f"{what} is {arg}, expected {param}")
    if isinstance(param, Tensor) and isinstance(arg, Tensor):
        if param.dtype is not None and arg.dtype is not None and param.dtype != arg.dtype:
            raise ArgumentError(f"{what} is {arg}, expected {param}: the dtypes differ")
        yield from _dims(what, param, param.shape, arg, arg.shape)
    elif isinstance(param, Callable) and not implies(arg, param):
        raise ArgumentError(f"{what} is {arg}, expected {param}")
    elif isinstance(param, Shape) and isinstance(arg, Shape):
        yield from _dims(what, param, param.values, arg, arg.values)


def _dims(
    what: str,
    param: StructInfo,
    wanted: tuple[Dim | None, ...] | None,
    arg: StructInfo,
    given: tuple[Dim | None, ...] | None,
) -> Iterator[_Pair]:
    if wanted is None or given is None:
        return
    if len(given) != len(wanted):
        raise ShapeError(f"{what} is {arg}, expected {param}: the ranks differ")
    for axis, (want, have) in enumerate(zip(wanted, given, strict=True)):
        if want is not None and have is not None:
            yield _Pair(f"{what} is {arg}, expected {param}", axis, want, have)


def _solved(pairs: Sequence[_Pair], is_checked: bool) -> dict[str, Dim]:
    """The callee's symbols as expressions of the caller's.

    An undetermined symbol is an error, unless the call checks its arguments at run time.
    """
    mapping: dict[str, Dim] = {}
    for definition, value in symbolic.solutions([(pair.want, pair.have) for pair in pairs]):
        if value is not None:
            mapping[definition.symbol] = value
        elif not is_checked:
            pair = pairs[definition.index]
            raise ShapeError(
                f"{pair.what}: dimension {pair.axis} is {pair.have}, which is not provably {pair.want} for a "
                f"{definition.symbol} that is zero or positive; match_shape it to a number that is, or "
                "declare it as such an expression"
            )
    return mapping


def _check(pairs: Sequence[_Pair], mapping: dict[str, Dim]) -> None:
    for pair in pairs:
        if not set(mapping).issuperset(symbolic.symbols(pair.want)):
            continue
        expected = symbolic.substitute(pair.want, mapping)
        if not symbolic.prove_equal(expected, pair.have):
            raise ShapeError(f"{pair.what}: dimension {pair.axis} is {pair.have}, which is not provably {expected}")


def _check_bounds(callee: str, target: func.FuncOp, mapping: dict[str, Dim]) -> None:
    """Raise `ShapeError` if no value of the call's dimensions is within the callee's bounds.

    If only some values are, the callee checks the bounds on entry.
    """
    for name, (low, high) in read_bounds(target).items():
        dim = mapping.get(name)
        if dim is None:
            continue
        lowest, highest = symbolic.bounds(dim)
        is_below = highest is not None and highest < low
        if is_below or (high is not None and lowest is not None and lowest > high):
            limit = f"at least {low}" if is_below else f"at most {high}"
            raise ShapeError(
                f"call of '{callee}': its symbol '{name}' is {dim} here, but must be {limit} (bounds of '{callee}')"
            )


# Infer the types of all values of a function with the shape rules of its ops.

Functions = Mapping[str, func.FuncOp]
"""The functions of a module by name."""


def deduce_types(function: func.FuncOp, module: ir.Module) -> None:
    """Give every value of `function`, and its results, the most precise type by the shape rules, printed canonically.

    A value keeps its less precise type if one of its users would be invalid with the more precise one: sizes that are
    not provably equal at compile time may be equal at run time.
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
    """Cast a parameter back to ``index`` for its uses by upstream ops, which do not take an ``i64`` instead."""
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
    """Give the results of `op` the most precise types that are known and that their users accept."""
    forced = op.name in (TUPLE, "scf.if") or has_trait(op, IsLoop)
    for result, info in zip(op.results, _best(op, functions), strict=True):
        if info is None or result.type == info.to_type():
            continue  # not a Relax value, or unchanged
        if forced or _accepted(result, info, functions):
            result.set_type(info.to_type())


def _accepted(value: ir.Value, info: StructInfo, functions: Functions) -> bool:
    """True if all users of `value` accept `info` instead of its current struct info."""
    return all(_accepts(use.owner.operation, use.operand_number, info, functions) for use in value.uses)


def _accepts(user: ir.Operation, index: int, info: StructInfo, functions: Functions) -> bool:
    """True if the op `user` would be valid with struct info `info` for operand `index`.

    If control flow forwards the operand to a value of a declared type, `info` must be convertible to that type.
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
    """The value to which control flow forwards operand `index`: a result of a conditional, or a loop-carried value."""
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
    """The loop-carried block arguments, without the induction variable."""
    arguments = list(entry_block(loop).arguments)
    return arguments[1:] if loop.name == "scf.for" else arguments


def _stays_valid(op: ir.Operation, cls: type[RelaxOp], args: OpArgs, functions: Functions) -> bool:
    """True if the results of `op` follow from `args`; may raise a `RelaxError` if they do not."""
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
    """Replace a field read from a visible tuple by the operand of the tuple, if all users accept its type.

    Return True if the op was erased.
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
    """The most precise struct infos of the results of `op`; None for ops of other dialects."""
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
    """Infer the results of a Relax op or a tuple from its operands; `current`, if that is more precise.

    Raises the errors of the op's shape rule.
    """
    if op.name == TUPLE:
        return [Tuple([struct_info(operand.type) for operand in op.operands])]
    if op.name == "relax.dataflow":
        return [struct_info(entry_block(op).operations[-1].operation.operands[0].type)]
    cls = op_class(op)
    told = None if cls is None else _infer(op, cls, cls.args_of(op), functions)
    return [new if implies(new, old) else old for old, new in zip(current, told or current, strict=True)]


def _infer(op: ir.Operation, cls: type[RelaxOp], args: OpArgs, functions: Functions) -> list[StructInfo] | None:
    """The struct infos of the results of `op` inferred from `args`; None if the op does not determine them."""
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
    """The struct infos of a conditional's results: those of its branches if equal, else the declared ones."""
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
            _make_unknown(terminator, index, agreed)
        infos.append(agreed)
    return infos


def _is_local(info: StructInfo, declared: StructInfo, op: ir.Operation) -> bool:
    """True if `info` may use symbols that are local to one branch of `op`."""
    defined: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "relax.match_shape":
            dims = dims_from_attr(inner.attributes["pattern"])
            defined.update(s for d in dims if d is not None for s in symbolic.symbols(d))
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return not defined.isdisjoint(set(info.symbols()) - set(declared.symbols()))


def _prepare_loop(op: ir.Operation) -> None:
    """Print the types of the loop-carried values canonically, before the body is processed."""
    for region in op.regions:
        for argument in region.blocks[0].arguments:
            if op.name == "scf.for" and argument.arg_number == 0:
                continue  # the induction variable has the type of the bounds
            info = info_or_none(argument.type)
            if info is not None and argument.type != info.to_type():
                argument.set_type(info.to_type())


def _carried(op: ir.Operation) -> list[StructInfo | None]:
    """The struct infos of a loop's results. A loop keeps its carried types; incoming values are cast to them."""
    carried = [info_or_none(value.type) for value in carried_by(op)]
    first = len(op.operands) - len(carried)
    ends = [(op, first), (op.regions[-1].blocks[0].operations[-1].operation, 0)]
    for terminator, offset in ends:
        for index, info in enumerate(carried):
            if info is not None:
                _make_unknown(terminator, offset + index, info)
    if op.name == "scf.for":
        return carried
    after = [info_or_none(argument.type) for argument in op.regions[1].blocks[0].arguments]
    condition = entry_block(op).operations[-1].operation
    for index, info in enumerate(after):
        if info is not None:
            _make_unknown(condition, 1 + index, info)
    return after


def _make_unknown(terminator: ir.Operation, index: int, wanted: StructInfo) -> None:
    """Cast operand `index` of a branch's terminator, or of a loop, to the less precise struct info `wanted`."""
    with ir.InsertionPoint(terminator), terminator.location:
        terminator.operands[index] = converted(terminator.operands[index], wanted)
