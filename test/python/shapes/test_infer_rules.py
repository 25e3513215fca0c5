"""Shape rules that users register for their packed functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, VerifyError
from relax_mlir.script import parse

X = rx.Tensor(("n", 3), "float32")


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    """Rules of one test: padding of a matrix, which is computed by two packed functions."""

    @R.register_infer("rules.pad")
    def pad(x: Any, amount: Any) -> rx.StructInfo:
        if not isinstance(x, rx.Tensor):
            raise ArgumentError(f"x is {x}, expected a tensor")
        if x.shape is None or len(x.shape) != 2:
            raise ShapeError(f"x is {x}, expected rank 2")
        return rx.Tensor((x.shape[0] + 2 * amount, x.shape[1]), x.dtype)

    R.register_infer("rules.pad_into", pad)
    tvm_ffi.register_global_func("rules.pad", padded, override=True)
    tvm_ffi.register_global_func("rules.pad_into", pad_into, override=True)
    yield
    for name in ("rules.pad", "rules.pad_into", "rules.bad"):
        R.unregister_infer(name)


def padded(x: Any, amount: int) -> Any:
    return tvm_ffi.from_dlpack(np.pad(np.from_dlpack(x), ((amount, amount), (0, 0))))


def pad_into(x: Any, amount: int, out: Any) -> None:
    np.from_dlpack(out)[...] = np.pad(np.from_dlpack(x), ((amount, amount), (0, 0)))


def build(body: Callable[[rx.Var], Any], info: rx.StructInfo = X) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", info)
    with bb.function("main", [x]):
        bb.emit_func_output(body(x))
    return bb.get()


@pytest.mark.parametrize(
    "call",
    [lambda x: R.call_packed("rules.pad", x, 2), lambda x: R.call_dps_packed("rules.pad_into", [x, 2])],
)
def test_the_builder_deduces_the_result(call: Callable[[rx.Var], Any]) -> None:
    found = []

    def body(x: rx.Var) -> Any:
        found.append(call(x))
        return found[0]

    mod = build(body)
    assert str(found[0].struct_info) == 'Tensor((n + 4, 3), "float32")'
    x = np.arange(6, dtype="float32").reshape(2, 3)
    result = np.from_dlpack(rx.build(mod)["main"](x))
    np.testing.assert_array_equal(result, np.pad(x, ((2, 2), (0, 0))))
    assert parse(mod.script()).script() == mod.script()


def test_in_script() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n", 3), "float32")):
    y = R.call_packed("rules.pad", x, 1)
    z = R.call_dps_packed("rules.pad_into", [y, 1])
    return z
"""
    result = rx.build(parse(text))["main"](np.ones((2, 3), "float32"))
    assert np.from_dlpack(result).shape == (6, 3)


def test_a_vaguer_result_may_be_given_but_not_another() -> None:
    build(lambda x: R.call_packed("rules.pad", x, 2, out=rx.Tensor((None, 3), "float32")))
    with pytest.raises(
        ShapeError, match=r"result of 'rules.pad' is Tensor\(\(n, 3\).*rule gives Tensor\(\(n \+ 4, 3\)"
    ):
        build(lambda x: R.call_packed("rules.pad", x, 2, out=X))
    with pytest.raises(ShapeError, match="registered shape rule gives"):
        build(lambda x: R.call_dps_packed("rules.pad_into", [x, 2], X))


def test_the_verifier_checks() -> None:
    mod = build(lambda x: R.call_packed("rules.pad", x, 2))
    R.register_infer("rules.pad", lambda x, amount: rx.Tensor((7,), "float32"), override=True)
    with pytest.raises(VerifyError, match="but its registered shape rule gives"):
        mod.verify()


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda x: 1 // 0, ArgumentError, "registered for 'rules.bad' raised ZeroDivisionError on .*by zero"),
        (lambda x: 3, ArgumentError, "registered for 'rules.bad' returned 3 .int., expected a StructInfo"),
        (lambda: X, ArgumentError, "registered for 'rules.bad' raised TypeError"),
        (lambda x: rx.Tensor((-1,)), ShapeError, "registered for 'rules.bad': dimension -1 is negative"),
        (
            lambda x: rx.Tensor((1,), "int3"),
            ArgumentError,
            "registered for 'rules.bad': unknown dtype 'int3'",
        ),
    ],
)
def test_mistakes_in_rules_name_the_rule(rule: Any, error: type[Exception], message: str) -> None:
    R.register_infer("rules.bad", rule)
    with pytest.raises(error, match=message):
        build(lambda x: R.call_packed("rules.bad", x))


def test_arguments_that_a_rule_refuses() -> None:
    message = r"call_packed: the shape rule registered for 'rules.pad': x is Tensor\(\(n,\).*expected rank 2"
    with pytest.raises(ShapeError, match=message):
        build(lambda x: R.call_packed("rules.pad", x, 1), rx.Tensor(("n",), "float32"))


def test_registration() -> None:
    with pytest.raises(ArgumentError, match=r"'rules.pad' has a rule already"):
        R.register_infer("rules.pad", lambda x: x)
    with pytest.raises(ArgumentError, match="expected a function"):
        R.register_infer("rules.other", 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="has no registered shape rule"):
        build(lambda x: R.call_dps_packed("rules.other", [x]))
    R.unregister_infer("rules.other")  # without a rule, nothing happens


def test_literals_reach_the_rule() -> None:
    seen: list[Any] = []

    def rule(*args: Any) -> rx.StructInfo:
        seen.extend(args)
        return X

    R.register_infer("rules.bad", rule)
    build(lambda x: R.call_packed("rules.bad", x, 1, 2.5, True, "text"))
    assert seen[:5] == [X, 1, 2.5, True, "text"] and [type(s) for s in seen[1:5]] == [int, float, bool, str]


def test_rules_may_use_the_symbolic_algebra() -> None:
    R.register_infer("rules.bad", lambda x: rx.Tensor((symbolic.ceildiv(x.shape[0], 2),), x.dtype))
    mod = build(lambda x: R.call_packed("rules.bad", x))
    assert 'R.Tensor(("(n + 1) // 2",), "float32") = R.call_packed("rules.bad", x' in mod.script()


def test_dtype_errors_stay_dtype_errors() -> None:
    def rule(x: rx.Tensor) -> rx.StructInfo:
        raise DTypeError("x is float32, expected an integer")

    R.register_infer("rules.bad", rule)
    with pytest.raises(DTypeError, match=r"registered for 'rules.bad': x is float32"):
        build(lambda x: R.call_packed("rules.bad", x))
