"""Errors at run time: each is a `RelaxError` and a built-in Python error, and names its location."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import relax_mlir as rx
from relax_mlir import error
from relax_mlir.script import parse

SOURCE = """
@I.ir_module
class Module:
    @T.prim_func
    def pick(x: T.Buffer(("n",), "float32"), y: T.Buffer((1,), "float32"), i: T.int64):
        n = T.int64()
        y[0] = x[i]

    @T.prim_func
    def first(x: T.Buffer(("n",), "float32"), y: T.Buffer((1,), "float32")):
        n = T.int64()
        assert n > 1, "one {0} is 100 %s too few"
        y[0] = x[0]

    @R.function(private=True)
    def inner(x: R.Tensor(("n", "m"), "float32")):
        return R.max(x, axis=0)  # innermost

    @R.function
    def largest(x: R.Tensor(("n", "m"), "float32")):
        return R.max(x, axis=0)  # largest

    @R.function
    def largest_again(x: R.Tensor(("n", "m"), "float32")):
        return R.max(x, axis=0)  # largest_again

    @R.function
    def smallest_fused(x: R.Tensor(("n", "m"), "float32")):
        y = R.exp(x)
        return R.exp(R.min(y, axis=1))  # smallest_fused

    @R.function
    def position(x: R.Tensor(("n",), "int8")):
        return R.argmax(x)  # position

    @R.function
    def calls(x: R.Tensor(("n", "m"), "float32")):
        y = cls.inner(x)
        return R.exp(y)

    @R.function
    def branch(x: R.Tensor(("n", "m"), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.argmin(x, axis=1)  # branch
        else:
            y = R.zeros((n,), "int64")
        return y

    @R.function
    def loop(x: R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        total = R.zeros((m,), "float32")
        for i in range(3):
            total = total + R.max(x, axis=0)  # loop
        return total

    @R.function
    def picked(x: R.Tensor(("n",), "float32"), i: R.Prim(value="i")):
        return R.call_tir(cls.pick, (x,), R.Tensor((1,), "float32"), tir_vars=("i",))  # picked

    @R.function
    def asserted(x: R.Tensor(("n",), "float32")):
        return R.call_tir(cls.first, (x,), R.Tensor((1,), "float32"))  # asserted

    @R.function
    def checked(x: R.Tensor(("n",), "float32")):
        R.assert_op(R.max(x) < 1.0, format="too large")  # checked
        return x

    @R.function
    def forever(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return cls.forever(x)

    @R.function
    def too_large(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.zeros((n * 1000000000000000,), "float32")

    @R.function
    def too_large_inside(x: R.Tensor(("n",), "float32")):  # too_large_inside
        n = T.int64()
        return R.sum(R.cumsum(R.zeros((n * 100000000000000,), "float32")))
"""
NOTHING, ROWS = np.zeros((0, 3), np.float32), np.zeros((3, 0), np.float32)
ONE = np.ones(1, np.float32)
EMPTY = "no elements to reduce: dimension {} of the tensor is 0"
CASES = [
    ("largest", (NOTHING,), error.CheckError, "max: " + EMPTY.format(0), "largest"),
    ("largest_again", (NOTHING,), error.CheckError, "max: " + EMPTY.format(0), "largest_again"),
    (
        "smallest_fused",
        (ROWS,),
        error.CheckError,
        r"\(at errors.py:29:13, errors.py:30:\d+\)",
        "smallest_fused",
    ),
    ("position", (np.zeros(0, np.int8),), error.CheckError, "argmax: " + EMPTY.format(0), "position"),
    ("calls", (NOTHING,), error.CheckError, "max: " + EMPTY.format(0), "innermost"),
    ("branch", (ROWS, np.array(True)), error.CheckError, "argmin: " + EMPTY.format(1), "branch"),
    ("loop", (NOTHING,), error.CheckError, "max: " + EMPTY.format(0), "loop"),
    (
        "picked",
        (ONE, 7),
        error.BoundsError,
        "pick: 'x': index 7 is out of range .* at errors.py:7:9",
        "picked",
    ),
    ("asserted", (ONE,), error.CheckError, r"errors.py:12:9: one \{0\} is 100 %s too few", "asserted"),
    ("checked", (ONE,), error.CheckError, "checked: assertion failed at errors.py:.*: too large", "checked"),
    ("forever", (ONE,), error.RecursionLimitError, "forever: the function calls itself too deep", ""),
    ("too_large", (ONE,), error.OutOfMemoryError, r"cannot allocate .* \(in too_large\)", ""),
    ("too_large_inside", (ONE,), error.OutOfMemoryError, "cannot allocate", "too_large_inside"),
]
WELL_KNOWN = {
    error.CheckError: AssertionError,
    error.BoundsError: IndexError,
    error.RecursionLimitError: RecursionError,
    error.OutOfMemoryError: MemoryError,
}


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    return rx.build(parse(SOURCE, name="errors.py"))


@pytest.mark.parametrize(("function", "arguments", "kind", "message", "mark"), CASES)
def test_kind_and_place(
    built: rx.Executable, function: str, arguments: tuple[object, ...], kind: type, message: str, mark: str
) -> None:
    with pytest.raises(kind, match=message) as raised:
        built[function](*arguments)
    assert issubclass(kind, error.RelaxError) and issubclass(kind, WELL_KNOWN[kind])
    if mark:
        lines = SOURCE.splitlines()
        line = next(i for i, text in enumerate(lines, 1) if text.endswith(f"# {mark}"))
        assert re.search(rf"errors.py:{line}:\d+", str(raised.value)), raised.value
    assert str(raised.value).count("(at ") + str(raised.value).count("(called at ") <= 1


def test_what_does_not_fail(built: rx.Executable) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for function, arguments, expected in (
        ("largest", (x,), x.max(0)),
        ("largest", (np.zeros((0, 0), np.float32),), np.zeros(0)),
        ("largest", (ROWS,), np.zeros(0)),
        ("branch", (ROWS, np.array(False)), np.zeros(3)),
        ("loop", (x,), 3 * x.max(0)),
        ("picked", (x[0], 2), x[0, 2:]),
        ("asserted", (x[0],), x[0, :1]),
    ):
        np.testing.assert_array_equal(np.from_dlpack(built[function](*arguments)), expected)


def test_errors_leak_nothing(built: rx.Executable) -> None:
    function, process = built["largest"], psutil.Process()
    before = 0
    for i in range(3000):
        with pytest.raises(error.CheckError):
            function(NOTHING)
        if i % 500 == 0:  # exceptions are garbage with their frames
            gc.collect()
        if i == 1000:
            before = process.memory_info().rss
    gc.collect()
    assert process.memory_info().rss - before < 1 << 20


def test_errors_of_packed_functions_stay_as_they_are(tmp_path: Path) -> None:
    """Errors raised by a packed function get no location: they have a traceback."""
    import tvm_ffi

    def fails(*_: object) -> None:
        raise KeyError("mine")

    tvm_ffi.register_global_func("test.error_places.fails", fails, override=True)
    module = parse(
        """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    return R.call_dps_packed("test.error_places.fails", (x,), R.Tensor(("n",), "float32"))
"""
    )
    main: Callable[..., object] = rx.build(module)["main"]
    with pytest.raises(KeyError) as raised:
        main(ONE)
    assert str(raised.value).strip("\"'") == "mine"
