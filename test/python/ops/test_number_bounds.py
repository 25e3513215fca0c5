"""Numbers that a dtype does not hold: each function that takes one names it; those at the bounds are accepted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import Array, Suite
from relax_mlir import BlockBuilder, Var, te, topi
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import require_held
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import DTypeError, ScriptError
from relax_mlir.script import parse

X = np.array([1, 2, -3, 100], np.int8)
INFO = Tensor((4,), "int8")
OPS: dict[str, tuple[Callable[..., Any], Callable[..., Array]]] = {
    "constant: 'value'": (lambda x, n: R.const(n, "int8"), lambda x, n: np.int8(n)),
    "full: 'fill_value'": (lambda x, n: R.full((2,), n, "int8"), lambda x, n: np.full(2, n, np.int8)),
    "full_like: 'fill_value'": (lambda x, n: R.full_like(x, n), lambda x, n: np.full_like(x, n)),
    "nn_pad: pad_value": (
        lambda x, n: R.nn.pad(x, [1, 0], pad_value=n),
        lambda x, n: np.pad(x, (1, 0), constant_values=n),
    ),
    "where: 'x2'": (
        lambda x, n: R.where(R.greater(x, 0), x, n),
        lambda x, n: np.where(x > 0, x, np.int8(n)),
    ),
    "add: 'x2'": (lambda x, n: R.add(x, n), lambda x, n: x + np.int8(n)),
    "less: 'x1'": (lambda x, n: R.less(n, x), lambda x, n: n < x),
    "one_hot: 'off_value'": (
        lambda x, n: R.one_hot(R.astype(x, "int32"), R.const(1, "int8"), n, 2),
        lambda x, n: np.where(x[:, None] == [0, 1], np.int8(1), np.int8(n)),
    ),
    "index_put: 'values'": (
        lambda x, n: R.index_put(x, [R.const(np.array([1]))], n),
        lambda x, n: np.concatenate([x[:1], [np.int8(n)], x[2:]]),
    ),
    "scatter_nd: 'updates'": (
        lambda x, n: R.scatter_nd(x, R.const(np.array([1])), n),
        lambda x, n: np.concatenate([x[:1], [np.int8(n)], x[2:]]),
    ),
}


def refused(rule: Callable[..., Any], message: str) -> None:
    builder, x = BlockBuilder(), Var("x", INFO)
    with pytest.raises((DTypeError, ScriptError)) as error, builder.function("main", [x]):
        builder.emit_func_output(rule(builder, x))
    assert message in str(error.value)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("number", [128, -129, 2**40, 300.0])
def test_ops_refuse_numbers(name: str, number: float) -> None:
    refused(
        lambda _, x: OPS[name][0](x, number),
        f"{name} is {number}, which does not fit dtype int8 (-128 to 127)",
    )


def test_ops_take_the_bounds() -> None:
    suite = Suite()
    for name, (rule, reference) in OPS.items():
        for number in (-128, 127):
            suite.add(
                f"{name} {number}",
                lambda x, rule=rule, number=number: rule(x, number),
                lambda x, reference=reference, number=number: reference(x, number),
                [INFO],
                inputs=[[X]],
            )
    ranges = {"up": (-128, 128, 85), "down": (127, -129, -85), "none": (300, 0, 1), "far": (0, 300, 200)}
    for name, bounds in ranges.items():
        dtype = "uint8" if name == "far" else "int8"
        numbers = np.arange(*bounds).astype(dtype)
        suite.add(name, lambda x, b=bounds, d=dtype: R.arange(*b, d), lambda x, n=numbers: n, [INFO])
    suite.run()


RANGES = {
    (0, 300, 100): "the last number is 200",
    (0.0, 300.0, 150.0): "the last number is 150.0",
    (-200, 0, 100): "the first number, 'start', is -200",
    (0, -300, -100): "the last number is -200",
}


@pytest.mark.parametrize("bounds", RANGES)
def test_ranges(bounds: tuple[float, float, float]) -> None:
    """Only bounds that symbols do not hide are known."""
    message = f"{RANGES[bounds]}, which does not fit dtype int8 (-128 to 127)"
    refused(lambda _, x: R.arange(*bounds, "int8"), f"arange: {message}")
    refused(lambda b, x: b.emit_te(topi.arange, *bounds, "int8"), message.replace(", 'start',", ""))


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(np.float32(-(2**31)), "int32"), (np.float16(-(2**15)), "int16"), (np.float64(-(2**63)), "int64")],
)
def test_floats_of_numpy(number: Any, dtype: str) -> None:
    """Their types do not hold the neighbours of the bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_held("it", number, dtypes.dtype(dtype))
        with pytest.raises(DTypeError):
            require_held("it", -number, dtypes.dtype(dtype))
        require_held("it", np.float16(-1), dtypes.dtype("int64"))


def test_clip() -> None:
    refused(lambda _, x: R.clip(x, 200, 300), "clip: min is 200, which does not fit dtype int8")
    refused(lambda _, x: R.clip(x, max=-129), "clip: max is -129, which does not fit dtype int8")


TOPI: dict[str, Callable[..., Any]] = {
    "topi.full: 'fill_value' is 300": lambda t: topi.full((2,), "int8", 300),
    "topi.one_hot: 'on_value' is 300": lambda t: topi.one_hot(t, 300, 0, 4, -1, "int8"),
    "topi.nn.pad: 'pad_value' is 300": lambda t: topi.nn.pad(t, [1], [1], 300),
    "topi.clip: 'a_max' is 300": lambda t: topi.clip(t, 0, 300),
    "topi.full: 'fill_value' is 301": lambda t: topi.full((2,), "int8", np.int64(301)),
    "topi.nn.pad: 'pad_value' is 301": lambda t: topi.nn.pad(t, [1], [1], np.int64(301)),
    "te.const: 'value' is 300": lambda t: te.compute(t.shape, lambda i: t[i] + te.const(300, "int8")),
    "300 does not fit int8 (-128 to 127)": lambda t: te.compute(t.shape, lambda i: t[i] + 300),
}


@pytest.mark.parametrize("message", TOPI)
def test_tensor_expressions(message: str) -> None:
    refused(lambda builder, x: builder.emit_te(TOPI[message], x), message)


@pytest.mark.parametrize("literal", ["T.int8(300)", 'T.cast(-129, "int8")', "A[0] + 300", "300", "T.uint8(-1)"])
def test_prim_funcs(literal: str) -> None:
    text = f"""
@T.prim_func
def f(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")):
    B[0] = {literal}
"""
    with pytest.raises(ScriptError, match=r"(300|-129|-1) does not fit u?int8 \((-128 to 127|0 to 255)\)"):
        parse(text)


@pytest.mark.parametrize("numbers", ["300", "[1, 300]", "[1.0, 300.0]", "[[0], [-129]]"])
def test_script_constants(numbers: str) -> None:
    text = f"""
@R.function
def f(x: R.Tensor((4,), "int8")):
    return R.const({numbers}, "int8")
"""
    with pytest.raises(ScriptError, match=r"(300|-129)"):
        parse(text)
