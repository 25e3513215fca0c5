"""Control flow: upstream's ``scf.if``, ``scf.for`` and ``scf.while`` on Relax values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.construction import inserting, unfinished
from relax_mlir.dialects.location import renamed, user_location
from relax_mlir.dialects.structure import as_integer, integer_of, match_shape
from relax_mlir.dialects.symbols import symbols_of_type
from relax_mlir.dialects.types import StructInfo, Tensor, dims_from_attr
from relax_mlir.dialects.value import Value, ValueLike, as_value, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.ir_queries import defining_op, entry_block, fresh_name, has_one_use, is_used
from relax_mlir.mlir import ir, scf, tensor
from relax_mlir.symbolic import Dim, Expr

Branch = Callable[[], ValueLike]


@exported()
def if_then_else(condition: Value, then: Branch, otherwise: Branch) -> Value:
    """The value of `then()` if the rank-0 bool tensor `condition` is true, else that of `otherwise()`.

    Both functions emit ops; only the selected branch runs. Their values must have the same struct info. Not allowed in
    dataflow blocks.
    """
    require_insertion_point("if_then_else")
    expect("if_then_else: 'condition'", condition, Value, "a Relax value")
    for name, branch in (("then", then), ("otherwise", otherwise)):
        if not callable(branch):
            raise ArgumentError(f"if_then_else: '{name}' is {branch!r}, expected a function that emits the branch")
    return choose(flag_of("if_then_else", condition), then, otherwise)


def flag_of(what: str, condition: Value) -> ir.Value:
    """The ``i1`` of a rank-0 bool tensor; raises `ArgumentError` for other values."""
    expect(f"{what}: 'condition'", condition, Value, "a Relax value")
    info = condition.struct_info
    if not isinstance(info, Tensor) or info.shape != () or info.dtype is None or info.dtype.kind != "bool":
        raise ArgumentError(f"{what}: the condition is {info}, expected a bool tensor of rank 0")
    with user_location():
        found: ir.Value = tensor.extract(condition.ssa, [])
    return found


def choose(flag: ir.Value, then: Branch, otherwise: Branch) -> Value:
    """`if_then_else` with an ``i1`` as condition."""
    location = user_location()
    probe = scf.IfOp(flag, [], has_else=True, loc=location)
    with unfinished(probe.operation, "a conditional"):
        taken = _emit(then, probe.then_block)
        other = _emit(otherwise, probe.else_block)
        result = _same(taken.struct_info, other.struct_info)
    final = ir.Operation.create("scf.if", results=[result.to_type()], operands=[flag], regions=2, loc=location)
    for index, (value, block) in enumerate(((taken, probe.then_block), (other, probe.else_block))):
        with ir.InsertionPoint(block), location:
            scf.YieldOp([value.ssa])
        block.append_to(final.regions[index])
    probe.operation.erase()
    return Value(final.results[0])


def _emit(branch: Branch, block: ir.Block) -> Value:
    with inserting(block, "a branch"):
        return as_value(branch())


def _same(taken: StructInfo, other: StructInfo) -> StructInfo:
    if implies(taken, other) and implies(other, taken):
        return taken
    if isinstance(taken, Tensor) and isinstance(other, Tensor) and taken.dtype != other.dtype:
        raise DTypeError(f"if_then_else: the branches give {taken} and {other}: the dtypes differ")
    raise ShapeError(f"if_then_else: the branches give {taken} and {other}; match_shape one of them")


Carried = Sequence[Value]
Bound = Value | Expr | int
"""A bound of a loop: an integer value, a symbolic expression, or an int."""


@exported()
def for_loop(
    lower: Bound,
    upper: Bound,
    body: Callable[..., Any],
    init: ValueLike | Sequence[ValueLike] = (),
    *,
    step: int = 1,
    name: str = "i",
) -> Any:  # noqa: ANN401 - one value or a tuple of them, as `init`
    """Run ``body(i, *carried)`` for ``i = lower, lower + step, …`` below `upper`; returns the final carried values.

    `body` emits ops and returns the new carried values, with the struct infos of `init`. `i` is a symbolic expression:
    a fresh symbol of the body, named `name` if that is free. One `init` gives one value, a sequence gives a tuple. A
    negative `i` is an error at run time. Not allowed in dataflow blocks.

    >>> R.for_loop(0, n, lambda i, acc: R.add(acc, x), acc)
    """
    require_insertion_point("for_loop")
    _expect_function("for_loop", "body", body)
    many, values = _initial("for_loop", init)
    results = build_for(
        (lower, upper, step),
        values,
        lambda i, carried: _returned("for_loop", body(i, *carried), many),
        [f"init[{k}]" for k in range(len(values))],
        name,
    )
    return tuple(results) if many else results[0]


@exported()
def while_loop(condition: Callable[..., Value], body: Callable[..., Any], init: ValueLike | Sequence[ValueLike]) -> Any:  # noqa: ANN401 - one value or a tuple of them, as `init`
    """Repeat ``carried = body(*carried)`` while ``condition(*carried)``, a rank-0 bool tensor, is true.

    The values that `body` returns must have the struct infos of `init`. One `init` gives one value, a sequence gives a
    tuple. Not allowed in dataflow blocks.
    """
    require_insertion_point("while_loop")
    _expect_function("while_loop", "condition", condition)
    _expect_function("while_loop", "body", body)
    many, values = _initial("while_loop", init)
    results = build_while(
        values,
        lambda carried: flag_of("while_loop", condition(*carried)),
        lambda carried: _returned("while_loop", body(*carried), many),
        [f"init[{k}]" for k in range(len(values))],
    )
    return tuple(results) if many else results[0]


def build_for(
    bounds: tuple[Bound, Bound, Bound],
    init: Carried,
    body: Callable[[Expr, list[Value]], Carried],
    names: Sequence[str],
    symbol: str = "i",
) -> list[Value]:
    """`for_loop` on values; `names` are the names of the carried values, for messages."""
    lower, upper, step = bounds
    counted = step if isinstance(step, int) else known_integer(step)
    if not isinstance(counted, int) or counted <= 0:
        raise ArgumentError(f"for_loop: the step is {counted}; loops count upwards, by a positive int")
    if isinstance(lower, int) and lower < 0:
        raise ArgumentError(f"for_loop: the loop begins at {lower}; it counts from 0 or more, so subtract in the body")
    location = user_location()
    operands = [as_integer("for_loop", b).ssa for b in (lower, upper, step)]
    fresh = _fresh_symbol(symbol)
    types = [value.ssa.type for value in init]
    i64 = ir.IntegerType.get_signless(64)
    loop = ir.Operation.create(
        "scf.for", results=types, operands=[*operands, *(v.ssa for v in init)], regions=1, loc=location
    )
    arg_locs = [renamed(name, location) for name in (fresh, *names)]
    block = loop.regions[0].blocks.append(i64, *types, arg_locs=arg_locs)
    with unfinished(loop, "a loop"), inserting(block, "the body of a loop"):
        match_shape(Value(block.arguments[0]), (fresh,))
        given = [Value(argument) for argument in list(block.arguments)[1:]]
        _yield(body(symbolic.symbol(fresh), given), init, names, location)
    return [Value(result) for result in loop.results]


def build_while(
    init: Carried,
    condition: Callable[[list[Value]], ir.Value],
    body: Callable[[list[Value]], Carried],
    names: Sequence[str],
) -> list[Value]:
    """`while_loop` on values, with a condition that returns an ``i1``."""
    location = user_location()
    types = [value.ssa.type for value in init]
    loop = ir.Operation.create("scf.while", results=types, operands=[v.ssa for v in init], regions=2, loc=location)
    before, after = (
        region.blocks.append(*types, arg_locs=[renamed(name, location) for name in names]) for region in loop.regions
    )
    with unfinished(loop, "a loop"):
        with inserting(before, "the condition of a loop"):
            flag = condition([Value(argument) for argument in before.arguments])
            ir.Operation.create("scf.condition", operands=[flag, *before.arguments], loc=location)
        with inserting(after, "the body of a loop"):
            _yield(body([Value(argument) for argument in after.arguments]), init, names, location)
    return [Value(result) for result in loop.results]


def _yield(values: Carried, init: Carried, names: Sequence[str], location: ir.Location) -> None:
    given = [agreed(name, value, first.struct_info).ssa for name, value, first in zip(names, values, init, strict=True)]
    ir.Operation.create("scf.yield", operands=given, loc=location)


def agreed(name: str, value: Value, wanted: StructInfo) -> Value:
    """`value` with the struct info `wanted` of a carried value; a more precise one forgets dimensions.

    Raises:
        ShapeError, DTypeError, ArgumentError: the struct info does not match; the message names both.
    """
    info = value.struct_info
    if value.ssa.type == wanted.to_type():
        return value
    if implies(info, wanted) and isinstance(info, Tensor) and isinstance(wanted, Tensor):
        pattern = wanted.shape if info.dtype == wanted.dtype else None
        if pattern is not None:
            return match_shape(value, pattern)
    message = f"the loop changes '{name}' from {wanted} to {info}"
    if not isinstance(info, Tensor) or not isinstance(wanted, Tensor):
        raise ArgumentError(f"{message}; a carried value keeps its type")
    if info.dtype != wanted.dtype:
        raise DTypeError(f"{message}; a carried value keeps its dtype: astype it")
    raise ShapeError(
        f"{message}; a carried value keeps its type: match_shape it, or let it begin with unknown dimensions, "
        f"as in match_shape({name}, {(None,) * (info.ndim or 1)})"
    )


def symbols_in_scope(block: ir.Block, before: ir.Operation | None = None) -> set[str]:
    """The symbols that an op in `block` may use: in front of the op `before`, or at the end of the block."""
    found: set[str] = set()
    while True:
        for view in block.operations:
            if before is not None and view.operation == before:
                break
            found.update(_matched(view.operation))
        before = block.owner.operation
        if before.name == "func.func" or before.parent is None:
            break
        block = before.block
    for argument in block.arguments:
        found.update(symbols_of_type(argument.type))
    return found


def _matched(op: ir.Operation) -> Iterator[str]:
    if op.name == "relax.dataflow":
        for view in entry_block(op).operations:
            yield from _matched(view.operation)
    elif op.name == "relax.match_shape":
        for dim in dims_from_attr(op.attributes["pattern"]):
            yield from () if dim is None else symbolic.symbols(dim)


def _fresh_symbol(wanted: str) -> str:
    if not symbolic.is_identifier(wanted):
        raise ArgumentError(f"for_loop: 'name' is {wanted!r}, which is no name of a symbol")
    taken = symbols_in_scope(ir.InsertionPoint.current.block)
    return fresh_name(wanted, taken)


def loop_symbol(loop: ir.Operation) -> str | None:
    """The symbol of the variable of an ``scf.for`` made by `for_loop`, or None."""
    block = entry_block(loop)
    first = block.operations[0].operation
    variable = block.arguments[0]
    if first.name != "relax.match_shape" or first.operands[0] != variable or not has_one_use(variable):
        return None
    (dim,) = dims_from_attr(first.attributes["pattern"])
    name = None if dim is None else symbolic.linear_definition(dim)
    known = is_used(first.results[0]) or name in symbols_in_scope(loop.block, loop)
    return None if known else name


def lower_bound(value: ir.Value) -> Dim | None:
    """The lower bound of the loop variable `value`, if known; None for other values."""
    if not isinstance(value, ir.BlockArgument) or value.owner.owner.operation.name != "scf.for":
        return None
    return None if value.arg_number != 0 else known_integer(Value(value.owner.owner.operation.operands[0]))


def known_integer(value: object) -> Dim | None:
    """The integer or expression of a `relax.prim_value`; None for other values."""
    defining = defining_op(value.ssa) if isinstance(value, Value) else None
    if defining is None or defining.name != "relax.prim_value":
        return None
    return integer_of(defining.attributes["value"])


def counts_upwards(op: ir.Operation) -> bool:
    """True if the step of an ``scf.for`` is known to be positive."""
    step = known_integer(Value(op.operands[2]))
    return isinstance(step, int) and step > 0


def surely_ends(op: ir.Operation) -> bool:
    """True if the variable of an ``scf.for`` is known to reach the upper bound before it overflows.

    Invariant 16 guarantees it for literal bounds; other bounds may become constant, and violate it, when a branch is
    folded.
    """
    _, upper, step = (known_integer(Value(operand)) for operand in list(op.operands)[:3])
    if not (isinstance(step, int) and counts_upwards(op)):
        return False
    return step == 1 or (isinstance(upper, int) and upper <= 2**63 - step)


def _initial(what: str, init: ValueLike | Sequence[ValueLike]) -> tuple[bool, list[Value]]:
    many = isinstance(init, list | tuple)
    given: Sequence[Any] = init if many else [init]  # type: ignore[assignment]  # as has been checked
    return many, [as_value(value) for value in given]


def _returned(what: str, values: Any, many: bool) -> list[Value]:  # noqa: ANN401 - what a function returned
    listed = list(values) if many and isinstance(values, list | tuple) else [values]
    return [as_value(value) for value in ([] if many and values is None else listed)]


def _expect_function(what: str, name: str, value: object) -> None:
    if not callable(value):
        raise ArgumentError(f"{what}: '{name}' is {value!r}, expected a function that emits ops")
