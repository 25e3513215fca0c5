"""Comparisons and logical ops on scalars: two operands of one dtype, bool result."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith
from relax_mlir.scalars.arithmetic import Relation, Scalar, ScalarRule, compare, is_true, widened_test

RELATIONS: dict[str, Relation] = {
    "equal": "eq",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
}


def _comparison(relation: Relation) -> ScalarRule:
    return widened_test(lambda dtype, a, b: compare(dtype, relation, a, b))


def _logical(combine: Callable[[Scalar, Scalar], Scalar]) -> ScalarRule:
    def rule(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
        return combine(is_true(dtype, a), is_true(dtype, b))

    return widened_test(rule)


COMPARISON_RULES: dict[str, ScalarRule] = {
    **{name: _comparison(relation) for name, relation in RELATIONS.items()},
    "logical_and": _logical(arith.andi),
    "logical_or": _logical(arith.ori),
    "logical_xor": _logical(arith.xori),
}
"""The scalar computation of each op, on two operands."""
