"""Losses with all their options, against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import sweep
import torch
from relax_mlir.frontend.torch import compile_module
from torch.nn import functional as F
from torch_programs import Calls, agree, compiled

REDUCTIONS = ("none", "mean", "sum")
Loss = Callable[..., Any]


def of_classes() -> dict[str, tuple[list[Loss], tuple[torch.Tensor, ...]]]:
    """Losses of classes: functions of a reduction and the arguments."""
    torch.manual_seed(0)
    scores, places = torch.randn(4, 5), torch.tensor([1, 4, 0, 2])
    image, labels = torch.randn(2, 3, 4, 2), torch.randint(0, 3, (2, 4, 2))
    weight, few = torch.rand(5) + 0.1, torch.rand(3) + 0.1
    plain: list[Loss] = [
        lambda x, t, r: F.cross_entropy(x, t, reduction=r),
        lambda x, t, r: F.nll_loss(x.log_softmax(1), t, reduction=r),
        lambda x, t, r: F.cross_entropy(x, t, reduction=r, label_smoothing=0.1),
        lambda x, t, r: F.cross_entropy(x, t, weight, reduction=r, ignore_index=4),
        lambda x, t, r: F.nll_loss(x, t, weight, reduction=r, ignore_index=0),
        lambda x, t, r: F.cross_entropy(x, t, weight, reduction=r, label_smoothing=0.2, ignore_index=2),
        lambda x, t, r: F.cross_entropy(x[0], t[0], reduction=r),
        lambda x, t, r: F.multi_margin_loss(x, t, reduction=r),
    ]
    spatial: list[Loss] = [
        lambda x, t, r: F.cross_entropy(x, t, reduction=r),
        lambda x, t, r: F.cross_entropy(x, t, few, reduction=r, label_smoothing=0.1, ignore_index=1),
        lambda x, t, r: F.nll_loss(x, t, few, reduction=r, ignore_index=2),
        lambda x, t, r: F.nll_loss(x[..., 0], t[..., 0], reduction=r),
    ]
    soft: list[Loss] = [
        lambda x, t, r: F.cross_entropy(x, t.softmax(1), reduction=r),
        lambda x, t, r: F.cross_entropy(x, t.softmax(1), weight, reduction=r, label_smoothing=0.1),
    ]
    return {
        "plain": (plain, (scores, places)),
        "spatial": (spatial, (image, labels)),
        "soft": (soft, (scores, torch.randn(4, 5))),
    }


OF_ELEMENTS: list[Loss] = [
    lambda x, y, r: F.hinge_embedding_loss(x, y.sign(), reduction=r),
    lambda x, y, r: F.hinge_embedding_loss(x, y.sign(), margin=0.3, reduction=r),
    lambda x, y, r: F.margin_ranking_loss(x, y, y.sign(), margin=0.2, reduction=r),
    lambda x, y, r: F.mse_loss(x, y, reduction=r),
    lambda x, y, r: F.l1_loss(x, y, reduction=r),
    lambda x, y, r: F.smooth_l1_loss(x, y, reduction=r, beta=0.5),
    lambda x, y, r: F.huber_loss(x, y, reduction=r, delta=0.7),
    lambda x, y, r: F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction=r),
    lambda x, y, r: F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=y.abs()[0], reduction=r),
    lambda x, y, r: F.kl_div(x, y.softmax(1), reduction=r),
    lambda x, y, r: F.poisson_nll_loss(x, y.abs(), reduction=r, full=True),
    lambda x, y, r: F.gaussian_nll_loss(x, y, 0.5, reduction=r, full=True),
    lambda x, y, r: F.cosine_embedding_loss(x, y, y[:, 0].sign(), margin=0.1, reduction=r),
    lambda x, y, r: F.triplet_margin_loss(x, y, x + y, reduction=r, swap=True),
    lambda x, y, r: F.soft_margin_loss(x, y.sign(), reduction=r),
    lambda x, y, r: F.multilabel_soft_margin_loss(x, y.sigmoid().round(), reduction=r),
]


def reduced(losses: list[Loss]) -> Calls:
    return Calls(*(lambda x, t, f=f, r=r: f(x, t, r) for f in losses for r in REDUCTIONS))


@pytest.mark.parametrize("kind", ["plain", "spatial", "soft"] if sweep.ALL else ["plain"])
def test_of_classes(kind: str) -> None:
    losses, args = of_classes()[kind]
    module = reduced(losses)
    agree(compiled(module, args), module, args)


@pytest.mark.filterwarnings("ignore")
def test_of_elements() -> None:
    torch.manual_seed(0)
    args = (torch.randn(4, 5), torch.randn(4, 5))
    module = reduced(OF_ELEMENTS)
    agree(compiled(module, args), module, args)


@pytest.mark.slow
def test_by_torch_compile() -> None:
    """`gaussian_nll_loss` reads its variances in Python, which `torch.export` refuses: here it is a graph break."""
    torch.manual_seed(0)
    x, y, places = torch.randn(3, 5), torch.rand(3, 5), torch.tensor([1, 4, 0])
    losses = (
        lambda r: F.gaussian_nll_loss(x, y, y + 1, reduction=r),
        lambda r: F.cross_entropy(x, places, reduction=r, label_smoothing=0.1),
    )
    module = Calls(*(lambda x, y, f=f, r=r: f(r) for f in losses for r in REDUCTIONS))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch._dynamo.reset()
        torch.testing.assert_close(compile_module(module)(x, y), module(x, y), rtol=1e-4, atol=1e-5)
