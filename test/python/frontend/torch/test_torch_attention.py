"""Attention of PyTorch: masks, queries that see no key, groups of heads, ranks, and encoder layers as one op."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
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


@pytest.mark.parametrize("first", [False, True])
def test_encoder_layers_without_gradients(first: bool) -> None:
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, activation="gelu" if first else "relu", batch_first=True, norm_first=first
    )
    shapes = ({0: Dim("b"), 1: Dim("n")},)
    check(layer, lambda b, n: (torch.randn(b, n, 8),), ((1, 1), (4, 2), (2, 19)), shapes, example=(3, 5))
