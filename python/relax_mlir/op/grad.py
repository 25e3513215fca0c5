"""Builders of gradients: ``R.grad.take_backward(g, x, i, 0)``."""

from relax_mlir.dialects.builders import builders as _builders

globals().update(_builders("grad"))

__all__ = [*_builders("grad")]
