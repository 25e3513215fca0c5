"""median, searchsorted, bucketize and multinomial_from_uniform; logsumexp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from harness import ALL, FLOATS, INTEGERS, NUMBERS, SHORT_FLOATS, Suite, numbers, special_values
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import BoundsError, RelaxError
from relax_mlir.runtime import to_numpy
from scipy import special

Array = np.ndarray[Any, Any]
NON_EMPTY = ({"n": 1, "m": 1}, {"n": 3, "m": 17}, {"n": 64, "m": 2}, {"n": 5, "m": 101})


def logsumexp(x: Array, axis: Any, keepdims: bool) -> Array:
    if x.size == 0:
        return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))
    return np.asarray(special.logsumexp(x, axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float32", "bfloat16"))
def test_logsumexp(dtype: str) -> None:
    suite = Suite.of(dtype, SHORT_FLOATS)
    for axis, keepdims in ((0, False), (-1, True), (None, False), ([0, 1], True)):
        axes = tuple(axis) if isinstance(axis, list) else axis
        suite.add(
            "logsumexp",
            lambda x, a=axis, k=keepdims: R.logsumexp(x, a, k),
            lambda x, a=axes, k=keepdims: logsumexp(x, a, k),
            [Tensor(("n", "m"), dtype)],
            draw=numbers(-2000, 2000) if dtype != "float16" else numbers(-200, 200),
            inputs=[
                [np.full((3, 2), value).astype(dtypes.dtype(dtype).numpy)]
                for value in (-np.inf, np.inf, np.nan)
            ],
        )
    suite.add("scalar", R.logsumexp, lambda x: x, [Tensor((), dtype)])
    suite.run(test_logsumexp)


def middle(x: Array, axis: int) -> tuple[Array, Array]:
    """torch's: the lower one, and NaN before all."""
    order = np.argsort(x, axis, kind="stable")
    place = np.full(np.delete(x.shape, axis), (x.shape[axis] - 1) // 2)
    if x.dtype.kind == "f":
        has_nan = np.isnan(x).any(axis)
        place = np.where(has_nan, x.shape[axis] - np.isnan(x).sum(axis), place)
    index = np.take_along_axis(order, np.expand_dims(place, axis), axis)
    return np.take_along_axis(x, index, axis), index


@pytest.mark.parametrize("dtype", ALL)
def test_median(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    special_row = special_values(dtype)
    for axis, keepdims in ((0, False), (1, True)):
        suite.add(
            "median",
            lambda x, a=axis, k=keepdims: R.median(x, a, k),
            lambda x, a=axis, k=keepdims: [item if k else item.squeeze(a) for item in middle(x, a)],
            [Tensor(("n", "m"), dtype)],
            sizes=NON_EMPTY,
            inputs=[[special_row[:, None]], [special_row[None]]],
        )
    for keepdims in (False, True):
        suite.add(
            "of all",
            lambda x, k=keepdims: R.median(x, keepdims=k),
            lambda x, k=keepdims: middle(x.reshape(-1), 0)[0].reshape((1, 1) if k else ()),
            [Tensor(("n", "m"), dtype)],
            sizes=NON_EMPTY,
        )
    suite.run(test_median)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sorted_vectors(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)

    def ascending(rng: np.random.Generator, info: Tensor, shape: tuple[int, ...]) -> Array:
        return np.sort(numbers()(rng, info, shape))

    vector, values = Tensor(("k",), dtype), Tensor(("n", "m"), dtype)
    for right, side in ((False, "left"), (True, "right")):
        suite.add(
            "searchsorted",
            lambda x, y, r=right: R.searchsorted(x, y, r, "int32"),
            lambda x, y, s=side: np.searchsorted(x, y, s).astype(np.int32),
            [vector, values],
            draw=[ascending, numbers()],
        )
        suite.add(
            "bucketize",
            lambda y, x, r=right: R.bucketize(y, x, right=r),
            lambda y, x, s=side: np.asarray(np.searchsorted(x, y, s), np.int64),
            [values, vector],
            draw=[numbers(), ascending],
        )
    suite.add("none", R.searchsorted, lambda x, y: np.zeros(y.shape, np.int64), [Tensor((0,), dtype), values])
    suite.run(test_sorted_vectors)


def draw_classes(prob: Array, sample: Array, rows: Array) -> Array:
    sums = np.cumsum(prob, 1)[rows[:, 0]]
    return np.minimum((sums <= sample).sum(1, keepdims=True), prob.shape[1] - 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_draws(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    rng = np.random.default_rng(5)
    kind = dtypes.dtype(dtype).numpy
    inputs = []
    for rows, classes, samples in ((3, 5, 40), (1, 1, 7), (2, 3, 0)):
        prob = rng.integers(0, 5, (rows, classes)).astype(kind)  # sums are exact
        top = rng.uniform(-0.1, 1.2, (samples, 1)) * float(prob.astype("f8").sum(1).max())
        inputs.append([prob, top.astype(kind), rng.integers(0, rows, (samples, 1))])
    params = [Tensor(("n", "m"), dtype), Tensor(("k", 1), dtype), Tensor(("k", 1), "int64")]
    suite.add("draw", R.multinomial_from_uniform, draw_classes, params, inputs=inputs, sizes=())
    suite.add(
        "one of each row",
        lambda p, u: R.multinomial_from_uniform(p, u, dtype="int32"),
        lambda p, u: draw_classes(p, u, np.arange(len(p))[:, None]).astype(np.int32),
        [Tensor(("n", "m"), dtype), Tensor(("n", 1), dtype)],
        inputs=[[np.array([[1, 2], [3, 0.5]]).astype(kind), np.array([[1.5], [0.25]]).astype(kind)]],
        sizes=(),
    )
    suite.run(test_draws)


def program(build: Callable[..., Any], *params: Tensor) -> Any:
    bb = rx.BlockBuilder()
    given = [rx.Var(name, info) for name, info in zip("xyz", params, strict=False)]
    with bb.function("main", given):
        bb.emit_func_output(build(*given))
    return rx.build(bb.finalize())["main"]


def test_what_fails_at_run_time() -> None:
    params = Tensor(("n", "m"), "float32"), Tensor(("k", 1), "float32"), Tensor(("k", 1), "int64")
    main = program(R.multinomial_from_uniform, *params)
    prob, sample = np.ones((2, 3), np.float32), np.ones((1, 1), np.float32)
    assert to_numpy(main(prob, sample, np.array([[1]]))).tolist() == [[1]]
    with pytest.raises(
        BoundsError, match="multinomial_from_uniform: 'prob': index 2 is out of range for dimension 0 of"
    ):
        main(prob, sample, np.array([[2]]))
    with pytest.raises(BoundsError, match="index 0 is out of range for dimension 1 of size 0"):
        main(prob[:, :0], sample, np.array([[1]]))
    middle_of = program(lambda x: R.median(x), Tensor(("n",), "float32"))
    with pytest.raises(BoundsError, match="median"):
        middle_of(np.zeros(0, np.float32))


X, V = rx.Tensor(("n", 4), "float32"), rx.Tensor((3,), "float32")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("logsumexp", [X], {"axis": 0, "keepdims": True}, 'Tensor((1, 4), "float32")'),
        ("median", [X], {}, 'Tensor((), "float32")'),
        ("median", [X], {"keepdims": True}, 'Tensor((1, 1), "float32")'),
        ("median", [X], {"axis": 1}, 'Tuple([Tensor((n,), "float32"), Tensor((n,), "int64")])'),
        ("median", [rx.Tensor(None)], {"axis": 1}, 'Tuple([Tensor(?, "float32"), Tensor(?, "int64")])'),
        ("searchsorted", [V, X], {"dtype": "int8"}, 'Tensor((n, 4), "int8")'),
        ("bucketize", [X, V], {}, 'Tensor((n, 4), "int64")'),
        ("bucketize", [rx.Tensor(None), V], {"out_int32": True}, 'Tensor(?, "int32")'),
        (
            "multinomial_from_uniform",
            [X, rx.Tensor(("k", 1)), rx.Tensor((None, 1), "int8")],
            {},
            'Tensor((k, 1), "int64")',
        ),
    ],
)
def test_shapes(name: str, operands: Sequence[Any], attributes: dict[str, Any], expected: str) -> None:
    assert str(R.infer_rule(name)(*operands, **attributes)) == expected


ONE = rx.Tensor(("k", 1), "float32")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        ("logsumexp", [rx.Tensor((3,), "int8")], {}, "has dtype int8, expected a float"),
        ("logsumexp", [X], {"axis": 2}, "axis 2 is out of range"),
        ("median", [X], {"axis": 2}, "axis 2 is out of range"),
        ("searchsorted", [X, V], {}, "'sorted_sequence' is .*, expected a vector"),
        ("searchsorted", [V, rx.Tensor((3,), "int8")], {}, "float32 and int8"),
        ("searchsorted", [V, V], {"dtype": "float32"}, "dtype is float32, expected integers"),
        ("bucketize", [V, X], {}, "'boundaries' is .*, expected a vector"),
        ("multinomial_from_uniform", [V, ONE, ONE], {}, "'sample_indices' has dtype float32"),
        (
            "multinomial_from_uniform",
            [V, ONE, rx.Tensor(("k", 1), "int8")],
            {},
            r"expected \(rows, classes\)",
        ),
        ("multinomial_from_uniform", [X, X, rx.Tensor(("n", 1), "int8")], {}, r"expected \(samples, 1\)"),
        ("multinomial_from_uniform", [X, ONE, rx.Tensor(("n", 1), "int8")], {}, "are k and n, not known"),
        ("multinomial_from_uniform", [X, rx.Tensor(None)], {}, "give 'sample_indices'"),
    ],
)
def test_wrong_arguments(
    name: str, operands: Sequence[Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RelaxError, match=f"{name}: .*{message}"):
        R.infer_rule(name)(*operands, **attributes)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_results(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    suite.add(
        "searchsorted",
        lambda x, y: R.searchsorted(x, y, dtype=dtype),
        lambda x, y: np.searchsorted(x, y).astype(dtype),
        [Tensor((3,), "float32"), Tensor(("n",), "float32")],
        inputs=[[np.array([-1, 0, 1], np.float32), np.array([-2, -1, 0.5, 3], np.float32)]],
        sizes=(),
    )
    suite.run(test_dtypes_of_results)
