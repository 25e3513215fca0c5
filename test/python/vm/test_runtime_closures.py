"""Function values that are known only at run time, as bytecode, against the same programs in Python."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError, RecursionLimitError, RelaxError, UnsupportedError
from relax_mlir.script import parse

V = 'R.Tensor(("n",), "float32")'
F = f"R.Callable(({V},), {V})"

CHOICE = f"""
@R.function
def choice(x: {V}, flag: R.Tensor((), "bool")):
    y = x + x
    if flag:
        z = y * y
        def f(a: {V}) -> {V}:
            return a + z
    else:
        w = y - 1.0
        def f(a: {V}) -> {V}:
            return a * w
    return f(x), f(y)
"""

RECURSION = f"""
@R.function(private=True)
def again(f: {F}, x: {V}, count: R.Prim("int64")) -> {V}:
    def g(a: {V}) -> {V}:
        return f(a) + a
    if count > 0:
        result = cls.again(g, x, count - 1)
    else:
        result = f(x)
    return result

@R.function
def recursion(x: {V}, count: R.Prim("int64")) -> {V}:
    def start(a: {V}) -> {V}:
        return a * x
    return cls.again(start, x, count)
"""

LOOP = f"""
@R.function
def loop(x: {V}, count: R.Prim("int64")) -> {V}:
    def f(a: {V}) -> {V}:
        return a + x
    for i in range(count):
        def g(a: {V}) -> {V}:
            return f(a) * 2.0
        f = g
    return f(x)
"""

TUPLES = f"""
@R.function
def tuples(x: {V}, flag: R.Tensor((), "bool")):
    y = x * 3.0
    def f(a: {V}) -> {V}:
        return a + y
    def g(a: {V}) -> {V}:
        return a - y
    if flag:
        both = (f, g)
    else:
        both = (g, f)
    first = both[0]
    second = both[1]
    return first(x), second(first(x))
"""

PUBLIC = f"""
@R.function
def take(f: {F}, x: {V}) -> {V}:
    return f(f(x))

@R.function
def give(x: {V}) -> {F}:
    y = x * 2.0
    def add(a: {V}) -> {V}:
        return a + y
    return add

@R.function
def compose(f: {F}, g: {F}) -> {F}:
    def both(a: {V}) -> {V}:
        return g(f(a))
    return both

@R.function
def packed(x: {V}) -> {V}:
    f = R.call_packed("test.closures.give", out={F})
    return f(x)

@R.function
def untyped(f: R.Callable(), x: {V}) -> {V}:
    return R.invoke_closure(f, [x], out={V})
"""


given: list[Any] = []
"""The values that `test.closures.give` returns, one after the other."""


@pytest.fixture(scope="module")
def ex() -> rx.vm.Executable:
    tvm_ffi.register_global_func("test.closures.give", lambda: given.pop(0), override=True)
    return rx.vm.build(parse("\n".join([CHOICE, RECURSION, LOOP, TUPLES, PUBLIC])))


SIZES = (0, 1, 5, 33)


def vector(size: int) -> Any:
    return (np.arange(size) % 7 - 3).astype("float32")


def arrays(result: Any) -> list[Any]:
    return [np.from_dlpack(item) for item in result]


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_chosen_by_a_condition(ex: rx.vm.Executable, size: int, flag: bool) -> None:
    x = vector(size)
    y = x + x
    f: Callable[[Any], Any] = (lambda a: a + y * y) if flag else (lambda a: a * (y - 1))
    for found, wanted in zip(arrays(ex["choice"](x, np.array(flag))), (f(x), f(y)), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_in_tuples(ex: rx.vm.Executable, size: int, flag: bool) -> None:
    x = vector(size)
    y = x * 3
    first: Callable[[Any], Any] = (lambda a: a + y) if flag else (lambda a: a - y)
    second: Callable[[Any], Any] = (lambda a: a - y) if flag else (lambda a: a + y)
    for found, wanted in zip(arrays(ex["tuples"](x, np.array(flag))), (first(x), second(first(x))), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
def test_made_anew_in_a_recursion(ex: rx.vm.Executable, count: int) -> None:
    x = vector(5)
    np.testing.assert_array_equal(np.from_dlpack(ex["recursion"](x, count)), x * x + count * x)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 60])
def test_carried_by_a_loop(ex: rx.vm.Executable, count: int) -> None:
    x = vector(5)
    np.testing.assert_array_equal(np.from_dlpack(ex["loop"](x, count)), (x + x) * np.float32(2**count))


def test_functions_given_and_taken(ex: rx.vm.Executable) -> None:
    x = vector(5)

    def affine(a: Any) -> Any:
        return tvm_ffi.from_dlpack(np.from_dlpack(a) * 3 + 1)

    np.testing.assert_array_equal(np.from_dlpack(ex["take"](affine, x)), (x * 3 + 1) * 3 + 1)
    add = ex["give"](x)
    assert isinstance(add, tvm_ffi.Function)
    np.testing.assert_array_equal(np.from_dlpack(add(x)), x + 2 * x)
    np.testing.assert_array_equal(np.from_dlpack(ex["take"](add, x)), x + 4 * x)
    composed = ex["compose"](add, affine)
    np.testing.assert_array_equal(np.from_dlpack(composed(x)), (x + 2 * x) * 3 + 1)
    np.testing.assert_array_equal(np.from_dlpack(ex["untyped"](composed, x)), (x + 2 * x) * 3 + 1)


def test_a_closure_outlives_its_executable() -> None:
    tvm_ffi.register_global_func("test.closures.give", lambda: given.pop(0), override=True)
    add = rx.vm.build(parse(PUBLIC))["give"](np.ones(3, "float32"))
    gc.collect()
    np.testing.assert_array_equal(np.from_dlpack(add(np.zeros(3, "float32"))), [2, 2, 2])


def test_saved(ex: rx.vm.Executable, tmp_path: Any) -> None:
    ex.save(tmp_path / "closures.rxvm")
    loaded = rx.vm.Executable.load(tmp_path / "closures.rxvm")
    x = vector(5)
    np.testing.assert_array_equal(np.from_dlpack(loaded["recursion"](x, 3)), x * x + 3 * x)


FIELDS = """
@R.function
def choose(
    t: R.Tuple(
        R.Tuple(R.Object(), R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32"))), R.Object()
    ),
    x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")
):
    if c:
        z = t[0][1](x)
    else:
        z = x
    return z
"""


def test_functions_in_tuples_are_checked_first() -> None:
    choose = rx.vm.build(parse(FIELDS))["choose"]
    x, call, leave = vector(3), np.array(True), np.array(False)
    given = ((1, lambda a: np.from_dlpack(a) * 2), None)
    np.testing.assert_array_equal(np.from_dlpack(choose(given, x, call)), x * 2)
    np.testing.assert_array_equal(np.from_dlpack(choose(given, x, leave)), x)
    for wrong in (3, None, x, "text"):
        for c in (call, leave):
            with pytest.raises(ArgumentError, match=r"choose: parameter 't'\[0\]\[1\] is .*expected a function"):
                choose(((1, wrong), None), x, c)


def test_wrong_calls(ex: rx.vm.Executable) -> None:
    x = vector(5)
    add = ex["give"](x)
    with pytest.raises(ArgumentError, match=r"give_add: takes \d arguments \(.*\); got \d"):
        add()
    with pytest.raises(ArgumentError, match=r"give_add: takes \d arguments \(.*\); got \d"):
        add(x, x)
    with pytest.raises(RelaxError, match=r"give_add: parameter 'a'"):
        add(x.astype("float64"))
    with pytest.raises(RelaxError, match=r"give_add"):
        add(vector(4))
    with pytest.raises(RelaxError, match=r"take: parameter 'f' is .*expected a function"):
        ex["take"](x, x)
    with pytest.raises(RelaxError, match=r"take: parameter 'f'"):
        ex["take"](None, x)
    with pytest.raises(RelaxError, match=r"take: result of 'vm.builtin.invoke_closure'"):
        ex["take"](lambda a: 3, x)
    with pytest.raises(RelaxError, match=r"take: result of 'vm.builtin.invoke_closure'"):
        ex["take"](lambda a: tvm_ffi.from_dlpack(vector(4)), x)
    with pytest.raises(ZeroDivisionError, match="mine"):
        ex["take"](_fail, x)


def test_functions_of_packed_functions(ex: rx.vm.Executable) -> None:
    x = vector(5)
    given[:] = [ex["give"](x), 3, None, "text"]
    np.testing.assert_array_equal(np.from_dlpack(ex["packed"](x)), x + 2 * x)
    while given:
        with pytest.raises(RelaxError, match=r"^packed: result of 'test.closures.give' at .* expected a function"):
            ex["packed"](x)


def _fail(a: Any) -> Any:
    raise ZeroDivisionError("mine")


def test_a_function_that_changes_its_argument(ex: rx.vm.Executable) -> None:
    """It gets a separate tensor."""
    x = vector(5)

    def change(a: Any) -> Any:
        np.from_dlpack(a)[...] = 0
        return a

    before = x.copy()
    np.testing.assert_array_equal(np.from_dlpack(ex["take"](change, x)), 0 * x)
    np.testing.assert_array_equal(x, before)


def test_endless_recursion(ex: rx.vm.Executable) -> None:
    with pytest.raises(RecursionLimitError):
        ex["recursion"](vector(3), 100_000)
    x = vector(3)
    np.testing.assert_array_equal(np.from_dlpack(ex["recursion"](x, 2)), x * x + 2 * x)


def test_nothing_is_kept(ex: rx.vm.Executable) -> None:
    x, flag = vector(3), np.array(True)
    recursion, choice, give = ex["recursion"], ex["choice"], ex["give"]
    for _ in range(200):
        choice(x, flag)
        recursion(x, 3)
        give(x)(x)
    gc.collect()
    references, peak = sys.getrefcount(x), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        choice(x, flag)
        recursion(x, 3)
        give(x)
    assert sys.getrefcount(x) == references
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 4096  # KiB; a closure has more than 64 bytes


NATIVE = {
    "choice": (CHOICE, "depends on what is computed in a branch"),
    "recursion": (RECURSION, "called with more than 64 different functions"),
    "loop": (LOOP, "known only when the program runs"),
    "public": (PUBLIC, "parameter 'f' is a function"),
}


@pytest.mark.parametrize("name", NATIVE)
def test_native_code_names_bytecode(name: str) -> None:
    text, reason = NATIVE[name]
    with pytest.raises(
        UnsupportedError, match=rf"(?s){reason}.*run it as bytecode, build\(mod, exec_mode=\"bytecode\"\)"
    ):
        rx.build(parse(text))
