"""Conversion of values to less precise or run-time checked struct infos, by `match_shape` per tuple field."""

from collections.abc import Iterator

from relax_mlir.dialects.structure import MatchShapeOp, pack, unpack
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, dims_attr, struct_info
from relax_mlir.mlir import ir


def is_convertible(have: StructInfo, want: StructInfo) -> bool:
    """True if `converted` can convert a value of struct info `have` to `want`.

    It cannot forget a rank or a dtype, nor change a function type: `match_shape` cannot express these.
    """
    if have == want:
        return True
    if isinstance(have, Tuple) and isinstance(want, Tuple):
        return len(have.fields) == len(want.fields) and all(map(is_convertible, have.fields, want.fields))
    if isinstance(have, Shape) and isinstance(want, Shape):
        return want.values is not None and (have.values is None or len(have.values) == len(want.values))
    if isinstance(have, Tensor) and isinstance(want, Tensor):
        has_rank = want.shape is not None and (have.shape is None or len(have.shape) == len(want.shape))
        return has_rank and want.dtype == have.dtype
    return False


def leaves(value: ir.Value, want: StructInfo) -> list[tuple[ir.Value, StructInfo]]:
    """The fields of a value as far as types differ, each with the corresponding part of the wanted type.

    Fields are extracted at the insertion point.
    """
    have = struct_info(value.type)
    if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):
        fields = unpack(value, [item.to_type() for item in have.fields])
        pairs = zip(fields, want.fields, strict=True)
        return [leaf for item, info in pairs for leaf in leaves(item, info)]
    return [(value, want)]


def rebuilt(have: StructInfo, want: StructInfo, parts: Iterator[ir.Value]) -> ir.Value:
    """The inverse of `leaves`: rebuild a value from its converted leaves, in order."""
    if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):
        pairs = zip(have.fields, want.fields, strict=True)
        return pack([rebuilt(item, info, parts) for item, info in pairs], ir.Location.current)
    return next(parts)


def converted(value: ir.Value, want: StructInfo) -> ir.Value:
    """`value` with the struct info `want`, created at the insertion point and the current location.

    Information in `want` that the type of `value` lacks is checked at run time. The two must be convertible.
    """
    have = struct_info(value.type)
    if have == want:
        return value
    if isinstance(have, Tuple) and isinstance(want, Tuple):
        fields = unpack(value, [item.to_type() for item in have.fields])
        items = [converted(item, info) for item, info in zip(fields, want.fields, strict=True)]
        return pack(items, ir.Location.current)
    dims = want.values if isinstance(want, Shape) else want.shape if isinstance(want, Tensor) else None
    assert dims is not None, f"{have} is not convertible to {want}"
    return ir.Operation.create(
        MatchShapeOp.OPERATION_NAME,
        results=[want.to_type()],
        operands=[value],
        attributes={"pattern": dims_attr(dims), "result_dtype": ir.UnitAttr.get()},
    ).results[0]
