"""Reordering of weights: constant ones are reordered at compile time."""

from collections.abc import Callable
from typing import Any

import numpy as np
from relax_mlir.dialects import constants
from relax_mlir.dialects.structure import ConstantOp
from relax_mlir.dialects.value import Value, as_value
from relax_mlir.ir_queries import defining_op

Array = np.ndarray[Any, Any]


def rearranged(
    value: Value, of_elements: Callable[[Array], Array], by_ops: Callable[[Value], Value]
) -> Value:
    """Apply `by_ops` to `value`, or `of_elements` to the array of a constant, which may return a view of it."""
    made = defining_op(value.ssa)
    if made is None or made.name != ConstantOp.OPERATION_NAME:
        return by_ops(value)
    return as_value(np.ascontiguousarray(of_elements(constants.to_numpy(made.attributes["value"]))))
