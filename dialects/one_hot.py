"""One-hot encoding: one_hot."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.create import scalar
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.gather import index_operand
from relax_mlir.dialects.number_attributes import dimension, int_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.structure import constant
from relax_mlir.dialects.symbolic_attributes import dims_in
from relax_mlir.dialects.types import DimLike, Tensor, as_dim, dims_attr
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ext, ir


class OneHotOp(RelaxOp, name="one_hot", traits=[ext.Pure]):
    """`on_value` where the position along a new dimension `axis`, of size `depth`, equals the index, else `off_value`.

    An index that is negative, or not less than `depth`, gives `off_value` everywhere. The two values are rank-0
    tensors, whose dtype is the dtype of the result. Example: ``[1, 3]`` with depth 3 gives ``[[0, 1, 0], [0, 0, 0]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    indices: ext.Operand[Any]
    on_value: ext.Operand[Any]
    off_value: ext.Operand[Any]
    depth: ir.StringAttr | ir.IntegerAttr
    axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("depth",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        indices, on, off = index_operand(args, 0), scalar(args, 1).dtype, scalar(args, 2).dtype
        if on is not None and off is not None:
            promote(on, off, args.op)
        depth = list(dims_in(args.attrs["depth"]))
        if len(depth) != 1 or depth[0] is None or symbolic.prove_less_equal(depth[0], -1):
            raise ShapeError(f"{args.op}: depth is {args.attrs['depth']}, expected a size")
        if indices.shape is None:
            return Tensor(None, on or off)
        axis = normalize_axis(args.op, args.int_attr("axis"), len(indices.shape) + 1)
        return Tensor((*indices.shape[:axis], depth[0], *indices.shape[axis:]), on or off)


def one_hot(
    indices: ValueLike, on_value: ValueLike, off_value: ValueLike, depth: DimLike, axis: int = -1
) -> Value:
    """Vectors with `on_value` at `indices` and `off_value` elsewhere (see `OneHotOp`).

    Python numbers become float32, int64 or bool, or take the dtype of the other value if that is a tensor.
    """
    require_insertion_point("one_hot")
    pair = [on_value, off_value]
    like = next((v.struct_info for v in pair if isinstance(v, Value)), None)
    if like is None and any(isinstance(v, float) for v in pair):
        like = Tensor((), "float32")
    on, off = (
        constant(value)
        if like is None and isinstance(value, bool | int)
        else as_value(value, like, f"one_hot: '{name}'")
        for name, value in zip(("on_value", "off_value"), pair, strict=True)
    )
    attributes = {
        "depth": dims_attr([as_dim(dimension(depth, "one_hot: 'depth'"))])[0],
        "axis": int_attr(axis, "one_hot: 'axis'"),
    }
    return create_one(OneHotOp, [as_value(indices), on, off], attributes)
