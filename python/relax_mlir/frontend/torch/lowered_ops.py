"""ATen ops that torch-mlir lowers for this importer, if it has no rule or its rule rejects the arguments."""

from __future__ import annotations

_DOUBLE = frozenset({"float32", "float64"})

LOWERED: dict[str, frozenset[str]] = {
    "aten._int_mm.default": frozenset({"int8"}),
    "aten.kthvalue.default": frozenset({"int32", "int64"}),
    "aten.scatter_reduce.two": _DOUBLE,
}
"""For each op name, the dtypes of the first tensor for which a test shows torch's results at all sizes.

Ops that torch-mlir lowers but computes differently from torch are not listed: `kthvalue` of floats (NaN),
`logcumsumexp` (overflow), `upsample_nearest2d` by a factor, `scatter_reduce` of integers (means round down) and of
bools.
"""
