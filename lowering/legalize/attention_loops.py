"""Attention over packed sequences of different lengths, as loops over each sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.nn import head_group
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, cast
from relax_mlir.lowering.legalize.rules import narrowed, widened
from relax_mlir.te import Tensor
from relax_mlir.te.tensors import LoopOp

TAG = "attention"
"""The tag of the computed tensors."""


def attention_loops(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """For each query of each sequence: the scores of the visible keys, their exponentials, and the weighted sum."""
    query, key, value, starts, key_starts, *_ = inputs
    wide = [widened(tensor) for tensor in (query, key, value)]
    kind, causal = wide[0].dtype, attrs.causal_mask
    _, rows, heads, width = query.shape
    columns, depth = key.shape[1], value.shape[3]
    group = head_group(heads, key.shape[2]) or 1

    def scale_of(b: LoopBuilder) -> Scalar:
        if attrs.scale is not None:
            return b.const(float(attrs.scale), kind)
        if isinstance(width, int) and width > 0:
            return b.const(1 / math.sqrt(width), kind)
        return b.call("rsqrt", cast(b.size(width), dtypes.dtype(kind)))

    def body(
        b: LoopBuilder,
        q: Buffer,
        k: Buffer,
        v: Buffer,
        q_at: Buffer,
        k_at: Buffer,
        out: Buffer,
        scores: Buffer,
    ) -> None:
        total, best = b.alloc((1,), kind, "total"), b.alloc((1,), kind, "best")
        with b.grid((1, rows, heads, depth)) as at:
            out[at] = 0
        with b.loop(starts.shape[0] - 1) as n:
            q_ends, k_ends = (
                [b.max(b.min(table[place].index(), size), 0) for place in (n, n + 1)]
                for table, size in ((q_at, rows), (k_at, columns))
            )
            # Causal mask: positions of key and query relative to the first, or to the last, key and query.
            anchor = {"TopLeft": 0, "BottomRight": 1}.get(causal)

            def if_seen(i: Scalar, j: Scalar, value: Scalar, other: float) -> Scalar:
                if anchor is None:
                    return value
                return b.select(j - k_ends[anchor] <= i - q_ends[anchor], value, other)

            with b.loop(*q_ends) as i, b.loop(heads) as h:
                best[0] = -math.inf
                total[0] = 0
                with b.loop(*k_ends) as j:
                    scores[j] = 0
                    with b.loop(width) as d:
                        scores[j] = scores[j] + q[0, i, h, d] * k[0, j, h // group, d]
                    scores[j] = if_seen(i, j, scores[j] * scale_of(b), -math.inf)
                    best[0] = b.max(best[0], scores[j])
                with b.loop(*k_ends) as j:
                    scores[j] = if_seen(i, j, b.call("exp", scores[j] - best[0]), 0)
                    total[0] = total[0] + scores[j]
                with b.loop(*k_ends) as j, b.loop(depth) as d:
                    share = if_seen(i, j, scores[j] / total[0], 0)
                    out[0, i, h, d] = out[0, i, h, d] + share * v[0, j, h // group, d]

    found = LoopOp(
        [*wide, starts, key_starts],
        [(1, rows, heads, depth), (columns,)],
        [kind, kind],
        body,
        "T_attention_var_len",
        TAG,
    ).outputs[0]
    return narrowed(found, query.dtype)
