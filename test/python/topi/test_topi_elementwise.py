"""Elementwise functions with broadcasting, reductions, and every family of operators on 16-bit floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
from relax_mlir import topi
from relax_mlir.topi import tag
from topi_cases import check, placeholders, random

SHAPES = ((3, 5), (1, 1), (0, 4), (2, 0))
EDGES = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0]] * 3)
FLOATS = (
    *(
        "ceil",
        "cos",
        "cosh",
        "exp",
        "floor",
        "isfinite",
        "isinf",
        "isnan",
        "log",
        "log10",
        "log1p",
        "log2",
        "sign",
    ),
    *(
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "abs",
        "negative",
        "logical_not",
        "acos",
        "asin",
        "atan",
    ),
    *("acosh", "asinh", "atanh", "erf", "sigmoid", "round", "rsqrt", "identity"),
)


def one(name: str) -> Any:
    return lambda t, x: getattr(t, name)(x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_floats(dtype: str) -> None:
    cases = {name: one(name) for name in FLOATS}
    cases["clip"] = lambda t, x: t.clip(x, -1.0, 0.5)
    types = ("float32", "float64")
    check("x: n m", cases, SHAPES, dtype=dtype, inputs=[[EDGES.astype(dtype)]], tolerance=1e-5, types=types)
    (x,) = placeholders("x: n m")
    assert topi.exp(x).op.tag == tag.ELEMWISE


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "bool", "float16"])
def test_functions_of_other_dtypes(dtype: str) -> None:
    cases: dict[str, Any] = {
        "logical_not": one("logical_not"),
        "cast": lambda t, x: t.cast(x, "float32"),
        "cast to bool": lambda t, x: t.cast(x, "bool"),
        "isnan": one("isnan"),
    }
    if dtype != "bool":
        cases |= {"sign": one("sign"), "abs": one("abs"), "clip": lambda t, x: t.clip(x, 1, 3)}
    if dtype != "float16":
        cases["bitwise_not"] = one("bitwise_not")
    check("x: n m", cases, SHAPES, dtype=dtype)


COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
BINARY = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "maximum", "minimum", *COMPARISONS),
    *("logical_and", "logical_or", "logical_xor", "mod", "floor_mod", "atan2", "log_add_exp"),
)


def test_broadcasting_functions_of_floats() -> None:
    cases: dict[str, Any] = {}
    for name in BINARY:
        cases[f"{name}(x, y)"] = lambda t, x, y, n=name: getattr(t, n)(x, y)
        cases[f"{name}(z, x)"] = lambda t, z, x, n=name: getattr(t, n)(z, x)
        cases[f"{name}(y, z)"] = lambda t, y, z, n=name: getattr(t, n)(y, z)
        cases[f"{name}(x, 2)"] = lambda t, x, n=name: getattr(t, n)(x, 2.0)
    cases = {name: cases[name] for name in sweep.every(list(cases), 3)}  # of 4 for each function
    cases["power"] = lambda t, x, y: t.power(t.abs(x), y)
    edge = EDGES.astype("f4")
    edges = [edge, np.array([[1], [np.inf], [np.nan]], "f4"), edge[0][::-1].copy()]
    check("x: n m, y: n 1, z: m", cases, (*SHAPES, (1, 7)), inputs=[edges])
    x, y = placeholders("x: n m, y: n 1")
    tags = [topi.add(x, other).op.tag for other in (x, y, 1.0)]
    assert tags == [tag.ELEMWISE, tag.BROADCAST, tag.ELEMWISE]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_broadcasting_functions_of_integers(dtype: str) -> None:
    names = ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
    cases = {name: lambda t, x, y, n=name: getattr(t, n)(x, y) for name in (*names, "left_shift", "right_shift")}
    for name in ("floor_divide", "floor_mod", "mod", "trunc_mod", "divide", "trunc_divide"):
        cases[name] = lambda t, x, y, n=name: getattr(t, n)(x, t.maximum(y, 1))
    inputs = [[random(shape, dtype), np.abs(random((shape[1],), dtype, 3)).astype(dtype)] for shape in SHAPES]
    check("x: n m, y: m", cases, dtype=dtype, inputs=inputs)


def test_where_and_broadcast_to() -> None:
    cases: dict[str, Any] = {
        "where": lambda t, c, x, y: t.where(c, x, y),
        "where of a number": lambda t, x, y: t.where(x, y, 0.0),
        "where of a scalar": lambda t, s, x, y: t.where(s, x, y),
        "broadcast_to": lambda t, x, y: t.broadcast_to(x, (3, *y.shape)),
        "broadcast_to of 1": lambda t, c, y: t.broadcast_to(c, y.shape),
        "broadcast_to of a scalar": lambda t, s: t.broadcast_to(s, (2, 2)),
    }
    check("c: n 1 bool, x: m, y: n m, s: int32", cases, SHAPES)


CUBES = ((3, 5), (1, 1), (0, 4), (2, 0), (4, 33))
AXES: tuple[Any, ...] = (None, 0, -1, (0, 2), (1,), [])


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_reductions(dtype: str) -> None:
    """NumPy raises for the maximum and minimum of no elements, which the next test covers."""
    names = [
        "max",
        "min",
        "all",
        "any",
        *["sum", "prod"] * (dtype != "bool"),
        *["mean"] * (dtype == "float32"),
    ]
    cases = {
        f"{name} {axis} {keep}": lambda t, x, n=name, axis=axis, keep=keep: getattr(t, n)(x, axis, keep)
        for name in names
        for axis in AXES
        for keep in ((False, True) if axis in (None, 0) else (axis == (0, 2),))
    }
    step = 3 if dtype == "float32" else 5  # coprime to the number of axis spellings, so that all occur
    some = {name: cases[name] for name in sweep.every(list(cases), step)}
    check("x: n 2 m", some, CUBES, dtype=dtype, tolerance=1e-4)
    (x,) = placeholders("x: n 2 m")
    assert (topi.max(x, 0).op.tag, topi.argmax(x, 0).op.tag) == (tag.COMM_REDUCE, tag.COMM_REDUCE_IDX)


def test_reductions_of_nothing() -> None:
    cases: dict[str, Any] = {
        "max": (lambda x: topi.max(x, 1), lambda x: np.full(len(x), -np.inf, "f4")),
        "min": (lambda x: topi.min(x, 1), lambda x: np.full(len(x), np.inf, "f4")),
        "max of int8": (lambda i: topi.max(i, 1), lambda i: np.full(len(i), -128, "i1")),
        "min of int8": (lambda i: topi.min(i, 1), lambda i: np.full(len(i), 127, "i1")),
        "argmax": (lambda x: topi.argmax(x, 1), lambda x: np.full(len(x), -1, "i4")),
        "mean": (lambda x: topi.mean(x, 1), lambda x: np.full(len(x), np.nan, "f4")),
    }
    check("x: n m, i: n m int8", cases, [(3, 0)])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_places(dtype: str) -> None:
    """With NaN, infinities and equal elements."""
    cases: dict[str, Any] = {}
    for name in ("argmax", "argmin"):
        mine, theirs = getattr(topi, name), getattr(np, name)
        for axis in (0, 1, -1, None):
            for keep in (False, True):
                cases[f"{name} {axis} {keep}"] = lambda t, x, n=name, a=axis, k=keep: getattr(t, n)(x, a, k)
        for axis in (0, 2):
            cases[f"{name} {axis} last"] = (
                lambda x, f=mine, axis=axis: f(x, axis, select_last_index=True),
                lambda x, f=theirs, axis=axis: x.shape[axis] - 1 - f(np.flip(x, axis), axis),
            )
    inputs = []
    if dtype == "float32":
        special = random((3, 2, 6))
        special[0, 0, 2], special[1, 1, [3, 5]], special[2, :, 4] = np.nan, np.nan, np.inf
        inputs = [[special], [np.full((2, 2, 3), -np.inf, "f4")], [np.full((2, 2, 3), np.inf, "f4")]]
    check("x: n 2 m", cases, CUBES, dtype=dtype, inputs=inputs, types=("float32", "int32"))


def test_rank_0() -> None:
    cases = {name: one(name) for name in ("sum", "max", "argmax", "mean", "all")}
    check("x:", cases, inputs=[[np.array(3.5, "f4")]])


SHORT = ("float16", "bfloat16")
LOOSE = {"float16": 4e-3, "bfloat16": 3e-2}


@pytest.mark.parametrize("dtype", sweep.quick(SHORT, "bfloat16"))
def test_elements_of_16_bits(dtype: str) -> None:
    unary = (
        *(
            "abs",
            "atan",
            "ceil",
            "cos",
            "erf",
            "exp",
            "floor",
            "negative",
            "round",
            "sigmoid",
            "sign",
            "sin",
            "tanh",
        ),
        *("trunc", "isnan", "isfinite", "asinh", "sinh", "cosh"),
    )
    binary = (
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "less",
        "greater_equal",
        "atan2",
        "log_add_exp",
    )
    cases: dict[str, Any] = {name: one(name) for name in unary}
    cases |= {name: lambda t, x, y, n=name: getattr(t, n)(x, y) for name in binary}
    cases |= {
        "log": lambda t, x: t.log(t.abs(x) + 1),
        "sqrt": lambda t, x: t.sqrt(t.abs(x)),
        "clip": lambda t, x: t.clip(x, -0.5, 1),
        "where": lambda t, x, y: t.where(t.greater(x, y), x, y),
        "cast": lambda t, x: t.cast(x, "int32"),
    }
    sizes = ((3, 5), (1, 1), (0, 2), (2, 33))
    check("x: n m, y: m", cases, sizes, dtype=dtype, tolerance=LOOSE[dtype], types=SHORT)


@pytest.mark.parametrize("dtype", SHORT)
def test_long_sums_of_16_bits(dtype: str) -> None:
    """A sum of 16-bit numbers that is rounded at every step stops growing: only the result is rounded."""
    cases: dict[str, Any] = {
        "sum": lambda t, x: t.sum(x, 1),
        "sum of columns": lambda t, x: t.sum(x * 0 + 1, 0),
        "mean": lambda t, x: t.mean(x, 1),
        "mean of all": lambda t, x: t.mean(x),
        "variance": lambda t, x: t.variance(x, 1),
        "logsumexp": lambda t, x: t.logsumexp(x, 1),
        "softmax": lambda t, x: t.nn.softmax(x),
        "log_softmax": lambda t, x: t.nn.log_softmax(x),
        "rms": lambda t, x: t.nn.rms_norm(x, t.full(x.shape[1:], dtype, 1), 1),
        "layer norm": lambda t, x: t.nn.layer_norm(x, t.full(x.shape[1:], dtype, 1), t.full(x.shape[1:], dtype, 0), 1),
        "product": lambda t, x: t.matmul(x, x, False, True),
        "einsum": lambda t, x: t.einsum("ij,ij->i", x, x),
        "tensordot": lambda t, x: t.tensordot(x, x, ((1,), (1,))),
        "global pool": lambda t, flat: t.nn.global_pool(flat, "avg", "NCW"),
        "adaptive pool": lambda t, flat: t.nn.adaptive_pool1d(flat, 1, "avg"),
        "pool": lambda t, flat: t.nn.pool1d(flat, 1024, 1024, 1, 0, "avg"),
        "convolution": lambda t, flat: t.nn.conv1d(flat, t.full((1, 1, 1024), dtype, 1), 512, 0),
        "nll": lambda t, x: t.nn.cross_entropy_with_logits(x, x),
    }
    numbers = (np.random.default_rng(0).random((3, 2048)) * 0.5 + 0.25).astype(random((1,), dtype).dtype)
    options = {"dtype": dtype, "tolerance": LOOSE[dtype], "types": SHORT}
    check("x: n m, flat: n 1 m", cases, inputs=[[numbers, numbers[:, None]]], **options)


@pytest.mark.parametrize("dtype", SHORT)
def test_images_and_places_of_16_bits(dtype: str) -> None:
    cases: dict[str, Any] = {
        "conv2d": lambda t, x, w: t.nn.conv2d(x, w, 1, 1, 1),
        "transposed": lambda t, x, w: t.nn.conv_transpose(x, t.transpose(w, (1, 0, 2, 3)), 2, 1, 1),
        "max pool": lambda t, x: t.nn.pool2d(x, 3, 2, 1, 1, "max"),
        "avg pool": lambda t, x: t.nn.pool2d(x, 2, 1, 1, 0, "avg"),
        "resize": lambda t, x: t.image.resize2d(x, (0.0,) * 4, (7, 5)),
        "pad": lambda t, x: t.nn.pad(x, (0, 0, 1, 2)),
        "take": lambda t, y, i: t.take(y, i, 1),
        "gather_nd": lambda t, y, i: t.gather_nd(y, t.expand_dims(i * 0, 0)),
        "scatter": lambda t, y, i: t.scatter_nd(
            y, t.expand_dims(i * 0, 0), t.full((i.shape[0], y.shape[1]), dtype, 0.5), "add"
        ),
        "concatenate": lambda t, y: t.concatenate([y, y], 1),
        "transpose": lambda t, y: t.transpose(y),
        "trilu": lambda t, y: t.trilu(y, 0, True),
        "argmax": lambda t, y: t.argmax(y, 1),
        "max": lambda t, y: t.max(y, 1),
        "prod": lambda t, y: t.prod(y, 1),
        "one_hot": lambda t, i: t.one_hot(i, 1, 0, 3, -1, dtype),
        "group norm": lambda t, x: t.nn.group_norm(x, t.full((2,), dtype, 1), t.full((2,), dtype, 0), 2, 1, [2, 3]),
    }
    inputs = [
        [random((n, 2, h, v), dtype), np.arange(k) - 1, random((n, m), dtype), random((3, 2, 3, 3), dtype, 1)]
        for n, h, v, k, m in ((2, 5, 7, 4, 6), (1, 3, 3, 1, 1))
    ]
    options = {"dtype": dtype, "tolerance": LOOSE[dtype] * 2, "types": SHORT}
    check("x: n 2 h w, i: k int64, y: n m, w: 3 2 3 3", cases, inputs=inputs, **options)
