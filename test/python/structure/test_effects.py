"""Calls with effects: later reads see them, and no pass moves or merges anything across them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from programs import Program, numpy, register
from relax_mlir import op as R
from relax_mlir.error import ShapeError, VerifyError

N = rx.Tensor(("n",), "float32")
X = np.arange(4, dtype="float32")
KEPT: list[Any] = []


@register("effects.increment")
def increment(x: Any) -> None:
    array = np.from_dlpack(x)
    np.add(array, 1, out=array)


@register("effects.identity")
def identity(x: Any) -> Any:
    return x


@register("effects.positive")
def positive(x: Any) -> Any:
    array = np.from_dlpack(x)
    return tvm_ffi.from_dlpack(array[array > 1].copy())


program = Program()


@program.function(N)
def in_place(bb: Any, x: Any) -> Any:
    y = x + x
    R.call_packed("effects.increment", y)
    return y


@program.function(N)
def parameter(bb: Any, x: Any) -> Any:
    R.call_packed("effects.increment", x)
    return x


@program.function(N)
def equal_ops_around(bb: Any, x: Any) -> Any:
    a = R.exp(x)
    R.call_packed("effects.increment", x)
    b = R.exp(x)
    R.call_packed("effects.increment", x)
    return a, b, R.exp(x)


@program.function(N)
def equal_ops_in_dataflow(bb: Any, x: Any) -> Any:
    with bb.dataflow():
        a = bb.emit_output(x * x)
    R.call_packed("effects.increment", x)
    with bb.dataflow():
        b = bb.emit_output(x * x)
    return a, b


@program.function(N)
def fused_around(bb: Any, x: Any) -> Any:
    a = R.exp(x)
    R.call_packed("effects.increment", x)
    return a + x


@program.function(N)
def through_tuple(bb: Any, x: Any) -> Any:
    pair = R.make_tuple(x, x + x)
    R.call_packed("effects.increment", x)
    R.call_packed("effects.increment", R.tuple_get_item(pair, 1))
    return pair


@program.function(rx.Tensor(("n", 2), "float32"))
def view(bb: Any, x: Any) -> Any:
    flat = R.flatten(x)
    R.call_packed("effects.increment", x)
    return flat, x


@program.function(rx.Tensor((), "bool"), N)
def in_branch(bb: Any, x: Any, y: Any) -> Any:
    def update() -> Any:
        R.call_packed("effects.increment", z)
        return z

    z = y + y
    r = R.if_then_else(x, update, lambda: y)
    return r, z


@program.function(rx.Tensor((), "bool"), N)
def ops_around_branch(bb: Any, x: Any, y: Any) -> Any:
    def update() -> Any:
        R.call_packed("effects.increment", y)
        return R.exp(y)

    a = R.exp(y)
    r = R.if_then_else(x, update, lambda: R.exp(y))
    return a, r, R.exp(y)


@program.function()
def constants(bb: Any) -> Any:
    small, large = R.const(np.zeros(2, "float32")), R.const(np.zeros(100, "float32"))
    R.call_packed("effects.increment", small)
    R.call_packed("effects.increment", large)
    return small, large


@program.function(N)
def returned_alias(bb: Any, x: Any) -> Any:
    y = x + x
    p = R.match_shape(R.call_packed("effects.identity", y, out=rx.Tensor((None,), "float32")), ("n",))
    z = R.nn.softmax(x, -1)
    w = R.nn.softmax(z, -1)
    return R.nn.softmax(w, -1), p


@program.function(N)
def data_dependent(bb: Any, x: Any) -> Any:
    y = R.call_packed("effects.positive", x, out=rx.Tensor((None,), "float32"))
    y = bb.match_shape(y, ("m",))
    return R.sum(y + y, axis=0)


@program.function(N)
def field_of_nested_tuple(bb: Any, x: Any) -> Any:
    """A field is the value itself: an alias."""
    inner = R.tuple_get_item(R.make_tuple(R.negative(x), R.make_tuple(x, x)), 1)
    negative = R.negative(x)
    field = R.tuple_get_item(inner, 1)
    R.call_packed("effects.increment", field)
    return x, field, negative


@program.function(N)
def unexpected_size(bb: Any, x: Any) -> Any:
    return R.call_packed("effects.positive", x, out=rx.Tensor(("n",), "float32"))


@pytest.fixture(scope="module")
def ex() -> Any:
    return program.compile()


E = np.exp


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("in_place", [X], 2 * X + 1),
        ("parameter", [X], X + 1),
        ("equal_ops_around", [X], (E(X), E(X + 1), E(X + 2))),
        ("equal_ops_in_dataflow", [X], (X * X, (X + 1) * (X + 1))),
        ("fused_around", [X], E(X) + X + 1),
        ("through_tuple", [X], (X, 2 * X)),
        ("field_of_nested_tuple", [X], (X + 1, X + 1, -X)),
        ("view", [X.reshape(2, 2)], (X, X.reshape(2, 2) + 1)),
        ("in_branch", [np.array(True), X], (2 * X + 1, 2 * X + 1)),
        ("in_branch", [np.array(False), X], (X, 2 * X)),
        ("ops_around_branch", [np.array(True), X], (E(X), E(X + 1), E(X + 1))),
        ("ops_around_branch", [np.array(False), X], (E(X), E(X), E(X))),
        ("constants", [], (np.ones(2), np.ones(100))),
        ("data_dependent", [X], np.float32(10)),
    ],
)
def test_values_after_effects(ex: Any, name: str, args: list[Any], expected: Any) -> None:
    before = [a.copy() for a in args]
    for _ in range(2):
        found = numpy(ex[name](*args))
        assert isinstance(found, tuple) == isinstance(expected, tuple)
        for have, want in zip(
            found if isinstance(found, tuple) else [found],
            expected if isinstance(expected, tuple) else [expected],
            strict=True,
        ):
            np.testing.assert_allclose(have, want, rtol=1e-5)
    for argument, kept in zip(args, before, strict=True):
        np.testing.assert_array_equal(argument, kept)  # callers' arrays are never written


def test_a_returned_argument_stays_valid(ex: Any) -> None:
    found = numpy(ex["returned_alias"](X))
    np.testing.assert_array_equal(found[1], 2 * X)


def test_a_size_other_than_declared(ex: Any) -> None:
    with pytest.raises(
        ShapeError,
        match=r"unexpected_size: call_packed of 'effects.positive' at .* returned dimension 0 of 2, but n = 4",
    ):
        ex["unexpected_size"](X)
    np.testing.assert_array_equal(numpy(ex["unexpected_size"](X + 2)), X + 2)


def test_effects_of_called_functions_happen() -> None:
    calls = []
    tvm_ffi.register_global_func("effects.count", lambda x: calls.append(1), override=True)
    bb, x, y = rx.BlockBuilder(), rx.Var("x", N), rx.Var("y", N)
    with bb.function("inner", [x], private=True):
        R.call_packed("effects.count", x)
        bb.emit_func_output(x)
    with bb.function("main", [y]):
        bb.call("inner", y)
        bb.call("inner", y)
        bb.emit_func_output(R.exp(y))
    rx.build(bb.get())["main"](X)
    assert len(calls) == 2


def test_no_effects_in_called_functions_of_dataflow_blocks() -> None:
    bb, x, y = rx.BlockBuilder(), rx.Var("x", N), rx.Var("y", N)
    with bb.function("inner", [x], private=True):
        R.call_packed("effects.count", x)
        bb.emit_func_output(x)
    with bb.function("main", [y]):
        with bb.dataflow():
            out = bb.emit_output(bb.call("inner", y))
        bb.emit_func_output(out)
    with pytest.raises(VerifyError, match=r"'inner' has effects, but is called in a dataflow block \[invariant 4\]"):
        bb.get()


@register("effects.draw")
def draw(state: Any, out: Any) -> None:
    numbers, filled = np.from_dlpack(state), np.from_dlpack(out)
    for i in range(len(filled)):
        numbers[0] += 1
        filled[i] = numbers[0]


@register("effects.swap")
def swap(x: Any, y: Any) -> None:
    first, second = np.from_dlpack(x), np.from_dlpack(y)
    kept = first.copy()
    first[:] = second
    second[:] = kept + 1


more = Program()


@more.function(N, rx.Tensor((1,), "int64"))
def state_is_threaded(bb: Any, x: Any, y: Any) -> Any:
    """Equal temporaries do not share memory if callees write to them."""
    state = y + 0
    first = x * 0.0
    R.call_packed("effects.draw", state, first)
    second = x * 0.0 + 0.0
    R.call_packed("effects.draw", state, second)
    third = second * 0.0
    R.call_packed("effects.draw", state, third)
    return first, second, third, state


@more.function(N)
def aliasing_arguments(bb: Any, x: Any) -> Any:
    """A tensor passed twice is one buffer."""
    a = x * 2.0
    R.call_packed("effects.swap", a, a)
    b, c = x * 3.0, x * 4.0
    R.call_packed("effects.swap", b, c)
    return a, b, c


@more.function(N, private=True)
def helper(bb: Any, x: Any) -> Any:
    y = x * 1.0
    R.call_packed("effects.increment", y)
    R.print("helper", y)
    return y


@more.function(rx.Tensor((), "bool"), N)
def across_functions(bb: Any, x: Any, y: Any) -> Any:
    """Calls of functions keep their order among the surrounding effects."""
    z = y * 1.0
    R.print("start", z)
    a = bb.call("helper", z)
    R.call_packed("effects.increment", z)
    bb.call("helper", z)
    b = R.if_then_else(x, lambda: bb.call("helper", a), lambda: a)
    R.print("end", a, b)
    return R.make_tuple(z, a, b)


@pytest.fixture(scope="module")
def compiled_more() -> Any:
    return more.compile()


def test_state_is_threaded(compiled_more: Any) -> None:
    seed = np.array([42], "int64")
    first, second, third, state = numpy(compiled_more["state_is_threaded"](np.zeros(2, "float32"), seed))
    np.testing.assert_array_equal([*first, *second, *third, *state], [43, 44, 45, 46, 47, 48, 48])
    np.testing.assert_array_equal(seed, [42])


def test_aliasing_arguments(compiled_more: Any) -> None:
    a, b, c = numpy(compiled_more["aliasing_arguments"](X))
    np.testing.assert_array_equal(a, 2 * X + 1)
    np.testing.assert_array_equal(b, 4 * X)
    np.testing.assert_array_equal(c, 3 * X + 1)


def test_order_across_functions(compiled_more: Any, capsys: pytest.CaptureFixture[str]) -> None:
    zero = np.zeros(1, "float32")
    expected = ["start [0.]", "helper [1.]", "helper [2.]"]
    z, a, b = numpy(compiled_more["across_functions"](np.array(True), zero))
    assert capsys.readouterr().out.splitlines() == [*expected, "helper [2.]", "end [1.] [2.]"]
    assert (z[0], a[0], b[0]) == (1, 1, 2)
    compiled_more["across_functions"](np.array(False), zero)
    assert capsys.readouterr().out.splitlines() == [*expected, "end [1.] [1.]"]


def test_equal_expressions_are_tensors_of_their_own() -> None:
    """The callee changes its first argument and reads the second, which CSE must not merge."""
    seen: list[np.ndarray] = []

    def change(first: Any, second: Any) -> None:
        np.from_dlpack(first)[...] += 1
        seen.append(np.from_dlpack(second).copy())

    tvm_ffi.register_global_func("test.change_first", change, override=True)
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [x]):
        b, c = x * 3.0, x * 3.0
        R.call_packed("test.change_first", b, c)
        bb.emit_func_output((b, c))
    b, c = numpy(rx.build(bb.get())["main"](X))
    np.testing.assert_array_equal(seen[0], 3 * X)
    np.testing.assert_array_equal(b, 3 * X + 1)
    np.testing.assert_array_equal(c, 3 * X)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_tensors_in_a_tuple_argument_are_copies(mode: Any) -> None:
    def change(fields: Any) -> None:
        np.from_dlpack(fields[0])[...] += 1
        np.from_dlpack(fields[1][0])[...] += 1

    tvm_ffi.register_global_func("test.change_fields", change, override=True)
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        y, z = bb.emit(x + 1.0), bb.emit(x + 2.0)
        R.call_packed("test.change_fields", bb.emit(R.make_tuple(y, R.make_tuple(z))))
        bb.emit_func_output(bb.emit(R.make_tuple(y * 1.0, z * 1.0)))
    built = rx.build(bb.get(), exec_mode=mode)
    main = built["main"] if mode == "native" else rx.VirtualMachine(built)["main"]
    y, z = numpy(main(X))
    np.testing.assert_array_equal(y, X + 1)
    np.testing.assert_array_equal(z, X + 2)
