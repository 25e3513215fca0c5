"""Convolutions, poolings, images of another size, and norms of PyTorch, on dynamic heights and widths."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim
from torch_programs import Calls, agree, check, compiled

SHAPES = ({0: Dim("b"), 2: Dim("h", min=7, max=200), 3: Dim("w", min=7, max=200)},)
SIZES = ((1, 7, 7), (3, 9, 33), (1, 31, 8))
torch.manual_seed(0)
DENSE, GROUPED, TRANSPOSED, ROW = (
    torch.randn(*shape) for shape in ((6, 4, 3, 3), (8, 1, 3, 3), (4, 5, 3, 2), (6, 4, 3))
)
BIAS = torch.randn(6)


def image(b: int, h: int, w: int) -> tuple[torch.Tensor]:
    return (torch.randn(b, 4, h, w),)


def test_convolutions() -> None:
    module = Calls(
        lambda x: F.conv2d(x, DENSE, BIAS, padding=1),
        lambda x: F.conv2d(x, DENSE, stride=2, padding=1, dilation=2),
        lambda x: F.conv2d(x, GROUPED, groups=4, padding="same"),
        lambda x: F.conv_transpose2d(x, TRANSPOSED, BIAS[:5], stride=2, padding=1, output_padding=1),
        lambda x: F.conv1d(x[:, :, 0], ROW, padding=1),
        lambda x: F.conv2d(x[0], DENSE),
    )
    shapes = ({0: Dim("b", min=1), 2: Dim("h", min=7, max=200), 3: Dim("w", min=7, max=200)},)
    check(module, image, SIZES, shapes, example=(2, 16, 20))


def test_indices_of_max_pools() -> None:
    """The first of equal elements, the last NaN, no window that begins in the padding at the end, any dtype."""
    kinds = (torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64, torch.uint8)

    def pooled(function: Any, *numbers: Any, of: Any = lambda x: x) -> Any:
        return lambda x: function(of(x), *numbers, return_indices=True)

    def few(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).round()

    def holes(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 1, torch.nan, torch.where(x < 0, -torch.inf, x))

    whole = Calls(
        pooled(F.max_pool2d, 2),
        pooled(F.max_pool2d, 3, 2, 1, of=holes),
        pooled(F.max_pool2d, (3, 2), (2, 3), (1, 0), (1, 2), of=few),
        *(pooled(F.max_pool2d, 3, 2, 1, of=lambda x, to=to: few(x.abs()).to(to)) for to in kinds),
    )
    with_partial = Calls(
        pooled(F.max_pool2d, 3, 2, 1, 1, True),
        pooled(F.max_pool2d, (3, 2), (2, 3), (1, 0), (1, 2), True, of=few),
        pooled(F.max_pool2d, 2, 3, 1, 1, True, of=lambda x: holes(x)[0]),
        pooled(F.max_pool1d, 3, 2, 1, 1, True, of=lambda x: few(x[:, :, 0])),
        pooled(F.max_pool3d, 2, 2, 1, 1, True, of=lambda x: few(x)[:, None]),
        *(pooled(F.max_pool2d, 3, 2, 1, 1, True, of=lambda x, to=to: few(x.abs()).to(to)) for to in kinds),
    )
    run = compiled(whole, image(2, 16, 20), SHAPES, fallback=False)
    for size in SIZES:
        agree(run, whole, image(*size))
    for size in ((2, 7, 10), (1, 8, 9)):
        agree(compiled(with_partial, image(*size), fallback=False), with_partial, image(*size))


def test_poolings() -> None:
    module = Calls(
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: F.adaptive_avg_pool2d(x, 1),
        lambda x: F.adaptive_avg_pool2d(x, (3, 5)),
        lambda x: F.adaptive_max_pool2d(x, 2),
    )
    check(module, image, SIZES, SHAPES, example=(2, 16, 20))


def test_last_windows() -> None:
    """With `ceil_mode`, a last window that begins in the padding at the end does not exist.

    torch.export makes a guard of that rule where sizes are dynamic.
    """
    pools: list[Any] = [
        lambda x: F.max_pool2d(x, 1, 3, ceil_mode=True),
        lambda x: F.max_pool2d(x, 2, 3, padding=1, ceil_mode=True),
        lambda x: F.max_pool2d(x, (1, 2), (2, 5), dilation=2, ceil_mode=True),
        lambda x: F.avg_pool2d(x, 2, 4, padding=1, ceil_mode=True),
        lambda x: F.avg_pool2d(x, 2, 4, padding=1, ceil_mode=True, count_include_pad=False),
        lambda x: F.avg_pool2d(x, (3, 2), (2, 4), padding=1, ceil_mode=True, divisor_override=5),
        lambda x: F.avg_pool2d(x, 2, 2, padding=1, divisor_override=3),
        lambda x: F.lp_pool2d(x, 2, 1, 3, ceil_mode=True),
        lambda x: F.max_pool1d(x[0], 2, 5, padding=1, ceil_mode=True),
        lambda x: F.avg_pool1d(x[:, :, 0], 1, 4, ceil_mode=True),
        lambda x: F.max_pool3d(x, 1, 3, ceil_mode=True),
        lambda x: F.avg_pool3d(x[None], (1, 2, 3), 4, padding=(0, 1, 1), ceil_mode=True),
    ]
    check(Calls(*pools), image, [(3, 17, 19)], ({0: Dim("b")},), example=(2, 17, 19))


def grid(x: Any) -> Any:
    return torch.tanh(x[:, :2].permute(0, 2, 3, 1))


@pytest.mark.slow
def test_images_of_another_size() -> None:
    module = Calls(
        lambda x: F.interpolate(x, scale_factor=2),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.interpolate(x, size=(5, 9), mode="bilinear", align_corners=True),
        lambda x: F.interpolate(x, size=(5, 9), mode="bicubic"),
        lambda x: F.interpolate(x, size=(5, 9)),
        lambda x: F.interpolate(x, size=(5, 9), mode="nearest-exact"),
        lambda x: F.pixel_shuffle(x, 2),
        lambda x: F.grid_sample(x, grid(x), align_corners=False),
        lambda x: F.grid_sample(x, grid(x), mode="nearest", padding_mode="border", align_corners=True),
    )
    check(module, image, SIZES, SHAPES, example=(2, 16, 20))


def test_norms_of_channels() -> None:
    module = Calls(
        lambda x: F.group_norm(x, 2),
        F.instance_norm,
        lambda x: F.batch_norm(x, torch.arange(4.0), torch.arange(4.0) + 1, torch.arange(4.0)),
        lambda x: F.channel_shuffle(x, 2),
        lambda x: F.rms_norm(x.permute(0, 2, 3, 1), (4,)),
        lambda x: F.local_response_norm(x, 3),
        lambda x: F.glu(x, 1),
    )
    check(module, image, SIZES, SHAPES, example=(2, 16, 20))
