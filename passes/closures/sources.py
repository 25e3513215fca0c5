"""The origin of function values: the closure that a value holds, if it is known at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.closures import MakeClosureOp
from relax_mlir.dialects.structure import TUPLE, pack, unpack
from relax_mlir.dialects.types import Callable, StructInfo, Tuple, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import callee_of, defining_op
from relax_mlir.mlir import ir

Path = tuple[int, ...]
"""Indices of nested tuple fields; empty for the value itself."""


@dataclass(frozen=True)
class Known:
    """A closure of the function `callee`, with its captured values."""

    callee: str
    captured: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Choice:
    """One of two values, selected at run time by the flag (i1) of the conditional `op`."""

    flag: ir.Value
    taken: ir.Value
    other: ir.Value
    op: ir.Operation


def source_of(value: ir.Value, path: Path = ()) -> Known | Choice | None:
    """The origin of the function at `path` in `value`; None if it is unknown."""
    defining = defining_op(value)
    if defining is None:
        return None
    if defining.name == MakeClosureOp.OPERATION_NAME:
        packed = defining_op(defining.operands[0])
        if packed is None or packed.name != TUPLE:
            return None  # see `unpack_captured`
        return Known(callee_of(defining), tuple(packed.operands))
    if defining.name == TUPLE and path:
        return source_of(defining.operands[path[0]], path[1:])
    if defining.name == "relax.tuple_get_item":
        index = ir.IntegerAttr(defining.attributes["index"]).value
        return source_of(defining.operands[0], (index, *path))
    if defining.name == "arith.select" and not path:
        return Choice(defining.operands[0], defining.operands[1], defining.operands[2], defining)
    if defining.name == "scf.if" and not path:
        number = ir.OpResult(value).result_number
        ends = [region.blocks[0].operations[-1].operation for region in defining.regions]
        return Choice(defining.operands[0], ends[0].operands[number], ends[1].operands[number], defining)
    return None


def unpack_captured(op: ir.Operation) -> None:
    """Rebuild the captured tuple of a closure with a `tuple` op, from whose operands `source_of` reads the values."""
    packed = op.operands[0]
    defining = defining_op(packed)
    if defining is not None and defining.name == TUPLE:
        return
    info = struct_info(packed.type)
    assert isinstance(info, Tuple)
    with op.location, ir.InsertionPoint(op):
        op.operands[0] = pack(unpack(packed, [item.to_type() for item in info.fields]), op.location)


def callable_paths(info: StructInfo) -> list[Path]:
    """The paths of all functions in a value described by `info`."""
    if isinstance(info, Callable):
        return [()]
    if not isinstance(info, Tuple):
        return []
    return [(index, *path) for index, item in enumerate(info.fields) for path in callable_paths(item)]


def has_callables(type_: ir.Type) -> bool:
    """True if values of this type are or contain functions."""
    try:
        return bool(callable_paths(struct_info(type_)))
    except RelaxError:
        return False  # a type of upstream ops


def replaced(info: StructInfo, parts: dict[Path, Sequence[StructInfo]], path: Path = ()) -> StructInfo:
    """`info` with the functions at the paths in `parts` replaced by tuples of their captured values."""
    if path in parts:
        return Tuple(parts[path])
    if not isinstance(info, Tuple):
        return info
    return Tuple([replaced(item, parts, (*path, index)) for index, item in enumerate(info.fields)])
