"""Definitions, uses and names of values; what can be computed at compile time."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import compile_time_computable, name_to_binding, use_def
from relax_mlir.error import ArgumentError, UnknownNameError


def program() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 2), "float32"))
    w = rx.Var("w", rx.Tensor((2, 3), "float32"))
    flag = rx.Var("flag", rx.Tensor((), "bool"))
    with bb.function("main", [x, w, flag]):
        with bb.dataflow():
            two = bb.emit(bb.const(np.full((2, 3), 2.0, "f4")), "two")
            scaled = bb.emit(R.multiply(w, two), "scaled")
            logarithm = bb.emit(R.log(two), "constant")
            product = bb.emit_output(R.matmul(x, R.add(scaled, logarithm)), "product")
        chosen = R.if_then_else(flag, lambda: R.exp(product), lambda: R.add(product, product))
        bb.emit_func_output(bb.emit(R.negative(chosen), "product"))
    return bb.get()


def test_uses_in_order_with_regions() -> None:
    module = program()
    chains = use_def(module["main"])
    used = [(use.op.name, use.operand, use.path) for use in chains.uses(chains.named("two"))]
    inside = (("relax.dataflow", 0),)
    assert used == [("relax.multiply", 1, inside), ("relax.log", 0, inside)]
    block = next(v for v in chains.definitions if not_argument(v) and v.owner.name == "relax.dataflow")
    paths = [(use.op.name, use.path) for use in chains.uses(block)]
    assert paths == [
        ("relax.exp", (("scf.if", 0),)),
        ("relax.add", (("scf.if", 1),)),
        ("relax.add", (("scf.if", 1),)),
    ]
    (leaving,) = chains.uses(chains.names["product"][0])
    assert leaving.leaves
    assert not chains.uses(block)[0].leaves


def not_argument(value: object) -> bool:
    return hasattr(value.owner, "operation")  # type: ignore[attr-defined]  # a value of the bindings


def test_definitions_come_in_order() -> None:
    module = program()
    made = [v.owner.operation.name for v in use_def(module["main"]).definitions if not_argument(v)]
    assert made[:6] == [f"relax.{op}" for op in ("constant", "multiply", "log", "add", "matmul", "dataflow")]
    assert made[6:] == ["tensor.extract", "relax.exp", "relax.add", "scf.if", "relax.negative"]


def test_names() -> None:
    module = program()
    names = name_to_binding(module["main"])
    assert {name: [op.name for op in ops] for name, ops in names.items()} == {
        "two": ["relax.constant"],
        "scaled": ["relax.multiply"],
        "constant": ["relax.log"],
        "product": ["relax.matmul", "relax.negative"],
    }
    with pytest.raises(UnknownNameError, match="unknown value 'produkt'; did you mean 'product'"):
        use_def(module["main"]).named("produkt")
    with pytest.raises(UnknownNameError, match="2 values have this name"):
        use_def(module["main"]).named("product")


def test_unused() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor((2,))), rx.Var("y", rx.Tensor((2,)))
    with bb.function("main", [x, y]):
        R.exp(x)
        bb.emit_func_output(x)
    module = bb.get()
    chains = use_def(module["main"])
    assert len(chains.unused()) == 2
    assert chains.named("y") in chains.unused()


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ((), ["constant", "log"]),
        (("w",), ["constant", "multiply", "log", "add"]),
        ((1,), ["constant", "multiply", "log", "add"]),
        (("x", "w"), ["constant", "multiply", "log", "add", "matmul", "dataflow"]),
        (("x", "w", "flag"), ["constant", "multiply", "log", "add", "matmul", "dataflow"]),
    ],
)
def test_compile_time_computable(params: tuple[str | int, ...], expected: list[str]) -> None:
    module = program()
    found = compile_time_computable(module["main"], params)
    assert [op.name.removeprefix("relax.") for op in found] == expected


def test_effects_and_calls_are_not_computable() -> None:
    bb = rx.BlockBuilder()
    with bb.function("main", []):
        one = bb.const(np.ones(2, "f4"))
        R.call_packed("f", one)
        called = R.call_dps_packed("g", [one], rx.Tensor((2,)))
        bb.emit_func_output(R.exp(called))
    module = bb.get()
    found = [op.name for op in compile_time_computable(module["main"])]
    assert set(found) == {"relax.constant", "builtin.unrealized_conversion_cast"}


def test_mistakes() -> None:
    module = program()
    with pytest.raises(UnknownNameError, match="unknown parameter of 'main' 'v'"):
        compile_time_computable(module["main"], ["v"])
    with pytest.raises(UnknownNameError, match="'7'"):
        compile_time_computable(module["main"], [7])
    with pytest.raises(ArgumentError, match="use_def: 'function'"):
        use_def(module)  # type: ignore[arg-type]  # the mistake
