"""Packed functions without effects: `call_pure_packed`."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def program(func: str, out: rx.StructInfo, after: object = lambda y: y) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(after(R.call_pure_packed(func, x, out=out)))  # type: ignore[operator]
        bb.emit_func_output(y)
    return bb.get()


def test_stands_in_a_dataflow_block_and_prints() -> None:
    tvm_ffi.register_global_func("pure.double", lambda x: tvm_ffi.from_dlpack(np.from_dlpack(x) * 2), override=True)
    mod = program("pure.double", rx.Tensor((None, 4)), lambda y: R.exp(R.match_shape(y, ("m", 4))) + 1.0)
    text = mod.script()
    assert 'R.call_pure_packed("pure.double", x, out=R.Tensor((None, 4), "float32"))' in text
    assert parse(text, {}).script() == text


def test_the_result_may_be_the_argument() -> None:
    tvm_ffi.register_global_func("pure.same", lambda x: x, override=True)
    mod = program("pure.same", rx.Tensor(("n", 4)), lambda y: y + y)
    given = X.copy()
    np.testing.assert_array_equal(to_numpy(rx.build(mod)["main"](given)), 2 * X)
    np.testing.assert_array_equal(given, X)


def test_several_results() -> None:
    def both(x: object) -> object:
        array = np.from_dlpack(x)
        return tvm_ffi.from_dlpack(array + 1), tvm_ffi.from_dlpack(array.astype(np.int64))

    tvm_ffi.register_global_func("pure.both", both, override=True)
    out = rx.Tuple([rx.Tensor(("n", 4)), rx.Tensor(("n", 4), "int64")])
    one, two = rx.build(program("pure.both", out))["main"](X)
    np.testing.assert_array_equal(to_numpy(one), X + 1)
    np.testing.assert_array_equal(to_numpy(two), X.astype(np.int64))


def test_equal_calls_are_made_once_and_unused_ones_never() -> None:
    calls = []

    def count(x: object) -> object:
        calls.append(1)
        return tvm_ffi.from_dlpack(np.from_dlpack(x).copy())

    tvm_ffi.register_global_func("pure.count", count, override=True)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        out = rx.Tensor(("n", 4))
        R.call_pure_packed("pure.count", x, 3, out=out)
        total = R.call_pure_packed("pure.count", x, out=out) + R.call_pure_packed("pure.count", x, out=out)
        bb.emit_func_output(total)
    np.testing.assert_array_equal(to_numpy(rx.build(bb.get())["main"](X)), 2 * X)
    assert len(calls) == 1


def test_a_result_of_another_shape_is_an_error() -> None:
    tvm_ffi.register_global_func(
        "pure.short", lambda x: tvm_ffi.from_dlpack(np.from_dlpack(x)[:1].copy()), override=True
    )
    function = rx.build(program("pure.short", rx.Tensor(("n", 4))))["main"]
    with pytest.raises(ShapeError, match=r"call_pure_packed of 'pure.short'.*returned dimension 0 of 1, but n = 2"):
        function(X)


def test_a_call_without_effects_gives_something() -> None:
    with pytest.raises(ArgumentError, match="a call without effects gives a value"):
        program("pure.nothing", rx.Tuple())
