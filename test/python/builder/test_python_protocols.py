"""Python's own functions and operators on values: each gives the right op, or an error whose advice works."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import Program, numpy
from relax_mlir import op
from relax_mlir.error import RelaxError

X = np.array([[1.25, -2.5, 3.75], [0.5, 7.0, -0.75]], np.float32)

Emit = Callable[[Any, Any], Any]

RIGHT: dict[str, tuple[Emit, Callable[[np.ndarray, int], Any]]] = {
    "divmod": (lambda x, i: divmod(x, 2.0), lambda x, i: np.divmod(x, np.float32(2))),
    "divmod_reversed": (lambda x, i: divmod(7.0, x), lambda x, i: np.divmod(np.float32(7), x)),
    "divmod_integers": (lambda x, i: divmod(i, 2), lambda x, i: divmod(i, 2)),
    "divmod_integers_reversed": (lambda x, i: divmod(17, i), lambda x, i: divmod(17, i)),
    "round": (lambda x, i: round(x), lambda x, i: np.round(x)),
    "floor": (lambda x, i: math.floor(x), lambda x, i: np.floor(x)),
    "ceil": (lambda x, i: math.ceil(x), lambda x, i: np.ceil(x)),
    "trunc": (lambda x, i: math.trunc(x), lambda x, i: np.trunc(x)),
    "abs": (lambda x, i: abs(x), lambda x, i: np.abs(x)),
    "positive": (lambda x, i: +x, lambda x, i: x),
    "negative": (lambda x, i: -x, lambda x, i: -x),
    "negative_integer": (lambda x, i: -i, lambda x, i: -i),
    "numpy_integer": (lambda x, i: np.int64(5) - i * np.int32(2), lambda x, i: 5 - 2 * i),
    "sum_of_list": (lambda x, i: sum([x, x]), lambda x, i: x + x),
    "format": (lambda x, i: x if f"{x} {x!r} {x!s:}" else None, lambda x, i: x),
    "keys": (lambda x, i: {x: x, i: i}[x], lambda x, i: x),
    "numpy_add": (lambda x, i: np.add(x, x), lambda x, i: x + x),
    "element": (lambda x, i: x[:, 0], lambda x, i: x[:, 0]),
    "shape": (lambda x, i: x * float(len(x.shape)) * x.shape[-1], lambda x, i: x * 2 * 3),
    "shape_slice": (lambda x, i: op.ones(x.shape[1:], "float32"), lambda x, i: np.ones(3, np.float32)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_results(built: rx.Executable, name: str) -> None:
    found, expected = _flat(numpy(built[name](X, 3))), _flat(RIGHT[name][1](X, 3))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


KNOWN = "is known at run time only: it is no Python number"
REFUSED: dict[str, tuple[Callable[[Any, Any], Any], str, Emit | None]] = {
    # What is written, what the error says, and what its advice makes of it.
    "round_digits": (
        lambda x, i: round(x, 2),
        r"op.round\(x \* c\) / c",
        lambda x, i: op.round(x * 100.0) / 100.0,
    ),
    "round_many_digits": (lambda x, i: round(x, 10**9), "op.round", None),
    "bool": (lambda x, i: bool(x), "op.if_then_else", None),
    "chain": (
        lambda x, i: 0.0 < x < 1.0,
        "op.logical_and",
        lambda x, i: op.logical_and(op.greater(x, 0.0), op.less(x, 1.0)),
    ),
    "and": (lambda x, i: (x > 0.0) and (x < 1.0), "op.logical_and", None),
    "or": (lambda x, i: (x > 0.0) or x, "op.logical_or", lambda x, i: op.logical_or(x > 0.0, x < -1.0)),
    "not": (lambda x, i: not x, "op.logical_not", lambda x, i: op.logical_not(x > 0.0)),
    "if": (
        lambda x, i: x if i > 3 else -x,
        "op.if_then_else",
        lambda x, i: op.if_then_else(i > 3, lambda: x, lambda: -x),
    ),
    "max": (lambda x, i: max(x, x), "op.if_then_else", None),
    "int": (lambda x, i: int(x), KNOWN, lambda x, i: op.astype(x, "int32")),
    "float": (lambda x, i: float(x), "op.astype", None),
    "complex": (lambda x, i: complex(x), KNOWN, None),
    "sqrt": (lambda x, i: math.sqrt(x), KNOWN, lambda x, i: op.sqrt(abs(x))),
    "range": (lambda x, i: range(i), "op.for_loop", lambda x, i: op.for_loop(0, i, lambda k, v: v + 1.0, x)),
    "list_index": (lambda x, i: [1, 2][i], "op.take", lambda x, i: op.take(x, op.prim_to_tensor(i - 2), 1)),
    "contains": (lambda x, i: 7.0 in x, r"op.max\(op.equal", lambda x, i: op.max(op.equal(x, 7.0))),
    "iterate": (lambda x, i: list(x), "cannot iterate over", None),
    "length": (lambda x, i: len(i), "its `shape`", None),
    "format_number": (lambda x, i: f"{x:.2f}", "op.print", lambda x, i: (op.print(x, format="{}"), x)[1]),
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
    "asarray": (lambda x, i: np.asarray(x), "use the functions of op", None),
    "numpy_exp": (lambda x, i: np.exp(x), "use the ops of op", lambda x, i: op.exp(x)),
    "numpy_where": (lambda x, i: np.where(x > 0.0, x, x), "use the functions of op", None),
    "from_dlpack": (lambda x, i: np.from_dlpack(x), "return it from the function", lambda x, i: x),
    "copy": (lambda x, i: copy.copy(x), "cannot be copied or pickled", None),
    "deepcopy": (lambda x, i: copy.deepcopy([x]), "cannot be copied or pickled", None),
    "pickle": (lambda x, i: pickle.dumps(x), "IRModule.save", None),
    "power_modulo": (lambda x, i: pow(x, 2, 3), r"x \*\* y % z", lambda x, i: x**2 % 3.0),
    "indices": (lambda x, i: x[[0, 1]], "op.take", lambda x, i: op.take(x, np.array([0, 1]), 0)),
    "array_of_indices": (lambda x, i: x[np.array([0, 1])], "op.take", None),
    "dimension": (lambda x, i: x.shape[9], "no dimension 9: the rank is 2", None),
    "dimension_name": (lambda x, i: x.shape["n"], "a dimension has a number", None),
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
    "size": (lambda x, i: x.size, r"op.shape_of\(x\)", lambda x, i: op.shape_to_tensor(op.shape_of(x))),
    "item": (lambda x, i: x.item(), "return the value from the function", lambda x, i: x),
    "numpy": (lambda x, i: x.numpy(), "return the value from the function", None),
    "method": (lambda x, i: x.sum(), r"op.sum\(x, …\)", lambda x, i: op.sum(x)),
    "divide_integers": (
        lambda x, i: i / 2,
        r"op.prim_to_tensor.*op.astype\(tensor",
        lambda x, i: op.astype(op.prim_to_tensor(i), "float64") / 2,
    ),
    "shift_integers": (lambda x, i: i << 2, "op.prim_to_tensor", lambda x, i: op.prim_to_tensor(i) << 2),
    "power_integers": (lambda x, i: i**2, "op.prim_to_tensor", lambda x, i: op.prim_to_tensor(i) ** 2),
    "abs_integer": (lambda x, i: abs(i), "op.prim_to_tensor", lambda x, i: abs(op.prim_to_tensor(i))),
    "list_operand": (lambda x, i: x * [1.0, 2.0, 3.0], r"op.const\(numpy.array", None),
}


def _error(emit: Emit) -> str:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor((2, 3), "float32"))
    i = rx.Var("i", rx.Prim("int64"))
    with bb.function("main", [x, i]):
        with pytest.raises(RelaxError) as raised:
            emit(x, i)
        bb.emit_func_output(x)
    bb.get().verify()
    return str(raised.value)


@pytest.mark.parametrize("name", REFUSED)
def test_errors_and_their_advice(built: rx.Executable, name: str) -> None:
    wrong, message, advised = REFUSED[name]
    error = _error(wrong)
    assert re.search(message, error), error
    if advised is not None:
        built[f"advised_{name}"](X, 3)


WRAPPING: dict[str, tuple[Emit, int]] = {
    "wraps_sum": (lambda x, i: i + 1, -(2**63)),
    "wraps_product": (lambda x, i: i * 2, -2),
    "wraps_difference": (lambda x, i: -i - 2, 2**63 - 1),
}


@pytest.mark.parametrize("name", WRAPPING)
def test_integers_wrap_around(built: rx.Executable, name: str) -> None:
    """At 64 bits, as documented."""
    assert built[name](X, 2**63 - 1) == WRAPPING[name][1]


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    program = Program()
    advised = {f"advised_{name}": case[2] for name, case in REFUSED.items() if case[2] is not None}
    for name, emit in {**{n: c[0] for n, c in (RIGHT | WRAPPING).items()}, **advised}.items():

        def body(bb: rx.BlockBuilder, x: Any, i: Any, emit: Any = emit) -> Any:
            found = emit(x, i)
            return op.make_tuple(*found) if isinstance(found, tuple) else found

        body.__name__ = name
        program.function(rx.Tensor((2, 3), "float32"), rx.Prim("int64"))(body)
    return program.compile()
