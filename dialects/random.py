"""Random numbers from an explicit state: random words and the next state.

A generator is a tensor of three 64-bit words, its *state*: a key (the seed) and a 128-bit counter, low word first.
Draws are pure: each returns numbers and the next state. Two draws of one program differ because their states differ, so
no pass can merge them.

Random words come from Philox 4x32 with 10 rounds (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011):
block ``i`` of a draw is the cipher of the counter plus ``i`` under the key, and gives four 32-bit words.
"""

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, dims_in
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.elementwise import (
    AstypeOp,
    CosOp,
    LogOp,
    ModOp,
    SqrtOp,
)
from relax_mlir.dialects.manipulate import split
from relax_mlir.dialects.number_attributes import dimension, integer, real
from relax_mlir.dialects.shapes import reshape
from relax_mlir.dialects.structure import constant
from relax_mlir.dialects.types import DimLike, Tensor, Tuple, dims_attr
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

STATE = Tensor((3,), "uint64")
"""The type of a state."""
Drawn = tuple[Value, Value]
"""Numbers, and the next state."""


class RandomWordsOp(RelaxOp, name="random_words", traits=[ext.Pure]):
    """`count` random words, ``uint32``, from a state, ``(3,)`` of ``uint64``, and the next state.

    The state is a key and a counter. The draw consumes ``ceildiv(count, 4)`` blocks of Philox 4x32-10 from the counter
    on, and the next state starts at the block after them. Unused words of the last block are discarded.

    Example: the state ``[0, 0, 0]`` gives ``0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8``, and ``[0, 1, 0]``.
    """

    state: ext.Operand[Any]
    count: ir.StringAttr | ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("count",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        state = args.tensor(0)
        args.require_dtype(0, lambda d: d == dtypes.dtype("uint64"), "uint64")
        if state.ndim not in (None, 1) or (state.shape and state.shape[0] not in (None, 3)):
            raise ShapeError(f"{args.op}: operand 'state' is {state}, expected a state, {STATE}")
        count = next(iter(dims_in(args.attrs["count"])), None)
        if count is None or symbolic.prove_less_equal(count, -1):
            raise ShapeError(f"{args.op}: count is {args.attrs['count']}, expected a size")
        return Tuple([Tensor((count,), "uint32"), STATE])


@exported("random")
def words(state: ValueLike, count: DimLike) -> Value:
    """A pair of random words and the next state (see `RandomWordsOp`)."""
    require_insertion_point("random.words")
    size = dimension(count, "random.words: 'count'")
    return create_one(RandomWordsOp, [as_value(state)], {"count": dims_attr([size])[0]})


@exported("random")
def bits(state: ValueLike, shape: Sequence[DimLike]) -> Drawn:
    """Random words, ``uint32``, of a shape (see `RandomWordsOp`), and the next state."""
    sizes = _sizes("bits", shape)
    count: Dim = 1
    for size in sizes:
        count = count * size
    pair = words(state, count)
    return reshape(pair[0], sizes), pair[1]


@exported("random")
def uniform(
    state: ValueLike,
    shape: Sequence[DimLike],
    low: float = 0.0,
    high: float = 1.0,
    dtype: str | DType = "float32",
) -> Drawn:
    """Uniform floats in ``[low, high)``, each from one word (two for float64), and the next state.

    The highest bits of the word, as many as the dtype has significand bits, give a multiple of a power of two in
    ``[0, 1)``. Scaling it may round up to `high`.
    """
    kind = _float("uniform", dtype)
    shape = _sizes("uniform", shape)
    low, high = real(low, "random.uniform: 'low'"), real(high, "random.uniform: 'high'")
    found, after = _fractions(state, shape, kind)
    if (low, high) != (0.0, 1.0):
        found = found * constant(high - low, kind.name) + constant(low, kind.name)
    return found, after


@exported("random")
def normal(
    state: ValueLike,
    shape: Sequence[DimLike],
    mean: float = 0.0,
    scale: float = 1.0,
    dtype: str | DType = "float32",
) -> Drawn:
    """Normally distributed floats, by Box-Muller from two uniform floats each, and the next state.

    ``sqrt(-2 log(1 - u)) cos(2 pi v)``; 16-bit floats are computed in float32.
    """
    kind = _float("normal", dtype)
    shape = _sizes("normal", shape)
    mean, scale = real(mean, "random.normal: 'mean'"), real(scale, "random.normal: 'scale'")
    wide = dtypes.dtype("float64" if kind.name == "float64" else "float32")
    pairs, after = _fractions(state, [*shape, 2], wide)
    u, v = _columns(pairs, shape, 2)
    logarithm = build(LogOp, constant(1.0, wide.name) + -u)
    radius = build(SqrtOp, constant(-2.0, wide.name) * logarithm)
    found = radius * build(CosOp, constant(2 * math.pi, wide.name) * v)
    if (mean, scale) != (0.0, 1.0):
        found = found * constant(scale, wide.name) + constant(mean, wide.name)
    return (found if kind == wide else build(AstypeOp, found, kind)), after


@exported("random")
def randint(state: ValueLike, shape: Sequence[DimLike], low: int, high: int, dtype: str | DType = "int64") -> Drawn:
    """Integers in ``[low, high)``, each the remainder of 64 bits, and the next state.

    The probabilities of any two integers differ by at most ``(high - low) / 2**64``, relative to their size.
    """
    kind = dtypes.dtype(dtype)
    if not kind.is_integer:
        raise DTypeError(f"random.randint: dtype is {kind}, expected integers")
    low, high = integer(low, "random.randint: 'low'"), integer(high, "random.randint: 'high'")
    if not 0 < high - low < 2**63:
        raise ArgumentError(f"random.randint: there are no integers from {low} up to {high}, which is left out")
    shape = _sizes("randint", shape)
    drawn, after = bits(state, [*shape, 2])
    first, second = (build(AstypeOp, part, "uint64") for part in _columns(drawn, shape, 2))
    wide = (first << constant(32, "uint64")) | second
    rest = build(AstypeOp, build(ModOp, wide, constant(high - low, "uint64")), "int64")
    found = rest + constant(low, "int64") if low else rest
    return (found if kind.name == "int64" else build(AstypeOp, found, kind)), after


@exported("random")
def bernoulli(state: ValueLike, probabilities: ValueLike) -> Drawn:
    """Bools that are true with the probabilities of a tensor of floats, and the next state."""
    require_insertion_point("random.bernoulli")
    given = as_value(probabilities)
    info: Tensor = given.tensor_info
    if info.known_shape is None or info.dtype is None or not info.dtype.is_float:
        raise ShapeError(f"random.bernoulli: 'probabilities' is {info}, expected floats of known sizes")
    found, after = uniform(state, info.known_shape, dtype=info.dtype)
    return found < given, after


def _sizes(what: str, shape: Sequence[DimLike]) -> list[Dim]:
    require_insertion_point(f"random.{what}")
    expect(f"random.{what}: 'shape'", shape, list | tuple, "a list or tuple of dimensions")
    return [dimension(dim, f"random.{what}: 'shape'") for dim in shape]


def _float(what: str, dtype: str | DType) -> DType:
    kind = dtypes.dtype(dtype)
    if not kind.is_float:
        raise DTypeError(f"random.{what}: dtype is {kind}, expected floats")
    return kind


DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24}
"""The significand bits of float dtypes: the number of bits taken from a word."""


def _fractions(state: ValueLike, shape: Sequence[DimLike], kind: DType) -> Drawn:
    """Floats in [0, 1) with as many random bits as the significand has."""
    if kind.name == "float64":
        drawn, after = bits(state, [*shape, 2])
        first, second = _columns(drawn, shape, 2)
        high = build(AstypeOp, first >> constant(5, "uint32"), kind)
        low = build(AstypeOp, second >> constant(6, "uint32"), kind)
        return (high * constant(2.0**26, kind.name) + low) * constant(2.0**-53, kind.name), after
    digits = DIGITS[kind.name]
    drawn, after = bits(state, shape)
    whole = build(AstypeOp, drawn >> constant(32 - digits, "uint32"), "float32")
    return build(AstypeOp, whole, kind) * constant(2.0**-digits, kind.name), after


def _columns(pairs: Value, shape: Sequence[DimLike], count: int) -> list[Value]:
    """The `count` slices along the last dimension, without that dimension."""
    parts = split(pairs, count, len(shape))
    return [reshape(parts[number], list(shape)) for number in range(count)]
