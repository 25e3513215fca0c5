"""Reductions, sums so far and statistics of PyTorch."""

from __future__ import annotations

import torch
from torch.export import Dim
from torch_programs import Calls, check

SHAPES = ({0: Dim("n"), 1: Dim("m")},)


def test_reductions() -> None:
    module = Calls(
        lambda x: x.sum(),
        lambda x: x.sum(1),
        lambda x: x.sum((0, 2), keepdim=True),
        lambda x: x.sum(1, dtype=torch.float64),
        lambda x: (x > 0).sum(1),
        lambda x: x.mean(),
        lambda x: x.mean(-1),
        lambda x: x.prod(1),
        lambda x: x.amax(1),
        lambda x: x.amin((1, 2)),
        lambda x: x.max(),
        lambda x: tuple(x.max(2)),
        lambda x: tuple(x.min(1, keepdim=True)),
        lambda x: x.argmax(1),
        lambda x: x.argmin(),
        lambda x: (x > 0).any(1),
        lambda x: (x > 0).all(),
        lambda x: x.any((0, 1)),
        lambda x: x.logsumexp(1),
        lambda x: x.nansum(1),
        lambda x: x.count_nonzero(1),
    )
    check(
        module,
        lambda n, m: (torch.randn(n, m, 5),),
        ((1, 1), (5, 4), (2, 17), (1, 7)),
        SHAPES,
        example=(3, 6),
    )


def test_statistics_and_norms() -> None:
    module = Calls(
        lambda x: x.var(1),
        lambda x: x.std((1, 2)),
        lambda x: x.var(1, unbiased=False),
        lambda x: torch.var_mean(x, 1),
        lambda x: x.norm(),
        lambda x: torch.linalg.vector_norm(x, 3, 1),
        lambda x: torch.linalg.vector_norm(x, 1, 1),
        lambda x: torch.linalg.vector_norm(x, float("inf"), 1),
        lambda x: torch.cdist(x.mT, x.mT + 1),
        lambda x: x.cumsum(1),
        lambda x: x.cumprod(2),
        lambda x: (x > 0).cumsum(1),
    )
    check(
        module,
        lambda n, m: (torch.randn(n, m, 5),),
        ((1, 1), (5, 4), (2, 17), (1, 7)),
        SHAPES,
        example=(3, 6),
    )


def test_sums_of_nothing() -> None:
    module = Calls(
        lambda x: x.sum(1),
        lambda x: x.prod(1),
        lambda x: x.mean(1),
        lambda x: (x > 0).any(1),
        lambda x: (x > 0).all(1),
        lambda x: x.cumsum(1),
    )
    check(module, lambda n, m: (torch.randn(n, m),), ((0, 4), (4, 0), (0, 0)), SHAPES, example=(3, 6))
