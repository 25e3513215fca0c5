"""`assert_op` and `print`: their messages, and their order among other effects."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import Program, numpy, register
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, VerifyError
from relax_mlir.mlir import ir

N = rx.Tensor(("n",), "float32")
FLAG = rx.Tensor((), "bool")
program = Program()


@register("assert_print.add")
def add(x: Any, amount: int) -> None:
    array = np.from_dlpack(x)
    array += amount
    print(f"add {amount}")


@program.function(FLAG, rx.Tensor((), "float32"), rx.Tensor((), "int32"), rx.Shape(("n",)))
def message(bb: Any, c: Any, f: Any, i: Any, s: Any) -> Any:
    R.assert_op(c, f, i, c, "2*n", format="f is {}, i is {1}, {2}, n is {3}%".replace("{}", "{0}"))
    return f


@program.function(FLAG, rx.Tensor((), "float16"), rx.Tensor((), "uint8"), rx.Tensor((), "float64"))
def no_message(bb: Any, c: Any, h: Any, u: Any, d: Any) -> Any:
    R.assert_op(c, h, u, d)
    return h


@program.function(N)
def symbolic(bb: Any, x: Any) -> Any:
    R.assert_op("n % 4 == 0", "n", format="n = {} is no multiple of 4")
    R.assert_op("n <= 8")
    return x


@program.function(N)
def always(bb: Any, x: Any) -> Any:
    R.assert_op(True)
    R.assert_op(False, format="never")
    return x


@program.function(N, private=True)
def checked(bb: Any, x: Any) -> Any:
    R.assert_op(R.min(x) > 0.0, format="<= 0")
    return R.exp(x)


@program.function(N)
def unused_result(bb: Any, x: Any) -> Any:
    """The assertion of a function is checked even if its result is unused."""
    bb.call("checked", x)
    return x


@program.function(N)
def in_order(bb: Any, x: Any) -> Any:
    y = x * 1.0
    R.print("start", y)
    R.call_packed("assert_print.add", y, 1)
    R.print(y)
    R.call_packed("assert_print.add", y, 2)
    R.assert_op("n < 3", format="too long")
    R.print("end", y)
    return y


@program.function(FLAG, N)
def in_branch(bb: Any, c: Any, x: Any) -> Any:
    def taken() -> Any:
        R.print("taken")
        return x

    def other() -> Any:
        R.assert_op(False, format="other")
        return x + 1.0

    return R.if_then_else(c, taken, other)


@program.function(rx.Tensor(("n", 2), "float32"), rx.Tensor((3,), "bool"), rx.Tensor(("k",), "int8"))
def kinds(bb: Any, x: Any, b: Any, i: Any) -> Any:
    R.print(x, b, i)
    R.print(R.shape_of(x), R.prim_value("n+k"), "text {}", 3, 1.5, True)
    R.print(x, i, format="{1} before\n{0}")
    R.print()
    return x


compiled = program.compile()


def scalar(value: Any, dtype: str) -> Any:
    return np.array(value, dtype)


def test_message() -> None:
    given = [scalar(1.5, "float32"), scalar(-3, "int32"), (5,)]
    compiled["message"](scalar(True, "bool"), *given)
    with pytest.raises(AssertionError) as raised:
        compiled["message"](scalar(False, "bool"), *given)
    text = str(raised.value)
    assert text.startswith("message: assertion failed at ") and "test_assert_print.py:" in text
    assert text.endswith(": f is 1.5, i is -3, False, n is 10%")


def test_all_values_without_message() -> None:
    given = [scalar(0.25, "float16"), scalar(200, "uint8"), scalar(1e300, "float64")]
    with pytest.raises(AssertionError, match=r": 0.25, 200, 1e\+300$"):
        compiled["no_message"](scalar(False, "bool"), *given)


def test_symbolic_condition() -> None:
    compiled["symbolic"](np.zeros(4, "float32"))
    compiled["symbolic"](np.zeros(0, "float32"))
    with pytest.raises(AssertionError, match="n = 6 is no multiple of 4"):
        compiled["symbolic"](np.zeros(6, "float32"))
    with pytest.raises(AssertionError, match=r"test_assert_print.py:\d+:\d+$"):
        compiled["symbolic"](np.zeros(12, "float32"))
    with pytest.raises(AssertionError, match="never"):
        compiled["always"](np.zeros(1, "float32"))


def test_call_for_an_assertion() -> None:
    np.testing.assert_array_equal(numpy(compiled["unused_result"](np.ones(2, "float32"))), [1, 1])
    with pytest.raises(AssertionError, match=r"checked: assertion failed at .*: <= 0"):
        compiled["unused_result"](np.zeros(2, "float32"))


def test_order(capsys: pytest.CaptureFixture[str]) -> None:
    np.testing.assert_array_equal(numpy(compiled["in_order"](np.zeros(2, "float32"))), [3, 3])
    assert capsys.readouterr().out == "start [0. 0.]\nadd 1\n[1. 1.]\nadd 2\nend [3. 3.]\n"
    with pytest.raises(AssertionError, match="too long"):
        compiled["in_order"](np.zeros(3, "float32"))
    assert capsys.readouterr().out == "start [0. 0. 0.]\nadd 1\n[1. 1. 1.]\nadd 2\n"


def test_branches(capsys: pytest.CaptureFixture[str]) -> None:
    compiled["in_branch"](scalar(True, "bool"), np.zeros(1, "float32"))
    assert capsys.readouterr().out == "taken\n"
    with pytest.raises(AssertionError, match="other"):
        compiled["in_branch"](scalar(False, "bool"), np.zeros(1, "float32"))


def test_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    x, b, i = np.ones((2, 2), "float32"), np.array([True, False, True]), np.array([1, -2, 3], "int8")
    compiled["kinds"](x, b, i)
    expected = f"{x} {b} {i}\n(2, 2) 5 text {{}} 3 1.5 True\n{i} before\n{x}\n\n"
    assert capsys.readouterr().out == expected


def test_braces_in_names_and_formats_stand_for_themselves() -> None:
    """Names of functions, parameters and files, and braces of a format, are not read as placeholders of the message."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x{1:d}", rx.Tensor(("n", 3))), rx.Var("y", rx.Tensor(("n", 3)))
    with bb.function("f{0}", [x, y]):
        R.assert_op("n > 1", "n", format="{{0}} {{:0}} {{5:float}} {} {{")
        bb.emit_func_output(x + y)
    mod = bb.get()

    def move(op: ir.Operation) -> ir.WalkResult:
        if op.name == "relax.assert_op":
            op.location = ir.Location.file("{0}/{:type}.py", 1, 2, op.context)
        return ir.WalkResult.ADVANCE

    mod.operation.walk(move)
    shown = "{0} {:0} {5:float} 1 {"
    native, bytecode = (rx.build(mod, exec_mode=mode)["f{0}"] for mode in ("native", "bytecode"))
    for function, rows, columns, text in (
        (bytecode, (1, 1), 3, shown),
        (native, (1, 1), 3, f"f{{0}}: assertion failed at {{0}}/{{:type}}.py:1:2: {shown}"),
        (native, (2, 5), 3, "f{0}: parameter 'y' dimension 0 is 5, but n = 2, taken from parameter 'x{1:d}'"),
        (
            native,
            (2, 2),
            4,
            "f{0}: parameter 'x{1:d}' dimension 1 is 4, expected 3 (expected x{1:d}: Tensor(",
        ),
    ):
        with pytest.raises(Exception, match=re.escape(text)):
            function(np.ones((rows[0], columns), "f4"), np.ones((rows[1], 3), "f4"))


def test_errors() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", N)
    with bb.function("main", [x]):
        with pytest.raises(ArgumentError, match=r"the condition is Tensor\(\(n,\), .*expected a bool tensor of rank 0"):
            R.assert_op(x > 0.0)
        with pytest.raises(ArgumentError, match="'n' is no comparison"):
            R.assert_op("n")
        with pytest.raises(ArgumentError, match=r"'\{:3\}' may show values by"):
            R.assert_op("n > 1", "n", format="{:3}")
        with pytest.raises(ArgumentError, match="is no format"):
            R.assert_op("n > 1", format="{")
        with pytest.raises(ArgumentError, match="is neither a Relax value nor a literal"):
            R.print([1])  # type: ignore[arg-type]  # the mistake under test
        R.assert_op("k > 1")
        bb.emit_func_output(x)
    with pytest.raises(VerifyError, match=r"assert_op: attribute 'values' uses symbol 'k', .* \[invariant 3\]"):
        bb.get()
