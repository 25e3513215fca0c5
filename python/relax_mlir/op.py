"""All op builders: ``from relax_mlir import op as R``, then ``R.add(x, y)``, ``R.nn.relu(x)``.

Each function emits its op at the current insertion point of a `BlockBuilder` and returns its value.
"""

from __future__ import annotations

from relax_mlir.dialects.binary import add
from relax_mlir.dialects.calls import call_dps_packed, call_packed, call_tir
from relax_mlir.dialects.control import if_then_else
from relax_mlir.dialects.structure import (
    constant,
    make_tuple,
    match_shape,
    prim_value,
    shape_expr,
    shape_of,
    tuple_get_item,
)

const = constant
match_cast = match_shape

__all__ = [
    "add",
    "call_dps_packed",
    "call_packed",
    "call_tir",
    "const",
    "constant",
    "if_then_else",
    "make_tuple",
    "match_cast",
    "match_shape",
    "prim_value",
    "shape_expr",
    "shape_of",
    "tuple_get_item",
]
