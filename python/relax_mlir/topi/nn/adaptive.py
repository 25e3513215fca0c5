"""Adaptive pooling: one window per element of the result; together they cover each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, dims_of, require, require_float
from relax_mlir.topi.elementwise import cast


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:  # noqa: ANN401 - sizes
    """The maximum ("max") or the mean ("avg") of each of ``(height, width)`` windows of every channel.

    Window ``i`` of ``n`` in a dimension of length ``l`` is from ``i * l // n`` to ``ceildiv((i + 1) * l, n)``,
    exclusive. An empty window has the mean NaN, and the minimum of the dtype as maximum.

    Args:
        data: the tensor; floats for means.
        output_size: sizes, integers or symbols; one number for all.
        pool_type: "max" or "avg"; means of 16-bit floats are computed in float32.
        layout: the letters ``NCHW`` in any order.
    """
    return _pooled("adaptive_pool", 2, data, output_size, pool_type, layout, "NCHW")


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:  # noqa: ANN401 - sizes
    """Adaptive pooling along one dimension; see `adaptive_pool`."""
    return _pooled("adaptive_pool1d", 1, data, output_size, pool_type, layout, "NCW")


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Tensor:  # noqa: ANN401 - sizes
    """Adaptive pooling along three dimensions; see `adaptive_pool`."""
    return _pooled("adaptive_pool3d", 3, data, output_size, pool_type, layout, "NCDHW")


def _pooled(
    name: str,
    rank: int,
    data: Tensor,
    output_size: Any,  # noqa: ANN401 - sizes
    pool_type: str,
    layout: str,
    letters: str,
) -> Tensor:
    what = f"topi.nn.{name}"
    tensor = require(f"{what}: 'data'", data)
    if not isinstance(layout, str) or sorted(layout) != sorted(letters):
        raise ArgumentError(f"{what}: the layout is {layout!r}, expected the letters of {letters}")
    if pool_type not in ("max", "avg"):
        raise ArgumentError(f"{what}: 'pool_type' is {pool_type!r}, expected 'max' or 'avg'")
    counts = dims_of(f"{what}: 'output_size'", output_size)
    counts = counts * rank if len(counts) == 1 else counts
    if tensor.ndim != rank + 2 or len(counts) != rank:
        raise ShapeError(
            f"{what}: {len(counts)} sizes for {tensor}, expected {rank} for {rank + 2} dimensions"
        )
    if pool_type == "avg":
        require_float(what, tensor)
    axes = [layout.index(letter) for letter in letters[2:]]
    is_wide = pool_type == "avg" and tensor.dtype in ("float16", "bfloat16")
    found = cast(tensor, "float32") if is_wide else tensor
    for axis, count in zip(axes, counts, strict=True):
        found = _along(found, axis, count, pool_type)
    return cast(found, tensor.dtype) if is_wide else found


def _along(tensor: Tensor, axis: int, count: Dim, pool_type: str) -> Tensor:
    """Pool one dimension; several dimensions are pooled one after the other."""
    length = tensor.shape[axis]
    shape = [*tensor.shape[:axis], count, *tensor.shape[axis + 1 :]]
    if length == count:
        return computed(shape, lambda *i: tensor(*i), "T_adaptive_pool", f"adaptive_pool_{pool_type}")
    is_mean = pool_type == "avg"
    is_float = tensor.dtype.startswith(("float", "bfloat"))
    if is_mean:
        initial = f"T.{tensor.dtype}(0)"
    else:
        initial = f"-T.infinity('{tensor.dtype}')" if is_float else f"T.min_value('{tensor.dtype}')"

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        """Combine rows with rows, so that the innermost loop is contiguous."""
        before = [fresh("i") for _ in tensor.shape[:axis]]
        after = [fresh("i") for _ in tensor.shape[axis + 1 :]]
        window, begin, end, place = (fresh(name) for name in ("w", "begin", "end", "p"))
        target = element(outs[0], [*before, window, *after])
        item = element(ins[0], [*before, place, *after])
        combined = f"{target} + {item}" if is_mean else f"T.max({target}, {item})"
        rest = tensor.shape[axis + 1 :]
        lines = [
            grid([*before, window], [*tensor.shape[:axis], count]),
            f"    {begin} = {window} * ({length}) // ({count})",
            f"    {end} = T.min((({window} + 1) * ({length}) + ({count}) - 1) // ({count}), {length})",
            f"    {grid(after, rest)}",
            f"        {target} = {initial}",
            f"    for {place} in range({begin}, {end}):",
            f"        {grid(after, rest)}",
            f"            {target} = {combined}",
        ]
        if is_mean:
            lines += [
                f"    {grid(after, rest)}",
                f'        {target} = {target} / T.cast({end} - {begin}, "{tensor.dtype}")',
            ]
        return lines

    name = f"adaptive_pool_{pool_type}"
    return LoopOp([tensor], [shape], [tensor.dtype], body, f"T_{name}", name).outputs[0]
