"""Ops of ATen that torch-mlir lowers for this importer, where it has no rule or its rule refuses the arguments."""

from __future__ import annotations

_DOUBLE = frozenset({"float32", "float64"})
_FLOATS = _DOUBLE | {"float16", "bfloat16"}

LOWERED: dict[str, frozenset[str]] = {
    "aten._int_mm.default": frozenset({"int8"}),
    "aten.kthvalue.default": frozenset({"int32", "int64"}),
    "aten.max_pool2d_with_indices.default": _FLOATS,
    "aten.max_pool3d_with_indices.default": _DOUBLE,
    "aten.scatter_reduce.two": _DOUBLE,
}
"""dtypes of the first tensor, by the name of the op: with these the results are torch's at all sizes, as a test holds.

Not listed is what torch-mlir lowers and computes differently from torch: `kthvalue` of floats (NaN), `logcumsumexp`
(it overflows), `upsample_nearest2d` by a factor, `scatter_reduce` of integers (means round down) and of bools."""
