"""Control flow: conditionals, as upstream's ``scf.if`` on Relax values."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects.base import implies
from relax_mlir.dialects.frames import inserting, unfinished
from relax_mlir.dialects.location import user_location
from relax_mlir.dialects.types import StructInfo, Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_value, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.mlir import ir, scf, tensor

Branch = Callable[[], ValueLike]


def if_then_else(condition: Value, then: Branch, otherwise: Branch) -> Value:
    """The value of `then()` if the rank-0 bool tensor `condition` is true, else that of `otherwise()`.

    Both functions emit ops; only the selected branch runs. Their values must have the same struct info. Not allowed in
    dataflow blocks.
    """
    require_insertion_point("if_then_else")
    expect("if_then_else: 'condition'", condition, Value, "a Relax value")
    for name, branch in (("then", then), ("otherwise", otherwise)):
        if not callable(branch):
            raise ArgumentError(
                f"if_then_else: '{name}' is {branch!r}, expected a function that emits the branch"
            )
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
    final = ir.Operation.create(
        "scf.if", results=[result.to_type()], operands=[flag], regions=2, loc=location
    )
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
