"""Builders of the neural network ops: ``R.nn.softmax(x)``."""

from relax_mlir.dialects.builders import builders as _builders

globals().update(_builders("nn"))

__all__ = [*_builders("nn")]
