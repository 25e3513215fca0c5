"""dynamic_strided_slice against Python's slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, INTEGERS, Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)
LIMITS = np.iinfo(np.int64)


def sliced(x: Array, begin: Array, end: Array, strides: Array) -> Array:
    return x[tuple(slice(int(b), int(e), int(s)) for b, e, s in zip(begin, end, strides, strict=True))]


def values(dtype: str, *shape: int) -> Array:
    return np.asarray(RNG.integers(0, 100, shape)).astype(dtypes.dtype(dtype).numpy)


@pytest.mark.parametrize("dtype", ALL)
def test_all_dtypes(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    inputs = []
    for n, m in ((5, 4), (1, 1), (0, 3), (17, 2)):
        for _ in range(6):
            begin, end = RNG.integers(-20, 20, (2, 2))
            strides = RNG.choice([-7, -2, -1, 1, 2, 3], 2)
            inputs.append([values(dtype, n, m), begin, end, strides])
    vector = Tensor((2,), "int64")
    params = [Tensor(("n", "m"), dtype), vector, vector, vector]
    suite.add("slice", R.dynamic_strided_slice, sliced, params, inputs=inputs, sizes=())
    suite.run(test_all_dtypes)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_positions(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    vector = Tensor((1,), dtype)
    limits = np.iinfo(dtype)
    ends = [limits.min, limits.max, 0, 3, 8]
    strides = [1, 2, limits.max] + ([-1, -3, limits.min] if limits.min else [])
    inputs = [
        [values("float32", 9), *(np.array([item], dtype) for item in (b, e, s))]
        for b in ends
        for e in ends
        for s in strides
    ]
    params = [Tensor(("n",), "float32"), vector, vector, vector]
    suite.add("slice", R.dynamic_strided_slice, sliced, params, inputs=inputs, sizes=())
    suite.run(test_dtypes_of_positions)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_what_follows_knows_the_rank(mode: str) -> None:
    """Ops on the slice, one with another tensor of its size, and a function result of a less precise type."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 4), "float32"))
    at = [rx.Var(name, Tensor((2,), "int64")) for name in ("begin", "end", "strides")]
    with bb.function("main", [x, *at]):
        part = bb.emit(R.dynamic_strided_slice(x, *at))
        known = bb.emit(R.match_shape(part, ("a", "b")))
        both = bb.emit(R.add(known, R.exp(known)))
        bb.emit_func_output([R.sum(both, 1), part])
    main = rx.build(bb.finalize(), exec_mode=mode)["main"]
    given = RNG.uniform(0, 1, (6, 4)).astype(np.float32)
    for places in (([1, 0], [4, 9], [1, 2]), ([-1, -1], [0, -9], [-2, -1]), ([3, 0], [3, 4], [1, 1])):
        begin, end, strides = map(np.array, places)
        total, part_found = main(given, begin, end, strides)
        want = sliced(given, begin, end, strides)
        np.testing.assert_array_equal(to_numpy(part_found), want)
        np.testing.assert_allclose(to_numpy(total), (want + np.exp(want)).sum(1), rtol=1e-5)
    with pytest.raises(RelaxError, match=r"dynamic_strided_slice: a stride is 0 \(at .*test_dynamic_slices"):
        main(given, begin, end, np.array([1, 0]))


def test_rank_0_and_constants() -> None:
    suite = Suite()
    none = np.zeros(0, np.int64)
    suite.add(
        "rank 0",
        lambda x: R.dynamic_strided_slice(x, none, none, none),
        lambda x: x,
        [Tensor((), "float32")],
    )
    suite.add(
        "constants",
        lambda x: R.dynamic_strided_slice(x, np.array([1]), np.array([-1]), np.array([2])),
        lambda x: x[1:-1:2],
        [Tensor(("n",), "float32")],
    )
    suite.run()


X, V = rx.Tensor(("n", 4), "float32"), rx.Tensor((2,), "int64")


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([X, V, V, V], 'Tensor((?, ?), "float32")'),
        ([rx.Tensor(None), V, V, V], 'Tensor((?, ?), "float32")'),
        (
            [rx.Tensor(None), rx.Tensor(None, "int8"), rx.Tensor(("n",), "int8"), rx.Tensor((None,), "int8")],
            'Tensor(?, "float32")',
        ),
    ],
)
def test_shapes(operands: Sequence[Any], expected: str) -> None:
    assert str(R.infer_rule("dynamic_strided_slice")(*operands)) == expected


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([X, X, V, V], "operand 'begin' has dtype float32, expected an integer"),
        ([X, V, rx.Tensor((2, 1), "int64"), V], "operand 'end' is .*, expected a vector"),
        ([X, V, V, rx.Tensor((3,), "int64")], "the length of 'strides' and the rank of 'x' are 3 and 2"),
        ([X, V, V, rx.Tensor(("k",), "int64")], "are k and 2, not known to be equal; match_shape one first"),
    ],
)
def test_wrong_arguments(operands: Sequence[Any], message: str) -> None:
    with pytest.raises(RelaxError, match=f"^dynamic_strided_slice: .*{message}"):
        R.infer_rule("dynamic_strided_slice")(*operands)
