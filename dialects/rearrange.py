"""Reordering between channels and spatial dimensions: pixel_shuffle, pixel_unshuffle, batch_flatten."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.number_attributes import int_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import Tensor, dim_text, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class PixelOp(RelaxOp):
    """Base of the ops on squares of pixels: the last three dimensions are channels, rows and columns."""

    op_pattern = OpPatternKind.INJECTIVE

    factor = ""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, side = args.tensor(0), args.int_attr(cls.factor)
        if side < 1:
            raise ArgumentError(f"{args.op}: {cls.factor} is {side}, expected at least 1")
        if data.ndim is not None and data.ndim < 3:
            raise ShapeError(f"{args.op}: operand 'data' is {data}, expected channels, rows and columns last")
        if data.shape is None:
            return data
        *outer, channels, rows, columns = data.shape
        return Tensor([*outer, *cls.moved(args, side, (channels, rows, columns))], data.dtype)

    @classmethod
    def moved(cls, args: OpArgs, side: int, sizes: tuple[Dim | None, ...]) -> list[Dim | None]:
        """The last three dimensions of the result."""
        raise NotImplementedError  # abstract


def _times(dim: Dim | None, factor: int) -> Dim | None:
    return None if dim is None else dim * factor


def _parts(args: OpArgs, what: str, dim: Dim | None, count: int) -> Dim | None:
    """A dimension divided by `count`; raises `ShapeError` if it is not provably divisible."""
    if dim is None:
        return None
    if not symbolic.prove_divisible(dim, count):
        raise ShapeError(
            f"{args.op}: the number of {what} of {shape_text(args.tensor(0).shape)} is {dim_text(dim)}, which is not "
            f"provably a multiple of {count}"
        )
    return symbolic.floordiv(dim, count)


class PixelShuffleOp(PixelOp, name="nn_pixel_shuffle", traits=[ext.Pure]):
    """Rearrange groups of ``r * r`` channels into squares of ``r`` rows and columns, `upscale_factor` being ``r``.

    Channel ``c * r * r + i * r + j`` becomes row ``i`` and column ``j`` of the squares of channel ``c``.

    Example: shape ``(n, 8, h, w)`` with upscale_factor 2 gives ``(n, 2, 2*h, 2*w)``.
    """

    data: ext.Operand[Any]
    upscale_factor: ir.IntegerAttr
    result: ext.Result[Any]
    factor = "upscale_factor"

    @classmethod
    def moved(cls, args: OpArgs, side: int, sizes: tuple[Dim | None, ...]) -> list[Dim | None]:
        channels, rows, columns = sizes
        return [_parts(args, "channels", channels, side * side), _times(rows, side), _times(columns, side)]


class PixelUnshuffleOp(PixelOp, name="nn_pixel_unshuffle", traits=[ext.Pure]):
    """Rearrange squares of `downscale_factor` rows and columns into channels: the inverse of `PixelShuffleOp`.

    Example: shape ``(n, 2, 6, 4)`` with downscale_factor 2 gives ``(n, 8, 3, 2)``.
    """

    data: ext.Operand[Any]
    downscale_factor: ir.IntegerAttr
    result: ext.Result[Any]
    factor = "downscale_factor"

    @classmethod
    def moved(cls, args: OpArgs, side: int, sizes: tuple[Dim | None, ...]) -> list[Dim | None]:
        channels, rows, columns = sizes
        whole = [_parts(args, what, dim, side) for what, dim in (("rows", rows), ("columns", columns))]
        return [_times(channels, side * side), *whole]


class BatchFlattenOp(RelaxOp, name="nn_batch_flatten", traits=[ext.Pure]):
    """`data` with all dimensions after the first merged: a view. Example: ``(n, 3, h, w)`` gives ``(n, 3*h*w)``."""

    op_pattern = OpPatternKind.INJECTIVE

    data: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = args.tensor(0)
        if data.ndim == 0:
            raise ShapeError(f"{args.op}: operand 'data' is {data}, expected at least one dimension")
        if data.shape is None:
            return Tensor(None, data.dtype, ndim=2)
        first, *rest = data.shape
        known = [dim for dim in rest if dim is not None]
        return Tensor([first, symbolic.product(known) if len(known) == len(rest) else None], data.dtype)


def pixel_shuffle(data: ValueLike, upscale_factor: int) -> Value:
    """Rearrange groups of channels into squares of rows and columns (see `PixelShuffleOp`)."""
    require_insertion_point("nn.pixel_shuffle")
    attributes = {"upscale_factor": int_attr(upscale_factor, "pixel_shuffle: 'upscale_factor'")}
    return create_one(PixelShuffleOp, [as_value(data)], attributes)


def pixel_unshuffle(data: ValueLike, downscale_factor: int) -> Value:
    """Rearrange squares of rows and columns into channels (see `PixelUnshuffleOp`)."""
    require_insertion_point("nn.pixel_unshuffle")
    attributes = {"downscale_factor": int_attr(downscale_factor, "pixel_unshuffle: 'downscale_factor'")}
    return create_one(PixelUnshuffleOp, [as_value(data)], attributes)


def batch_flatten(data: ValueLike) -> Value:
    """`data` with all dimensions after the first merged (see `BatchFlattenOp`)."""
    return create_one(BatchFlattenOp, [as_value(data)])
