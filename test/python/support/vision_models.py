"""Small networks for images, similar to those in use."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


def convolution(inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution with a batch norm whose statistics are not the initial ones."""
    norm = nn.BatchNorm2d(outputs)
    norm.running_mean.uniform_(-0.5, 0.5)  # type: ignore[union-attr,operator]  # a buffer
    norm.running_var.uniform_(0.5, 2)  # type: ignore[union-attr,operator]  # a buffer
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), norm)


class Residual(nn.Module):
    """The block of ResNet."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = convolution(inputs, outputs, 3, stride), convolution(outputs, outputs)
        self.short = convolution(inputs, outputs, 1, stride)

    def forward(self, x: Any) -> Any:
        return F.relu(self.second(F.relu(self.first(x))) + self.short(x))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(3, 8, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.body = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.head = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.body(self.stem(x)), 1), 1))


class Inverted(nn.Module):
    """The block of MobileNetV2 and, with `squeeze`, of EfficientNet."""

    def __init__(self, inputs: int, outputs: int, stride: int, squeeze: bool) -> None:
        super().__init__()
        wide = 3 * inputs
        self.wider, self.deep = convolution(inputs, wide, 1), convolution(wide, wide, 3, stride, wide)
        self.narrow = convolution(wide, outputs, 1)
        self.squeeze = nn.Sequential(nn.Conv2d(wide, 4, 1), nn.SiLU(), nn.Conv2d(4, wide, 1)) if squeeze else None
        self.active = F.silu if squeeze else F.relu6
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        y = self.active(self.deep(self.active(self.wider(x))))
        if self.squeeze is not None:
            y = y * torch.sigmoid(self.squeeze(F.adaptive_avg_pool2d(y, 1)))
        y = self.narrow(y)
        return x + y if self.adds else y


class MobileNet(nn.Module):
    """MobileNetV2; with `squeeze`, EfficientNet."""

    def __init__(self, squeeze: bool = False) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(3, 8, 3, 2), nn.ReLU6())
        self.body = nn.Sequential(Inverted(8, 8, 1, squeeze), Inverted(8, 12, 2, squeeze))
        self.head = nn.Linear(12, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(self.stem(x)).mean((2, 3)))


class ConvNeXt(nn.Module):
    """Its blocks: deep convolutions of 7x7, norms over channels, layer scale."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.deep, self.norm = nn.Conv2d(8, 8, 7, padding=3, groups=8), nn.LayerNorm(8)
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 8)
        self.scale = nn.Parameter(torch.full((8,), 0.5))
        self.head = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        y = self.norm(self.deep(x).permute(0, 2, 3, 1))
        x = x + (self.second(F.gelu(self.first(y))) * self.scale).permute(0, 3, 1, 2)
        return self.head(x.mean((2, 3)))


class UNet(nn.Module):
    """Down by pooling, up by a transposed convolution and by interpolation, with the finer levels joined."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Sequential(convolution(3, 4), nn.ReLU())
        self.two = nn.Sequential(convolution(4, 8), nn.GroupNorm(4, 8), nn.SiLU())
        self.low = nn.Sequential(convolution(8, 12), nn.ReLU())
        self.up = nn.ConvTranspose2d(12, 8, 2, 2)
        self.join = nn.Sequential(convolution(16, 8), nn.ReLU())
        self.out = nn.Conv2d(12, 2, 1)

    def forward(self, x: Any) -> Any:
        one = self.one(x)
        two = self.two(F.max_pool2d(one, 2))
        low = self.low(F.avg_pool2d(two, 2))
        y = self.join(torch.cat([self.up(low), two], 1))
        return self.out(torch.cat([F.interpolate(y, scale_factor=2, mode="bilinear"), one], 1))


class Detector(nn.Module):
    """A detection head similar to YOLO: boxes around the points of a grid, and the best of them."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(convolution(3, 8, 3, 2), nn.SiLU(), convolution(8, 8, 3, 2), nn.SiLU())
        self.head = nn.Conv2d(8, 4 + classes, 1)

    def forward(self, x: Any) -> Any:
        found = self.head(self.body(x))
        height, width = found.shape[2:]
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        points = torch.stack([columns, rows], -1).reshape(1, -1, 2).float() + 0.5
        flat = found.flatten(2).transpose(1, 2)
        center = (flat[..., :2].sigmoid() * 2 - 1 + points) * 4
        size = (flat[..., 2:4].sigmoid() * 2) ** 2 * 4
        boxes = torch.cat([center - size / 2, center + size / 2], -1)
        scores, kinds = flat[..., 4:].sigmoid().max(-1)
        best, places = scores.topk(4, 1)
        chosen = boxes.gather(1, places[..., None].expand(-1, -1, 4))
        return chosen, best, kinds.gather(1, places)
