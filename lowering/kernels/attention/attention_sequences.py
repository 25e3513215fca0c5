"""Attention over concatenated sequences of different lengths: the loop nest of `attention` for each sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.lowering.kernels.attention.attention import Meaning, attention_of
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target


@dataclass(frozen=True)
class Starts:
    """Start offsets of the sequences and the end of the last one: a vector of integers."""

    buffer: e.Value
    unsigned: bool

    def between(self, number: e.Value, positions: e.Index) -> tuple[e.Index, e.Index]:
        """The start and the length of a sequence, both clamped to the number of `positions`."""
        begin, end = (self._held(e.add(number, step), e.index(positions)) for step in (0, 1))
        return begin, e.sub(e.maximum(end, begin), begin)

    def _held(self, place: e.Index, most: e.Value) -> e.Value:
        given, kind = e.load(self.buffer, place), ir.IndexType.get()
        if self.unsigned:
            return arith.minui(arith.index_castui(kind, given), most)
        return arith.maxsi(arith.minsi(arith.index_cast(kind, given), most), e.index(0))


def emit_attention_of_sequences(
    target: Target,
    block: e.Block,
    buffers: Sequence[e.Value],
    starts: tuple[Starts, Starts],
    meaning: Meaning,
) -> None:
    """Emit attention within sequences at the insertion point, and the functions that it calls at the end of `block`.

    `buffers`: query [1, s, h, d], key [1, t, g, d], value [1, t, g, e] and result [1, s, h, e], as for
    `emit_attention`. `starts`: the starts of the queries and of the keys of each sequence. Queries that attend to no
    key give 0.
    """
    whole = attention_of(target, block, buffers, meaning)
    rows, keys = whole.query.shape[1], whole.key.shape[1]
    whole.out.clear(rows)
    with e.loop(0, e.sub(e.dim(starts[0].buffer, 0), 1)) as number:
        first, count = starts[0].between(number, rows)
        first_key, key_count = starts[1].between(number, keys)
        part = replace(
            whole,
            query=whole.query.part(first, count),
            key=whole.key.part(first_key, key_count),
            value=whole.value.part(first_key, key_count),
            out=whole.out.part(first, count),
        )
        with e.when(e.all_of(e.compare("ne", count, 0), e.compare("ne", key_count, 0))):
            part.emit()
        if meaning.causal == "BottomRight":
            part.out.clear(e.sub(e.maximum(count, key_count), key_count))
