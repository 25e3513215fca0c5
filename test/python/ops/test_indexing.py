"""Ops that read or write at positions that are data, and slices whose bounds are data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import ALL, FLOATS, INTEGERS, NUMBERS, Array, Suite, compiled, functions
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.error import BoundsError, CheckError, RelaxError, ShapeError

RNG = np.random.default_rng(7)
REDUCTIONS = ("update", "add", "mul", "min", "max", "mean")


def values(dtype: str, *shape: int, top: int = 100) -> Array:
    """Integers; sums and products of those below 3 are exact in every dtype."""
    return np.asarray(RNG.integers(0, 2 if dtype == "bool" else top, shape)).astype(dtypes.dtype(dtype).numpy)


def places(size: int, *shape: int, dtype: str = "int64") -> Array:
    """Indices, counted from either end, with repetitions."""
    low = 0 if dtype.startswith("uint") else -size
    return RNG.integers(low, size, shape).astype(dtype) if size else np.zeros(shape, dtype)


def vectors(sizes: Any, *shape: int) -> Array:
    """Vectors of indices into dimensions of these sizes."""
    return np.concatenate([np.zeros((*shape, 0), np.int64), *(places(size, *shape, 1) for size in sizes)], -1)


@pytest.mark.parametrize("dtype", ALL)
def test_gathers(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for axis in (0, -1):
        inputs = []
        for n, m, k, j in [(4, 3, 5, 2), (1, 1, 1, 1), (2, 3, 0, 3), (0, 3, 0, 3), (7, 17, 7, 17)]:
            k, j = (k, min(j, m)) if axis == 0 else (min(k, n), j)
            inputs.append([values(dtype, n, m), places((n, m)[axis], k, j)])
        suite.use("gather_elements", "n m", "k j int64", axis=axis, inputs=inputs)
    for count in (0, 1, 2):
        sizes = [(4, 3, 5), (1, 1, 1), (2, 3, 0), (3, 9, 2)]
        inputs = [[values(dtype, n, m), vectors((n, m)[:count], k)] for n, m, k in sizes]
        suite.use("gather_nd", "n m", f"k {count} int64", inputs=inputs)
    inputs = [
        [values(dtype, n, m), places(n, k, 1), places(m, j)]
        for n, m, k, j in [(4, 3, 2, 5), (1, 1, 1, 1), (2, 2, 0, 3), (0, 2, 0, 2)]
    ]
    suite.both(lambda R, x, i, j: R.index_tensor(x, [i, j]), "n m", "k 1 int64", "j int64", inputs=inputs)
    suite.run(test_gathers)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_indices(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    x, i = values("float32", 9, 5), places(9, 4, 5, dtype=dtype)
    suite.use("gather_elements", "n m float32", "k j", inputs=[[x, i]])
    suite.both(lambda R, x, i: R.index_tensor(x, (i,)), "n m float32", "k j", inputs=[[x, i]])
    given = [values("float32", 9), places(9, 30, dtype=dtype), np.arange(30, dtype="f4")]
    suite.use("scatter_elements", "n float32", "k", "k float32", inputs=[given])
    suite.run(test_dtypes_of_indices)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_bounds(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    limits = np.iinfo(dtype)
    strides = [1, 2, limits.max] + ([-1, -3, limits.min] if limits.min else [])
    ends = [limits.min, limits.max, 0, 3, 8]
    bounds = [(b, e, s) for b in ends for e in ends for s in strides]
    row = values("float32", 9)
    inputs = [[row, *(np.array([item], dtype) for item in items)] for items in bounds]
    suite.use("dynamic_strided_slice", "n float32", "1", "1", "1", inputs=inputs)
    suite.run(test_dtypes_of_bounds)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_lengths(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    suite.use("reverse_sequence", "n m float32", "n")
    suite.run(test_dtypes_of_lengths)


def test_batch_dimensions_and_ranks() -> None:
    suite = Suite()
    x = values("float32", 3, 4, 5, 2)
    for batch, shape in ((1, (3, 6, 2)), (2, (3, 4, 1)), (2, (3, 4, 7, 2)), (1, (3, 0))):
        indices = vectors(x.shape[batch : batch + shape[-1]], *shape[:-1])
        own = " ".join([*"ab"[:batch], *(f"k{i}" for i in range(len(shape) - 1 - batch)), str(shape[-1])])
        suite.use("gather_nd", "a b c d", f"{own} int64", batch_dims=batch, inputs=[[x, indices]])
    one = [values("float32", 3, 2), np.array(-1, np.int32)]
    suite.both(lambda R, x, i: R.index_tensor(x, [i]), "a b", "int32", inputs=[one])
    three = [x, places(3, 6), places(4, 6), places(5, 6)]
    suite.both(lambda R, x, *i: R.index_tensor(x, [*i]), "a b c d", *["k int64"] * 3, inputs=[three])
    suite.run()


OUTSIDE: list[tuple[Callable[..., Any], Any, int, int]] = [
    (lambda x, i, u: R.gather_elements(x, i, 0), [[0, 3]], 3, 0),
    (lambda x, i, u: R.gather_elements(x, i, 1), [[0, -5]], -5, 1),
    (lambda x, i, u: R.gather_nd(x, i), [[0, 4]], 4, 1),
    (lambda x, i, u: R.gather_nd(x, i), [[-4, 0]], -4, 0),
    (lambda x, i, u: R.index_tensor(x, [i]), [[0, 2**62]], 2**62, 0),
    (R.scatter_elements, [[0, 3]], 3, 0),
    (lambda x, i, u: R.scatter_elements(x, i, u, 1, "mean"), [[0, -5]], -5, 1),
    (lambda x, i, u: R.scatter_nd(x, i, R.sum(u, 1)), [[0, 4]], 4, 1),
    (lambda x, i, u: R.scatter_nd(x, i, R.sum(u, 1)), [[-4, 0]], -4, 0),
    (lambda x, i, u: R.index_put(x, [i], 1.0), [[0, 2**62]], 2**62, 0),
]


def test_indices_out_of_range() -> None:
    made = functions({number: case[0] for number, case in enumerate(OUTSIDE)}, "n m", "k 2 int64", "k 2")
    x, updates, zeros = values("float32", 3, 4), np.ones((1, 2), np.float32), np.zeros((1, 2), np.int64)
    for function, (build, bad, index, axis) in zip(made.values(), OUTSIDE, strict=True):
        function(x, zeros, updates)
        where = f"index {index} is out of range for dimension {axis} of size {(3, 4)[axis]}"
        # The place is the call in this file; a builder that is called by `functions` has another one.
        place = "harness" if build is R.scatter_elements else "test_indexing"
        with pytest.raises(BoundsError, match=rf"(gather|scatter|index)_\w+: '\w+': {where}, at .*{place}"):
            function(x, np.array(bad), updates)
        with pytest.raises(BoundsError, match="out of range for dimension 0 of size 0"):
            function(x[:0], zeros, updates)


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int32"])
def test_an_empty_dimension_has_no_index(dtype: str) -> None:
    run = compiled(lambda x, i: R.take(x, i, 0, "check"), "n 2", f"k {dtype}")
    for indices in (places(1, 3, dtype=dtype), np.zeros(0, dtype)):
        x = np.ones((1, 2), np.float32)
        np.testing.assert_array_equal(run(x, indices), x[indices])
    with pytest.raises(CheckError, match="out of range for dimension 0"):
        run(np.ones((0, 2), np.float32), np.zeros(1, dtype))


def test_more_indices_than_elements() -> None:
    main = compiled(R.gather_elements, "n m", "k j int64")
    x = values("float32", 3, 4)
    assert main(x, np.zeros((5, 4), np.int64)).shape == (5, 4)
    with pytest.raises(BoundsError, match="index 4 is out of range for dimension 1 of size 4"):
        main(x, np.zeros((1, 5), np.int64))


def reductions(dtype: str) -> list[str]:
    return [how for how in REDUCTIONS if dtype != "bool" or how in ("update", "min", "max")]


@pytest.mark.parametrize("dtype", ALL)
def test_scatters(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    sizes = [(4, 3, 5, 2), (1, 1, 1, 1), (2, 3, 0, 3), (0, 3, 0, 3), (5, 9, 8, 9)]
    for how in reductions(dtype):
        axis = REDUCTIONS.index(how) % 2
        inputs = []
        for n, m, k, j in sizes:
            k, j = (k, j) if axis == 0 else (min(n, k), j)
            inputs.append([values(dtype, n, m, top=3), places((n, m)[axis], k, j), values(dtype, k, j, top=3)])
        suite.use("scatter_elements", "n m", "k j int64", "k j", axis=axis, reduction=how, inputs=inputs)
    for how in (how for how in reductions(dtype) if how != "mean"):
        count = REDUCTIONS.index(how) % 3
        inputs = [
            [values(dtype, n, m, top=3), vectors((n, m)[:count], k), values(dtype, k, *(n, m)[count:], top=3)]
            for n, m, k in [(4, 3, 5), (1, 1, 1), (2, 3, 0), (3, 9, 4)]
        ]
        updates = " ".join(["k", "n", "m"][:1] + ["n", "m"][count:])
        suite.use("scatter_nd", "n m", f"k {count} int64", updates, reduction=how, inputs=inputs)
    suite.run(test_scatters)


@pytest.mark.parametrize("dtype", ALL)
def test_index_put(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    sizes = [(4, 3, 2, 5), (1, 1, 1, 1), (2, 2, 0, 3), (0, 2, 0, 2)]
    three = [(n, m, k, j, values(dtype, n, m, top=3)) for n, m, k, j in sizes]
    both = [[x, places(n, k, 1), places(m, j), values(dtype, j, top=3)] for n, m, k, j, x in three]
    whole = [[x, places(n, k), values(dtype, k, m, top=3)] for n, m, k, _, x in three]
    value = [[x, places(n, k), values(dtype, top=3)] for n, m, k, _, x in three]
    for add in (False, True)[: 1 + (dtype != "bool")]:
        suite.both(
            lambda R, x, i, j, v, a=add: R.index_put(x, [i, j], v, a),
            *("n m", "k 1 int64", "j int64", "j"),
            inputs=both,
        )
        for updates, inputs in (("k m", whole), ("", value)):
            index = (lambda i: (i,)) if updates else (lambda i: i)  # one tensor is as good
            suite.both(
                lambda R, x, i, v, a=add, f=index: R.index_put(x, f(i), v, a),
                *("n m", "k int64", updates),
                inputs=inputs,
            )
    suite.run(test_index_put)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinities(dtype: str) -> None:
    """min and max return NaN if an element is NaN."""
    kind = dtypes.dtype(dtype).numpy
    x = np.array([1, np.nan, np.inf, -np.inf, 2]).astype(kind)
    new = np.array([np.nan, 1, -np.inf, np.inf, 3]).astype(kind)
    suite = Suite.of(dtype, FLOATS)
    for how in ("min", "max", "add", "mul"):
        inputs = [[x, np.arange(5, dtype=np.int32), new]]
        suite.use("scatter_elements", "n", "n int32", "n", reduction=how, inputs=inputs)
    suite.run(test_nan_and_infinities)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_many_updates_of_one_place(dtype: str) -> None:
    """Updates are applied in order; sums of integers wrap around."""
    kind = dtypes.dtype(dtype)
    x, updates = np.array([1, 7]).astype(kind.numpy), np.arange(1, 101).astype(kind.numpy)
    builds = {how: lambda *xs, how=how: R.scatter_elements(*xs, 0, how) for how in ("update", "add")}
    made = functions(builds, f"2 {dtype}", "k int64", f"k {dtype}")
    last, total = (made[how](x, np.zeros(100, np.int64), updates) for how in ("update", "add"))
    np.testing.assert_array_equal(last, np.array([updates[-1], x[1]]))
    if kind.is_integer:
        np.testing.assert_array_equal(total, np.array([5051, 7]).astype(np.int64).astype(kind.numpy))


@pytest.mark.parametrize("dtype", ALL)
def test_slice_scatter(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    far = 2**63 - 1
    for begin, end, step, size in (
        (1, 4, 1, 3),
        (-3, far, 1, 3),
        (0, 100, 3, 3),
        (5, 2, 1, 0),
        (9, 12, 1, 0),
    ):
        suite.use("slice_scatter", "n 7", f"n {size}", start=begin, end=end, step=step, axis=1)
    sizes = ({"n": 9, "k": 3}, {"n": 1, "k": 0}, {"n": 4, "k": 4})
    for x, src, *bounds in (("n+k+2 7", "2 7", "k", "k + 2", 1), ("n 7", "n-k 7", "k", "n", 1)):
        suite.both(lambda R, x, y, *_, at=bounds: R.slice_scatter(x, y, *at, 0), x, src, "k", "n", sizes=sizes)
    suite.both(lambda R, x, y: R.slice_scatter(x, y, 0, "n", 2, 0), "n 7", "(n+1)//2 7", sizes=sizes)
    suite.run(test_slice_scatter)


@pytest.mark.parametrize("dtype", ALL)
def test_reverse_sequence(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    suite.use("reverse_sequence", "n m", "n int64")
    suite.use("reverse_sequence", "m k n", "n int32", seq_axis=0, batch_axis=2)
    suite.run(test_reverse_sequence)


def test_a_slice_that_does_not_fit_the_input() -> None:
    """The size of the slice is a formula, which the call checks."""
    main = compiled(lambda x, y: R.slice_scatter(x, y, 0, 2), "n", "k")
    given = np.arange(3, dtype="f4")
    np.testing.assert_array_equal(main(given, given[:2] + 7), [7, 8, 2])
    np.testing.assert_array_equal(main(given[:1], given[:1] + 7), [7])
    with pytest.raises(ShapeError, match="3"):
        main(given, given)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_old_elements_stay(mode: str) -> None:
    """Slices are written in place if the tensor is not read later; values never change."""

    def build(x: Any, row: Any) -> Any:
        first, again = R.slice_scatter(x, row, 0, 1), R.add(x, x)
        kept, chain = R.slice_scatter(again, row, 1, 2), R.multiply(again, again)
        for place in range(3):
            chain = R.slice_scatter(chain, row, place, place + 1)
        return [x, first, again, kept, chain]

    given, new = np.ones((3, 4), np.float32), np.full((1, 4), 9, np.float32)
    rows = [item[:, 0].tolist() for item in compiled(build, "n 4", "1 4", mode=mode)(given, new)]
    assert rows == [[1, 1, 1], [9, 1, 1], [2, 2, 2], [2, 9, 2], [9, 9, 9]]
    assert (given == 1).all()


@pytest.mark.parametrize("dtype", ALL)
def test_dynamic_slices(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    inputs = []
    for n, m in ((5, 4), (1, 1), (0, 3), (17, 2)):
        for _ in range(6):
            begin, end = RNG.integers(-20, 20, (2, 2))
            inputs.append([values(dtype, n, m), begin, end, RNG.choice([-7, -2, -1, 1, 2, 3], 2)])
    suite.use("dynamic_strided_slice", "n m", *["2 int64"] * 3, inputs=inputs)
    suite.run(test_dynamic_slices)


def test_dynamic_slices_of_constants() -> None:
    suite = Suite()
    none, one = np.zeros(0, np.int64), [np.array([number]) for number in (1, -1, 2)]
    suite.both(lambda R, x: R.dynamic_strided_slice(x, none, none, none), "")
    suite.both(lambda R, x: R.dynamic_strided_slice(x, *one), "n")
    suite.run()


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_what_follows_knows_the_rank(mode: str) -> None:
    """Ops on the slice, one with another tensor of its size, and a function result of a less precise type."""

    def build(x: Any, *at: Any) -> Any:
        part = R.dynamic_strided_slice(x, *at)
        known = R.match_shape(part, ("a", "b"))
        return [R.sum(R.add(known, R.exp(known)), 1), part]

    main = compiled(build, "n 4", *["2 int64"] * 3, mode=mode)
    given = RNG.uniform(0, 1, (6, 4)).astype(np.float32)
    for bounds in (([1, 0], [4, 9], [1, 2]), ([-1, -1], [0, -9], [-2, -1]), ([3, 0], [3, 4], [1, 1])):
        total, part = main(given, *map(np.array, bounds))
        want = given[tuple(slice(*of) for of in zip(*bounds, strict=True))]
        np.testing.assert_array_equal(part, want)
        np.testing.assert_allclose(total, (want + np.exp(want)).sum(1), rtol=1e-5)
    begin, end, _ = map(np.array, bounds)
    with pytest.raises(RelaxError, match=r"dynamic_strided_slice: a stride is 0 \(at .*test_indexing"):
        main(given, begin, end, np.array([1, 0]))
