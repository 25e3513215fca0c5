"""Gradients of pooling."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import (
    listed,
    require,
    require_equal,
    require_float,
)
from relax_mlir.topi.nn.windows import windows_of

Amount = int | Sequence[int]
GRADIENT = "pool_grad"
"""The tag of gradients of pooling."""


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Amount,
    stride: Amount,
    padding: Amount,
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
    dilation: Amount = 1,
    counts: Sequence[Dim] | None = None,
) -> Tensor:
    """The gradient of `pool2d` with respect to `data`, given the gradient of its result.

    The gradient of a maximum goes to the first maximum of the window, that of a mean equally to all of its elements.
    The arguments are those of `pool2d`; the layout is NCHW. `counts`: the numbers of windows, if the caller knows them.
    """
    what = "topi.nn.pool_grad"
    given, tensor = require(f"{what}: 'grads'", grads), require(f"{what}: 'data'", data)
    require_float(what, tensor)
    if given.dtype != tensor.dtype:
        raise DTypeError(f"{what}: 'grads' has dtype {given.dtype}, and 'data' {tensor.dtype}")
    if pool_type not in ("max", "avg") or layout != "NCHW":
        raise ArgumentError(f"{what}: {pool_type!r} of {layout!r}, expected 'max' or 'avg' of 'NCHW'")
    if tensor.ndim != 4:
        raise ShapeError(f"{what}: {tensor} is not of 4 dimensions")
    sizes = [kernel] * 2 if isinstance(kernel, int) else listed(f"{what}: 'kernel'", kernel)
    if len(sizes) != 2 or not all(isinstance(n, int) and n > 0 for n in sizes):
        raise ArgumentError(f"{what}: 'kernel' is {kernel!r}, expected one or two integers from 1 on")
    windows = windows_of(what, sizes, stride, padding, dilation)
    lengths = tensor.shape[2:]
    if counts is None:
        counts = [w.count(length, ceil_mode=ceil_mode) for w, length in zip(windows, lengths, strict=True)]
    require_equal(f"{what}: 'grads'", given.shape, [*tensor.shape[:2], *counts])

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        grad, source = ins
        n, c, oy, ox, v, u, y, x = (fresh(name) for name in ("n", "c", "oy", "ox", "v", "u", "y", "x"))
        whole = [fresh("i") for _ in range(4)]
        lines = [
            grid(whole, tensor.shape),
            f"    {element(outs[0], whole)} = T.{tensor.dtype}(0)",
            grid([n, c, oy, ox], given.shape),
        ]
        begin, end = [fresh("begin") for _ in "yx"], [fresh("end") for _ in "yx"]
        spans: list[str] = []
        firsts: list[str] = []
        for axis, (at, window, length) in enumerate(zip((oy, ox), windows, lengths, strict=True)):
            first = f"({at} * {window.stride} - {window.before})"
            apart = window.dilation

            def taps_up_to(place: str, first: str = first, apart: int = apart) -> str:
                """The number of elements of the window before an index."""
                room = f"{place} - {first}"
                return f"({room})" if apart == 1 else f"(({room} + {apart - 1}) // {apart})"

            size = window.size
            lines += [
                f"    {begin[axis]} = T.max({taps_up_to('0')}, 0)",
                f"    {end[axis]} = T.min({taps_up_to(str(length))}, {size})",
            ]
            padded = f"T.min({taps_up_to(f'{length} + {window.after}')}, {size})"
            spans.append(padded if count_include_pad else f"({end[axis]} - {begin[axis]})")
            firsts.append(first)
        loops = [
            f"    for {v} in range({begin[0]}, {end[0]}):",
            f"        for {u} in range({begin[1]}, {end[1]}):",
            f"            {y} = {firsts[0]} + {v} * {windows[0].dilation}",
            f"            {x} = {firsts[1]} + {u} * {windows[1].dilation}",
        ]
        own = f"{grad}[{n}, {c}, {oy}, {ox}]"
        target = f"{outs[0]}[{n}, {c}, {y}, {x}]"
        if pool_type == "avg":
            count = f"T.cast({spans[0]} * {spans[1]}, '{tensor.dtype}')"
            return [*lines, *loops, f"            {target} = {target} + {own} / {count}"]
        best, place = fresh("best"), fresh("place")
        item = f"{source}[{n}, {c}, {y}, {x}]"
        chosen = f"{outs[0]}[{n}, {c}, T.index({place}[0]), T.index({place}[1])]"
        return [
            f"{best} = T.alloc_buffer((1,), '{tensor.dtype}')",
            f"{place} = T.alloc_buffer((2,), 'int64')",
            *lines,
            f"    {place}[0] = -1",
            f"    {best}[0] = -T.infinity('{tensor.dtype}')",
            *loops,
            f"            if {place}[0] < 0 or {item} > {best}[0] or (T.isnan({item}) and not T.isnan({best}[0])):",
            f"                {best}[0] = {item}",
            f"                {place}[0] = T.cast({y}, 'int64')",
            f"                {place}[1] = T.cast({x}, 'int64')",
            f"    if {place}[0] >= 0:",
            f"        {chosen} = {chosen} + {own}",
        ]

    return LoopOp([given, tensor], [tensor.shape], [tensor.dtype], body, "T_pool_grad", GRADIENT).outputs[0]
