"""Opaque shape functions (W2): shapes computed by packed functions, and shapes and integers as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.script import parse

N = rx.Tensor(("n",), "float32")
X = np.arange(3, dtype="float32")


def register(name: str, function: Callable[..., Any]) -> None:
    tvm_ffi.register_global_func(name, function, override=True)


def fill_sum(x: Any, out: Any) -> None:
    np.from_dlpack(out)[...] = np.from_dlpack(x).sum()


register("shapes.double", lambda x: tvm_ffi.Shape((2 * x.shape[0], 3)))
register("shapes.same", lambda x: tvm_ffi.Shape(tuple(x.shape)))
register("shapes.factor", lambda x: tvm_ffi.Shape((1, x.shape[0])))
register("shapes.fill_sum", fill_sum)


def build(body: Callable[..., Any], *infos: rx.StructInfo) -> rx.IRModule:
    bb = rx.BlockBuilder()
    params = [rx.Var("xyz"[i], info) for i, info in enumerate(infos)]
    with bb.function("main", params):
        bb.emit_func_output(body(*params))
    mod = bb.get()
    assert_structural_equal(mod, parse(mod.script()))
    return mod


def run(mod: rx.IRModule, *args: Any) -> Any:
    return np.from_dlpack(rx.build(mod)["main"](*args))


def double(x: Any) -> Any:
    return R.call_packed("shapes.double", x, out=rx.Shape(ndim=2))


USES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "call_dps_packed": (
        lambda x: R.call_dps_packed("shapes.fill_sum", [x], R.shaped(double(x))),
        np.full((6, 3), 3, "float32"),
    ),
    "full": (lambda x: R.full(double(x), 2.5), np.full((6, 3), 2.5, "float32")),
    "zeros": (lambda x: R.zeros(double(x), "int32"), np.zeros((6, 3), "int32")),
    "ones": (lambda x: R.ones(double(x)), np.ones((6, 3), "float32")),
    "broadcast_to": (
        lambda x: R.broadcast_to(x, R.call_packed("shapes.same", x, out=rx.Shape(ndim=1))),
        X,
    ),
    "reshape": (
        lambda x: R.reshape(x, R.call_packed("shapes.factor", x, out=rx.Shape(ndim=2))),
        X.reshape(1, 3),
    ),
}


@pytest.mark.parametrize("use", [use for use in USES if use != "broadcast_to"])
def test_the_value_is_the_shape_of_a_result(use: str) -> None:
    body, expected = USES[use]
    np.testing.assert_array_equal(run(build(body, N), X), expected)


def test_values_of_known_rank_get_names_once() -> None:
    def body(x: Any) -> Any:
        shape = double(x)
        first, second = R.full(shape, 1.0), R.full(shape, 2.0)
        assert first.shape == second.shape and None not in first.shape
        return R.add(first, second)

    mod = build(body, N)
    assert mod.script().count("R.match_shape") == 1
    np.testing.assert_array_equal(run(mod, X), np.full((6, 3), 3, "float32"))


def test_names_that_are_taken_are_not_used() -> None:
    def body(x: Any, y: Any) -> Any:
        assert [str(d) for d in R.full(double(x), 1.0).shape] == ["_s1", "_s2"]
        return y

    build(body, N, rx.Tensor(("_s0",), "float32"))


def test_in_dataflow_blocks_and_branches() -> None:
    bb = rx.BlockBuilder()
    x, flag = rx.Var("x", N), rx.Var("y", rx.Tensor((), "bool"))
    with bb.function("main", [x, flag]):
        shape = double(x)
        with bb.dataflow():
            inside = bb.emit_output(R.sum(R.full(shape, 1.0)))
        total = R.if_then_else(flag, lambda: R.sum(R.full(shape, 2.0)), lambda: inside)
        bb.emit_func_output(total)
    main = rx.build(bb.get())["main"]
    assert np.from_dlpack(main(X, np.array(True))) == 36 and np.from_dlpack(main(X, np.array(False))) == 18


def test_reshape_to_a_shape_of_another_size_is_refused_when_it_runs() -> None:
    with pytest.raises(ShapeError, match="cannot make shape"):
        run(build(lambda x: R.reshape(x, double(x)), N), X)


def test_a_shape_of_unknown_rank() -> None:
    with pytest.raises(ShapeError, match="shaped: the rank of the shape is unknown"):
        build(lambda x: R.call_dps_packed("f", [x], R.shaped(R.call_packed("g", x, out=rx.Shape()))), N)
    with pytest.raises(ArgumentError, match=r"bind_shape: operand 'shape' is Tensor.*expected a shape value"):
        build(lambda x: R.shaped(x), N)


def test_script_form() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    s = R.call_packed("shapes.double", x, out=R.Shape(ndim=2))
    y = R.call_dps_packed("shapes.fill_sum", [x], R.shaped(s, "float32"))
    t = R.match_shape(s, (a, b))
    z = R.full(t, R.const(1.0, "float32"))
    return (R.sum(y), R.sum(z))
"""
    first, second = rx.build(parse(text))["main"](X)
    assert np.from_dlpack(first) == 54 and np.from_dlpack(second) == 18


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((2, 3), (2, 3), True),
        ((2, 3), (3, 2), False),
        ((2, 3), (2, 3, 1), False),
        ((), (), True),
        ((0,), (0,), True),
    ],
)
def test_shapes_are_compared(a: tuple[int, ...], b: tuple[int, ...], expected: bool) -> None:
    def body(x: Any, y: Any) -> Any:
        return R.shape_equal(R.shape_of(x), R.make_tuple(y, R.shape_of(y))[1])

    infos = [rx.Tensor(ndim=len(shape), dtype="float32") for shape in (a, b)]
    mod, given = build(body, *infos), (np.zeros(a, "float32"), np.zeros(b, "float32"))
    for result in (run(mod, *given), np.from_dlpack(rx.build(mod, exec_mode="bytecode")["main"](*given))):
        assert result.dtype == bool and result == expected


def test_shapes_are_compared_with_written_ones() -> None:
    mod = build(lambda x: R.shape_equal(R.shape_of(x), R.shape_expr(["n", 4])), rx.Tensor(("n", "m"), "float32"))
    assert run(mod, np.zeros((2, 4), "float32")) and not run(mod, np.zeros((2, 5), "float32"))
    with pytest.raises(ArgumentError, match="shape_equal: operand 'b' is Tensor"):
        build(lambda x: R.shape_equal(R.shape_of(x), x), N)


# -- addition without broadcasting


def test_ewise_add() -> None:
    mod = build(R.ewise_add, rx.Tensor(ndim=1, dtype="float32"), N)
    np.testing.assert_array_equal(run(mod, X, X), X + X)
    with pytest.raises(ShapeError, match="dimension 0 is 1, but n = 3"):
        run(mod, np.ones(1, "float32"), X)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (rx.Tensor(ndim=2, dtype="float32"), rx.Tensor(ndim=2, dtype="float32")),
        (rx.Tensor((None, 3), "float32"), rx.Tensor((2, None), "float32")),
        (rx.Tensor(("n", "m"), "float32"), rx.Tensor(("k", None), "float32")),
        (rx.Tensor(None, None), rx.Tensor(("k", "l"), "float32")),
    ],
)
def test_ewise_add_of_unknown_sizes(left: rx.Tensor, right: rx.Tensor) -> None:
    mod, x = build(R.ewise_add, left, right), np.ones((2, 3), "float32")
    np.testing.assert_array_equal(run(mod, x, x), x + x)
    with pytest.raises(ShapeError):
        run(mod, x, np.ones((2, 1), "float32"))


def test_ewise_add_refuses_at_once_what_cannot_be_equal() -> None:
    with pytest.raises(ShapeError, match=r"ewise_add: shapes \(n,\) and \(n \+ 1,\) differ"):
        build(R.ewise_add, N, rx.Tensor(("n + 1",), "float32"))
    with pytest.raises(ShapeError, match="ranks of both operands are unknown"):
        build(R.ewise_add, rx.Tensor(None, "float32"), rx.Tensor(None, "float32"))


# -- integers


def test_an_integer_parameter_defines_a_symbol() -> None:
    mod = build(lambda k, x: R.full(("k", "n"), 1.0), rx.Prim(value="k"), N)
    assert run(mod, 4, X).shape == (4, 3) and run(mod, 0, X).shape == (0, 3)
    with pytest.raises(ShapeError, match="the integer k is -1; a symbol stands for zero or more"):
        run(mod, -1, X)


def test_an_integer_parameter_asserts_a_symbol_that_is_known() -> None:
    mod = build(lambda x, k: R.add(x, x), N, rx.Prim(value="2*n"))
    np.testing.assert_array_equal(run(mod, X, 6), X + X)
    with pytest.raises(ShapeError, match=r"is 5, but 2\*n = 6, with n = 3"):
        run(mod, X, 5)


def test_integers_in_script() -> None:
    text = """
@R.function
def main(k: R.Prim(value="k"), j: R.Prim("int64")):
    R.match_shape(j, (m,))
    return R.full(R.shape([k, m + 1]), R.const(1.0, "float32"))
"""
    mod = parse(text)
    assert run(mod, 2, 3).shape == (2, 4)
    assert_structural_equal(mod, parse(mod.script()))
