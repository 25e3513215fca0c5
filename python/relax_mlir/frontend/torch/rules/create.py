"""Tensors created from numbers and sizes, and random ones."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.common import top_k
from relax_mlir.frontend.torch.registry import OpCall, Operand, constant, integer_info, rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.op import random
from relax_mlir.symbolic import Dim, Expr


def _filled(call: OpCall, value: Operand) -> Value:
    number = call.tensor(call.fitting(value, call.dtype) if isinstance(value, Value) else value)
    return R.full(call.shape, number, call.dtype) if call.rank else R.reshape(number, ())


@rule("full.default", "full_like.default", "fill.Scalar", "fill.Tensor")
def full(call: OpCall, shape: Argument, value: Operand, *rest: object) -> Value:
    return _filled(call, value)


@rule("new_full.default")
def new_full(call: OpCall, x: Value, shape: Argument, value: Operand, *rest: object) -> Value:
    return _filled(call, value)


@rule(
    *("zeros.default", "zeros_like.default", "new_zeros.default", "zero.default"),
    *("empty.memory_format", "empty_like.default", "empty_permuted.default", "empty_strided.default"),
    *("new_empty.default", "new_empty_strided.default"),
)
def zeros(call: OpCall, *rest: object) -> Value:
    """Return zeros, for ``empty``, too, whose memory torch leaves uninitialised."""
    return _filled(call, 0)


@rule("ones.default", "ones_like.default", "new_ones.default")
def ones(call: OpCall, *rest: object) -> Value:
    return _filled(call, 1)


@rule("scalar_tensor.default", "prims::scalar_tensor.default")
def scalar_tensor(call: OpCall, value: Operand) -> Value:
    return call.tensor(value)


@rule("arange.default", "arange.start", "arange.start_step", "prims::iota.default")
def arange(call: OpCall, *args: Argument, start: Argument = 0, step: Argument = 1) -> Value:
    if call.name == "iota":
        first, size = start, args[0]
        end = first + size * step
    else:
        first, end, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) > 2 else 1)
    if any(isinstance(item, Value) for item in (first, end, step)):
        return _scaled_range(call, first, step)
    if not call.is_float and not all(type(item) is int for item in (first, end, step)):
        return _scaled_range(call, _whole(first), _whole(step))
    if any(isinstance(item, float) for item in (first, end, step)):
        if any(isinstance(item, Expr) for item in (first, end, step)):
            return _scaled_range(call, first, step)
        return R.arange(float(first), float(end), float(step), call.dtype)
    return _wrapping_range(first, end, step, call.dtype)


def _wrapping_range(first: Dim, end: Dim, step: Dim, dtype: str) -> Value:
    """Return a range of integers; values out of the dtype's range wrap around, as in torch."""
    info = integer_info(dtype)
    known = [item for item in (first, end) if isinstance(item, int)]
    if info is None or all(info.min <= item <= info.max for item in known):
        return R.arange(first, end, step, dtype)
    return R.astype(R.arange(first, end, step, "int64"), dtype)


def _whole(number: Operand) -> Operand:
    """Truncate a number for a range of integers, as torch does."""
    return int(number) if isinstance(number, float | bool) else number


def _scaled_range(call: OpCall, first: Operand, step: Operand) -> Value:
    """Return ``first + step * i`` with the length that torch gives, computed in float64 or int64 as in torch."""
    (size,) = call.shape
    dtype = "float64" if call.is_float else "int64"
    places = R.arange(0, size, 1, dtype)
    found = R.add(call.tensor(first, dtype), R.multiply(places, call.tensor(step, dtype)))
    return found if dtype == call.dtype else R.astype(found, call.dtype)


@rule("linspace.default")
def linspace(call: OpCall, start: Operand, end: Operand, steps: int) -> Value:
    if not call.is_float:
        raise call.unsupported("linspace of integers")
    (size,) = call.shape
    if isinstance(size, int) and size < 2:
        return R.full([size], call.tensor(start), call.dtype)
    dtype = call.dtype
    places = R.arange(0, size, 1, "int64")
    low, high = call.tensor(start), call.tensor(end)
    last = call.tensor(size - 1)
    step = R.divide(R.subtract(high, low), last)
    forward = R.add(low, R.multiply(R.astype(places, dtype), step))
    rest = R.subtract(call.tensor(size - 1, "int64"), places)
    backward = R.subtract(high, R.multiply(R.astype(rest, dtype), step))
    half = R.less(places, R.floor_divide(call.tensor(size, "int64"), R.const(2, "int64")))
    found = R.where(half, forward, backward)
    if isinstance(size, int):
        return found
    return R.where(R.equal(last, constant(0, dtype)), low, found)


@rule("eye.default", "eye.m")
def eye(call: OpCall, *rest: object) -> Value:
    rows, columns = call.shape
    return R.eye(rows, columns, 0, call.dtype)


@rule("tril.default")
def tril(call: OpCall, x: Value, diagonal: int = 0) -> Value:
    return _triangle(call, x, diagonal, upper=False)


@rule("triu.default")
def triu(call: OpCall, x: Value, diagonal: int = 0) -> Value:
    return _triangle(call, x, diagonal, upper=True)


def _triangle(call: OpCall, x: Value, diagonal: Argument, *, upper: bool) -> Value:
    if isinstance(diagonal, int):
        return (R.triu if upper else R.tril)(x, diagonal)
    rows, columns = call.shape[-2:]
    row = R.reshape(R.arange(0, rows, 1, "int64"), [rows, 1])
    place = R.subtract(R.arange(0, columns, 1, "int64"), call.tensor(diagonal, "int64"))
    kept = R.greater_equal(place, row) if upper else R.less_equal(place, row)
    return R.where(kept, x, constant(0, call.dtype))


# Random numbers of this project's generator: torch's distributions, but different numbers.


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


@rule("randint.default", "randint.low", "randint_like.default", "randint_like.low_dtype")
def randint(call: OpCall, *args: Argument) -> Value:
    bounds = args[1:] if call.name == "randint_like" else args
    low, high = bounds[:2] if call.overload.startswith("low") else (0, bounds[0])
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
    is_pair = call.name == "native_dropout"
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
