"""Image resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import OpCall, rule
from relax_mlir.frontend.torch.torch_types import Argument

_RESIZE: dict[int, Callable[..., Argument]] = {
    1: topi.image.resize1d,
    2: topi.image.resize2d,
    3: topi.image.resize3d,
}
_ALPHA = -0.75
"""The coefficient of torch's cubic kernel."""


def _resized(call: OpCall, x: Value, method: str, coordinates: str, rounding: str = "", alpha: float = -0.5) -> Value:
    count = call.rank - 2
    layout = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[count]
    return call.te(
        _RESIZE[count],
        x,
        None,
        tuple(call.shape[2:]),
        layout=layout,
        method=method,
        coordinate_transformation_mode=coordinates,
        rounding_method=rounding,
        bicubic_alpha=alpha,
    )


def _check_scales(call: OpCall, scales: Sequence[Argument]) -> None:
    """Raise if a scale is not the ratio of the sizes: torch computes positions from scales, this project from sizes.

    `scales`: the last arguments of an op, one per dimension, or a list of all in the overload ``vec``.
    """
    if call.overload == "vec":
        scales = scales[0]
    if not scales:
        return
    old, new = call.importer.shape(call.argument(0).shape[2:]), call.shape[2:]
    for before, after, scale in zip(old, new, scales, strict=True):
        if scale is None:
            continue
        if not isinstance(scale, int | float):
            raise call.unsupported("resizing by a scale that is computed")
        above, below = float(scale).as_integer_ratio()
        if not symbolic.prove_equal(after * below, before * above):
            raise call.unsupported(
                f"resizing by {scale}, where the new size {after} is not {scale} times {before}; "
                "give size=, or recompute_scale_factor=True"
            )


def _upsamples(*ops: str) -> list[str]:
    """The names of the overloads of ops."""
    return [f"{op}.{overload}" for op in ops for overload in ("vec", "default")]


@rule(*_upsamples("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"))
def nearest(call: OpCall, x: Value, size: Argument, *scales: Argument) -> Value:
    _check_scales(call, scales)
    return _resized(call, x, "nearest_neighbor", "asymmetric", "floor")


@rule("_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec", "_upsample_nearest_exact3d.vec")
def nearest_exact(call: OpCall, x: Value, size: Argument, *scales: Argument) -> Value:
    _check_scales(call, scales)
    return _resized(call, x, "nearest_neighbor", "tf_half_pixel_for_nn", "floor")


@rule(*_upsamples("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"))
def linear(call: OpCall, x: Value, size: Argument, align_corners: bool, *scales: Argument) -> Value:
    if not align_corners:
        _check_scales(call, scales)
    return _resized(call, x, "linear", "align_corners" if align_corners else "half_pixel")


@rule(*_upsamples("upsample_bicubic2d"))
def cubic(call: OpCall, x: Value, size: Argument, align_corners: bool, *scales: Argument) -> Value:
    if not align_corners:
        _check_scales(call, scales)
    return _resized(call, x, "cubic", "align_corners" if align_corners else "half_pixel", "", _ALPHA)


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@rule("grid_sampler_2d.default", "grid_sampler.default")
def grid_sampler(call: OpCall, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """Sample on a grid; torch's is (batch, height, width, 2), that of `topi` (batch, 2, height, width)."""
    if call.rank != 4:
        raise call.unsupported("grid_sample of volumes")
    places = R.permute_dims(grid, [0, 3, 1, 2])
    return call.te(topi.image.grid_sample, x, places, _MODES[mode], "NCHW", _PADDINGS[padding], align_corners)
