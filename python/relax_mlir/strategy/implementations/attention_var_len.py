"""Attention over packed sequences of different lengths, as loops over each sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.dialects.nn import head_group
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementation import PLAIN, KernelRequest, OpImplementation
from relax_mlir.strategy.implementations.losses import narrowed, widened
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.target import Target
from relax_mlir.te import Tensor
from relax_mlir.te.tensors import Fresh, LoopOp, grid

TAG = "attention"
"""The tag of the computed tensors."""


def attention_var_len(
    attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target
) -> OpStrategy:
    """A loop nest, annotated with the attention kernel that may replace it."""
    names = {"starts": inputs[3], "key_starts": inputs[4]}
    told: dict[str, str | float] = {
        name: "unsigned" if at.dtype.startswith("u") else "signed" for name, at in names.items()
    }
    told |= {name: attrs[name] for name in ("scale", "causal_mask") if attrs[name] is not None}
    found = OpStrategy()
    found.add(OpImplementation(PLAIN, _loops, kernel=KernelRequest("attention_var_len", told)))
    return found


def _loops(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """For each query of each sequence: the scores of the visible keys, their exponentials, and the weighted sum."""
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
        (q, k, v, q_at, k_at), (out, scores) = ins, outs
        n, i, h, j, d = (fresh(name) for name in ("n", "i", "h", "j", "d"))
        whole = [fresh("i") for _ in range(4)]
        q_begin, q_end, k_begin, k_end = (fresh(x) for x in ("q_begin", "q_end", "k_begin", "k_end"))
        total, best = fresh("total"), fresh("best")
        # Causal mask: positions of key and query relative to the first, or to the last, key and query of the sequence.
        seen = {
            "TopLeft": f"{j} - {k_begin} <= {i} - {q_begin}",
            "BottomRight": f"{j} - {k_end} <= {i} - {q_end}",
        }.get(causal)

        def if_seen(value: str, other: str) -> str:
            return value if seen is None else f"T.Select({seen}, {value}, {other})"

        shared = f"{h} // {group}" if group > 1 else h
        element, score, none = f"{out}[0, {i}, {h}, {d}]", f"{scores}[{j}]", f"-T.infinity('{kind}')"
        weight = if_seen(f"T.exp({score} - {best}[0])", f"T.{kind}(0)")
        part = if_seen(f"{score} / {total}[0]", f"T.{kind}(0)")
        return [
            *(f"{name} = T.alloc_buffer((1,), '{kind}')" for name in (total, best)),
            grid(whole, [1, rows, heads, depth]),
            f"    {out}[{', '.join(whole)}] = T.{kind}(0)",
            f"for {n} in range({starts.shape[0] - 1}):",
            f"    {q_begin} = T.max(T.min(T.index({q_at}[{n}]), {rows}), 0)",
            f"    {q_end} = T.max(T.min(T.index({q_at}[{n} + 1]), {rows}), 0)",
            f"    {k_begin} = T.max(T.min(T.index({k_at}[{n}]), {columns}), 0)",
            f"    {k_end} = T.max(T.min(T.index({k_at}[{n} + 1]), {columns}), 0)",
            f"    for {i} in range({q_begin}, {q_end}):",
            f"        for {h} in range({heads}):",
            f"            {best}[0] = {none}",
            f"            {total}[0] = T.{kind}(0)",
            f"            for {j} in range({k_begin}, {k_end}):",
            f"                {score} = T.{kind}(0)",
            f"                for {d} in range({width}):",
            f"                    {score} = {score} + {q}[0, {i}, {h}, {d}] * {k}[0, {j}, {shared}, {d}]",
            f"                {score} = {if_seen(f'{score} * {scale}', none)}",
            f"                {best}[0] = T.max({best}[0], {score})",
            f"            for {j} in range({k_begin}, {k_end}):",
            f"                {score} = {weight}",
            f"                {total}[0] = {total}[0] + {score}",
            f"            for {j} in range({k_begin}, {k_end}):",
            f"                for {d} in range({depth}):",
            f"                    {element} = {element} + {part} * {v}[0, {j}, {shared}, {d}]",
        ]

    found = LoopOp(
        [*wide, starts, key_starts],
        [(1, rows, heads, depth), (columns,)],
        [kind, kind],
        body,
        "T_attention_var_len",
        TAG,
    ).outputs[0]
    return narrowed(found, query.dtype)
