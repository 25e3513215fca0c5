"""Tensors in another layout, given by an index map: layout_transform."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.index_maps import IndexMap, index_map_text, parse_index_map
from relax_mlir.dialects.number_attributes import double_attr, int_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import DTypeError, ShapeError, UnsupportedError
from relax_mlir.mlir import ext, ir


class LayoutTransformOp(RelaxOp, name="layout_transform", traits=[ext.Pure]):
    """The elements of `x` at the positions to which `index_map` maps their indices.

    The map is text, ``"lambda i, j: (i // 4, j, i % 4)"``. Each result is a sum of terms, multiplied by constant
    factors: an index, its quotient by a number, or a remainder of these. The terms of an index must determine it, so
    that each position has at most one element. Positions without an element, which exist if a size is not a multiple of
    a divisor, get `pad_value`; ``unit`` requires that there are provably no such positions.

    Example: ``[1, 2, 3]`` with ``lambda i: (i // 2, i % 2)`` and pad_value 0 gives ``[[1, 2], [3, 0]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    index_map: ir.StringAttr
    pad_value: ir.IntegerAttr | ir.FloatAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, mapping = args.tensor(0), map_of(args)
        _check_padding(args, x)
        if x.shape is None:
            return Tensor((None,) * len(mapping.results), x.dtype)
        if len(x.shape) != len(mapping.names):
            raise ShapeError(
                f"{args.op}: operand 'x' is {x}, but index_map takes {len(mapping.names)} indices: {mapping.text}"
            )
        for axis, dim in enumerate(x.shape):
            limit = mapping.limit(axis)
            if dim is None:
                continue
            if limit is not None and not symbolic.prove_less_equal(dim, limit):
                raise ShapeError(
                    f"{args.op}: dimension {axis} of {x} is {dim}, not known to be at most {limit}, for which "
                    f"{mapping.text} has room"
                )
            if args.is_unit("pad_value") and not mapping.is_full(axis, dim):
                raise ShapeError(
                    f"{args.op}: dimension {axis} of {x} is {dim}, which {mapping.text} is not known to fill all "
                    "places with; give pad_value"
                )
        return Tensor(mapping.shape(x.shape), x.dtype)


def map_of(args: OpArgs) -> IndexMap:
    """The map of a `layout_transform`."""
    return parse_index_map(args.op, args.str_attr("index_map"))


def _check_padding(args: OpArgs, x: Tensor) -> None:
    given = args.attrs["pad_value"]
    if x.dtype is None or args.is_unit("pad_value"):
        return
    if isinstance(given, ir.FloatAttr) and not x.dtype.is_float:
        raise DTypeError(f"{args.op}: pad_value is {given}, operand 'x' has dtype {x.dtype}")


def layout_transform(
    x: ValueLike,
    index_map: str | Callable[..., Any],
    pad_value: float | None = None,
    axis_separators: Sequence[int] | None = None,
    input_axis_separators: Sequence[int] | None = None,
) -> Value:
    """The elements of `x` in another layout (see `LayoutTransformOp`).

    `index_map` is a function of indices, such as ``lambda n, c: (c // 4, n, c % 4)``, or its text. Axis separators are
    accepted for TVM's devices with multi-dimensional memory, and have no effect.
    """
    require_insertion_point("layout_transform")
    if axis_separators or input_axis_separators:
        raise UnsupportedError(
            "layout_transform: axis separators are for memory of several dimensions, which CPUs do not have; "
            "leave them out"
        )
    padding: ir.Attribute = ir.UnitAttr.get()
    if pad_value is not None:
        number = double_attr if isinstance(pad_value, float) else int_attr
        padding = number(pad_value, "layout_transform: 'pad_value'")
    attributes = {
        "index_map": ir.StringAttr.get(index_map_text("layout_transform", index_map)),
        "pad_value": padding,
    }
    return create_one(LayoutTransformOp, [as_value(x)], attributes)
