"""Window functions of signal processing: hamming_window."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.cast import dtype_attr, dtype_of
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import bool_attr, dimension, double_attr
from relax_mlir.dialects.symbolic_attributes import dims_in
from relax_mlir.dialects.types import DimLike, Tensor, dims_attr
from relax_mlir.dialects.value import Value, create_one, require_insertion_point
from relax_mlir.error import DTypeError, ShapeError
from relax_mlir.mlir import ext, ir


class HammingWindowOp(RelaxOp, name="hamming_window", traits=[ext.Pure]):
    """``alpha - beta * cos(2 * pi * i / n)`` for i in 0..`window_size`, exclusive, in floats of `dtype`.

    `n` is `window_size`, or one less if not `periodic`. A window of one element is 1. Example: size 3, periodic, 0.5
    and 0.5 give ``[0.0, 0.75, 0.75]``.
    """

    window_size: ir.StringAttr | ir.IntegerAttr
    periodic: ir.IntegerAttr
    alpha: ir.FloatAttr
    beta: ir.FloatAttr
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("window_size",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("periodic")
        dtype = dtype_of(args, "dtype")
        if not dtype.is_float:
            raise DTypeError(f"{args.op}: dtype is {dtype}, expected a float")
        size = next(iter(dims_in(args.attrs["window_size"])), None)
        if size is None or symbolic.prove_less_equal(size, -1):
            raise ShapeError(f"{args.op}: window_size is {args.attrs['window_size']}, expected a size")
        return Tensor([size], dtype)


def hamming_window(
    window_size: DimLike,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    dtype: str | DType = "float32",
) -> Value:
    """A Hamming window (see `HammingWindowOp`)."""
    require_insertion_point("hamming_window")
    what = "hamming_window: "
    attributes = {
        "window_size": dims_attr([dimension(window_size, f"{what}'window_size'")])[0],
        "periodic": bool_attr(periodic, f"{what}'periodic'"),
        "alpha": double_attr(alpha, f"{what}'alpha'"),
        "beta": double_attr(beta, f"{what}'beta'"),
        "dtype": dtype_attr(dtype),
    }
    return create_one(HammingWindowOp, [], attributes)
