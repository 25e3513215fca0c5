"""Values given another type that says less, or that is checked at run time: by `match_shape`, field by field."""

from collections.abc import Iterator

from relax_mlir.dialects.structure import MatchShapeOp, pack, unpack
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, dims_attr, struct_info
from relax_mlir.mlir import ir


def is_convertible(have: StructInfo, want: StructInfo) -> bool:
    """Whether `converted` can give a value of `have` the type of `want`.

    It cannot where `match_shape` cannot say so: a rank or a dtype that is to be forgotten, a function's type.
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
    """What a value is made of, field by field as far as types differ, each with its part of the type wanted.

    Fields are taken out at the insertion point.
    """
    have = struct_info(value.type)
    if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):
        fields = unpack(value, [item.to_type() for item in have.fields])
        pairs = zip(fields, want.fields, strict=True)
        return [leaf for item, info in pairs for leaf in leaves(item, info)]
    return [(value, want)]


def rebuilt(have: StructInfo, want: StructInfo, parts: Iterator[ir.Value]) -> ir.Value:
    """The inverse of `leaves`: a value of the parts that it gave, in order, converted."""
    if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):
        pairs = zip(have.fields, want.fields, strict=True)
        return pack([rebuilt(item, info, parts) for item, info in pairs], ir.Location.current)
    return next(parts)


def converted(value: ir.Value, want: StructInfo) -> ir.Value:
    """`value` with the type of `want`, made at the insertion point and the current location.

    What `want` says more than the type of `value` is checked at run time. The two are convertible.
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
