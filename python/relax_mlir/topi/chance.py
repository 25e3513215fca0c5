"""Samples of distributions, based on uniform random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.error import ShapeError
from relax_mlir.te.own_loops import Fresh, LoopOp, element
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import index_tensor_of, require, require_equal, require_float

CHANCE = "chance"
"""The tag of samples."""


def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor, dtype: str = "int64"
) -> Tensor:
    """For each number, the first class of a row at which the cumulative probability exceeds the number.

    If there is none, the last class. `prob` is ``(rows, classes)``; `uniform_sample`, `sample_indices` (rows) and the
    result are ``(samples, 1)``. Sums are float64. A missing row, or a row without classes, raises `BoundsError` at run
    time.
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

    op = LoopOp(
        [chances, sample, rows], [sample.shape], [dtypes.dtype(dtype).name], body, "T_multinomial", CHANCE
    )
    return op.outputs[0]
