"""Builders of random numbers: ``R.random.uniform(state, (n, 4))`` returns numbers and the next state."""

from relax_mlir.dialects.builders import builders as _builders

globals().update(_builders("random"))

__all__ = [*_builders("random")]
