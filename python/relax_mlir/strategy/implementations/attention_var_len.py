"""Attention of sequences one after the other, as loops over what each of them has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.nn import head_group
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.strategy.implementations.losses import narrowed, widened
from relax_mlir.symbolic import Dim
from relax_mlir.te import Tensor
from relax_mlir.te.own_loops import Fresh, LoopOp, grid

TAG = "attention"
"""The tag of what it computes."""
TOGETHER = 4
"""So many rows are added at once: sums are read and written once for all."""


@by_expression
def attention_var_len(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """For each query of each sequence: scores of the keys that it sees, their exponentials, the weighted sum.

    The keys of a sequence and head are turned, so that the scores of all of them go side by side.
    """
    query, key, value, starts, key_starts, *_ = inputs
    wide = [widened(tensor) for tensor in (query, key, value)]
    kind, causal = wide[0].dtype, attrs.causal_mask
    _, rows, heads, width = query.shape
    columns, depth = key.shape[1], value.shape[3]
    group = head_group(heads, key.shape[2]) or 1
    if attrs.scale is not None:
        scale = f"T.{kind}({float(attrs.scale)!r})"
    elif isinstance(width, int) and width > 0:
        scale = f"T.{kind}({1 / math.sqrt(width)!r})"
    else:
        scale = f"T.rsqrt(T.cast({width}, '{kind}'))"

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        (q, k, v, q_at, k_at), (out, scores, turned) = ins, outs
        n, i, h, j, d = (fresh(name) for name in ("n", "i", "h", "j", "d"))
        whole = [fresh("i") for _ in range(4)]
        q_begin, q_end, k_begin, k_end, last = (
            fresh(x) for x in ("q_begin", "q_end", "k_begin", "k_end", "last")
        )
        total, best = fresh("total"), fresh("best")
        seen = {
            None: k_end,
            "TopLeft": f"{k_begin} + {i} - {q_begin} + 1",
            "BottomRight": f"{k_end} + {i} - {q_end} + 1",
        }[causal]
        shared = f"{h} // {group}" if group > 1 else h

        def several(
            index: str, begin: Dim | str, end: Dim | str, step: Callable[[list[str]], list[str]]
        ) -> list[str]:
            """`step` for `TOGETHER` places each, then for the rest one by one."""
            part, count = fresh("part"), f"(({end}) - ({begin}))"
            places = [f"{begin} + {part} * {TOGETHER} + {number}" for number in range(TOGETHER)]
            return [
                f"for {part} in range({count} // {TOGETHER}):",
                *_indented(1, step(places)),
                f"for {index} in range({begin} + {count} // {TOGETHER} * {TOGETHER}, {end}):",
                *_indented(1, step([index])),
            ]

        def added_scores(places: list[str]) -> list[str]:
            """Products of elements of the query and lines of the turned keys, added to the scores."""
            names = [fresh("factor") for _ in places]
            products = [f"{name} * {turned}[{place}, {j}]" for name, place in zip(names, places, strict=True)]
            return [
                *(f"{name} = {q}[0, {i}, {h}, {place}]" for name, place in zip(names, places, strict=True)),
                f"for {j} in T.vectorized({k_begin}, {last}):",
                f"    {scores}[{j}] = {scores}[{j}] + ({' + '.join(products)})",
            ]

        def added_values(places: list[str]) -> list[str]:
            """Weights times rows of values, added to the result."""
            names = [fresh("weight") for _ in places]
            target = f"{out}[0, {i}, {h}, {d}]"
            products = [
                f"{n} * {v}[0, {place}, {shared}, {d}]" for n, place in zip(names, places, strict=True)
            ]
            return [
                *(f"{name} = {scores}[{place}]" for name, place in zip(names, places, strict=True)),
                f"for {d} in range({depth}):",
                f"    {target} = {target} + ({' + '.join(products)})",
            ]

        def greatest(places: list[str]) -> list[str]:
            found = f"{scores}[{places[0]}]"
            for place in places[1:]:
                found = f"T.max({found}, {scores}[{place}])"
            return [f"{best}[0] = T.max({best}[0], {found})"]

        def added(places: list[str]) -> list[str]:
            return [f"{total}[0] = {total}[0] + ({' + '.join(f'{scores}[{place}]' for place in places)})"]

        return [
            *(f"{name} = T.alloc_buffer((1,), '{kind}')" for name in (total, best)),
            grid(whole, [1, rows, heads, depth]),
            f"    {out}[{', '.join(whole)}] = T.{kind}(0)",
            f"for {n} in range({starts.shape[0] - 1}):",
            f"    {q_begin} = T.max(T.min(T.index({q_at}[{n}]), {rows}), 0)",
            f"    {q_end} = T.max(T.min(T.index({q_at}[{n} + 1]), {rows}), 0)",
            f"    {k_begin} = T.max(T.min(T.index({k_at}[{n}]), {columns}), 0)",
            f"    {k_end} = T.max(T.min(T.index({k_at}[{n} + 1]), {columns}), 0)",
            f"    for {h} in range({heads}):",
            f"        for {d} in range({width}):",
            f"            for {j} in range({k_begin}, {k_end}):",
            f"                {turned}[{d}, {j}] = {k}[0, {j}, {shared}, {d}] * {scale}",
            f"        for {i} in range({q_begin}, {q_end}):",
            f"            {last} = T.max(T.min({seen}, {k_end}), {k_begin})",
            f"            for {j} in range({k_begin}, {last}):",
            f"                {scores}[{j}] = T.{kind}(0)",
            *_indented(3, several(d, "0", width, added_scores)),
            f"            {best}[0] = -T.infinity('{kind}')",
            *_indented(3, several(j, k_begin, last, greatest)),
            f"            for {j} in T.vectorized({k_begin}, {last}):",
            f"                {scores}[{j}] = T.exp({scores}[{j}] - {best}[0])",
            f"            {total}[0] = T.{kind}(0)",
            *_indented(3, several(j, k_begin, last, added)),
            f"            for {j} in range({k_begin}, {last}):",
            f"                {scores}[{j}] = {scores}[{j}] / {total}[0]",
            *_indented(3, several(j, k_begin, last, added_values)),
        ]

    found = LoopOp(
        [*wide, starts, key_starts],
        [(1, rows, heads, depth), (columns,), (width, columns)],
        [kind, kind, kind],
        body,
        "T_attention_var_len",
        TAG,
    ).outputs[0]
    return narrowed(found, query.dtype)


def _indented(depth: int, lines: Sequence[str]) -> list[str]:
    return ["    " * depth + line for line in lines]
