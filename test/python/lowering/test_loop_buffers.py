"""Buffers of loop-carried values: growing values, loops of one iteration, old values that a branch carries on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.transform import create_pass

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def grown(x: R.Tensor((2, 3), "float32")) -> R.Tensor((8, 3), "float32"):
        acc: R.Tensor((None, 3), "float32") = R.match_shape(x, (None, 3))
        for i in R.range(3):
            acc = R.concat((acc, x), axis=0)
        return R.match_shape(acc, (8, 3))

    @R.function
    def one_round(x: R.Tensor((3, 3), "float32")) -> R.Tensor((3, 3), "float32"):
        acc = x
        for i in R.range(1):
            acc = R.strided_slice(acc, axes=[0], begin=[-1], end=[-4], strides=[-1])
        return acc

    @R.function
    def one_round_within(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        total = x
        for i in R.range(3):
            acc = total
            for j in R.range(1):
                acc = R.exp(acc)
            total = R.minimum(acc, R.const(9.0)) - total
        return total

    @R.function
    def chosen(x: R.Tensor(("n",), "float32"), count: R.Tensor((), "int64")) -> R.Tuple(R.Tensor(("n",), "float32"),
               R.Tensor(("n",), "float32")):
        k = count
        acc = x * 2.0
        other = x
        while R.less(k, R.const(3)):
            if R.equal(k, R.const(1)):
                y = x
            else:
                y = acc
            k = k + R.const(1)
            acc, other = y + 1.0, y
        return acc, other

    @R.function
    def matched(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        a = x
        b = x
        for i in R.range(2):
            new = R.concat((y, y), axis=0)
            a, b = R.match_shape(new, ("n",)), a
        return R.add(a, b)

    @R.function
    def rotated(x: R.Tensor(("n",), "float32"), count: R.Tensor((), "int64")) -> R.Tuple(R.Tensor(("n",), "float32"),
                R.Tensor(("n",), "float32"), R.Tensor(("n",), "float32")):
        a = R.negative(x)
        b = x * 2.0
        c = x
        for i in R.range(5):
            new = R.exp(a * 0.01)
            if R.less(count, R.const(3)):
                either = a
            else:
                either = new
            a, b, c = b, either, new
        return a, b, c

    @R.function
    def exchanged(x: R.Tensor(("n",), "float32"), count: R.Tensor((), "int64")) -> R.Tuple(R.Tensor(("n",), "float32"),
                  R.Tensor(("n",), "float32")):
        k = count
        a = R.negative(x)
        b = a
        while R.less(k, R.const(3)):
            k = k + R.const(1)
            first, second = R.maximum(a, a), R.permute_dims(b, axes=[0])
            a, b = second + 1.0, first
        c = a * 2.0
        for i in R.range(3):
            a, c = R.maximum(c, c), R.minimum(a, a)
        return a, c
"""


@pytest.fixture(scope="module")
def compiled() -> Any:
    return rx.build(parse(PROGRAM))


def test_a_value_of_static_size_grows(compiled: Any) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(to_numpy(compiled["grown"](x)), np.concatenate([x] * 4))


def test_loops_of_one_round(compiled: Any) -> None:
    x = np.arange(9, dtype="float32").reshape(3, 3)
    np.testing.assert_array_equal(to_numpy(compiled["one_round"](x)), x[::-1])
    for size in (0, 1, 5):
        given = np.linspace(-1, 1, size, dtype="float32")
        want = given.astype(np.float64)
        for _ in range(3):
            want = np.minimum(np.exp(want), 9) - want
        np.testing.assert_allclose(to_numpy(compiled["one_round_within"](given)), want, rtol=1e-5)


@pytest.mark.parametrize("count", range(4))
def test_a_branch_goes_on_with_a_value_of_before(compiled: Any, count: int) -> None:
    x = np.linspace(-1, 1, 5, dtype="float32")
    acc, other = x * 2, x
    for k in range(count, 3):
        other = x if k == 1 else acc
        acc = other + 1
    for have, want in zip(compiled["chosen"](x, np.array(count)), (acc, other), strict=True):
        np.testing.assert_array_equal(to_numpy(have), want)


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("size", [0, 1, 7])
def test_values_that_take_each_others_place_unchanged(compiled: Any, count: int, size: int) -> None:
    x = np.linspace(-1, 1, size, dtype="float32")
    a = b = -x
    for _ in range(count, 3):
        a, b = b + np.float32(1), a
    for have, want in zip(compiled["exchanged"](x, np.array(count)), (a * 2, a), strict=True):
        np.testing.assert_array_equal(to_numpy(have), want)


def test_sizes_are_checked_before_a_carried_tensor_is_written(compiled: Any) -> None:
    """A carried value may be larger or smaller than the tensor that it is written to."""
    x, y = np.ones(8, np.float32), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(to_numpy(compiled["matched"](x, y)), np.tile(y, 2) * 2)
    for size in (0, 3, 5, 1_000_000):
        with pytest.raises(
            ShapeError, match=rf"dimension 0 is {2 * size}, but n = 8, taken from parameter 'x'"
        ):
            compiled["matched"](x, np.ones(size, np.float32))


@pytest.mark.parametrize("count", [1, 7])
def test_values_that_move_on_as_they_are(compiled: Any, count: int) -> None:
    """The old value, a value forwarded by a branch, and a new value that is carried twice."""
    x = np.arange(5, dtype=np.float32)
    a, b, c = -x, x * 2, x
    for _ in range(5):
        new = np.exp(a * np.float32(0.01))
        a, b, c = b, a if count < 3 else new, new
    results = [to_numpy(value) for value in compiled["rotated"](x, np.array(count, np.int64))]
    for result, expected in zip(results, (a, b, c), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_functions_in_functions_may_be_legalised_first() -> None:
    module = parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        def local(y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            return R.exp(y) + x
        return local(local(x))
""")
    work = module.clone()
    work.apply_(create_pass("legalize-ops"))
    x = np.linspace(-1, 1, 5, dtype="float32")
    np.testing.assert_allclose(to_numpy(rx.build(work)["main"](x)), np.exp(np.exp(x) + x) + x, rtol=1e-6)
