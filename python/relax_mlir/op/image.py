"""Builders of the ops on images: ``R.image.resize2d(x, (64, 64))``."""

from relax_mlir.dialects.builders import builders as _builders

globals().update(_builders("image"))

__all__ = [*_builders("image")]
