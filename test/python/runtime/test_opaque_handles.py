"""Handles of libraries as values of programs: freed exactly once, after the last use."""

from __future__ import annotations

import functools
import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from programs import numpy, register
from relax_mlir.script import parse

from examples import opaque_handle


class Handle:
    """Counts how often it was created, used and freed."""

    made, freed = 0, 0

    def __init__(self) -> None:
        self.uses = 0
        self.is_freed = False
        Handle.made += 1

    def __del__(self) -> None:
        assert not self.is_freed
        self.is_freed = True
        Handle.freed += 1


@register("handles.make")
def _make() -> Handle:
    return Handle()


@register("handles.count")
def _count(handle: Handle, x: Any) -> None:
    """Adds the number of uses so far to all elements."""
    assert isinstance(handle, Handle) and not handle.is_freed
    np.from_dlpack(x)[...] += handle.uses
    handle.uses += 1


@register("handles.fail")
def _fail(handle: Handle) -> None:
    raise ValueError("the library says no")


SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def used(x: R.Tensor(("n",), "float32")):
        h = R.call_packed("handles.make", sinfo_args=R.Object)
        y = R.add(x, R.const(1.0, "float32"))
        R.call_packed("handles.count", h, y)
        R.call_packed("handles.count", h, y)
        return y

    @R.function
    def unused(x: R.Tensor(("n",), "float32")):
        h = R.call_packed("handles.make", sinfo_args=R.Object)
        return R.add(x, R.const(1.0, "float32"))

    @R.function
    def failing(x: R.Tensor(("n",), "float32")):
        h = R.call_packed("handles.make", sinfo_args=R.Object)
        R.call_packed("handles.fail", h)
        return x

    @R.function
    def mismatch(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        h = R.call_packed("handles.make", sinfo_args=R.Object)
        z = R.match_shape(y, ("n",))
        R.call_packed("handles.count", h, z)
        return R.add(x, z)

    @R.function
    def given_back(x: R.Tensor(("n",), "float32")):
        h = R.call_packed("handles.make", sinfo_args=R.Object)
        y = R.add(x, R.const(1.0, "float32"))
        R.call_packed("handles.count", h, y)
        return (y, h, h)

    @R.function
    def branch(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), given: R.Object):
        if c:
            h = R.call_packed("handles.make", sinfo_args=R.Object)
        else:
            h = given
        y = R.add(x, R.const(1.0, "float32"))
        R.call_packed("handles.count", h, y)
        return y

    @R.function
    def loop(x: R.Tensor(("n",), "float32")):
        y = R.add(x, R.const(0.0, "float32"))
        for i in range(3):
            h = R.call_packed("handles.make", sinfo_args=R.Object)
            R.call_packed("handles.count", h, y)
            R.call_packed("handles.count", h, y)
        return y

    @R.function(private=True)
    def inner(x: R.Tensor(("n",), "float32"), h: R.Object):
        y = R.add(x, R.const(1.0, "float32"))
        R.call_packed("handles.count", h, y)
        return y

    @R.function
    def handed_on(x: R.Tensor(("n",), "float32")):
        h = R.call_packed("handles.make", sinfo_args=R.Object)
        return inner(inner(x, h), h)
"""
X = np.arange(4, dtype="f4")


@functools.cache
def built(mode: str) -> Any:
    executable = rx.build(parse(SCRIPT), exec_mode=mode)
    return rx.VirtualMachine(executable) if mode == "bytecode" else executable


@pytest.fixture(params=["native", "bytecode"])
def functions(request: pytest.FixtureRequest) -> Any:
    found = built(request.param)
    gc.collect()
    Handle.made = Handle.freed = 0
    return found


CASES = {"used": X + 2, "unused": X + 1, "loop": X + 3, "handed_on": X + 3}


@pytest.mark.parametrize("name", CASES)
def test_freed_when_the_call_is_over(functions: Any, name: str) -> None:
    for _ in range(3):
        np.testing.assert_array_equal(numpy(functions[name](X)), CASES[name])
    made = 9 if name == "loop" else 3
    assert (Handle.made, Handle.freed) == (made, made)


def test_freed_when_a_call_fails(functions: Any) -> None:
    with pytest.raises(ValueError, match="the library says no"):
        functions["failing"](X)
    gc.collect()  # the error holds the frame of the Python function
    assert (Handle.made, Handle.freed) == (1, 1)
    with pytest.raises(Exception, match=r"mismatch: match_shape at .*: dimension 0 is 3, (but n = 4|expected 4)"):
        functions["mismatch"](X, np.zeros(3, "f4"))
    gc.collect()
    assert Handle.made == Handle.freed
    np.testing.assert_array_equal(numpy(functions["mismatch"](X, X)), 2 * X)


def test_held_by_the_caller(functions: Any) -> None:
    y, first, second = functions["given_back"](X)
    np.testing.assert_array_equal(numpy(y), X + 1)
    assert isinstance(first, Handle) and first is second and first.uses == 1
    assert (Handle.made, Handle.freed) == (1, 0)
    np.testing.assert_array_equal(numpy(functions["branch"](X, np.array(False), first)), X + 2)
    np.testing.assert_array_equal(numpy(functions["branch"](X, np.array(True), first)), X + 1)
    assert (Handle.made, Handle.freed, first.uses) == (2, 1, 2)
    del first
    assert Handle.freed == 1
    del second
    assert (Handle.made, Handle.freed) == (2, 2)


def test_several_threads(functions: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: numpy(functions["used"](X)), range(40)):
            np.testing.assert_array_equal(found, X + 2)
    gc.collect()
    assert (Handle.made, Handle.freed) == (40, 40)


def test_what_is_no_handle(functions: Any) -> None:
    with pytest.raises(AssertionError):
        functions["branch"](X, np.array(False), 3)
    assert (Handle.made, Handle.freed) == (0, 0)


def test_example(capsys: pytest.CaptureFixture[str]) -> None:
    opaque_handle.Generator.made = opaque_handle.Generator.freed = 0
    opaque_handle.main()
    assert capsys.readouterr().out.splitlines()[1:] == [
        "while the caller holds one: 4, 3",
        "at the end: 4, 4",
    ]
    executable = rx.build(opaque_handle.program())
    for shape in ((0, 3), (1, 1), (5, 7)):
        x = np.ones(shape)
        np.testing.assert_array_equal(numpy(executable["main"](x, 3)), opaque_handle.expected(x, 3, times=2))
    with pytest.raises(TypeError, match=r"expected a handle that rand48\.create gives"):
        executable["noise"](np.ones((2, 2)), tvm_ffi.convert([1]))
    assert opaque_handle.Generator.made == opaque_handle.Generator.freed
