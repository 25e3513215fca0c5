"""Attention of PyTorch: masks, queries that see no key, grouped queries, ranks, and encoder layers as one op."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
import sweep
import torch
import torch.nn.functional as F
from relax_mlir.frontend.torch import compile_program, from_exported_program
from torch import nn
from torch.export import Dim
from torch_programs import Calls, check

ATTEND = F.scaled_dot_product_attention
SIZES = ((1, 1, 1), (2, 5, 3), (1, 17, 4), (3, 2, 9))


def arguments(b: int, n: int, m: int) -> tuple[Any, ...]:
    """Queries, keys, values, a mask by which some queries see no key, and a bias that hides keys."""
    query, key, value = torch.randn(b, 4, n, 8), torch.randn(b, 4, m, 8), torch.randn(b, 4, m, 8)
    seen = torch.rand(b, 1, n, m) > 0.3
    seen[0, 0, 0] = False
    bias = torch.where(torch.rand(n, m) > 0.3, torch.randn(n, m), float("-inf"))
    return query, key, value, seen, bias


def test_masks_scales_and_heads() -> None:
    module = Calls(
        lambda q, k, v, seen, bias: ATTEND(q, k, v),
        lambda q, k, v, seen, bias: ATTEND(q, k, v, scale=0.3),
        lambda q, k, v, seen, bias: ATTEND(q, k, v, attn_mask=seen),
        lambda q, k, v, seen, bias: ATTEND(q, k, v, attn_mask=bias),
        lambda q, k, v, seen, bias: ATTEND(q, q, q, is_causal=True),
        lambda q, k, v, seen, bias: ATTEND(q, k[:, :2], v[:, :2], enable_gqa=True),
        lambda q, k, v, seen, bias: ATTEND(q[:, 0], k[:, 0], v[:, 0]),
        lambda q, k, v, seen, bias: ATTEND(q[:, 0], k[:, 0], v[:, 0], attn_mask=seen[:, 0]),
        lambda q, k, v, seen, bias: ATTEND(q[:, None], k[:, None], v[:, None], attn_mask=bias),
    )
    b, n, m = Dim("b", min=1), Dim("n", min=1), Dim("m", min=1)
    shapes = ({0: b, 2: n}, {0: b, 2: m}, {0: b, 2: m}, {0: b, 2: n, 3: m}, {0: n, 1: m})
    check(module, arguments, SIZES, shapes, example=(2, 4, 6))


@pytest.mark.parametrize("first", sweep.quick([False, True]))
def test_encoder_layers_without_gradients(first: bool) -> None:
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, activation="gelu" if first else "relu", batch_first=True, norm_first=first
    )
    shapes = ({0: Dim("b"), 1: Dim("n")},)
    check(layer, lambda b, n: (torch.randn(b, n, 8),), ((1, 1), (4, 2), (2, 19)), shapes, example=(3, 5))


def test_repeated_heads_are_shared() -> None:
    """Keys and values repeated for groups of queries are not materialised; other repetitions are."""

    class Grouped(nn.Module):
        def __init__(self, turned: bool) -> None:
            super().__init__()
            self.turned = turned

        def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
            b, g, t, d = k.shape
            parts = (k[:, None], k[:, None] * 2) if self.turned else (k[:, :, None], k[:, :, None] * 2)
            wide = (b, 3, g, t, d) if self.turned else (b, g, 3, t, d)
            return ATTEND(q, *(part.expand(wide).reshape(b, g * 3, t, d) for part in parts))

    for turned in (False, True):
        module = Grouped(turned).eval()
        q, k = torch.randn(2, 6, 4, 8), torch.randn(2, 2, 5, 8)
        program = torch.export.export(module, (q, k), dynamic_shapes=(None, {2: Dim("t")}))
        text = rx.transform.DeadCodeElimination()(from_exported_program(program)).script()
        assert ("R.broadcast_to" in text) == turned
        run = compile_program(program)
        for length in (1, 5, 9):
            k = torch.randn(2, 2, length, 8)
            torch.testing.assert_close(run(q, k), module(q, k), rtol=1e-4, atol=1e-5)
