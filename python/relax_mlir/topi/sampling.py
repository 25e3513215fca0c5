"""Random words (Philox), and samples of distributions."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.error import ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.tensors import Fresh, Tensor, TextOp, element
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

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        i, j, row, total, found = (fresh(name) for name in ("i", "j", "row", "total", "found"))
        number = f"T.cast({element(ins[1], [i, '0'])}, 'float64')"
        chance = f"T.cast({element(ins[0], [row, j])}, 'float64')"
        first = f"T.cast({element(ins[0], [row, '0'])}, 'float64')"
        return [
            f"{total} = T.alloc_buffer((1,), 'float64')",
            f"{found} = T.alloc_buffer((1,), 'int64')",
            f"for {i} in range({count}):",
            f"    {row} = T.index({element(ins[2], [i, '0'])})",
            f"    {total}[0] = {first}",
            f"    {found}[0] = T.Select({total}[0] > {number}, 0, ({classes}) - 1)",
            f"    for {j} in range(1, {classes}):",
            f"        if {total}[0] <= {number}:",
            f"            {total}[0] = {total}[0] + {chance}",
            f"            if {total}[0] > {number}:",
            f"                {found}[0] = {j}",
            f"    {element(outs[0], [i, '0'])} = T.cast({found}[0], '{dtypes.dtype(dtype).name}')",
        ]

    op = TextOp(
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

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        given, (words, after) = ins[0], outs
        block, last = fresh("block"), fresh("last")
        blocks = f"(({count}) + 3) // 4"
        lines = [f"for {block} in range(({count}) // 4):"]
        inside, found = _block(given, f"T.uint64({block})", fresh)
        lines += [f"    {line}" for line in inside]
        lines += [f"    {words}[{block} * 4 + {n}] = {word}" for n, word in enumerate(found)]
        rest, found = _block(given, f"T.uint64({last})", fresh)
        lines.append(f"for {last} in range(({count}) // 4, {blocks}):")
        lines += [f"    {line}" for line in rest]
        for number, word in enumerate(found[:3]):
            lines += [
                f"    if {last} * 4 + {number} < {count}:",
                f"        {words}[{last} * 4 + {number}] = {word}",
            ]
        counter, high = _counter(given, f"T.uint64({blocks})", fresh)
        return [
            *lines,
            *counter,
            f"{after}[0] = {given}[0]",
            f"{after}[1] = {high[0]}",
            f"{after}[2] = {high[1]}",
        ]

    return TextOp([state], [(count,), (3,)], ["uint32", "uint64"], body, "T_random_words", TAG).outputs


def _counter(given: str, offset: str, fresh: Fresh) -> tuple[list[str], tuple[str, str]]:
    """The counter plus an offset: statements, and the names of the low and the high word."""
    low, high = fresh("low"), fresh("high")
    lines = [
        f"{low} = {given}[1] + {offset}",
        f"{high} = {given}[2] + T.Select({low} < {given}[1], T.uint64(1), T.uint64(0))",
    ]
    return lines, (low, high)


def _block(given: str, number: str, fresh: Fresh) -> tuple[list[str], list[str]]:
    """Statements that compute a block of four words, and the words. 32-bit values are stored in 64-bit words."""
    lines, (low, high) = _counter(given, number, fresh)
    mask = f"T.uint64({MASK})"

    def named(name: str, text: str) -> str:
        found = fresh(name)
        lines.append(f"{found} = {text}")
        return found

    x = [named("x", text) for word in (low, high) for text in (f"{word} & {mask}", f"{word} >> T.uint64(32)")]
    key = [named("k", f"{given}[0] & {mask}"), named("k", f"{given}[0] >> T.uint64(32)")]
    for number_of_round in range(ROUNDS):
        if number_of_round:
            key = [
                named("k", f"({k} + T.uint64({step})) & {mask}") for k, step in zip(key, STEPS, strict=True)
            ]
        first, second = (
            named("p", f"{word} * T.uint64({factor})")
            for word, factor in zip((x[0], x[2]), FACTORS, strict=True)
        )
        x = [
            named("x", f"(({second} >> T.uint64(32)) ^ {x[1]}) ^ {key[0]}"),
            named("x", f"{second} & {mask}"),
            named("x", f"(({first} >> T.uint64(32)) ^ {x[3]}) ^ {key[1]}"),
            named("x", f"{first} & {mask}"),
        ]
    return lines, [f'T.cast({word}, "uint32")' for word in x]
