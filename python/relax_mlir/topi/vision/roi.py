"""Pool regions of images to grids of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.te.own_loops import Fresh, LoopOp
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import (
    listed,
    require,
    require_float,
)
from relax_mlir.topi.layouts import in_layout

REGIONS = "roi"
"""The tag of pooled regions."""


def roi_align(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
) -> Tensor:
    """The mean or the maximum of bilinear samples of each cell of a region.

    Args:
        data: floats.
        rois: ``(regions, 5)`` floats: the entry of the batch, which must exist (an error at run time), and two
            corners, column before row.
        pooled_size: rows and columns of cells.
        spatial_scale: the factor of the corners.
        mode: "avg" or "max".
        sample_ratio: samples of a cell along each dimension; 0 or less: the number of elements of a cell, rounded up.
        aligned: positions are centres of elements, and regions may be smaller than an element.
        layout: "NCHW" or "NHWC".
    """
    what = "topi.vision.roi_align"
    if layout not in ("NCHW", "NHWC"):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected 'NCHW' or 'NHWC'")
    return in_layout(
        what,
        data,
        layout,
        "NCHW",
        lambda x: roi_align_nchw(x, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned),
    )


def roi_align_nhwc(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """`roi_align` for the layout NHWC."""
    return roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned, "NHWC")


def roi_align_nchw(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """`roi_align` for the layout NCHW."""
    what = "topi.vision.roi_align"
    tensor, regions, (rows, columns) = _checked(what, data, rois, pooled_size)
    if mode not in ("avg", "max"):
        raise ArgumentError(f"{what}: 'mode' is {mode!r}, expected 'avg' or 'max'")
    _, channels, height, width = tensor.shape
    kind, scale = "float64" if tensor.dtype == "float64" else "float32", float(spatial_scale)

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        image, region = ins
        r, c, ph, pw, iy, ix, b = (fresh(n) for n in ("r", "c", "ph", "pw", "iy", "ix", "b"))
        total = fresh("total")
        number = {"y": fresh("ny"), "x": fresh("nx")}
        begin, cell = {a: fresh(f"begin_{a}") for a in "yx"}, {a: fresh(f"cell_{a}") for a in "yx"}
        place, low, high = ({a: fresh(f"{n}_{a}") for a in "yx"} for n in ("place", "low", "high"))
        rest = {a: fresh(f"rest_{a}") for a in "yx"}
        half = f" - T.{kind}(0.5)" if aligned else ""
        lines = [
            f"{total} = T.alloc_buffer((1,), '{kind}')",
            f"for {r} in range({regions.shape[0]}):",
            f"    {b} = T.index(T.cast({region}[{r}, 0], 'int64'))",
        ]
        for axis, number_of, first, last in (("y", rows, 2, 4), ("x", columns, 1, 3)):
            corner = [
                f"T.cast({region}[{r}, {n}], '{kind}') * T.{kind}({scale!r}){half}" for n in (first, last)
            ]
            span = f"({corner[1]} - ({corner[0]}))"
            if not aligned:
                span = f"T.max({span}, T.{kind}(1))"
            count = (
                str(sample_ratio) if sample_ratio > 0 else f"T.index(T.cast(T.ceil({cell[axis]}), 'int64'))"
            )
            lines += [
                f"    {begin[axis]} = {corner[0]}",
                f"    {cell[axis]} = {span} / T.{kind}({number_of})",
                f"    {number[axis]} = T.max({count}, 0)",
            ]
        lines += [
            f"    for {c}, {ph}, {pw} in T.grid({channels}, {rows}, {columns}):",
            f"        {total}[0] = {f'T.{kind}(0)' if mode == 'avg' else f'-T.infinity({kind!r})'}",
            f"        for {iy} in range({number['y']}):",
            f"            for {ix} in range({number['x']}):",
        ]
        inner = 16 * " "
        for axis, at, sample in (("y", ph, iy), ("x", pw, ix)):
            share = f"(T.cast({sample}, '{kind}') + T.{kind}(0.5)) * {cell[axis]} / T.cast({number[axis]}, '{kind}')"
            lines += [
                f"{inner}{place[axis]} = {begin[axis]} + T.cast({at}, '{kind}') * {cell[axis]} + {share}",
            ]
        far = [
            f"{place[a]} >= T.{kind}(-1) and {place[a]} <= T.cast({dim}, '{kind}')"
            for a, dim in (("y", height), ("x", width))
        ]
        lines.append(f"{inner}if {far[0]} and {far[1]}:")
        inner += 4 * " "
        for axis, dim in (("y", height), ("x", width)):
            held = f"T.max(T.min({place[axis]}, T.cast({dim} - 1, '{kind}')), T.{kind}(0))"
            lines += [
                f"{inner}{rest[axis]} = {held}",
                f"{inner}{low[axis]} = T.max(T.min(T.index(T.cast(T.floor({rest[axis]}), 'int64')), {dim} - 1), 0)",
                f"{inner}{high[axis]} = T.max(T.min({low[axis]} + 1, {dim} - 1), 0)",
            ]

        def corner_of(y: str, x: str) -> str:
            return f"T.cast({image}[{b}, {c}, {y}, {x}], '{kind}')"

        one = f"T.{kind}(1)"
        weight = {a: f"({rest[a]} - T.cast({low[a]}, '{kind}'))" for a in "yx"}
        upper, lower = (
            f"({corner_of(y, low['x'])} * ({one} - {weight['x']}) + {corner_of(y, high['x'])} * {weight['x']})"
            for y in (low["y"], high["y"])
        )
        sample = f"({upper} * ({one} - {weight['y']}) + {lower} * {weight['y']})"
        count = f"T.cast({number['y']} * {number['x']}, '{kind}')"
        combined = f"{total}[0] + {sample} / {count}" if mode == "avg" else f"T.max({total}[0], {sample})"
        zero = f"T.{kind}(0)"
        outside = (
            [] if mode == "avg" else [f"{inner[4:]}else:", f"{inner}{total}[0] = T.max({total}[0], {zero})"]
        )
        return [
            *lines,
            f"{inner}{total}[0] = {combined}",
            *outside,
            f"        {outs[0]}[{r}, {c}, {ph}, {pw}] = T.cast({total}[0], '{tensor.dtype}')",
        ]

    return LoopOp(
        [tensor, regions],
        [(regions.shape[0], channels, rows, columns)],
        [tensor.dtype],
        body,
        "T_roi_align",
        REGIONS,
    ).outputs[0]


def roi_pool(
    data: Tensor, rois: Tensor, pooled_size: int | Sequence[int], spatial_scale: float, layout: str = "NCHW"
) -> Tensor:
    """The maximum of each cell of a region, whose corners are rounded to elements; 0 for an empty cell.

    It is ONNX's MaxRoiPool; for `rois` and `pooled_size` see `roi_align`.
    """
    if layout != "NCHW":
        raise ArgumentError(f"topi.vision.roi_pool: the layout is {layout!r}, expected 'NCHW'")
    return roi_pool_nchw(data, rois, pooled_size, spatial_scale)


def roi_pool_nchw(
    data: Tensor, rois: Tensor, pooled_size: int | Sequence[int], spatial_scale: float
) -> Tensor:
    """`roi_pool` for the layout NCHW."""
    tensor, regions, (rows, columns) = _checked("topi.vision.roi_pool", data, rois, pooled_size)
    _, channels, height, width = tensor.shape
    kind, scale = "float64" if tensor.dtype == "float64" else "float32", float(spatial_scale)

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        image, region = ins
        r, c, ph, pw, y, x, b = (fresh(n) for n in ("r", "c", "ph", "pw", "y", "x", "b"))
        best = fresh("best")
        first, cell, begin, end = (
            {a: fresh(f"{n}_{a}") for a in "yx"} for n in ("first", "cell", "begin", "end")
        )
        lines = [
            f"{best} = T.alloc_buffer((1,), '{tensor.dtype}')",
            f"for {r} in range({regions.shape[0]}):",
            f"    {b} = T.index(T.cast({region}[{r}, 0], 'int64'))",
        ]
        for axis, number, one, other in (("y", rows, 2, 4), ("x", columns, 1, 3)):
            corner = [
                f"T.floor(T.cast({region}[{r}, {n}], '{kind}') * T.{kind}({scale!r}) + T.{kind}(0.5))"
                for n in (one, other)
            ]
            lines += [
                f"    {first[axis]} = {corner[0]}",
                f"    {cell[axis]} = T.max({corner[1]} - {first[axis]} + T.{kind}(1), T.{kind}(1))"
                f" / T.{kind}({number})",
            ]
        lines.append(f"    for {c}, {ph}, {pw} in T.grid({channels}, {rows}, {columns}):")
        for axis, at, dim in (("y", ph, height), ("x", pw, width)):
            edges = [
                f"T.{function}(T.cast({at}{more}, '{kind}') * {cell[axis]}) + {first[axis]}"
                for function, more in (("floor", ""), ("ceil", " + 1"))
            ]
            lines += [
                f"        {name} = T.max(T.min(T.index(T.cast({edge}, 'int64')), {dim}), 0)"
                for name, edge in zip((begin[axis], end[axis]), edges, strict=True)
            ]
        return [
            *lines,
            f"        {best}[0] = -T.infinity({tensor.dtype!r})",
            f"        for {y} in range({begin['y']}, {end['y']}):",
            f"            for {x} in range({begin['x']}, {end['x']}):",
            f"                {best}[0] = T.max({best}[0], {image}[{b}, {c}, {y}, {x}])",
            f"        if {begin['y']} >= {end['y']} or {begin['x']} >= {end['x']}:",
            f"            {best}[0] = T.{tensor.dtype}(0)",
            f"        {outs[0]}[{r}, {c}, {ph}, {pw}] = {best}[0]",
        ]

    return LoopOp(
        [tensor, regions],
        [(regions.shape[0], channels, rows, columns)],
        [tensor.dtype],
        body,
        "T_roi_pool",
        REGIONS,
    ).outputs[0]


def _checked(
    what: str, data: Tensor, rois: Tensor, pooled_size: int | Sequence[int]
) -> tuple[Tensor, Tensor, tuple[int, int]]:
    tensor, regions = require(f"{what}: 'data'", data), require(f"{what}: 'rois'", rois)
    require_float(what, tensor)
    require_float(what, regions)
    sizes = (
        [pooled_size] * 2 if isinstance(pooled_size, int) else listed(f"{what}: 'pooled_size'", pooled_size)
    )
    if tensor.ndim != 4 or regions.ndim != 2 or regions.shape[1] != 5:
        raise ShapeError(f"{what}: {tensor} and {regions} are not images and (regions, 5)")
    if len(sizes) != 2 or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ArgumentError(
            f"{what}: 'pooled_size' is {pooled_size!r}, expected one or two integers from 1 on"
        )
    return tensor, regions, (sizes[0], sizes[1])
