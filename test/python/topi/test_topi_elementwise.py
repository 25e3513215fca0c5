"""Elementwise functions, and functions of two tensors with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
import sweep
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.topi import tag
from topi_cases import check, random

N, M = te.var("n"), te.var("m")
SHAPES = ((3, 5), (1, 1), (0, 4), (2, 0))
EDGES = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0]] * 3)

FLOATS: dict[str, Any] = {
    **{
        name: getattr(np, name)
        for name in ("ceil", "cos", "cosh", "exp", "floor", "isfinite", "isinf", "isnan")
    },
    **{
        name: getattr(np, name)
        for name in ("log", "log10", "log1p", "log2", "sign", "sin", "sinh", "sqrt", "tan")
    },
    **{name: getattr(np, name) for name in ("tanh", "trunc", "abs", "negative", "logical_not")},
    **{f"{a}{b}": getattr(np, f"arc{b}") for a, b in (("a", "cos"), ("a", "sin"), ("a", "tan"))},
    **{f"a{b}": getattr(np, f"arc{b}") for b in ("cosh", "sinh", "tanh")},
    "erf": scipy.special.erf,
    "sigmoid": scipy.special.expit,
    "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "identity": lambda x: x,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_floats(dtype: str) -> None:
    x = te.placeholder((N, M), dtype, "x")
    arrays = [[random(shape, dtype)] for shape in SHAPES]
    cases = {name: (getattr(topi, name), reference) for name, reference in FLOATS.items()}
    cases["clip"] = lambda t: topi.clip(t, -1.0, 0.5), lambda a: np.clip(a, -1.0, 0.5)
    check([x], cases, [*arrays, [EDGES.astype(dtype)]], rtol=1e-5, turn=(dtype, ("float32", "float64")))
    assert topi.exp(x).op.tag == tag.ELEMWISE


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "bool", "float16"])
def test_functions_of_other_dtypes(dtype: str) -> None:
    x = te.placeholder((N, M), dtype, "x")
    cases: dict[str, Any] = {
        "logical_not": (topi.logical_not, np.logical_not),
        "cast": (lambda t: topi.cast(t, "float32"), lambda a: a.astype("f4")),
        "cast to bool": (lambda t: topi.cast(t, "bool"), lambda a: a.astype(bool)),
        "isnan": (topi.isnan, lambda a: np.isnan(a.astype("f8"))),
    }
    if dtype != "bool":
        cases["sign"] = topi.sign, np.sign
        cases["abs"] = topi.abs, np.abs
        cases["clip"] = lambda t: topi.clip(t, 1, 3), lambda a: np.clip(a, 1, 3)
    if dtype != "float16":
        cases["bitwise_not"] = topi.bitwise_not, np.bitwise_not
    check([x], cases, [[random(shape, dtype)] for shape in SHAPES])


def _log_add_exp(a: Any, b: Any) -> Any:
    return np.logaddexp(a, b)


def test_broadcasting_functions_of_floats() -> None:
    x, y = te.placeholder((N, M), name="x"), te.placeholder((N, 1), name="y")
    z = te.placeholder((M,), name="z")
    names = {
        **{
            n: getattr(np, n)
            for n in ("add", "subtract", "multiply", "divide", "floor_divide", "maximum", "minimum")
        },
        **{
            n: getattr(np, n)
            for n in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
        },
        **{n: getattr(np, n) for n in ("logical_and", "logical_or", "logical_xor")},
        "mod": np.fmod,
        "floor_mod": np.mod,
        "atan2": np.arctan2,
        "log_add_exp": _log_add_exp,
    }
    cases: dict[str, Any] = {}
    for name, reference in names.items():
        function = getattr(topi, name)
        cases[f"{name}(x, y)"] = lambda a, b, c, f=function: f(a, b), lambda a, b, c, f=reference: f(a, b)
        cases[f"{name}(z, x)"] = lambda a, b, c, f=function: f(c, a), lambda a, b, c, f=reference: f(c, a)
        cases[f"{name}(y, z)"] = lambda a, b, c, f=function: f(b, c), lambda a, b, c, f=reference: f(b, c)
        cases[f"{name}(x, 2)"] = (
            lambda a, b, c, f=function: f(a, 2.0),
            lambda a, b, c, f=reference: f(a, np.float32(2)),
        )
    cases = {name: cases[name] for name in sweep.every(list(cases), 3)}  # of 4 for each function
    cases["power"] = lambda a, b, c: topi.power(topi.abs(a), b), lambda a, b, c: np.power(np.abs(a), b)
    arrays = [
        [random(shape), random((shape[0], 1), seed=1), random((shape[1],), seed=2)]
        for shape in (*SHAPES, (1, 7))
    ]
    edges = [
        EDGES.astype("f4"),
        np.array([[1], [np.inf], [np.nan]], "f4"),
        EDGES[0].astype("f4")[::-1].copy(),
    ]
    check([x, y, z], cases, [*arrays, edges])
    assert (topi.add(x, x).op.tag, topi.add(x, y).op.tag, topi.add(x, 1.0).op.tag) == (
        tag.ELEMWISE,
        tag.BROADCAST,
        tag.ELEMWISE,
    )


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_broadcasting_functions_of_integers(dtype: str) -> None:
    x, y = te.placeholder((N, M), dtype, "x"), te.placeholder((M,), dtype, "y")
    names = {
        **{n: getattr(np, n) for n in ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and")},
        **{n: getattr(np, n) for n in ("bitwise_or", "bitwise_xor", "left_shift", "right_shift")},
    }
    cases: dict[str, Any] = {name: (getattr(topi, name), reference) for name, reference in names.items()}
    divisions = {"floor_divide": np.floor_divide, "floor_mod": np.mod, "mod": np.fmod, "trunc_mod": np.fmod}
    for name, reference in divisions.items():
        cases[name] = (
            lambda a, b, f=getattr(topi, name): f(a, topi.maximum(b, 1)),  # noqa: B008 - the function of this round
            lambda a, b, f=reference: f(a, np.maximum(b, np.array(1, b.dtype))),
        )
    for name in ("divide", "trunc_divide"):
        cases[name] = (
            lambda a, b, f=getattr(topi, name): f(a, topi.maximum(b, 1)),  # noqa: B008 - as above
            lambda a, b: np.trunc(a / np.maximum(b, np.array(1, b.dtype))),
        )
    arrays = [[random(shape, dtype), np.abs(random((shape[1],), dtype, 3)).astype(dtype)] for shape in SHAPES]
    check([x, y], cases, arrays)


def test_where_and_broadcast_to() -> None:
    c, x, y = (
        te.placeholder((N, 1), "bool", "c"),
        te.placeholder((M,), name="x"),
        te.placeholder((N, M), name="y"),
    )
    s = te.placeholder((), "int32", "s")
    cases: dict[str, Any] = {
        "where": (lambda c, x, y, s: topi.where(c, x, y), lambda c, x, y, s: np.where(c, x, y)),
        "where of a number": (
            lambda c, x, y, s: topi.where(x, y, 0.0),
            lambda c, x, y, s: np.where(x, y, np.float32(0)),
        ),
        "where of a scalar": (lambda c, x, y, s: topi.where(s, x, y), lambda c, x, y, s: np.where(s, x, y)),
        "broadcast_to": (
            lambda c, x, y, s: topi.broadcast_to(x, (3, N, M)),
            lambda c, x, y, s: np.broadcast_to(x, (3, *y.shape)),
        ),
        "broadcast_to of 1": (
            lambda c, x, y, s: topi.broadcast_to(c, (N, M)),
            lambda c, x, y, s: np.broadcast_to(c, y.shape),
        ),
        "broadcast_to of a scalar": (
            lambda c, x, y, s: topi.broadcast_to(s, (2, 2)),
            lambda c, x, y, s: np.broadcast_to(s, (2, 2)),
        ),
    }
    arrays = [
        [random((n, 1), "bool"), random((m,)), random((n, m), seed=1), np.array(n % 2, "i4")]
        for n, m in SHAPES
    ]
    check([c, x, y, s], cases, arrays)


def test_mistakes() -> None:
    x, y, i = (
        te.placeholder((N, 3), name="x"),
        te.placeholder((N, 4), name="y"),
        te.placeholder((N, 3), "int32", "i"),
    )
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.add(x, y), ShapeError, r"topi\.add: shapes \(n, 3\) and \(n, 4\)"),
        (lambda: topi.add(x, i), DTypeError, "operands have dtypes float32 and int32"),
        (lambda: topi.exp(i), DTypeError, r"te\.exp: the operand has dtype int32"),
        (lambda: topi.exp(3), ArgumentError, r"topi\.exp: 'x'"),
        (lambda: topi.broadcast_to(x, (N, 4)), ShapeError, r"does not broadcast to \(n, 4\)"),
        (lambda: topi.broadcast_to(x, (3,)), ShapeError, r"does not broadcast to \(3\)"),
        (lambda: topi.where(x, x, i), DTypeError, "'x' and 'y' have dtypes float32 and int32; cast one"),
        (lambda: topi.where(x, 1.0, 2.0), ArgumentError, r"of no dtype; give te\.const\(x, dtype\)"),
        (lambda: topi.bitwise_and(x, x), DTypeError, "'&': operands have dtype float32, expected integers"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
