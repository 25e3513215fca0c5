"""Replacement of slices: slice_scatter."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.gather import check_equal_shapes
from relax_mlir.dialects.number_attributes import dimension, int_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.scatter import updated
from relax_mlir.dialects.slicing import Slice, resolve_slice
from relax_mlir.dialects.structure import match_shape
from relax_mlir.dialects.symbolic_attributes import dims_in
from relax_mlir.dialects.types import DimLike, Tensor, dims_attr
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class SliceScatterOp(RelaxOp, name="slice_scatter", traits=[ext.Pure]):
    """`input` with the slice ``start:end:step`` along `axis` replaced by `src`.

    `start` and `end` are integers or symbolic expressions, with negative and large bounds as in Python; `step` is 1 or
    more. `src` has the shape of the slice.

    Example: ``[1, 2, 3, 4]`` with src ``[8, 9]``, start 0, end 4, step 2 gives ``[8, 2, 9, 4]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    input: ext.Operand[Any]
    src: ext.Operand[Any]
    start: ir.StringAttr | ir.IntegerAttr
    end: ir.StringAttr | ir.IntegerAttr
    step: ir.IntegerAttr
    axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("start", "end")

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        whole, src, step = args.tensor(0), args.tensor(1), args.int_attr("step")
        if step < 1:
            raise ArgumentError(f"{args.op}: step is {step}, expected an integer from 1 on")
        if whole.ndim == 0:
            raise ShapeError(f"{args.op}: operand 'input' is {whole}, expected at least one dimension")
        if whole.shape is not None:
            axis = normalize_axis(args.op, args.int_attr("axis"), len(whole.shape))
            part = replaced_slice(args, whole.shape[axis])
            shape = list(whole.shape)
            shape[axis] = None if part is None else part.size
            check_equal_shapes(args, "src", src.shape, shape)
        return updated(args, whole, src, 1)


def replaced_slice(args: OpArgs, size: Dim | None) -> Slice | None:
    """The slice of a dimension of `size` that is replaced; None if the size is unknown."""
    ends: list[Dim] = []
    for name in ("start", "end"):
        found = list(dims_in(args.attrs[name]))
        if len(found) != 1 or found[0] is None:
            raise ArgumentError(f"{args.op}: {name} {args.attrs[name]} is not one integer or expression")
        ends.append(found[0])
    start, end = ends
    return None if size is None else resolve_slice(start, end, args.int_attr("step"), size)


def slice_scatter(
    input_tensor: ValueLike, src: ValueLike, start: DimLike, end: DimLike, step: int = 1, axis: int = 0
) -> Value:
    """`input_tensor` with a slice along `axis` replaced by `src` (see `SliceScatterOp`).

    If the size of `src` is not known to be that of the slice, a `match_shape` checks it at run time.
    """
    require_insertion_point("slice_scatter")
    whole, new = as_values(input_tensor, src, of=SliceScatterOp)
    attributes = {
        "start": dims_attr([dimension(start, "slice_scatter: 'start'")])[0],
        "end": dims_attr([dimension(end, "slice_scatter: 'end'")])[0],
        "step": int_attr(step, "slice_scatter: 'step'"),
        "axis": int_attr(axis, "slice_scatter: 'axis'"),
    }
    return create_one(SliceScatterOp, [whole, _matched(whole, new, attributes)], attributes)


def _matched(whole: Value, src: Value, attributes: dict[str, ir.Attribute]) -> Value:
    """`src`, matched with the size of the slice unless that is known to differ."""
    infos = [whole.struct_info, src.struct_info]
    if not all(isinstance(info, Tensor) and info.shape for info in infos):
        return src
    shape, dims = whole.tensor_info.shape, src.tensor_info.shape
    args = OpArgs("slice_scatter", SliceScatterOp.operand_names(), infos, attributes)
    assert shape is not None and dims is not None
    if len(shape) != len(dims) or args.int_attr("step") < 1:
        return src
    axis = normalize_axis(args.op, args.int_attr("axis"), len(shape))
    part, has = replaced_slice(args, shape[axis]), dims[axis]
    if part is None or has is None or symbolic.prove_equal(part.size, has):
        return src
    if symbolic.prove_not_equal(part.size, has):
        return src
    return match_shape(src, [part.size if number == axis else dim for number, dim in enumerate(dims)])
