"""Shapes, positions and pieces of tensors of PyTorch, and tensors created from sizes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.export import Dim
from torch_programs import Calls, check

SIZES = ((1, 1), (5, 2), (2, 7))
SHAPES = ({0: Dim("n", min=1), 1: Dim("m", min=1)},)


def arguments(n: int, m: int) -> tuple[torch.Tensor]:
    return (torch.randn(n, m, 4),)


def test_views_and_pieces() -> None:
    module = Calls(
        lambda x: x.reshape(-1),
        lambda x: x.view(x.shape[0], x.shape[1] * 4),
        lambda x: x.transpose(0, 2),
        lambda x: x.permute(2, 0, 1),
        lambda x: x.unsqueeze(1),
        lambda x: x[None, :, None].squeeze(0),
        lambda x: x[:, :, None].expand(-1, -1, 3, -1),
        lambda x: torch.cat([x, x * 2], 1),
        lambda x: torch.stack([x, x], 1),
        lambda x: x[:, -1],
        lambda x: x[0],
        lambda x: x[:, :, 1:3],
        lambda x: x[:, :, ::2],
        lambda x: x[-1:],
        lambda x: x.split(3, 2),
        lambda x: x.chunk(2, 2),
        lambda x: x.unbind(2),
        lambda x: x.repeat(2, 1, 3),
        lambda x: x.repeat_interleave(2, 1),
        lambda x: x.flip(0, 2),
        lambda x: x.roll(1, 1),
        lambda x: x.roll((1, -1), (0, 2)),
    )
    check(module, arguments, SIZES, SHAPES, example=(3, 5))


def test_padding_products_and_ranges() -> None:
    module = Calls(
        lambda x: F.pad(x, (1, 2)),
        lambda x: F.pad(x, (1, 0, 2, 3), value=3.0),
        lambda x: F.pad(x, (-1, 0)),
        lambda x: F.pad(x, (1, 2), mode="reflect"),
        lambda x: F.pad(x, (1, 2), mode="replicate"),
        lambda x: x.tril(),
        lambda x: x.triu(1),
        lambda x: x.unfold(2, 2, 1),
        lambda x: x.diagonal(dim1=1, dim2=2),
        lambda x: torch.meshgrid(x[:, 0, 0], x[0, :, 0], indexing="ij"),
        lambda x: x.narrow(2, 1, 2),
        lambda x: x.movedim(0, 2),
        lambda x: x.diff(dim=2),
        lambda x: torch.einsum("nmk,njk->nmj", x, x),
        lambda x: torch.einsum("nmk,nmk->nm", x, x),
        lambda x: torch.outer(x[:, 0, 0], x[0, :, 0]),
        lambda x: x.flatten(1),
        lambda x: torch.arange(x.shape[0]) + x[:, 0, 0],
        lambda x: torch.full((x.shape[0], 2), 7),
        lambda x: torch.zeros_like(x) + torch.ones(x.shape[1], 4),
        lambda x: torch.eye(x.shape[0]),
        lambda x: x.bfloat16().float(),
        lambda x: torch.tril(torch.ones(x.shape[1], x.shape[1])),
    )
    check(module, arguments, SIZES, SHAPES, example=(3, 5))
