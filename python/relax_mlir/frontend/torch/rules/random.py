"""Random numbers of this project's generator: torch's distributions, but different numbers."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.common import top_k
from relax_mlir.frontend.torch.registry import OpCall, constant, rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.op import random


@rule("rand.default", "rand_like.default")
def rand(call: OpCall, *rest: object) -> Value:
    return call.drawn(lambda state: random.uniform(state, call.shape, dtype=call.dtype))


@rule("randn.default", "randn_like.default")
def randn(call: OpCall, *rest: object) -> Value:
    return call.drawn(lambda state: random.normal(state, call.shape, dtype=call.dtype))


@rule("normal_functional.default")
def normal(call: OpCall, x: Value, mean: float = 0.0, std: float = 1.0) -> Value:
    return call.drawn(lambda state: random.normal(state, call.shape, mean, std, call.dtype))


@rule("uniform.default")
def uniform(call: OpCall, x: Value, low: float = 0.0, high: float = 1.0) -> Value:
    return call.drawn(lambda state: random.uniform(state, call.shape, low, high, call.dtype))


@rule("randint.default")
def randint(call: OpCall, high: Argument, *rest: object) -> Value:
    return _integers(call, 0, high)


@rule("randint.low")
def randint_low(call: OpCall, low: Argument, high: Argument, *rest: object) -> Value:
    return _integers(call, low, high)


@rule("randint_like.default")
def randint_like(call: OpCall, x: Value, high: Argument, *rest: object) -> Value:
    return _integers(call, 0, high)


@rule("randint_like.low_dtype")
def randint_like_low(call: OpCall, x: Value, low: Argument, high: Argument, *rest: object) -> Value:
    return _integers(call, low, high)


def _integers(call: OpCall, low: Argument, high: Argument) -> Value:
    if not isinstance(low, int) or not isinstance(high, int):
        raise call.unsupported("random integers whose bounds are symbolic")
    kind = "int64" if call.is_float else call.dtype
    found = call.drawn(lambda state: random.randint(state, call.shape, low, high, kind))
    return R.astype(found, call.dtype) if call.is_float else found


@rule("randperm.default")
def randperm(call: OpCall, *rest: object) -> Value:
    """Sort random 53-bit floats; collisions, which would keep their order, are practically impossible."""
    keys = call.drawn(lambda state: random.uniform(state, call.shape, dtype="float64"))
    return R.argsort(keys, dtype=call.dtype)


@rule("bernoulli.default")
def bernoulli(call: OpCall, probabilities: Value) -> Value:
    found = call.drawn(lambda state: random.bernoulli(state, probabilities))
    return R.astype(found, call.dtype)


@rule("bernoulli.p")
def bernoulli_of_a_number(call: OpCall, x: Value, p: float = 0.5) -> Value:
    return R.astype(_chosen(call, p), call.dtype)


@rule("dropout.default", "native_dropout.default")
def dropout(call: OpCall, x: Value, p: float, train: bool | None = None) -> Value | list[Value]:
    """In training, set elements to 0 with probability `p` and scale the others by ``1 / (1 - p)``."""
    is_pair = "native" in str(call.node.target)
    if not train or p == 0:
        return [x, R.full(call.shape, R.const(True, "bool"), "bool")] if is_pair else x
    if not call.is_float:
        raise call.unsupported("dropout of what is no float")
    kept = _chosen(call, 1.0 - p)
    scale = constant(0.0 if p == 1 else 1.0 / (1.0 - p), call.dtype)
    found = R.multiply(x, R.multiply(R.astype(kept, call.dtype), scale))
    return [found, kept] if is_pair else found


def _chosen(call: OpCall, p: float) -> Value:
    """Return bools that are true with probability `p`."""
    numbers = call.drawn(lambda state: random.uniform(state, call.shape, dtype="float32"))
    return R.less(numbers, constant(p, "float32"))


@rule("multinomial.default")
def multinomial(call: OpCall, x: Value, count: Argument, replacement: bool = False) -> Value:
    """Sample classes by probabilities that need not sum to 1; without `replacement`, those of a row are distinct.

    Without replacement, they are the top-k of ``p / e``, where ``e`` is exponentially distributed. With replacement, a
    class is the number of cumulative probabilities that a uniform number below their total reaches.
    """
    chances = R.astype(x, "float64")
    sums = R.cumsum(chances, call.rank - 1)
    _require_distribution(chances)
    if not replacement:
        shape = call.importer.shape(call.argument(0).shape)
        numbers = call.drawn(lambda state: random.uniform(state, shape, dtype="float64"))
        waits = R.negative(R.log(R.subtract(constant(1.0, "float64"), numbers)))
        keys = R.divide(chances, R.maximum(waits, constant(_TINY, "float64")))
        return top_k(keys, symbolic.to_dim(count), call.rank - 1, largest=True)[1]
    classes = call.importer.dim(call.argument(0).shape[-1])
    total = R.strided_slice(sums, [call.rank - 1], [classes - 1], [classes], [1])
    numbers = call.drawn(lambda state: random.uniform(state, call.shape, dtype="float64"))
    edges = R.expand_dims(R.multiply(numbers, total), call.rank)
    reached = R.less_equal(R.expand_dims(sums, call.rank - 1), edges)
    return R.sum(R.astype(reached, "int64"), [call.rank])


_TINY = 1e-300
"""The lower limit of ``e``, which prevents a division by 0."""


def _require_distribution(chances: Value) -> None:
    fits = R.logical_and(R.greater_equal(chances, constant(0.0, "float64")), R.isfinite(chances))
    R.assert_op(R.all(fits), format="multinomial: a probability is negative, infinite or NaN")
    some = R.all(R.greater(R.sum(chances, [-1]), constant(0.0, "float64")))
    R.assert_op(some, format="multinomial: the probabilities of a row are all 0")
