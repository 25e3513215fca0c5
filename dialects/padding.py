"""Padding: pad."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, dims_in
from relax_mlir.dialects.binary import WhereOp
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.create import OnesLikeOp
from relax_mlir.dialects.dtypes import DType, require_held
from relax_mlir.dialects.number_attributes import bool_attr, dimension, double_attr, int_attr, text_attr
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered
from relax_mlir.dialects.types import DimLike, Tensor, dim_text, dims_attr, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

MODES = ("constant", "reflect", "symmetric", "replicate", "circular")
ALIASES = {"edge": "replicate", "wrap": "circular"}
"""Mode names of NumPy and ONNX."""


class PadOp(RelaxOp, name="nn_pad", traits=[ext.Pure]):
    """`data` with elements added before and after each dimension.

    `pad_width` has two integers or expressions per dimension: the number of elements added before and after it;
    negative integers remove elements. `pad_mode` defines the added elements: ``constant``, `pad_value`; ``reflect``,
    `data` mirrored without the edge elements; ``symmetric``, mirrored with them; ``replicate``, the edge elements;
    ``circular``, `data` repeated. Widths may exceed the size. In modes other than ``constant``, an empty dimension is
    an error of the call.

    Example: ``[1, 2, 3]`` with pad_width ``[2, 1]`` gives ``[0, 0, 1, 2, 3, 0]``, reflected ``[3, 2, 1, 2, 3, 2]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: ext.Operand[Any]
    pad_width: ir.ArrayAttr
    pad_mode: ir.StringAttr
    pad_value: ir.FloatAttr | ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("pad_width",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, mode = args.tensor(0), args.str_attr("pad_mode")
        if mode not in MODES:
            raise ArgumentError(f"{args.op}: pad_mode is '{mode}', expected one of {', '.join(MODES)}")
        _check_value(args, data.dtype)
        widths = list(dims_in(args.attrs["pad_width"]))
        if len(widths) % 2 or None in widths:
            raise ArgumentError(
                f"{args.op}: pad_width is {shape_text(widths)}, expected two numbers for each dimension"
            )
        if data.ndim is not None and len(widths) != 2 * data.ndim:
            raise ShapeError(
                f"{args.op}: pad_width has {len(widths)} numbers, expected {2 * data.ndim}: two for each dimension "
                f"of 'data', {data}"
            )
        if data.shape is None:
            return Tensor(None, data.dtype, ndim=len(widths) // 2)
        before, after = widths[::2], widths[1::2]
        sizes = zip(data.shape, before, after, strict=True)
        return Tensor([_padded(args.op, axis, *dims) for axis, dims in enumerate(sizes)], data.dtype)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        widths = list(ir.ArrayAttr(args.attrs["pad_width"]))
        moved = [width for axis in order for width in widths[2 * axis : 2 * axis + 2]]
        return Reordered((0,), (order,), {"pad_width": ir.ArrayAttr.get(moved)})


def _padded(op: str, axis: int, dim: Dim | None, before: Dim | None, after: Dim | None) -> Dim | None:
    if dim is None or before is None or after is None:
        return None
    size = dim + before + after
    if symbolic.prove_less_equal(size, -1):
        raise ShapeError(
            f"{op}: dimension {axis} of size {dim_text(dim)} with {dim_text(before)} and {dim_text(after)} more "
            f"elements would have {dim_text(size)}"
        )
    return size


def _check_value(args: OpArgs, dtype: DType | None) -> None:
    """Raise `DTypeError` unless the padding value fits the dtype of the data."""
    value = filling(args.attrs["pad_value"])
    if dtype is None or dtype.is_float:
        return
    require_held(f"{args.op}: pad_value", value, dtype)
    if int(value) != value or (dtype.kind == "bool" and value not in (0, 1)):
        raise DTypeError(f"{args.op}: pad_value is {value}, which does not fit dtype {dtype} of 'data'")


def filling(attribute: ir.Attribute) -> float | int:
    """The number in ``pad_value``."""
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    return attribute.value if isinstance(attribute, ir.FloatAttr) else int(ir.IntegerAttr(attribute).value)


# -- builders --------------------------------------------------------------------------------------------------


@exported("nn")
def pad(
    data: ValueLike,
    pad_width: Sequence[DimLike] | Sequence[Sequence[DimLike]],
    pad_mode: str = "constant",
    pad_value: float | Value = 0.0,
) -> Value:
    """`data` with padding (see `PadOp`).

    `pad_width` is one list, or pairs of before and after; `pad_mode` may also be ``edge`` or ``wrap``. `pad_value` may
    be a one-element tensor, which a `where` inserts.
    """
    require_insertion_point("nn.pad")
    value = as_value(data)
    expect("pad: 'pad_width'", pad_width, list | tuple, "two numbers for each dimension")
    flat = [item for pair in pad_width for item in (pair if isinstance(pair, list | tuple) else [pair])]
    expect("pad: 'pad_mode'", pad_mode, str, "the name of a mode")
    mode = ALIASES.get(pad_mode, pad_mode)
    widths = dims_attr([dimension(item, f"pad: 'pad_width'[{i}]") for i, item in enumerate(flat)])
    attributes = {"pad_width": widths, "pad_mode": text_attr(mode, "pad: 'pad_mode'")}

    def padded(given: Value, filled: object) -> Value:
        return create_one(PadOp, [given], {**attributes, "pad_value": _filling_attr(filled)})

    if not isinstance(pad_value, Value):
        return padded(value, pad_value)
    if mode != "constant":
        return padded(value, 0.0)
    return build(WhereOp, padded(build(OnesLikeOp, value, "bool"), 0), padded(value, 0.0), pad_value)


def _filling_attr(value: object) -> ir.Attribute:
    if isinstance(value, bool | np.bool_):
        return bool_attr(value, "pad: 'pad_value'")
    if isinstance(value, int | np.integer):
        return int_attr(value, "pad: 'pad_value'")
    return double_attr(value, "pad: 'pad_value'")
