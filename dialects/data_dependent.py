"""Ops whose result size depends on the elements of the operand: unique, nonzero."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.number_attributes import bool_attr, maybe_int_attr
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value, create_one, require_insertion_point
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class UniqueOp(RelaxOp, name="unique", traits=[ext.Pure]):
    """The distinct elements of `x`; with `axis`, the distinct slices along it.

    ``unit`` for `axis` selects the elements of the flattened tensor, as a vector. They are in ascending order, NaN last
    (slices in lexicographic order), or with `sorted` false in order of first occurrence. All NaNs are equal here, and
    so are 0.0 and -0.0; each is represented by its first occurrence.

    If any flag is set, the result is a tuple: the elements, then the selected int64 vectors: indices of the first
    occurrences (`return_index`), the index in the result for each element of `x` (`return_inverse`), and the numbers of
    occurrences (`return_counts`). The number of distinct elements is known only at run time.

    Example: ``[3, 1, 3]`` gives ``[1, 3]``, index ``[1, 0]``, inverse ``[1, 0, 1]``, counts ``[1, 2]``.
    """

    x: ext.Operand[Any]
    sorted: ir.IntegerAttr
    return_index: ir.IntegerAttr
    return_inverse: ir.IntegerAttr
    return_counts: ir.IntegerAttr
    axis: ir.IntegerAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        args.bool_attr("sorted")
        values, length = _distinct(args, x)
        found: list[StructInfo] = [values]
        for flag, size in (("return_index", None), ("return_inverse", length), ("return_counts", None)):
            if args.bool_attr(flag):
                found.append(Tensor((size,), "int64"))
        return Tuple(found) if len(found) > 1 else values


def _distinct(args: OpArgs, x: Tensor) -> tuple[Tensor, Dim | None]:
    """Struct info of the distinct elements or slices of `x`, and the number of candidates."""
    if args.is_unit("axis"):
        return Tensor((None,), x.dtype), None if x.known_shape is None else symbolic.product(x.known_shape)
    if x.shape is None:
        return x, None
    axis = normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
    return Tensor([None if i == axis else d for i, d in enumerate(x.shape)], x.dtype), x.shape[axis]


class NonzeroOp(RelaxOp, name="nonzero", traits=[ext.Pure]):
    """The indices of the nonzero (true) elements, in row-major order, as int64.

    Row i of the result holds the indices in dimension i: the shape is ``(rank, number of nonzero elements)``. NaN is
    not zero. Example: ``[[0, 5], [7, 0]]`` gives ``[[0, 1], [1, 0]]``.
    """

    x: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor((args.tensor(0).ndim, None), "int64")


def unique(
    x: Value,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Value:
    """The distinct elements of `x`, or slices along `axis`, and their indices (see `UniqueOp`)."""
    require_insertion_point("unique")
    attributes: dict[str, ir.Attribute] = {
        "sorted": bool_attr(sorted, "unique: 'sorted'"),
        "return_index": bool_attr(return_index, "unique: 'return_index'"),
        "return_inverse": bool_attr(return_inverse, "unique: 'return_inverse'"),
        "return_counts": bool_attr(return_counts, "unique: 'return_counts'"),
        "axis": maybe_int_attr(axis, "unique: 'axis'"),
    }
    return create_one(UniqueOp, [x], attributes)


def nonzero(x: Value) -> Value:
    """The indices of the nonzero elements of `x` (see `NonzeroOp`)."""
    return create_one(NonzeroOp, [x])
