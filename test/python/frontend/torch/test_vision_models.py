"""Networks for images, each from one artefact at six batches, heights and widths against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sweep
import torch
from torch import nn
from torch.export import Dim
from torch_programs import agree, compiled
from vision_models import ConvNeXt, Detector, MobileNet, ResNet, UNet

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch

CASES: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "resnet": (ResNet, 8),
    "mobilenet": (MobileNet, 8),
    "efficientnet": (lambda: MobileNet(squeeze=True), 8),
    "convnext": (ConvNeXt, 4),
    "unet": (UNet, 4),
    "detector": (Detector, 4),
}
"""Networks, and the number of which heights and widths are multiples."""


@pytest.mark.parametrize("name", sweep.quick(CASES))
def test_network(name: str) -> None:
    torch.manual_seed(0)
    make, step = CASES[name]
    module = make().eval()
    height, width = Dim("height", min=2, max=64), Dim("width", min=2, max=64)
    shapes: Any = ({0: Dim("batch"), 2: step * height, 3: step * width},)
    args = (torch.randn(2, 3, 4 * step, 5 * step),)
    run = compiled(module, args, shapes)
    for batch, rows, columns in ((2, 4, 5), (1, 4, 4), (3, 2, 7), (1, 9, 3), (5, 3, 2), (1, 16, 8)):
        agree(run, module, (torch.randn(batch, 3, rows * step, columns * step),), rtol=1e-3, atol=1e-4)
