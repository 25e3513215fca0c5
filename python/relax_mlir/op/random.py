"""Builders of random numbers: ``R.random.uniform(state, (n, 4))`` returns numbers and the next state."""

from relax_mlir.dialects.random import bernoulli, bits, normal, randint, uniform, words

__all__ = ["bernoulli", "bits", "normal", "randint", "uniform", "words"]
