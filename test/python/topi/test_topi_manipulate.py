"""Elements reordered or moved, slices, scatters and scans, sorting, statistics, einsum, and quantization."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import te, topi
from relax_mlir.error import BoundsError, RelaxError
from relax_mlir.topi import tag
from topi_cases import check, placeholders, random

N, M, K, L = (te.var(name) for name in "nmkl")
FLOATS = ("float32", "float64", "float16", "bfloat16")
CUBES = ((3, 5), (1, 1), (0, 2), (2, 0), (5, 7))


def test_shapes_and_orders() -> None:
    cases: dict[str, Any] = {
        "transpose": lambda t, x: t.transpose(x),
        "transpose 0 2 1": lambda t, x: t.transpose(x, (0, 2, -2)),
        "reshape": lambda t, x: t.reshape(x, (M, N, 2, 2)),
        "reshape -1": (
            lambda x: topi.reshape(x, (-1, 2)),
            lambda x: x.reshape(x.shape[0] * x.shape[2] * 2, 2),
        ),
        "flatten": lambda t, x: t.reshape(x, (N * M * 4,)),
        "expand_dims": lambda t, x: t.expand_dims(x, 1, 2),
        "expand_dims last": lambda t, x: t.expand_dims(x, -1),
        "squeeze": (lambda x: topi.squeeze(topi.expand_dims(x, 1)), lambda x: x),
        "squeeze axis": lambda t, x: t.squeeze(t.expand_dims(t.expand_dims(x, 0), -1), -1),
        "tile": lambda t, x: t.tile(x, (2, 1, 3)),
        "tile more": lambda t, x: t.tile(x, (2, 1, 1, 2)),
        "tile less": lambda t, x: t.tile(x, 2),
        "repeat": lambda t, x: t.repeat(x, 3, 1),
        "repeat n": lambda t, x: t.repeat(x, N, -1),
        "flip": lambda t, x: t.flip(x, -1),
        "flip 0": lambda t, x: t.flip(x),
        "trilu": lambda t, x: t.trilu(x, 1, True),
        "trilu below": lambda t, x: t.trilu(x, -1, False),
    }
    check("x: n 4 m", cases, CUBES)
    (x,) = placeholders("x: n 4 m")
    assert topi.transpose(x).op.tag == tag.INJECTIVE


SLICES: tuple[Any, ...] = (
    ((0,), (2,), None, None),
    ((1, 0), (100, 3), None, (2, 1)),
    ((-3,), (-1,), (1,), (-1,)),
    ((-1, 3), (-100, 0), (-1, -2), (0, 1)),
    ((100,), (0,), (-2,), (2,)),
    ((2,), (1,), None, (0,)),
    ((0, 0, 0), (5, 4, 9), (2, 3, 4), None),
)


def test_slices() -> None:
    cases: dict[str, Any] = {f"slice {at}": lambda t, x, at=at: t.strided_slice(x, *at) for at in SLICES}
    cases |= {
        "size": (
            lambda x: topi.strided_slice(x, (1, 0), (2, -1), axes=(1, 0), slice_mode="size"),
            lambda x: x[:, 1:3],
        ),
        "symbols": lambda t, x: t.strided_slice(x, (te.floordiv(M, 2),), (M,), axes=(2,)),
        "split": (lambda x: topi.split(x, 2, 1), lambda x: np.split(x, 2, 1)),
        "split at": lambda t, x: t.split(x, (1, 3), 2),
        "split at n": lambda t, x: t.split(x, (N,), 2),
    }
    check("x: n 4 m", cases, CUBES)


def test_several_tensors() -> None:
    cases: dict[str, Any] = {
        "concatenate": lambda t, x, y: t.concatenate([x, y, x], 1),
        "concatenate 0": lambda t, x: t.concatenate((x, x)),
        "concatenate one": lambda t, z: t.concatenate([z], -1),
        "stack": lambda t, x: t.stack([x, x], 1),
        "stack last": lambda t, z: t.stack([z, z, z], -1),
        "meshgrid": lambda t, y, z: t.meshgrid([z, t.reshape(y, (N * 2,))]),
        "meshgrid xy": lambda t, y, z: t.meshgrid([z, t.reshape(y, (N * 2,))], "xy"),
        "full": lambda t, x: t.full((N, 3), "float16", 2.5),
        "full_like": lambda t, x: t.full_like(x, 7),
        "arange": lambda t, x: t.arange(N, dtype="int64"),
        "arange step": lambda t, x: t.arange(2, N, 3, "int32"),
        "arange down": lambda t, x: t.arange(N, 0, -2),
        "arange of floats": lambda t, x: t.arange(0.5, 3, 0.75),
        "one_hot": lambda t, z: t.one_hot(z, 1, 0, 4, dtype="int8"),
        "one_hot first": lambda t, x: t.one_hot(x, 2.5, -1.0, N, 0),
    }
    check("x: n m, y: n 2, z: m", cases, ((3, 5), (1, 1), (0, 2), (2, 0), (8, 3)), dtype="int32")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_take(dtype: str) -> None:
    cases: dict[str, Any] = {
        "flat": lambda t, x, i: t.take(x, i),
        "axis": lambda t, x, i: t.take(x, i, 1),
        "axis last": lambda t, x, i: t.take(x, i, -1),
        "wrap": lambda t, x, i: t.take(x, i, 0, mode="wrap"),
        "batch": lambda t, x, b: t.take(x, b, 1, batch_dims=1),
        "fast": lambda t, x, i: t.take(x, t.clip(i, -1, 0), 1, mode="fast"),
        "embedding": lambda t, x, i: t.embedding(x, t.clip(i, 0, 0)),
    }
    check(f"x: n m 2 float32, i: k 3 {dtype}, b: n 3 {dtype}", cases, ((4, 5, 2), (1, 1, 1), (7, 3, 0)))


def test_gather() -> None:
    cases: dict[str, Any] = {
        "gather": lambda t, x, i: t.gather(x, 1, i),
        "gather_nd": lambda t, x, p: t.gather_nd(x, p),
        "gather_nd all": lambda t, x, p: t.gather_nd(x, t.concatenate([p, t.full((1, K), "int32", 1)])),
        "gather_nd batch": lambda t, x, i: t.gather_nd(x, t.transpose(i, (2, 0, 1)) * 0, 1),
    }
    inputs = []
    for n, m, k in ((4, 5, 2), (1, 1, 3), (3, 2, 0)):
        rng = np.random.default_rng(n)
        places = np.stack([rng.integers(-n, n, k), rng.integers(-m, m, k)]).astype("i4")
        inputs.append([random((n, m, 2)), rng.integers(-m, m, (n, k, 2)), places])
    check("x: n m 2, i: n k 2 int64, p: 2 k int32", cases, inputs=inputs)


def test_indices_out_of_range_are_errors() -> None:
    def ones(*shape: Any) -> Any:
        return topi.full(shape, "float32", 1)

    x, i, j, rows = placeholders("x: n m, i: k int32, j: k int64, rows: n 1 int32")
    cases: list[tuple[Any, Any, Any, tuple[int, ...]]] = [
        (i, lambda: topi.take(x, i, 0, mode="fast"), lambda bad: [0, bad], (2, 3)),
        (i, lambda: topi.gather_nd(x, topi.reshape(i, (1, K))), lambda bad: [bad], (1, 3)),
        (i, lambda: topi.scatter_nd(x, topi.reshape(i, (1, K)), ones(K, M)), lambda bad: [0, bad], (3, 3)),
        (j, lambda: topi.index_tensor(x, [j, j]), lambda bad: [bad], (1,)),
        (j, lambda: topi.index_put(x, [j], ones(M)), lambda bad: [bad], (3, 3)),
        (rows, lambda: topi.gather(x, 1, rows), lambda bad: [[0], [bad], [0]], (3, 1)),
        (rows, lambda: topi.scatter_elements(x, rows, ones(N, 1), 1), lambda bad: [[0], [bad], [0]], (3, 3)),
    ]
    for index, build, array, shape in cases:
        main = rx.build(te.create_prim_func([x, index, build()]), opt_level=0)["main"]
        for bad in (3, -4, *([2**40] if index.dtype == "int64" else [])):
            with pytest.raises(BoundsError):
                main(np.zeros((3, 3), "f4"), np.array(array(bad), index.dtype), np.zeros(shape, "f4"))


DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_index_tensor_and_put(dtype: str) -> None:
    """Updates are in order, so that the last one wins."""
    cases: dict[str, Any] = {
        "adv_index": lambda t, x, i, j: t.adv_index(x, [i, j]),
        "one": lambda t, x, j: t.index_tensor(x, [j]),
        "all": lambda t, x, i, j: t.index_tensor(x, [i, j, t.full((), "int32", -1)]),
        "put": lambda t, x, i, j, v: t.index_put(x, [i, j], v),
        "put of one row": lambda t, x, i, j: t.index_put(x, [i, j], t.full((3,), dtype, 1)),
    }
    if dtype != "bool":
        cases["accumulate"] = lambda t, x, i, j, v: t.index_put(x, [i, j], v, accumulate=True)
    inputs = []
    for n, m, k, width in ((4, 5, 2, 3), (1, 1, 1, 1), (3, 2, 0, 2), (2, 7, 5, 1)):
        rng = np.random.default_rng(n)
        first = (np.arange(k) % n - n * (np.arange(k) % 2)).reshape(k, 1)
        second = rng.integers(-n if n < m else -m, min(n, m), width).astype("i4")
        inputs.append([random((n, m, 3), dtype), first, second, random((k, width, 3), dtype, 1)])
    tolerance = {"float16": 2e-2, "bfloat16": 5e-2}.get(dtype, 1e-5)
    shapes = f"x: n m 3, i: k 1 int64, j: l int32, v: k l 3 {dtype}"
    check(shapes, cases, dtype=dtype, inputs=inputs, tolerance=tolerance, types=DTYPES)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16"])
def test_slices_that_are_data(dtype: str) -> None:
    x, *parts = placeholders(f"x: n m {dtype}, b: 2 int64, e: 2 int32, s: 2 int64")
    found = topi.dynamic_strided_slice(x, *parts, (K, L))
    assert found.op.tag == topi.tag.INJECTIVE
    main = rx.build(te.create_prim_func([x, *parts, found]), opt_level=0)["main"]
    rng = np.random.default_rng(0)
    for n, m in ((5, 7), (1, 1), (0, 3), (6, 1)):
        a = random((n, m), dtype)
        for _ in range(60):
            begin, end = rng.integers(-9, 10, 2), rng.integers(-9, 10, 2)
            step = rng.choice([-3, -2, -1, 1, 2, 3], 2)
            bounds = zip(begin.tolist(), end.tolist(), step.tolist(), strict=True)
            want = a[tuple(slice(*of) for of in bounds)]
            out = np.zeros(want.shape, want.dtype)
            main(a, begin, end.astype("i4"), step, out)
            np.testing.assert_array_equal(out, want, err_msg=f"{begin} {end} {step} of {a.shape}")
    whole = np.zeros(2, "i8"), np.array([3, 3], "i4"), np.ones(2, "i8")
    out = np.zeros((2, 1), random((1,), dtype).dtype)
    main(random((5, 7), dtype), *whole, out)  # the first elements
    np.testing.assert_array_equal(out, random((5, 7), dtype)[:2, :1])
    with pytest.raises(BoundsError):  # more than there are
        main(random((5, 7), dtype), *whole, np.zeros((4, 1), out.dtype))


def _strided_set(p: Any) -> Any:
    found = np.full((4, 6), 7, "f4")
    found[::2, 1::2] = p
    return found


def test_slices_that_are_written_to() -> None:
    def columns(s: Any) -> Any:
        return topi.broadcast_to(topi.expand_dims(s, 2), (N, 3, 2))

    cases: dict[str, Any] = {
        "slice_scatter": lambda t, x, s: t.slice_scatter(x, s, 1, -2, 2, 1),
        "all": lambda t, x: t.slice_scatter(x, x * 2, 0, 99, 1, 1),
        "nothing": lambda t, x: t.slice_scatter(x, t.full((N, 0), "float32", 1), 5, 3, 1, -1),
        "symbols": lambda t, y, u: t.slice_scatter(y, u, 1, M + 1, 1, 0),
        "strided_set": (
            lambda x, s: topi.strided_set(topi.reshape(x, (N, 4, 2)), columns(s), (0, 1), (N, 4)),
            lambda x, s: np.concatenate([x.reshape(-1, 4, 2)[:, :1], np.repeat(s[:, :, None], 2, 2)], 1),
        ),
        "strided_set steps": (
            lambda p: topi.strided_set(topi.full((4, 6), "float32", 7), p, (0, 1), (4, 6), (2, 2)),
            _strided_set,
        ),
    }
    check("x: n 8, s: n 3, p: 2 3, y: m+2 2, u: m 2", cases, ((3, 4), (1, 1), (0, 0)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_sequences(dtype: str) -> None:
    def mask(x: Any, lengths: Any, axis: int, value: int) -> Any:
        lengths = lengths[:, None, None] if axis else lengths[None, :, None]
        steps = np.arange(x.shape[axis]).reshape(*[1] * axis, -1, *[1] * (2 - axis))
        return np.where(steps < lengths, x, x.dtype.type(value))

    cases: dict[str, Any] = {
        "reverse": lambda t, x, i: t.reverse_sequence(x, i),
        "reverse of columns": lambda t, x, j: t.reverse_sequence(x, j, 0, 1),
        "mask": (lambda x, i: topi.sequence_mask(x, i, -7, 1), lambda x, i: mask(x, i, 1, -7)),
        "mask of columns": (lambda x, j: topi.sequence_mask(x, j), lambda x, j: mask(x, j, 0, 0)),
    }
    inputs = []
    for n, m in ((3, 5), (1, 1), (4, 0), (0, 3)):
        rng = np.random.default_rng(n)
        lengths = rng.integers(0, m + 3, n).astype("i4"), rng.integers(0, n + 2, m)
        inputs.append([random((n, m, 2), dtype), *lengths])
    check(f"x: n m 2 {dtype}, i: n int32, j: m int64", cases, inputs=inputs)


def test_diagonals() -> None:
    cases: dict[str, Any] = {
        "eye": lambda t, x: t.eye(N, M, 1, "int32"),
        "eye below": lambda t, x: t.eye(N, dtype="float16", k=-1),
    }
    check("x: 2 n m", cases, ((3, 4), (1, 1), (0, 2), (5, 2)))
    for rows, columns in ((3, 4), (4, 3), (5, 5), (1, 2)):
        made: dict[str, Any] = {}
        bands = ((0, 0), (1, 1), (-1, 1), (-2, 0), (0, 2), (-1, -1))
        within = [(low, high) for low, high in bands if low > -rows and high < columns]
        sides = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
        for (low, high), align in sweep.product(within, sides):
            longest = min(rows + min(high, 0), columns - max(low, 0))
            several = (high - low + 1,) if low != high else ()
            values = np.arange(1.0, 1 + np.prod([*several, longest])).reshape(*several, longest)
            made[f"{low} {high} {align}"] = (
                lambda y, v=values, k=(low, high), a=align, s=several: topi.matrix_set_diag(
                    y, _constant(v, (N, *v.shape)), k if s else k[0], a
                ),
                lambda y, v=values, k=(low, high), a=align: _with_diagonals(y, v, *k, a),
            )
        check(f"y: n {rows} {columns}", made, [(2,), (0,)])


def _constant(values: Any, shape: Any) -> Any:
    """1, 2, … in row-major order, for every matrix."""
    if values.ndim == 1:
        return te.compute(shape, lambda n, i: (i + 1).astype("float32"))
    return te.compute(shape, lambda n, d, i: (d * values.shape[1] + i + 1).astype("float32"))


def _with_diagonals(y: Any, values: Any, low: int, high: int, align: str) -> Any:
    """According to TensorFlow's specification of MatrixSetDiagV3."""
    found = y.copy()
    rows, columns = y.shape[1:]
    bands = values if values.ndim == 2 else values[None]
    above, below = align.split("_")
    for number, k in enumerate(range(high, low - 1, -1)):
        length = min(rows + min(k, 0), columns - max(k, 0))
        side = above if k >= 0 else below
        band = bands[number][len(bands[number]) - length :] if side == "RIGHT" else bands[number][:length]
        for n in range(length):
            found[:, n - min(k, 0), n + max(k, 0)] = band[n]
    return found


SCANNED = ((3, 5), (1, 1), (0, 4), (2, 0))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_cumulative(dtype: str) -> None:
    cases: dict[str, Any] = {}
    for name, axis in itertools.product(("cumsum", "cumprod"), (0, -1, None)):
        cases[f"{name} {axis}"] = lambda t, x, n=name, a=axis: getattr(t, n)(x, a)
    for axis in (0, 1, 2):
        cases[f"exclusive {axis}"] = lambda t, x, a=axis: t.cumsum(x, a, exclusive=True)
    cases["float64"] = lambda t, x: t.cumsum(x, 2, "float64")
    small = [random((n, 2, m), dtype) for n, m in SCANNED]
    inputs = [[np.clip(x, -2, 2) if dtype == "int32" else x * x.dtype.type(0.5)] for x in small]
    tolerance = {"float16": 1e-2, "bfloat16": 5e-2}.get(dtype, 1e-4)
    check("x: n 2 m", cases, dtype=dtype, inputs=inputs, tolerance=tolerance, types=("float16", "bfloat16"))


def test_cumulative_of_many_small_floats() -> None:
    """Sums of 16-bit floats continue to grow when an addend is smaller than the spacing of the total."""
    check("x: n float16", {"ones": lambda t, x: t.cumsum(x, 0)}, inputs=[[np.ones(3000, "f2")]], tolerance=1e-3)


def test_scatter() -> None:
    cases: dict[str, Any] = {
        how: lambda t, x, i, u, how=how: t.scatter_elements(x, i, u, 1, how)
        for how in ("update", "add", "mul", "min", "max", "mean")
    }
    cases["nd"] = lambda t, x, p, r: t.scatter_nd(x, p, r, "add")
    cases["nd all"] = lambda t, x, p, r: t.scatter_nd(
        x, t.concatenate([p, p * 0]), t.take(r, t.full((), "int32", 0), 1), "max"
    )
    inputs = []
    for n, m, k in ((3, 5, 4), (1, 1, 1), (2, 3, 0), (4, 6, 6)):
        rng = np.random.default_rng(n)
        distinct = np.stack([rng.permutation(m)[:k] if k <= m else np.arange(k) % m for _ in range(n)])
        places = (distinct - m * (distinct % 2)).astype("i8").reshape(n, k)
        rows = rng.integers(-n, n, (1, k)).astype("i4")
        inputs.append([random((n, m)), places, random((n, k), seed=1), rows, random((k, m), seed=2)])
    check("x: n m, i: n k int64, u: n k, p: 1 k int32, r: k m", cases, inputs=inputs)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_sorting(dtype: str) -> None:
    """Few distinct values, so that equal ones show if their order is preserved."""
    cases: dict[str, Any] = {}
    for axis, down in itertools.product((0, -1), (False, True)):
        cases[f"argsort {axis} {down}"] = lambda t, x, a=axis, d=down: t.argsort(x, a, not d, "int64")
        cases[f"sort {axis} {down}"] = lambda t, x, a=axis, d=down: t.sort(x, a, not d)
    cases |= {
        "topk": lambda t, x: t.topk(x, 3),
        "topk up": lambda t, x: t.topk(x, 3, is_ascend=True),
        "topk all": lambda t, x: t.topk(x, 0, 0),
        "topk many": lambda t, x: t.topk(x, 100),
        "topk values": lambda t, x: t.topk(x, 1, 1, "values"),
    }
    few = "int32" if dtype.endswith(("32", "16")) else dtype
    sizes = (*SCANNED, (4, 37), (2, 131), (60, 3))
    arrays = [random((n, 2, m), few).astype(random((1,), dtype).dtype) for n, m in sizes]
    if few != dtype and dtype != "int32":
        for number in (4, 5):
            special = arrays[number].copy()
            special[0, 0, ::5], special[1, 1, 3], special[1, 0, 4] = np.nan, np.inf, -np.inf
            special[1, 0, 6::7], special[0, 1, ::9], special[1, 1, ::11] = -np.nan, 0.0, -0.0
            arrays.append(special)
    types = () if dtype == "float32" else ("bfloat16", "int32", "uint8")
    check("x: n 2 m", cases, dtype=dtype, inputs=[[array] for array in arrays], types=types)


WHOLE_RANGE = ("float64", "float16", "int8", "int64", "uint16", "bool")


@pytest.mark.parametrize("dtype", sweep.quick(WHOLE_RANGE, "float64", "int8", "bool"))
def test_sorting_of_all_values(dtype: str) -> None:
    """Numbers over the whole range of a dtype, in rows that are long and that are short."""
    rng = np.random.default_rng(0)
    inputs = []
    for shape in ((3, 200), (2, 48), (2, 49), (1, 1)):
        kind = random((1,), dtype).dtype
        bits = rng.integers(0, 256, (*shape, kind.itemsize)).astype("u1").view(kind)[..., 0]
        inputs.append([bits if dtype != "bool" else rng.integers(0, 2, shape).astype(bool)])
    cases: dict[str, Any] = {
        "up": lambda t, x: t.argsort(x, 1, True, "int64"),
        "down": lambda t, x: t.argsort(x, 1, False, "int64"),
        "topk": lambda t, x: t.topk(x, 9, ret_type="indices"),
    }
    check("x: n m", cases, dtype=dtype, inputs=inputs)


def test_searchsorted() -> None:
    inputs = [
        [np.sort(random((n,), "int32")).astype("f4"), random((m, 2), "int32", 1).astype("f4")]
        for n, m in ((9, 4), (1, 1), (0, 3), (3, 0), (40, 9))
    ]
    cases: dict[str, Any] = {
        "left": lambda t, s, v: t.searchsorted(s, v),
        "right": lambda t, s, v: t.searchsorted(s, v, True, "int32"),
    }
    check("s: n, v: m 2", cases, inputs=inputs)


def test_schedules_leave_loops_as_they_are() -> None:
    (x,) = placeholders("x: n m")
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


EINSUMS = {
    "ij,jk->ik": "ab", "ij,jk": "ab", "ij->ji": "a", "ij->": "a", "ii->i": "c", "ii": "c", "ij,ij->i": "aa",
    "ij , kj -> ik": "aa", "ia,ab,ij->jb": "abc", "ij,kl->iklj": "ab", "ba": "b", "iij->ij": "d", "iij->j": "d",
    "iij": "d", "iij->ji": "d", "...j->...": "d", "...ij->...ji": "d", "...->...": "d", "i...->i...": "d",
    "...ij,...jk->...ik": "de", "...ij,...jk": "de", "i...j,kj->k...i": "df", "...ii->...i": "g",
}  # fmt: skip


def test_einsum() -> None:
    cases: dict[str, Any] = {}
    for text, which in EINSUMS.items():

        def build(t: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, text: str = text, which: str = which) -> Any:
            named = {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f}
            return t.einsum(text, *(named[w] if w != "g" else t.transpose(d, (2, 0, 1)) for w in which))

        cases[text] = build
    shapes = "a: n h, b: h w, c: n n, d: n n w, e: 1 w n, f: k w"
    check(shapes, cases, ((3, 4, 5, 2), (1, 1, 1, 1), (0, 2, 3, 1), (2, 0, 3, 2), (2, 3, 0, 3)), tolerance=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_tensordot(dtype: str) -> None:
    axes = (2, 0, ((1, 2), (0, 1)), (2, 1), ((2,), (1,)))
    cases: dict[str, Any] = {str(of): lambda t, a, b, of=of: t.tensordot(a, b, of) for of in axes}
    tolerance = {"float16": 2e-2, "bfloat16": 1e-1}.get(dtype, 1e-4) * 2
    sizes, types = ((2, 4, 3), (1, 1, 1), (0, 2, 2), (2, 0, 1)), ("float16", "bfloat16")
    check("a: n m 3, b: m 3 k", cases, sizes, dtype=dtype, tolerance=tolerance, types=types)


def test_positions_and_sums() -> None:
    cases: dict[str, Any] = {
        "unravel": (lambda i, s: topi.unravel_index(i, s), lambda i, s: np.stack(np.unravel_index(i, s))),
        "unravel sizes": (
            lambda i: topi.unravel_index(i, (9, K + 1, M + 1)),
            lambda i, s, x, z: np.stack(np.unravel_index(i, (9, len(x) + 1, x.shape[2] + 1))),
        ),
        "windows": (
            lambda x: topi.sliding_window(x, 1, (2, 3), (2, 1)),
            lambda x: (
                np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))[:, ::2]
                if x.shape[2] > 2
                else np.zeros((len(x), 2, 0, 2, 3))
            ),
        ),
        "expand_like": (
            lambda z: topi.expand_like(z, topi.full((2, N, M, 3), "float32", 0), (1, 3)),
            lambda i, z: np.broadcast_to(z[:, None, :, None], (2, len(i), z.shape[1], 3)),
        ),
        "sum of tensors": lambda t, z: t.elemwise_sum([z, z, z]),
        "shape": lambda t, x: t.shape(x),
        "size": lambda t, x: t.tensor_size(x, "int64"),
        "fixed point": (
            lambda i: topi.fixed_point_multiply(i - 8, 3 * 2**29, -1),
            lambda i: np.floor((i - 8.0) * 0.375 + 0.5),
        ),
        "fixed point up": (lambda i: topi.fixed_point_multiply(i, 2**30, 3), lambda i: i * 4),
        "collapse": lambda t, x: t.collapse_sum(x, (5, 1)),
        "collapse of nothing": lambda t, x: t.collapse_sum(x, (K, 5, M)),
    }
    inputs = []
    for n, k, m in ((4, 2, 6), (1, 1, 1), (0, 3, 4)):
        index = np.random.default_rng(n).integers(0, 20, (n, 2)).astype("i4")
        inputs.append([index, np.array([9, 3, 2]), random((k, 5, m)), random((2, m))])
    check("i: n 2 int32, s: 3 int64, x: k 5 m, z: 2 m", cases, inputs=inputs, tolerance=1e-4)


def test_layouts_with_blocks() -> None:
    def blocks(x: Any) -> Any:
        return x.reshape(len(x), 2, 4, *x.shape[2:])

    cases: dict[str, Any] = {
        "NCHW4c": (
            lambda x: topi.layout_transform(x, "NCHW", "NCHW4c"),
            lambda x: blocks(x).transpose(0, 1, 3, 4, 2),
        ),
        "and back": (
            lambda x: topi.layout_transform(topi.layout_transform(x, "NCHW", "NHWC2c"), "NHWC2c", "NCHW"),
            lambda x: x,
        ),
        "other blocks": (
            lambda x: topi.layout_transform(topi.layout_transform(x, "NCHW", "NCHW2c"), "NCHW2c", "NHW4cC"),
            lambda x: blocks(x).transpose(0, 3, 4, 2, 1),
        ),
        "plain": (lambda x: topi.layout_transform(x, "NCHW", "HWNC"), lambda x: x.transpose(2, 3, 0, 1)),
    }
    check("x: n 8 h 3", cases, ((2, 3), (1, 1), (0, 2)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_sparse(dtype: str) -> None:
    def dense(places: Any, shape: Any, values: Any) -> Any:
        found = np.ones(shape, values.dtype)
        for place, value in zip(places, values, strict=True):
            found[tuple(place)] = value
        return found

    cases: dict[str, Any] = {
        "rows": (
            lambda v, p: topi.sparse_to_dense(p, (N, M), v, 1),
            lambda v, p, z: dense(p, z.shape, v),
        ),
        "one dimension": (
            lambda v, i: topi.sparse_to_dense(i, (N,), v, 1),
            lambda v, i, z: dense(i[:, None], z.shape[:1], v),
        ),
        "one value": (
            lambda i, s: topi.sparse_to_dense(i, (N,), s, 1),
            lambda i, s, z: dense(i[:, None], z.shape[:1], np.repeat(s, len(i))),
        ),
        "one place": (
            lambda s: topi.sparse_to_dense(topi.full((), "int32", -1), (N,), s, 1),
            lambda s, z: dense(np.array([[-1]]), z.shape[:1], s.reshape(1)),
        ),
    }
    inputs = []
    for k, n, m in ((4, 3, 5), (1, 1, 1), (0, 2, 2)):
        rng = np.random.default_rng(k)
        places = np.stack([rng.integers(-n, n, k), rng.integers(-m, m, k)], 1)
        index = rng.integers(-n, n, k).astype("i4")
        inputs.append([random((k,), dtype), places, index, random((), dtype), random((n, m))])
    check(f"v: k {dtype}, p: k 2 int64, i: k int32, s: {dtype}, z: n m float32", cases, inputs=inputs)


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float64", "bfloat16"))
def test_statistics(dtype: str) -> None:
    cases: dict[str, Any] = {
        "median": lambda t, x: t.median(x, 1),
        "median kept": lambda t, x: t.median(x, 0, True),
        "median of all": lambda t, x: t.median(x),
        "median of all kept": lambda t, x: t.median(x, keepdims=True),
        "variance": lambda t, x: t.variance(x, (0, 2)),
        "std": lambda t, x: t.std(x, 1, True),
        "logsumexp": lambda t, x: t.logsumexp(x, (1, 2)),
        "logsumexp kept": lambda t, x: t.logsumexp(x * 40, 0, True),
    }
    special = random((3, 5, 2), dtype)
    special[0, 2, 1], special[1, 1, 0], special[1, 3, 0], special[2, :, :] = np.nan, np.inf, np.nan, -np.inf
    tolerance = {"float16": 4e-2, "bfloat16": 2e-1}.get(dtype, 1e-5)
    options = {"dtype": dtype, "tolerance": tolerance, "types": FLOATS}
    check("x: n m 2", cases, ((3, 4), (1, 1), (2, 7)), **options)
    with_nan = {name: cases[name] for name in ("median", "median kept", "median of all", "logsumexp")}
    check("x: n m 2", with_nan, inputs=[[special]], **options)


def test_median_of_integers_and_of_nothing() -> None:
    check("x: n m int32", {"median": lambda t, x: t.median(x, 1)}, ((3, 6), (1, 1), (0, 2)))
    (x,) = placeholders("x: n m int32")
    main = rx.build(te.create_prim_func([x, *topi.median(x, 1)]), opt_level=0)["main"]
    with pytest.raises(BoundsError):
        main(np.zeros((2, 0), "i4"), np.zeros(2, "i4"), np.zeros(2, "i8"))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_bucketize(dtype: str) -> None:
    cases: dict[str, Any] = {
        f"{right}": lambda t, x, b, r=right: t.bucketize(x, b, r, "int32") for right in (False, True)
    }
    inputs = []
    for n, m in ((7, 5), (1, 1), (3, 0), (0, 2)):
        x, b = np.round(random((n, 2), dtype)), np.sort(np.round(random((m,), dtype, 1).astype("f4")))
        inputs.append([x, b.astype(x.dtype)])
    check("x: n 2, b: m", cases, dtype=dtype, inputs=inputs, types=("float16", "bfloat16"))


@pytest.mark.parametrize("wanted", ["int8", "uint8", "int16", "uint16", "int32"])
def test_quantization(wanted: str) -> None:
    cases: dict[str, Any] = {
        "axis": lambda t, x, s, z: t.quantize(x, s, z, 1, wanted),
        "all": lambda t, x, o, u: t.quantize(x, o, u, 0, wanted),
        "back": lambda t, x, s, z: t.dequantize(t.quantize(x, s, z, -1, wanted), s, z, -1),
        "back of all": lambda t, x, o, u: t.dequantize(t.quantize(x, o, u, 0, wanted), o, u, 0, "float64"),
    }
    inputs = []
    for n, m in ((3, 4), (1, 1), (0, 2)):
        numbers = random((n, m)) * 50
        if n > 1:
            numbers[0], numbers[1, :2] = [np.nan, np.inf, -np.inf, 2.5], [1e9, -1e9]
        zeros = random((m,), wanted) if wanted != "int32" else np.zeros(m, "i4")
        inputs.append([numbers, 2.0 ** np.arange(m, dtype="f4") / 4, zeros, np.array(0.5, "f4"), zeros[:1]])
    check(f"x: n m, s: m, z: m {wanted}, o:, u: 1 {wanted}", cases, inputs=inputs)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_quantization_of_other_floats(dtype: str) -> None:
    cases: dict[str, Any] = {
        "down": lambda t, x, s, z: t.quantize(x, s, z),
        "back": lambda t, x, s, z: t.dequantize(t.quantize(x, s, z), s, z, out_dtype=dtype),
    }
    kind = random((1,), dtype).dtype
    one = [np.array(0.25, kind), np.array(-3, "i1")]
    inputs = [[random((n,), dtype) * kind.type(10), *one] for n in (9, 1, 0)]
    options = {"dtype": dtype, "tolerance": 1e-2, "types": ("float16", "bfloat16")}
    check("x: n, s:, z: int8", cases, inputs=inputs, **options)
