"""Python protocols that values do not support: the error, and the code that follows its advice."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import BuilderRows
from relax_mlir import op

Emit = Callable[[Any, Any], Any]

KNOWN = "is known at run time only: it is no Python number"
CASES: dict[str, tuple[Any, ...]] = {
    # The expression, its error, and the code that follows the advice.
    "round_digits": (
        lambda x, i: round(x, 2),
        r"op.round\(x \* c\) / c",
        lambda x, i: op.round(x * 100.0) / 100.0,
    ),
    "round_many_digits": (lambda x, i: round(x, 10**9), "op.round"),
    "bool": (lambda x, i: bool(x), "op.if_then_else"),
    "chain": (lambda x, i: 0.0 < x < 1.0, "op.logical_and"),
    "and": (lambda x, i: (x > 0.0) and (x < 1.0), "op.logical_and"),
    "or": (lambda x, i: (x > 0.0) or x, "op.logical_or"),
    "not": (lambda x, i: not x, "op.logical_not"),
    "if": (
        lambda x, i: x if i > 3 else -x,
        "op.if_then_else",
        lambda x, i: op.if_then_else(i > 3, lambda: x, lambda: -x),
    ),
    "max": (lambda x, i: max(x, x), "op.if_then_else"),
    "int": (lambda x, i: int(x), KNOWN),
    "float": (lambda x, i: float(x), "op.astype"),
    "complex": (lambda x, i: complex(x), KNOWN),
    "sqrt": (lambda x, i: math.sqrt(x), KNOWN),
    "range": (lambda x, i: range(i), "op.for_loop", lambda x, i: op.for_loop(0, i, lambda k, v: v + 1.0, x)),
    "list_index": (lambda x, i: [1, 2][i], "op.take"),
    "contains": (lambda x, i: 7.0 in x, r"op.max\(op.equal"),
    "iterate": (lambda x, i: list(x), "cannot iterate over"),
    "length": (lambda x, i: len(i), "its `shape`"),
    "format_number": (lambda x, i: f"{x:.2f}", "op.print"),
    "set": (lambda x, i: x.__setitem__(0, 1), "op.where and op.concat"),
    "delete": (lambda x, i: x.__delitem__(0), "op.strided_slice and op.concat"),
    "asarray": (lambda x, i: np.asarray(x), "use the functions of op"),
    "numpy_exp": (lambda x, i: np.exp(x), "use the ops of op"),
    "numpy_where": (lambda x, i: np.where(x > 0.0, x, x), "use the functions of op"),
    "from_dlpack": (lambda x, i: np.from_dlpack(x), "return it from the function", lambda x, i: x),
    "copy": (lambda x, i: copy.copy(x), "cannot be copied or pickled"),
    "deepcopy": (lambda x, i: copy.deepcopy([x]), "cannot be copied or pickled"),
    "pickle": (lambda x, i: pickle.dumps(x), "IRModule.save"),
    "power_modulo": (lambda x, i: pow(x, 2, 3), r"x \*\* y % z"),
    "indices": (lambda x, i: x[[0, 1]], "op.take"),
    "array_of_indices": (lambda x, i: x[np.array([0, 1])], "op.take"),
    "dimension": (lambda x, i: x.shape[9], "no dimension 9: the rank is 2"),
    "dimension_name": (lambda x, i: x.shape["n"], "a dimension has a number"),
    "transposed": (lambda x, i: x.T, r"op.permute_dims\(x\)"),
    "transposed_last": (lambda x, i: x.mT, r"op.permute_dims\(x, axes\)"),
    "view": (lambda x, i: x.view(-1), r"op.reshape\(x, shape\)"),
    "to": (lambda x, i: x.to("float16"), r"op.astype\(x, dtype\)"),
    "astype": (lambda x, i: x.astype("int8"), r"op.astype\(x, …\)"),
    "dot": (lambda x, i: x.dot(x), r"op.dot\(x, …\)"),
    "size": (lambda x, i: x.size, r"op\.size\(x"),
    "item": (lambda x, i: x.item(), "return the value from the function"),
    "numpy": (lambda x, i: x.numpy(), "return the value from the function", lambda x, i: x),
    "method": (lambda x, i: x.sum(), r"op.sum\(x, …\)"),
    "divide_integers": (
        lambda x, i: i / 2,
        r"op.prim_to_tensor.*op.astype\(tensor",
        lambda x, i: op.astype(op.prim_to_tensor(i), "float64") / 2,
    ),
    "shift_integers": (lambda x, i: i << 2, "op.prim_to_tensor"),
    "power_integers": (lambda x, i: i**2, "op.prim_to_tensor"),
    "abs_integer": (lambda x, i: abs(i), "op.prim_to_tensor"),
    "list_operand": (lambda x, i: x * [1.0, 2.0, 3.0], r"op.const\(numpy.array"),
}


def _case(wrong: Emit, message: str, *right: Any) -> Any:
    """A row of the table; `right` is code that follows the message, and perhaps a reference."""
    follow = tuple(lambda bb, p, f=f: f(p["x"], p["i"]) for f in right[:1])
    return lambda bb, p: wrong(p["x"], p["i"]), message, *follow, *right[1:]


def arguments(name: str) -> dict[str, Any]:
    return {"x": np.array([[1.25, -2.5, 3.75], [0.5, 7.0, -0.75]], np.float32), "i": 3}


TABLE = BuilderRows(
    {"x": rx.Tensor((2, 3), "float32"), "i": rx.Prim("int64")},
    {name: _case(*case) for name, case in CASES.items()},
    arguments,
)
