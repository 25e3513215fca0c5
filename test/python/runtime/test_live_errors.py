"""Exceptions of packed functions arrive unchanged, natively and from bytecode."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.runtime import keep_errors, packed_functions
from relax_mlir.script import parse

NAME = "test.live_errors.f"


class OwnError(Exception):
    """An exception with more than a message, constructed from two arguments."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code


class Slotted(Exception):
    """An instance has a dictionary all the same: its base class gives it one."""

    __slots__ = ("x",)


class OwnExit(BaseException):
    """An exception that is not an `Exception`."""


ERRORS: list[Callable[[], BaseException]] = [
    lambda: OwnError(7, "seven"),
    lambda: Slotted("slots"),
    lambda: OwnExit("exit"),
    lambda: KeyboardInterrupt("interrupted"),
    lambda: ValueError("known", 3),
    lambda: KeyError("key"),
    lambda: UnicodeDecodeError("utf8", b"x", 0, 1, "reason"),
    lambda: rx.error.ShapeError("shape"),
    lambda: rx.error.ArgumentError("argument"),
]

raising: list[BaseException] = []


def fail(x: Any) -> Any:
    raise raising[0]


TEXT = f"""
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return R.call_packed("{NAME}", x, out=R.Tensor(("n",), "float32"))
"""


def functions() -> dict[str, Callable[..., Any]]:
    tvm_ffi.register_global_func(NAME, keep_errors(fail), override=True)
    ib = rx.vm.ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("own", [ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    ex = ib.get()
    inner = rx.vm.VirtualMachine(ex, functions={"own": fail})
    mod = parse(TEXT)
    return {
        "native": rx.build(mod)["main"],
        "bytecode": rx.vm.build(mod)["main"],
        "function of a machine": inner["main"],
        "machine in a machine": rx.vm.VirtualMachine(ex, functions={"own": inner["main"]})["main"],
        "debugger": lambda x: rx.vm.Debugger(inner).run("main", x),
    }


@pytest.fixture(scope="module")
def callers() -> dict[str, Callable[..., Any]]:
    return functions()


CALLERS = ("native", "bytecode", "function of a machine", "machine in a machine")
ARGUMENTS = {
    "array": lambda: np.ones(3, "float32"),
    "read-only": lambda: _frozen(),
    "tensor": lambda: tvm_ffi.from_dlpack(np.ones(3, "float32")),
}


def _frozen() -> Any:
    array = np.ones(3, "float32")
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("name", CALLERS)
@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_the_same_exception(callers: dict[str, Callable[..., Any]], name: str, number: int, argument: str) -> None:
    error = ERRORS[number]()
    raising[:] = [error]
    with pytest.raises(type(error)) as caught:
        callers[name](ARGUMENTS[argument]())
    assert caught.value is error
    assert error.__context__ is None and error.__cause__ is None
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert "fail" in names and names[0] == "test_the_same_exception"
    raising.clear()


def test_the_debugger(callers: dict[str, Callable[..., Any]]) -> None:
    error = OwnError(1, "one")
    raising[:] = [error]
    debugger_run = callers["debugger"]
    with pytest.raises(OwnError) as caught:
        debugger_run(np.ones(3, "float32"))
    assert caught.value is error
    raising.clear()


def test_causes(callers: dict[str, Callable[..., Any]]) -> None:
    cause, error = KeyError("why"), OwnError(2, "two")
    error.__cause__ = cause
    raising[:] = [error]
    for name in CALLERS:
        with pytest.raises(OwnError) as caught:
            callers[name](np.ones(3, "float32"))
        assert caught.value.__cause__ is cause
    raising.clear()


def test_nothing_is_kept(callers: dict[str, Callable[..., Any]]) -> None:
    class Kept(Exception):
        pass

    array = np.ones(3, "float32")
    before = sys.getrefcount(array)
    seen = []
    for name in CALLERS:
        for _ in range(50):
            raising[:] = [Kept()]
            seen.append(weakref.ref(raising[0]))
            with pytest.raises(Kept):
                callers[name](array)
    raising.clear()
    gc.collect()
    assert not any(reference() for reference in seen)
    assert not any(isinstance(error, Kept) for error in packed_functions._live.values())
    assert sys.getrefcount(array) == before


def test_the_bare_function(callers: dict[str, Callable[..., Any]]) -> None:
    """It returns the FFI's exception; exceptions that are not retrieved are dropped."""
    for number in range(2 * packed_functions.MAX_REMEMBERED):
        raising[:] = [OwnError(number, "text")]
        with pytest.raises(RuntimeError, match="text"):
            callers["native"].ffi(np.ones(3, "float32"))
    assert len(packed_functions._live) == packed_functions.MAX_REMEMBERED
    packed_functions._live.clear()
    raising.clear()


def test_a_caught_exception_is_not_raised_later(callers: dict[str, Callable[..., Any]]) -> None:
    error = OwnError(1, "first")

    def recover(x: Any) -> Any:
        raising[:] = [error]
        try:
            callers["native"](x)
        except OwnError as caught:
            assert caught is error
        return x

    ib = rx.vm.ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("own", [ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    vm = rx.vm.VirtualMachine(ib.get(), functions={"own": recover})
    np.testing.assert_array_equal(np.from_dlpack(vm["main"](np.ones(3, "float32"))), [1, 1, 1])
    with pytest.raises(rx.error.ArgumentError, match="got 0"):
        vm["main"]()
    raising.clear()


def test_instruments() -> None:
    ib = rx.vm.ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("vm.builtin.copy", [ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    vm = rx.vm.VirtualMachine(ib.get())
    error = OwnError(3, "three")

    def instrument(*_: Any) -> None:
        raise error

    vm.set_instrument(instrument)
    with pytest.raises(OwnError) as caught:
        vm["main"](1)
    assert caught.value is error


def test_threads(callers: dict[str, Callable[..., Any]]) -> None:
    def own(x: Any) -> Any:
        raise OwnError(threading.get_ident(), "of this thread")

    ib = rx.vm.ExecBuilder()
    with ib.function("main", 1):
        ib.emit_call("own", [ib.r(0)], ib.r(1))
        ib.emit_ret(ib.r(1))
    main = rx.vm.VirtualMachine(ib.get(), functions={"own": own})["main"]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(200):
            try:
                main(1)
            except OwnError as error:
                if error.code != threading.get_ident():
                    wrong.append(error.code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
