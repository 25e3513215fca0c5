"""Cumulative operators, scatters, and sorting, against NumPy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, RelaxError, ShapeError
from topi_cases import check, random

N, M, K = te.var("n"), te.var("m"), te.var("k")
SHAPES = ((3, 2, 5), (1, 2, 1), (0, 2, 4), (2, 2, 0), (4, 2, 37))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_cumulative(dtype: str) -> None:
    x = te.placeholder((N, 2, M), dtype, "x")
    wide = np.dtype(dtype if dtype == "int32" else "f8")
    cases: dict[str, Any] = {}
    for axis in (0, -1, None):
        cases[f"cumsum {axis}"] = (
            lambda t, axis=axis: topi.cumsum(t, axis),
            lambda a, axis=axis: np.cumsum(a.astype(wide), axis, dtype=wide),
        )
        cases[f"cumprod {axis}"] = (
            lambda t, axis=axis: topi.cumprod(t, axis),
            lambda a, axis=axis: np.cumprod(a.astype(wide), axis, dtype=wide),
        )
    for axis in (0, 1, 2):
        cases[f"exclusive {axis}"] = (
            lambda t, axis=axis: topi.cumsum(t, axis, exclusive=True),
            lambda a, axis=axis: np.cumsum(a.astype(wide), axis, dtype=wide) - a.astype(wide),
        )
    cases["float64"] = lambda t: topi.cumsum(t, 2, "float64"), lambda a: np.cumsum(a.astype("f8"), 2)
    small = [random(shape, dtype) for shape in SHAPES[:4]]
    half = small[0].dtype.type(0.5) if dtype != "int32" else 1
    arrays = [[np.clip(array, -2, 2) if dtype == "int32" else array * half] for array in small]
    loose = {"float16": 1e-2, "bfloat16": 5e-2}.get(dtype, 1e-4)
    check([x], cases, arrays, rtol=loose, atol=loose, turn=(dtype, ("float16", "bfloat16")))


def test_cumulative_of_many_small_floats() -> None:
    """Sums of 16-bit floats continue to grow when an addend is smaller than the spacing of the total."""
    x = te.placeholder((N,), "float16", "x")
    check(
        [x],
        {"ones": (lambda t: topi.cumsum(t, 0), lambda a: np.arange(1, len(a) + 1))},
        [[np.ones(3000, "f2")]],
        rtol=1e-3,
    )


def _scattered(reduction: str, axis: int) -> Any:
    names = {"update": None, "add": "sum", "mul": "prod", "min": "amin", "max": "amax", "mean": "mean"}

    def found(data: Any, index: Any, updates: Any, *rest: Any) -> Any:
        places = torch.tensor(np.where(index < 0, index + data.shape[axis], index))
        old, new = torch.tensor(data), torch.tensor(updates)
        if names[reduction] is None:
            return old.scatter(axis, places, new).numpy()
        return old.scatter_reduce(axis, places, new, names[reduction]).numpy()

    return found


def _scattered_nd(data: Any, index: Any, updates: Any, places: Any, rows: Any) -> Any:
    found = data.copy()
    for column in range(places.shape[1]):
        found[tuple(places[:, column])] += rows[column]
    return found


def test_scatter() -> None:
    x, u = te.placeholder((N, M), name="x"), te.placeholder((N, K), name="u")
    i, p = te.placeholder((N, K), "int64", "i"), te.placeholder((1, K), "int32", "p")
    r = te.placeholder((K, M), name="r")
    cases: dict[str, Any] = {
        reduction: (
            lambda x, i, u, p, r, how=reduction: topi.scatter_elements(x, i, u, 1, how),
            _scattered(reduction, 1),
        )
        for reduction in ("update", "add", "mul", "min", "max", "mean")
    }
    cases["nd"] = lambda x, i, u, p, r: topi.scatter_nd(x, p, r, "add"), _scattered_nd
    cases["nd all"] = (
        lambda x, i, u, p, r: topi.scatter_nd(
            x, topi.concatenate([p, p * 0]), topi.take(r, topi.full((), "int32", 0), 1), "max"
        ),
        lambda x, i, u, p, r: np.maximum.at(found := x.copy(), (p[0], 0 * p[0]), r[:, 0]) or found,
    )
    arrays = []
    for n, m, k in ((3, 5, 4), (1, 1, 1), (2, 3, 0), (4, 6, 6)):
        rng = np.random.default_rng(n)
        distinct = np.stack(
            [rng.permutation(m)[:k] if k <= m else np.arange(k) % m for _ in range(n)]
        ).reshape(n, k)
        arrays.append(
            [
                random((n, m)),
                (distinct - m * (distinct % 2)).astype("i8"),
                random((n, k), seed=1),
                rng.integers(-n, n, (1, k)).astype("i4"),
                random((k, m), seed=2),
            ]
        )
    check([x, i, u, p, r], cases, arrays)


def test_scatter_out_of_range() -> None:
    x, i, u = (
        te.placeholder((N,), name="x"),
        te.placeholder((K,), "int32", "i"),
        te.placeholder((K,), name="u"),
    )
    for found in (topi.scatter_elements(x, i, u), topi.scatter_nd(x, topi.reshape(i, (1, K)), u)):
        main = rx.build(te.create_prim_func([x, i, u, found]), opt_level=0)["main"]
        for bad in (3, -4):
            with pytest.raises(BoundsError):
                main(np.zeros(3, "f4"), np.array([0, bad], "i4"), np.ones(2, "f4"), np.zeros(3, "f4"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_sorting(dtype: str) -> None:
    """Few distinct values, so that equal ones show if their order is preserved."""
    x = te.placeholder((N, 2, M), dtype, "x")
    cases: dict[str, Any] = {}
    for axis in (0, -1):
        for down in (False, True):
            cases[f"argsort {axis} {down}"] = (
                lambda t, axis=axis, down=down: topi.argsort(t, axis, not down, "int64"),
                lambda a, axis=axis, down=down: _order(a, axis, down),
            )
            cases[f"sort {axis} {down}"] = (
                lambda t, axis=axis, down=down: topi.sort(t, axis, not down),
                lambda a, axis=axis, down=down: np.take_along_axis(a, _order(a, axis, down), axis),
            )
    cases["topk"] = lambda t: topi.topk(t, 3), lambda a: _top(a, 3, 2)
    cases["topk up"] = lambda t: topi.topk(t, 3, is_ascend=True), lambda a: _top(a, 3, 2, down=False)
    cases["topk all"] = lambda t: topi.topk(t, 0, 0), lambda a: _top(a, len(a), 0)
    cases["topk many"] = lambda t: topi.topk(t, 100), lambda a: _top(a, 100, 2)
    cases["topk values"] = lambda t: topi.topk(t, 1, 1, "values"), lambda a: _top(a, 1, 1)[0]
    few = "int32" if dtype.endswith(("32", "16")) else dtype
    arrays = [
        random(shape, few).astype(random((1,), dtype).dtype) for shape in (*SHAPES, (2, 2, 131), (60, 2, 3))
    ]
    if few != dtype and dtype != "int32":
        for number in (4, 5):
            special = arrays[number].copy()
            special[0, 0, ::5], special[1, 1, 3], special[1, 0, 4] = np.nan, np.inf, -np.inf
            special[1, 0, 6::7], special[0, 1, ::9], special[1, 1, ::11] = -np.nan, 0.0, -0.0
            arrays.append(special)
    turn = None if dtype == "float32" else (dtype, ("bfloat16", "int32", "uint8"))
    check([x], cases, [[array] for array in arrays], turn=turn)


def _order(a: Any, axis: int, down: bool) -> Any:
    numbers = torch.tensor(a if a.dtype.kind in "iub" else a.astype("f8"))
    return torch.sort(numbers, dim=axis, descending=down, stable=True)[1].numpy()


def _top(a: Any, k: int, axis: int, down: bool = True) -> Any:
    places = np.take(_order(a, axis, down), range(min(k, a.shape[axis])), axis)
    return [np.take_along_axis(a, places, axis), places]


WHOLE_RANGE = ("float64", "float16", "int8", "int64", "uint16", "bool")


@pytest.mark.parametrize("dtype", sweep.quick(WHOLE_RANGE, "float64", "int8", "bool"))
def test_sorting_of_all_values(dtype: str) -> None:
    """Numbers over the whole range of a dtype, in rows that are long and that are short."""
    x = te.placeholder((N, M), dtype, "x")
    rng = np.random.default_rng(0)
    arrays = []
    for shape in ((3, 200), (2, 48), (2, 49), (1, 1)):
        kind = random((1,), dtype).dtype
        bits = rng.integers(0, 256, (*shape, kind.itemsize)).astype("u1").view(kind)[..., 0]
        arrays.append([bits if dtype != "bool" else rng.integers(0, 2, shape).astype(bool)])
    cases: dict[str, Any] = {
        f"{down}": (
            lambda t, down=down: topi.argsort(t, 1, not down, "int64"),
            lambda a, down=down: _order(a, 1, down),
        )
        for down in (False, True)
    }
    cases["topk"] = lambda t: topi.topk(t, 9, ret_type="indices"), lambda a: _top(a, 9, 1)[1]
    check([x], cases, arrays)


def test_searchsorted() -> None:
    s, v = te.placeholder((N,), name="s"), te.placeholder((M, 2), name="v")
    cases: dict[str, Any] = {
        "left": (lambda s, v: topi.searchsorted(s, v), np.searchsorted),
        "right": (
            lambda s, v: topi.searchsorted(s, v, True, "int32"),
            lambda s, v: np.searchsorted(s, v, "right"),
        ),
    }
    arrays = [
        [np.sort(random((n,), "int32")).astype("f4"), random((m, 2), "int32", 1).astype("f4")]
        for n, m in ((9, 4), (1, 1), (0, 3), (3, 0), (40, 9))
    ]
    check([s, v], cases, arrays)


def test_schedules_leave_loops_as_they_are() -> None:
    x = te.placeholder((N, M), name="x")
    doubled = x * 2
    for found, reference in ((topi.sort(doubled), np.sort), (topi.cumsum(doubled, 0), lambda a: a.cumsum(0))):
        schedule = te.create_schedule(found.op)
        schedule[doubled].parallel(doubled.op.axis[0])
        main = rx.build(schedule, [x, found])
        for shape in ((3, 4), (1, 1), (0, 2)):
            a = random(shape)
            out = np.zeros_like(a)
            main(a, out)
            np.testing.assert_allclose(out, reference(a * 2), rtol=1e-5)
        with pytest.raises(RelaxError, match=r"compute_inline\(\): T_"):
            schedule[doubled].compute_inline()


def test_mistakes() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((N, K), "int32", "i")
    u = te.placeholder((N, K), name="u")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.cumsum(x, 2), ShapeError, r"topi\.cumsum: axis 2"),
        (lambda: topi.scatter_elements(x, u, u), DTypeError, "which does not hold integers"),
        (lambda: topi.scatter_elements(x, i, i), DTypeError, "the updates have dtype int32"),
        (lambda: topi.scatter_elements(x, i, x, 1), ShapeError, "'updates': the shapes"),
        (lambda: topi.scatter_elements(x, i, u, 1, "mode"), ArgumentError, "the reduction is 'mode'"),
        (lambda: topi.scatter_nd(x, i, u), ShapeError, "by a dimension of known size"),
        (lambda: topi.topk(x, K), ShapeError, "'k' is k, not known to be at most m"),
        (lambda: topi.topk(x, 1, ret_type="x"), ArgumentError, "'ret_type' is 'x'"),
        (lambda: topi.sort(topi.full((), "float32", 0)), ShapeError, "has no axis"),
        (lambda: topi.searchsorted(x, x), ShapeError, "is not of one dimension"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
