"""Builders of gradients: ``R.grad.take_backward(g, x, i, 0)``."""

from relax_mlir.dialects.gradients import (
    avg_pool2d_backward,
    end_checkpoint,
    max_pool2d_backward,
    nll_loss_backward,
    no_grad,
    start_checkpoint,
    take_backward,
)

__all__ = [
    "avg_pool2d_backward",
    "end_checkpoint",
    "max_pool2d_backward",
    "nll_loss_backward",
    "no_grad",
    "start_checkpoint",
    "take_backward",
]
