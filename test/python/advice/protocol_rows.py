"""Python protocols that values do not support: the error, and the code that follows its advice."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import BuilderCase, BuilderRows
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
    "round_many_digits": (lambda x, i: round(x, 10**9), "op.round", lambda x, i: op.round(x)),
    "bool": (
        lambda x, i: bool(x),
        "op.if_then_else",
        lambda x, i: op.if_then_else(i > 3, lambda: x, lambda: -x),
    ),
    "chain": (
        lambda x, i: 0.0 < x < 1.0,
        "op.logical_and",
        lambda x, i: op.logical_and(op.greater(x, 0.0), op.less(x, 1.0)),
    ),
    "and": (
        lambda x, i: (x > 0.0) and (x < 1.0),
        "op.logical_and",
        lambda x, i: op.logical_and(x > 0.0, x < 1.0),
    ),
    "or": (lambda x, i: (x > 0.0) or x, "op.logical_or", lambda x, i: op.logical_or(x > 0.0, x < -1.0)),
    "not": (lambda x, i: not x, "op.logical_not", lambda x, i: op.logical_not(x > 0.0)),
    "if": (
        lambda x, i: x if i > 3 else -x,
        "op.if_then_else",
        lambda x, i: op.if_then_else(i > 3, lambda: x, lambda: -x),
    ),
    "max": (
        lambda x, i: max(x, x),
        "op.if_then_else",
        lambda x, i: op.if_then_else(i > 1, lambda: x, lambda: -x),
    ),
    "int": (lambda x, i: int(x), KNOWN, lambda x, i: op.astype(x, "int32")),
    "float": (lambda x, i: float(x), "op.astype", lambda x, i: op.astype(x, "float64")),
    "complex": (lambda x, i: complex(x), KNOWN, lambda x, i: op.astype(x, "float64")),
    "sqrt": (lambda x, i: math.sqrt(x), KNOWN, lambda x, i: op.sqrt(abs(x))),
    "range": (lambda x, i: range(i), "op.for_loop", lambda x, i: op.for_loop(0, i, lambda k, v: v + 1.0, x)),
    "list_index": (lambda x, i: [1, 2][i], "op.take", lambda x, i: op.take(x, op.prim_to_tensor(i - 2), 1)),
    "contains": (lambda x, i: 7.0 in x, r"op.max\(op.equal", lambda x, i: op.max(op.equal(x, 7.0))),
    "iterate": (lambda x, i: list(x), "cannot iterate over", lambda x, i: list(op.make_tuple(x, -x))[1]),
    "length": (lambda x, i: len(i), "its `shape`", lambda x, i: op.zeros((len(x.shape),), "int8")),
    "format_number": (
        lambda x, i: f"{x:.2f}",
        "op.print",
        lambda x, i: (op.print(x, format="{}"), x)[1],
        lambda x, **_: x,
    ),
    "set": (
        lambda x, i: x.__setitem__(0, 1),
        "op.where and op.concat",
        lambda x, i: op.where(x > 0.0, x, 0.0),
    ),
    "delete": (
        lambda x, i: x.__delitem__(0),
        "op.strided_slice and op.concat",
        lambda x, i: op.concat([op.strided_slice(x, [0], [1], [2])] * 2),
    ),
    "asarray": (lambda x, i: np.asarray(x), "use the functions of op", lambda x, i: op.exp(x)),
    "numpy_exp": (lambda x, i: np.exp(x), "use the ops of op", lambda x, i: op.exp(x)),
    "numpy_where": (
        lambda x, i: np.where(x > 0.0, x, x),
        "use the functions of op",
        lambda x, i: op.where(x > 0.0, x, x),
    ),
    "from_dlpack": (lambda x, i: np.from_dlpack(x), "return it from the function", lambda x, i: x),
    "copy": (lambda x, i: copy.copy(x), "cannot be copied or pickled", lambda x, i: x),
    "deepcopy": (lambda x, i: copy.deepcopy([x]), "cannot be copied or pickled", lambda x, i: x),
    "pickle": (lambda x, i: pickle.dumps(x), "IRModule.save", lambda x, i: x),
    "power_modulo": (lambda x, i: pow(x, 2, 3), r"x \*\* y % z", lambda x, i: x**2 % 3.0),
    "indices": (lambda x, i: x[[0, 1]], "op.take", lambda x, i: op.take(x, np.array([0, 1]), 0)),
    "array_of_indices": (
        lambda x, i: x[np.array([0, 1])],
        "op.take",
        lambda x, i: op.take(x, np.array([0, 1]), 0),
    ),
    "dimension": (
        lambda x, i: x.shape[9],
        "no dimension 9: the rank is 2",
        lambda x, i: op.zeros((x.shape[1],), "int8"),
    ),
    "dimension_name": (
        lambda x, i: x.shape["n"],
        "a dimension has a number",
        lambda x, i: op.zeros((x.shape[0],), "int8"),
    ),
    "transposed": (lambda x, i: x.T, r"op.permute_dims\(x\)", lambda x, i: op.permute_dims(x)),
    "transposed_last": (
        lambda x, i: x.mT,
        r"op.permute_dims\(x, axes\)",
        lambda x, i: op.permute_dims(x, (1, 0)),
    ),
    "view": (lambda x, i: x.view(-1), r"op.reshape\(x, shape\)", lambda x, i: op.reshape(x, (6,))),
    "to": (lambda x, i: x.to("float16"), r"op.astype\(x, dtype\)", lambda x, i: op.astype(x, "float16")),
    "astype": (lambda x, i: x.astype("int8"), r"op.astype\(x, …\)", lambda x, i: op.astype(x, "int8")),
    "dot": (lambda x, i: x.dot(x), r"op.dot\(x, …\)", lambda x, i: op.dot(x, op.permute_dims(x))),
    "size": (lambda x, i: x.size, r"op\.size\(x", lambda x, i: op.size(x)),
    "item": (lambda x, i: x.item(), "return the value from the function", lambda x, i: x),
    "numpy": (lambda x, i: x.numpy(), "return the value from the function", lambda x, i: x),
    "method": (lambda x, i: x.sum(), r"op.sum\(x, …\)", lambda x, i: op.sum(x)),
    "divide_integers": (
        lambda x, i: i / 2,
        r"op.prim_to_tensor.*op.astype\(tensor",
        lambda x, i: op.astype(op.prim_to_tensor(i), "float64") / 2,
    ),
    "shift_integers": (lambda x, i: i << 2, "op.prim_to_tensor", lambda x, i: op.prim_to_tensor(i) << 2),
    "power_integers": (lambda x, i: i**2, "op.prim_to_tensor", lambda x, i: op.prim_to_tensor(i) ** 2),
    "abs_integer": (lambda x, i: abs(i), "op.prim_to_tensor", lambda x, i: abs(op.prim_to_tensor(i))),
    "list_operand": (
        lambda x, i: x * [1.0, 2.0, 3.0],
        r"op.const\(numpy.array",
        lambda x, i: x * op.const(np.array([1.0, 2.0, 3.0], "f4")),
    ),
}


def _case(wrong: Emit, message: str, right: Emit, *result: Callable[..., Any]) -> BuilderCase:
    return lambda bb, p: wrong(p["x"], p["i"]), message, lambda bb, p: right(p["x"], p["i"]), *result


def arguments(name: str) -> dict[str, Any]:
    return {"x": np.array([[1.25, -2.5, 3.75], [0.5, 7.0, -0.75]], np.float32), "i": 3}


TABLE = BuilderRows(
    {"x": rx.Tensor((2, 3), "float32"), "i": rx.Prim("int64")},
    {name: _case(*case) for name, case in CASES.items()},
    arguments,
)
