"""scatter_elements, scatter_nd and index_put against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, FLOATS, INTEGERS, NUMBERS, Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import BoundsError, RelaxError
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": np.minimum,
    "max": np.maximum,
    "mean": lambda old, new: old + new,
}


def values(dtype: str, *shape: int) -> Array:
    """Small numbers, of which sums and products are exact in every dtype."""
    return np.asarray(RNG.integers(0, 2 if dtype == "bool" else 3, shape)).astype(dtypes.dtype(dtype).numpy)


def places(size: int, *shape: int, dtype: str = "int64") -> Array:
    """Indices, counted from either end, with repetitions."""
    low = 0 if dtype.startswith("uint") else -size
    return RNG.integers(low, size, shape).astype(dtype) if size else np.zeros(shape, dtype)


def updated(x: Array, indices: Array, updates: Array, axis: int, how: str) -> Array:
    """ONNX's ScatterElements, according to its specification: updates are applied one by one."""
    found, counts = x.copy(), np.ones(x.shape, np.int64)
    with np.errstate(over="ignore"):
        for at in np.ndindex(indices.shape):
            to = list(at)
            to[axis] = int(indices[at])
            found[tuple(to)] = COMBINE[how](found[tuple(to)], updates[at])
            counts[tuple(to)] += 1
    if how != "mean":
        return found
    if found.dtype.kind in "iu":
        return (found // counts).astype(x.dtype)
    return found / counts


def by_vectors(x: Array, indices: Array, updates: Array, how: str) -> Array:
    """ONNX's ScatterND, according to its specification."""
    found = x.copy()
    for at in np.ndindex(indices.shape[:-1]):
        to = tuple(indices[at])
        found[to] = COMBINE[how](found[to], updates[at])
    return found


def reductions(dtype: str) -> list[str]:
    return [how for how in COMBINE if dtype != "bool" or how in ("update", "min", "max")]


@pytest.mark.parametrize("dtype", ALL)
def test_all_dtypes_and_reductions(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    x, i = Tensor(("n", "m"), dtype), Tensor(("k", "j"), "int64")
    sizes = [(4, 3, 5, 2), (1, 1, 1, 1), (2, 3, 0, 3), (0, 3, 0, 3), (5, 9, 8, 9)]
    for how in reductions(dtype):
        axis = list(COMBINE).index(how) % 2
        inputs = []
        for n, m, k, j in sizes:
            k, j = (k, j) if axis == 0 else (min(n, k), j)
            inputs.append([values(dtype, n, m), places((n, m)[axis], k, j), values(dtype, k, j)])
        suite.add(
            f"elements_{how}",
            lambda x, i, u, a=axis, h=how: R.scatter_elements(x, i, u, a, h),
            lambda x, i, u, a=axis, h=how: updated(x, i, u, a, h),
            [x, i, Tensor(("k", "j"), dtype)],
            inputs=inputs,
            sizes=(),
        )
    for how in reductions(dtype)[:-1] if dtype != "bool" else reductions(dtype):
        count = list(COMBINE).index(how) % 3
        inputs = []
        for n, m, k in [(4, 3, 5), (1, 1, 1), (2, 3, 0), (3, 9, 4)]:
            columns = [places(size, k, 1) for size in (n, m)[:count]]
            indices = np.concatenate([np.zeros((k, 0), np.int64), *columns], 1)
            inputs.append([values(dtype, n, m), indices, values(dtype, k, *(n, m)[count:])])
        suite.add(
            f"nd_{how}",
            lambda x, i, u, h=how: R.scatter_nd(x, i, u, h),
            lambda x, i, u, h=how: by_vectors(x, i, u, h),
            [x, Tensor(("k", count), "int64"), Tensor(("k", *("n", "m")[count:]), dtype)],
            inputs=inputs,
            sizes=(),
        )
    suite.run(test_all_dtypes_and_reductions)


@pytest.mark.parametrize("dtype", ALL)
def test_index_put(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    x = Tensor(("n", "m"), dtype)
    sizes = [(4, 3, 2, 5), (1, 1, 1, 1), (2, 2, 0, 3), (0, 2, 0, 2)]
    for accumulate in (False, True)[: 1 + (dtype != "bool")]:

        def put(x: Array, *given: Array, add: bool = accumulate) -> Array:
            *at, new = given
            found = x.copy()
            if add:
                np.add.at(found, tuple(at), new)
            else:
                found[tuple(at)] = new
            return found

        suite.add(
            "both",
            lambda x, i, j, v, a=accumulate: R.index_put(x, [i, j], v, a),
            put,
            [x, Tensor(("k", 1), "int64"), Tensor(("j",), "int64"), Tensor(("j",), dtype)],
            inputs=[
                [values(dtype, n, m), places(n, k, 1), places(m, j), values(dtype, j)] for n, m, k, j in sizes
            ],
            sizes=(),
        )
        suite.add(
            "rows",
            lambda x, i, v, a=accumulate: R.index_put(x, (i,), v, a),
            put,
            [x, Tensor(("k",), "int64"), Tensor(("k", "m"), dtype)],
            inputs=[[values(dtype, n, m), places(n, k), values(dtype, k, m)] for n, m, k, _ in sizes],
            sizes=(),
        )
        suite.add(
            "one value",
            lambda x, i, v, a=accumulate: R.index_put(x, i, v, a),
            put,
            [x, Tensor(("k",), "int64"), Tensor((), dtype)],
            inputs=[[values(dtype, n, m), places(n, k), values(dtype)] for n, m, k, _ in sizes],
            sizes=(),
        )
    suite.run(test_index_put)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_indices(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    suite.add(
        "elements",
        R.scatter_elements,
        lambda x, i, u: updated(x, i.astype(np.int64), u, 0, "update"),
        [Tensor(("n",), "float32"), Tensor(("k",), dtype), Tensor(("k",), "float32")],
        inputs=[[values("float32", 9), places(9, 30, dtype=dtype), np.arange(30, dtype="f4")]],
        sizes=(),
    )
    suite.run(test_dtypes_of_indices)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinities(dtype: str) -> None:
    """min and max return NaN if an element is NaN."""
    kind = dtypes.dtype(dtype).numpy
    x = np.array([1, np.nan, np.inf, -np.inf, 2]).astype(kind)
    new = np.array([np.nan, 1, -np.inf, np.inf, 3]).astype(kind)
    suite = Suite.of(dtype, FLOATS)
    for how in ("min", "max", "add", "mul"):
        suite.add(
            how,
            lambda x, i, u, h=how: R.scatter_elements(x, i, u, 0, h),
            lambda x, i, u, h=how: COMBINE[h](x, u),
            [Tensor(("n",), dtype), Tensor(("n",), "int32"), Tensor(("n",), dtype)],
            inputs=[[x, np.arange(5, dtype=np.int32), new]],
            sizes=(),
        )
    suite.run(test_nan_and_infinities)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_many_updates_of_one_place(dtype: str) -> None:
    """Updates are applied in order; sums of integers wrap around."""
    kind = dtypes.dtype(dtype)
    updates = np.arange(1, 101).astype(kind.numpy)
    indices = np.zeros(100, np.int64)
    bb = rx.BlockBuilder()
    for how in ("update", "add"):
        params = [rx.Var("x", Tensor((2,), dtype)), rx.Var("i", Tensor(("k",), "int64"))]
        params.append(rx.Var("u", Tensor(("k",), dtype)))
        with bb.function(how, params):
            bb.emit_func_output(R.scatter_elements(*params, 0, how))
    executable = rx.build(bb.finalize())
    x = np.array([1, 7]).astype(kind.numpy)
    last, total = (to_numpy(executable[how](x, indices, updates)) for how in ("update", "add"))
    np.testing.assert_array_equal(last, np.array([updates[-1], x[1]]))
    if kind.is_integer:
        np.testing.assert_array_equal(total, np.array([5051, 7]).astype(np.int64).astype(kind.numpy))


def program(build: Callable[..., Any], *params: Tensor) -> Any:
    bb = rx.BlockBuilder()
    given = [rx.Var(name, info) for name, info in zip("xyz", params, strict=False)]
    with bb.function("main", given):
        bb.emit_func_output(build(*given))
    return rx.build(bb.finalize())["main"]


@pytest.mark.parametrize(
    ("build", "bad", "index", "axis"),
    [
        (R.scatter_elements, [[0, 3]], 3, 0),
        (lambda x, i, u: R.scatter_elements(x, i, u, 1, "mean"), [[0, -5]], -5, 1),
        (lambda x, i, u: R.scatter_nd(x, i, R.sum(u, 1)), [[0, 4]], 4, 1),
        (lambda x, i, u: R.scatter_nd(x, i, R.sum(u, 1)), [[-4, 0]], -4, 0),
        (lambda x, i, u: R.index_put(x, [i], 1.0), [[0, 2**62]], 2**62, 0),
    ],
)
def test_indices_out_of_range(build: Callable[..., Any], bad: Any, index: int, axis: int) -> None:
    params = Tensor(("n", "m"), "float32"), Tensor(("k", 2), "int64"), Tensor(("k", 2), "float32")
    main = program(build, *params)
    x = values("float32", 3, 4)
    updates = np.ones((1, 2), np.float32)
    main(x, np.zeros((1, 2), np.int64), updates)
    where = f"index {index} is out of range for dimension {axis} of size {(3, 4)[axis]}"
    with pytest.raises(BoundsError, match=rf"(scatter|index)_\w+: '\w+': {where}, at .*test_scatter"):
        main(x, np.array(bad), updates)
    with pytest.raises(BoundsError, match="out of range for dimension 0 of size 0"):
        main(x[:0], np.zeros((1, 2), np.int64), updates)


X, PLACES = rx.Tensor(("n", 4), "float32"), rx.Tensor(("k", 2), "int64")
UPDATES = rx.Tensor(("k", 2), "float32")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("scatter_elements", [X, PLACES, UPDATES], {}, 'Tensor((n, 4), "float32")'),
        ("scatter_elements", [rx.Tensor(None, None), PLACES, UPDATES], {}, 'Tensor(?, "float32")'),
        ("scatter_nd", [X, PLACES, rx.Tensor(("k",))], {}, 'Tensor((n, 4), "float32")'),
        (
            "scatter_nd",
            [X, rx.Tensor(("k", 1), "int8"), rx.Tensor(("k", 4))],
            {},
            'Tensor((n, 4), "float32")',
        ),
        ("index_put", [X, [PLACES], rx.Tensor((2, 4))], {}, 'Tensor((n, 4), "float32")'),
        ("index_put", [rx.Tensor(None, "int8"), [PLACES], 3], {}, 'Tensor(?, "int8")'),
    ],
)
def test_shapes(name: str, operands: Sequence[Any], attributes: dict[str, Any], expected: str) -> None:
    assert str(R.infer_rule(name)(*operands, **attributes)) == expected


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        (
            "scatter_elements",
            [X, PLACES, X],
            {},
            "dimension 0 of 'updates' and what is expected, .k, 2., are n and k",
        ),
        ("scatter_elements", [X, X, X], {}, "operand 'indices' has dtype float32, expected an integer"),
        ("scatter_elements", [X, PLACES, UPDATES], {"axis": 2}, "axis 2 is out of range"),
        (
            "scatter_elements",
            [X, PLACES, UPDATES],
            {"reduction": "sum"},
            "reduction is 'sum', expected one of update",
        ),
        (
            "scatter_elements",
            [X, PLACES, rx.Tensor(("k", 2), "int8")],
            {},
            "'updates' has dtype int8, 'data' has float32",
        ),
        ("scatter_elements", [X, PLACES, rx.Tensor(("k",))], {}, "'updates' has shape"),
        (
            "scatter_elements",
            [rx.Tensor((3,), "bool"), rx.Tensor((2,), "int8"), rx.Tensor((2,), "bool")],
            {"reduction": "add"},
            "dtype bool, which the reduction 'add' does not take",
        ),
        ("scatter_nd", [X, PLACES, UPDATES], {}, "'updates' has shape .k, 2., expected .k,."),
        (
            "scatter_nd",
            [X, PLACES, rx.Tensor(("k",))],
            {"reduction": "mean"},
            "reduction is 'mean', expected one of",
        ),
        ("scatter_nd", [X, rx.Tensor((2, 3), "int8"), rx.Tensor((2,))], {}, "have 3 places"),
        ("scatter_nd", [X, rx.Tensor((), "int8"), rx.Tensor((2,))], {}, "expected at least one dimension"),
        ("index_put", [X, [], UPDATES], {}, "an empty tuple"),
        ("index_put", [X, [PLACES], rx.Tensor((3, 4))], {}, "shape .3, 4., which does not broadcast to"),
        ("index_put", [X, [PLACES], rx.Tensor(("m", 4))], {}, "cannot tell whether m equals 2"),
        ("index_put", [X, [PLACES], rx.Tensor((1, 1, 1, 1))], {}, "does not broadcast to"),
        ("index_put", [X, [PLACES], rx.Tensor((), "int8")], {}, "'values' has dtype int8"),
        (
            "index_put",
            [rx.Tensor((3,), "bool"), [rx.Tensor((2,), "int8")], rx.Tensor((), "bool")],
            {"accumulate": True},
            "expected a number to accumulate",
        ),
    ],
)
def test_wrong_arguments(
    name: str, operands: Sequence[Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RelaxError, match=f"^{name}: .*{message}"):
        R.infer_rule(name)(*operands, **attributes)
