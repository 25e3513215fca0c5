"""Random words (Philox), and samples of distributions."""

from __future__ import annotations

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ShapeError
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, cast
from relax_mlir.symbolic import Dim
from relax_mlir.te.tensors import LoopOp, Tensor
from relax_mlir.topi.common import index_tensor_of, require, require_equal, require_float

CHANCE = "chance"
"""The tag of samples."""


def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor, dtype: str = "int64"
) -> Tensor:
    """For each number, the first class of a row at which the cumulative probability exceeds the number.

    If there is none, the last class. `prob` is ``(rows, classes)``; `uniform_sample`, `sample_indices` (rows) and the
    result are ``(samples, 1)``. Sums are float64. A missing row, or a row without classes, raises `BoundsError` at run
    time, arguments of other shapes `ShapeError`.
    """
    what = "topi.multinomial_from_uniform"
    chances, sample = require(f"{what}: 'prob'", prob), require(f"{what}: 'uniform_sample'", uniform_sample)
    rows = index_tensor_of(f"{what}: 'sample_indices'", sample_indices)
    require_float(what, chances)
    require_float(what, sample)
    require_equal(f"{what}: 'sample_indices'", rows.shape, sample.shape)
    if chances.ndim != 2 or sample.ndim != 2 or sample.shape[1] != 1:
        raise ShapeError(f"{what}: {chances} and {sample} are not (rows, classes) and (samples, 1)")
    (count, _), classes = sample.shape, chances.shape[1]

    def body(b: LoopBuilder, chance: Buffer, number: Buffer, sources: Buffer, out: Buffer) -> None:
        total, found = b.alloc((1,), "float64", "total"), b.alloc((1,), "int64", "found")
        with b.loop(count) as i:
            wanted = number[i, 0].astype("float64")
            row = sources[i, 0].index()
            total[0] = chance[row, 0].astype("float64")
            found[0] = b.select(total[0] > wanted, 0, b.size(classes) - 1)
            with b.loop(1, classes) as j, b.when(total[0] <= wanted):
                total[0] = total[0] + chance[row, j].astype("float64")
                with b.when(total[0] > wanted):
                    found[0] = j
            out[i, 0] = found[0].astype(dtypes.dtype(dtype).name)

    op = LoopOp(
        [chances, sample, rows], [sample.shape], [dtypes.dtype(dtype).name], body, "T_multinomial", CHANCE
    )
    return op.outputs[0]


ROUNDS = 10
FACTORS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)
"""The increments of the words of the key per round."""
MASK = 0xFFFFFFFF
TAG = "random"


def random_words(state: Tensor, count: Dim) -> list[Tensor]:
    """`count` words (``uint32``) of a state (key and counter, three ``uint64``), and the next state."""

    def body(b: LoopBuilder, given: Buffer, words: Buffer, after: Buffer) -> None:
        whole = b.size(symbolic.floordiv(count, 4))
        blocks = b.size(symbolic.ceildiv(count, 4))
        with b.loop(whole) as block:
            for number, word in enumerate(_block(b, given, block.astype("uint64"))):
                words[block * 4 + number] = word
        with b.loop(whole, blocks) as last:
            for number, word in enumerate(_block(b, given, last.astype("uint64"))[:3]):
                with b.when(last * 4 + number < b.size(count)):
                    words[last * 4 + number] = word
        low, high = _counter(b, given, cast(blocks, dtypes.dtype("uint64")))
        after[0], after[1], after[2] = given[0], low, high

    return LoopOp([state], [(count,), (3,)], ["uint32", "uint64"], body, "T_random_words", TAG).outputs


def _counter(b: LoopBuilder, given: Buffer, offset: Scalar) -> tuple[Scalar, Scalar]:
    """The counter plus an offset: the low and the high 64 bits."""
    before = given[1]
    low = before + offset
    return low, given[2] + b.select(low < before, b.const(1, "uint64"), 0)


def _block(b: LoopBuilder, given: Buffer, number: Scalar) -> list[Scalar]:
    """A block of four words. 32-bit values are stored in 64-bit words."""
    x = [half for word in _counter(b, given, number) for half in (word & MASK, word >> 32)]
    word = given[0]
    key = [word & MASK, word >> 32]
    for number_of_round in range(ROUNDS):
        if number_of_round:
            key = [(k + step) & MASK for k, step in zip(key, STEPS, strict=True)]
        first, second = (word * factor for word, factor in zip((x[0], x[2]), FACTORS, strict=True))
        x = [(second >> 32) ^ x[1] ^ key[0], second & MASK, (first >> 32) ^ x[3] ^ key[1], first & MASK]
    return [word.astype("uint32") for word in x]
