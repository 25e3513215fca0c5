"""Elements combined along axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.topi import tag
from topi_cases import check, random

N, M = te.var("n"), te.var("m")
SHAPES = ((3, 2, 5), (1, 2, 1), (0, 2, 4), (2, 2, 0), (4, 2, 33))
AXES: tuple[Any, ...] = (None, 0, -1, (0, 2), (1,), [])


def _named(names: dict[str, Any], exact: bool) -> dict[str, Any]:
    cases: dict[str, Any] = {}
    for name, reference in names.items():
        for axis in AXES:
            for keepdims in (False, True) if axis in (None, 0) else (axis == (0, 2),):
                numpy_axis = None if axis is None else tuple(axis) if isinstance(axis, list | tuple) else axis

                def wanted(
                    a: Any, reference: Any = reference, axis: Any = numpy_axis, keep: bool = keepdims
                ) -> Any:
                    found = reference(a, axis=axis, keepdims=keep)
                    return found.astype(a.dtype) if exact else found

                function = getattr(topi, name)
                cases[f"{name} {axis} {keepdims}"] = (
                    lambda t, f=function, axis=axis, keep=keepdims: f(t, axis, keep),
                    wanted,
                )
    return cases


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_reductions(dtype: str) -> None:
    """NumPy raises for the maximum and minimum of no elements, which the next test covers."""
    x = te.placeholder((N, 2, M), dtype, "x")
    names: dict[str, Any] = {"max": np.max, "min": np.min}
    if dtype != "bool":
        names |= {"sum": np.sum, "prod": np.prod}
    cases = _named(names, True) | _named({"all": np.all, "any": np.any}, False)
    if dtype == "float32":
        cases |= _named({"mean": np.mean}, False)
    step = 3 if dtype == "float32" else 5  # coprime to the number of axis spellings, so that all occur
    some = {name: cases[name] for name in sweep.every(list(cases), step)}
    check([x], some, [[random(shape, dtype)] for shape in SHAPES], rtol=1e-4, atol=1e-4)
    assert (topi.max(x, 0).op.tag, topi.argmax(x, 0).op.tag) == (tag.COMM_REDUCE, tag.COMM_REDUCE_IDX)


def test_reductions_of_nothing() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((N, M), "int8", "i")
    cases: dict[str, Any] = {
        "max": (lambda x, i: topi.max(x, 1), lambda x, i: np.full(len(x), -np.inf, "f4")),
        "min": (lambda x, i: topi.min(x, 1), lambda x, i: np.full(len(x), np.inf, "f4")),
        "max of int8": (lambda x, i: topi.max(i, 1), lambda x, i: np.full(len(x), -128, "i1")),
        "min of int8": (lambda x, i: topi.min(i, 1), lambda x, i: np.full(len(x), 127, "i1")),
        "argmax": (lambda x, i: topi.argmax(x, 1), lambda x, i: np.full(len(x), -1, "i4")),
        "mean": (lambda x, i: topi.mean(x, 1), lambda x, i: np.full(len(x), np.nan, "f4")),
    }
    check([x, i], cases, [[np.zeros((3, 0), "f4"), np.zeros((3, 0), "i1")]])


def _last(function: Any) -> Any:
    def found(a: Any, axis: int) -> Any:
        return a.shape[axis] - 1 - function(np.flip(a, axis), axis)

    return found


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_places(dtype: str) -> None:
    """With NaN, infinities and equal elements."""
    x = te.placeholder((N, 2, M), dtype, "x")
    cases: dict[str, Any] = {}
    for name in ("argmax", "argmin"):
        mine, theirs = getattr(topi, name), getattr(np, name)
        for axis in (0, 1, -1, None):
            for keep in (False, True):
                cases[f"{name} {axis} {keep}"] = (
                    lambda t, f=mine, axis=axis, keep=keep: f(t, axis, keep),
                    lambda a, f=theirs, axis=axis, keep=keep: f(a, axis=axis, keepdims=keep),
                )
        for axis in (0, 2):
            cases[f"{name} {axis} last"] = (
                lambda t, f=mine, axis=axis: f(t, axis, select_last_index=True),
                lambda a, f=_last(theirs), axis=axis: f(a, axis),  # noqa: B008 - the function of this round
            )
    arrays = [random(shape, dtype) for shape in SHAPES]
    if dtype == "float32":
        special = random((3, 2, 6))
        special[0, 0, 2], special[1, 1, [3, 5]], special[2, :, 4] = np.nan, np.nan, np.inf
        arrays += [special, np.full((2, 2, 3), -np.inf, "f4"), np.full((2, 2, 3), np.inf, "f4")]
    check([x], cases, [[array] for array in arrays], turn=(dtype, ("float32", "int32")))


def test_rank_0() -> None:
    s = te.placeholder((), name="s")
    cases: dict[str, Any] = {
        name: (getattr(topi, name), getattr(np, name)) for name in ("sum", "max", "argmax", "mean", "all")
    }
    check([s], cases, [[np.array(3.5, "f4")]])


def test_mistakes() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((N,), "int32", "i")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.sum(x, 2), ShapeError, r"topi\.sum: axis 2 of a tensor of 2 dimensions"),
        (lambda: topi.sum(x, (0, -2)), ShapeError, r"an axis of \[0, -2\] is named twice"),
        (lambda: topi.sum(x, 1.5), ArgumentError, "'axis'"),
        (lambda: topi.argmax(x, (0, 1)), ArgumentError, "'axis'"),
        (lambda: topi.mean(i), DTypeError, "does not hold floats; cast it first"),
        (lambda: topi.sum(3), ArgumentError, r"topi\.sum: 'data'"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
