"""Results in given arrays: they may overlap inputs, not each other; mismatches are errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.script import parse

TEXT = """
@R.function
def rotate(x: R.Tensor(("n",), "float32")):
    return R.concat([R.strided_slice(x, [0], [1], ["n"]), R.strided_slice(x, [0], [0], [1])])

@R.function
def transpose(x: R.Tensor(("n", "m"), "float32")):
    return R.permute_dims(x, [1, 0])

@R.function
def product(x: R.Tensor(("n", "n"), "float32"), y: R.Tensor(("n", "n"), "float32")):
    return R.matmul(x, y)

@R.function
def two(x: R.Tensor(("n",), "float32"), t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((), "int32"))):
    return (x - t[0], t[0] - x)

@R.function
def unknown(x: R.Tensor(("n",), "float32"), y: R.Tensor(ndim=1)):
    z = R.match_cast(y, R.Tensor(("n",), "float32"))
    return R.concat([R.strided_slice(z, [0], [1], ["n"]), R.strided_slice(z, [0], [0], [1])])

@R.function
def number(x: R.Tensor((), "float32")):
    return x + 1.0
"""


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    return rx.build(parse(TEXT))


def _range(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)


def test_input_itself(built: rx.Executable) -> None:
    for size in (1, 2, 17, 1000):
        x = _range(size)
        built["rotate"](x, x)
        np.testing.assert_array_equal(x, np.roll(np.arange(size), -1))
        y = _range(size)
        built["unknown"](_range(size), y, y)
        np.testing.assert_array_equal(y, np.roll(np.arange(size), -1))
    square = _range(9, 9)
    built["transpose"](square, square)
    np.testing.assert_array_equal(square, _range(9, 9).T)
    a, b = _range(33, 33), np.eye(33, dtype="f4")[::-1].copy()
    built["product"](a, b, a)
    np.testing.assert_array_equal(a, _range(33, 33)[:, ::-1])
    x = np.array(3, "f4")
    built["number"](x, x)
    assert x == 4


def test_a_part_of_an_input(built: rx.Executable) -> None:
    for shift in (1, 2, 99):
        memory = _range(200)
        built["rotate"](memory[:100], memory[shift : shift + 100])
        np.testing.assert_array_equal(memory[shift : shift + 100], np.roll(np.arange(100), -1))
        memory = _range(200)
        built["rotate"](memory[shift : shift + 100], memory[:100])
        np.testing.assert_array_equal(memory[:100], np.roll(np.arange(shift, shift + 100), -1))


def test_field_of_a_tuple(built: rx.Executable) -> None:
    x, y, number = _range(5), np.ones(5, "f4"), np.array(1, "i4")
    built["two"](x, (y, number), y, x)
    np.testing.assert_array_equal(y, np.arange(5) - 1)
    np.testing.assert_array_equal(x, 1 - np.arange(5))


def test_neighbours(built: rx.Executable) -> None:
    """Adjacent memory does not overlap; empty results have none."""
    memory = _range(30)
    built["two"](memory[:10], (np.ones(10, "f4"), np.array(1, "i4")), memory[10:20], memory[20:])
    np.testing.assert_array_equal(memory[10:20], np.arange(10) - 1)
    np.testing.assert_array_equal(memory[20:], 1 - np.arange(10))
    none = memory[4:4]
    assert built["two"](none, (none, np.array(1, "i4")), none, none) is None


def _fails(error: type[Exception], message: str, call: Any, *args: Any) -> None:
    with pytest.raises(error, match=message):
        call(*args)


def test_errors(built: rx.Executable) -> None:
    x, t, out = _range(6), (np.ones(6, "f4"), np.array(1, "i4")), np.full(8, 9, "f4")
    two, rotate = built["two"], built["rotate"]
    _fails(ArgumentError, "given result 1 overlaps the given result 0", two, x, t, out[:6], out[2:])
    _fails(ArgumentError, "given result 1 overlaps the given result 0", two, x, t, out[:6], out[:6])
    _fails(ArgumentError, "or 4 with the results to write to; got 3", two, x, t, (out[:6], out[:6]))
    _fails(ArgumentError, "or 4 with the results to write to; got 3", two.call_into, out[:6], x, t)
    _fails(ArgumentError, "takes 1 argument", rotate, x, out[:6], out[:6])
    _fails(ArgumentError, "got none", rotate.call_into, (), x)
    _fails(ArgumentError, "got none", rotate.call_into, [], x)
    _fails(ArgumentError, "is of type", rotate, x, (out[:6],))
    _fails(ShapeError, "dimension 0 of 0, but the call gives 6", rotate, x, np.empty(0, "f4"))
    _fails(ShapeError, "rank 2, expected rank 1", rotate, x, np.empty((1, 6), "f4"))
    _fails(DTypeError, "float64", rotate, x, np.empty(6))
    _fails(DTypeError, ">f4", rotate, x, np.empty(6, ">f4"))
    _fails(ArgumentError, "not contiguous", rotate, x, np.empty(12, "f4")[::2])
    _fails(ArgumentError, "not contiguous", rotate, x, np.broadcast_to(np.float32(1), 6).copy()[::-1])
    packed = np.zeros(6, [("a", "f4"), ("b", "i1")])
    _fails(ArgumentError, "non-contiguous", rotate, x, packed["a"])
    read_only = np.full(6, 9, "f4")
    read_only.flags.writeable = False
    _fails(ArgumentError, "read-only", rotate, x, read_only)
    _fails(ArgumentError, "non-contiguous", rotate, read_only, packed["a"])
    odd = np.zeros(25, "u1")[1:].view("f4")
    _fails(ArgumentError, "not aligned", rotate, x, odd)
    for untouched in (out, read_only):
        assert (untouched == 9).all()
    assert not packed["a"].any() and not odd.any()


def test_inputs_at_odd_addresses(built: rx.Executable) -> None:
    """They are copied; so are fields of structures, whose strides are not multiples of the element."""
    for size in (1, 2, 100):
        odd = np.zeros(4 * size + 1, "u1")[1:].view("f4")
        odd[:] = np.arange(size)
        field = np.zeros(size, [("b", "i1"), ("a", "f4")])["a"]
        field[:] = np.arange(size)
        for x in (odd, field):
            np.testing.assert_array_equal(np.from_dlpack(built["rotate"](x)), np.roll(np.arange(size), -1))
            np.testing.assert_array_equal(
                np.from_dlpack(built["unknown"](_range(size), x)), np.roll(np.arange(size), -1)
            )
    number = np.zeros(5, "u1")[1:].view("f4").reshape(())
    assert np.from_dlpack(built["number"](number)) == 1
