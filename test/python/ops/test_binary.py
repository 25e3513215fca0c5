"""Binary, comparison, logical and bitwise ops and ewise_fma against NumPy, for every dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import ALL, FLOATS, INTEGERS, SIGNED, Array, Suite, numbers, pairs, special_values
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import DTypeError, ShapeError

Ops = dict[str, tuple[Callable[..., Any], Callable[..., Any]]]

ARITHMETIC: Ops = {
    "add": (R.add, np.add),
    "floor_divide": (R.floor_divide, np.floor_divide),
    "floor_mod": (R.floor_mod, np.mod),
    "maximum": (R.maximum, np.maximum),
    "minimum": (R.minimum, np.minimum),
    "mod": (R.mod, np.mod),
    "multiply": (R.multiply, np.multiply),
    "subtract": (R.subtract, np.subtract),
}
FLOAT_ONLY: Ops = {
    "atan2": (R.atan2, np.arctan2),
    "divide": (R.divide, np.divide),
    "log_add_exp": (R.log_add_exp, np.logaddexp),
}
COMPARISONS: Ops = {
    "equal": (R.equal, np.equal),
    "greater": (R.greater, np.greater),
    "greater_equal": (R.greater_equal, np.greater_equal),
    "less": (R.less, np.less),
    "less_equal": (R.less_equal, np.less_equal),
    "not_equal": (R.not_equal, np.not_equal),
    "logical_and": (R.logical_and, np.logical_and),
    "logical_or": (R.logical_or, np.logical_or),
    "logical_xor": (R.logical_xor, np.logical_xor),
}
BITWISE: Ops = {
    "bitwise_and": (R.bitwise_and, np.bitwise_and),
    "bitwise_or": (R.bitwise_or, np.bitwise_or),
    "bitwise_xor": (R.bitwise_xor, np.bitwise_xor),
}
SHIFTS: Ops = {
    "left_shift": (R.left_shift, np.left_shift),
    "right_shift": (R.right_shift, np.right_shift),
}
BOOL: Ops = {name: ARITHMETIC[name] for name in ("add", "maximum", "minimum", "multiply")}


def vectors(dtype: str) -> list[Tensor]:
    return [Tensor(("n",), dtype), Tensor(("n",), dtype)]


def add_on_pairs(suite: Suite, ops: Ops, dtype: str) -> None:
    """Each op on vectors: of random numbers, and of all pairs of special values."""
    for name, (build, reference) in ops.items():
        suite.add(name, build, reference, vectors(dtype), inputs=[pairs(special_values(dtype))])


def rounded_once(reference: Callable[..., Array], dtype: str) -> Callable[..., Array]:
    """A quotient depends on the rounding of its operands: compute it in the dtype if NumPy has it."""
    wide = np.float64 if dtype == "float64" else np.float32
    return lambda *arrays: reference(*(array.astype(wide) for array in arrays))


@pytest.mark.parametrize("dtype", FLOATS)
def test_arithmetic_of_floats(dtype: str) -> None:
    """All in float32; the other types alternate."""
    suite = Suite((dtype, FLOATS[1:] if dtype in FLOATS[1:] else [dtype]))
    ops = {**ARITHMETIC, **FLOAT_ONLY}
    add_on_pairs(suite, {name: (op, rounded_once(ref, dtype)) for name, (op, ref) in ops.items()}, dtype)
    power = rounded_once(np.power, dtype)
    special = pairs(special_values(dtype))
    suite.add(
        "power", R.power, power, vectors(dtype), draw=[numbers(0.1, 3), numbers(-3, 3)], inputs=[special]
    )
    suite.add("fma", R.ewise_fma, lambda a, b, c: a * b + c, [Tensor(("n",), dtype)] * 3)
    suite.run()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arithmetic_of_integers(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    add_on_pairs(suite, ARITHMETIC, dtype)
    suite.add("power", R.power, integer_power, vectors(dtype), inputs=[pairs(special_values(dtype))])
    suite.add("fma", R.ewise_fma, lambda a, b, c: a * b + c, [Tensor(("n",), dtype)] * 3)
    suite.run(test_arithmetic_of_integers)


def integer_power(base: Array, exponent: Array) -> Array:
    """Wrapping power; a negative exponent gives the truncated reciprocal."""
    limits = np.iinfo(base.dtype)
    modulus = 1 << limits.bits

    def scalar(x: int, y: int) -> int:
        if y < 0:
            return (1 if y % 2 == 0 or x == 1 else -1) if abs(x) == 1 else 0
        value = pow(x, y, modulus)
        return value - modulus if value > limits.max else value

    values = [scalar(int(x), int(y)) for x, y in zip(base.flat, exponent.flat, strict=True)]
    return np.array(values, dtype=base.dtype).reshape(base.shape)


@pytest.mark.parametrize("dtype", ALL)
def test_comparisons(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    add_on_pairs(suite, COMPARISONS, dtype)
    suite.run(test_comparisons)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_bits(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    add_on_pairs(suite, BITWISE, dtype)
    if dtype == "bool":
        add_on_pairs(suite, BOOL, dtype)
    else:
        bits = np.iinfo(dtype).bits
        low = -2 if dtype in SIGNED else 0
        counts = np.array([*range(low, bits + 3), bits * 2], dtype=dtype)
        every = np.meshgrid(special_values(dtype), counts)
        for name, (build, reference) in SHIFTS.items():
            inputs = [[np.ascontiguousarray(x.reshape(-1)) for x in every]]
            suite.add(name, build, reference, vectors(dtype), inputs=inputs)
    suite.run(test_bits)


def test_broadcasting() -> None:
    suite = Suite()
    shapes = [
        (("n", 1, "m"), (2, "m")),
        (("n", "m"), ()),
        ((), ("n",)),
        ((1, "m"), ("n", 1)),
        ((3, 1), (1, 4)),
        (("n", 1), ("n", 5)),
    ]
    for left, right in shapes:
        suite.add("sub", R.subtract, np.subtract, [Tensor(left, "float32"), Tensor(right, "float32")])
    three = [Tensor(("n", 1), "int32"), Tensor(("m",), "int32"), Tensor((), "int32")]
    suite.add("fma", R.ewise_fma, lambda a, b, c: a * b + c, three)
    suite.add("number", lambda x: R.multiply(2, R.add(x, 1)), lambda x: 2 * (x + 1), [Tensor(("n",), "int8")])
    suite.run()


def test_operators() -> None:
    suite = Suite()
    suite.add(
        "floats", lambda x, y: (x + y) * x - y / 2.0, lambda x, y: (x + y) * x - y / 2, vectors("float32")
    )
    suite.add("ints", lambda x, y: x // 2 + y % 3 - -x, lambda x, y: x // 2 + y % 3 + x, vectors("int32"))
    suite.add("bits", lambda x, y: (x & y) | (~x ^ 3), lambda x, y: (x & y) | (~x ^ 3), vectors("uint8"))
    suite.add("compare", lambda x, y: x > y, lambda x, y: x > y, vectors("float32"))
    suite.run()


@pytest.mark.parametrize(
    ("build", "dtypes", "message"),
    [
        (R.add, ("float32", "float64"), "add: operands have dtypes float32 and float64"),
        (R.divide, ("int32", "int32"), "divide: operand 'x1' has dtype int32, expected a float; use astype"),
        (R.subtract, ("bool", "bool"), "subtract: operand 'x1' has dtype bool, expected a number"),
        (R.bitwise_and, ("float32", "float32"), "expected an integer or bool"),
        (R.left_shift, ("bool", "bool"), "expected an integer"),
        (R.atan2, ("int8", "int8"), "expected a float"),
    ],
)
def test_wrong_dtypes(build: Callable[..., Any], dtypes: tuple[str, str], message: str) -> None:
    suite = Suite()
    suite.add("wrong", build, np.add, [Tensor(("n",), dtype) for dtype in dtypes], sizes=())
    with pytest.raises(DTypeError, match=message):
        suite.module()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2,), (3,)), "add: shapes .*: 2 and 3 do not broadcast"),
        ((("n",), ("m",)), "cannot tell whether n equals m"),
    ],
)
def test_wrong_shapes(shapes: tuple[tuple[int | str, ...], ...], message: str) -> None:
    suite = Suite()
    suite.add("wrong", R.add, np.add, [Tensor(shape, "float32") for shape in shapes], sizes=())
    with pytest.raises(ShapeError, match=message):
        suite.module()
