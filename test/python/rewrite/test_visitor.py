"""Visitors see every binding once, in program order, with its types and names."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.rewrite import Binding, ExprVisitor


def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    flag = rx.Var("flag", rx.Tensor((), "bool"))
    with bb.function("main", [x, flag]):
        with bb.dataflow():
            total = bb.emit(R.sum(x, axis=[1]), "total")
            out = bb.emit_output(R.add(total, bb.const(np.ones(1, "f4"))))
        chosen = R.if_then_else(flag, lambda: R.exp(out), lambda: R.negative(out))
        bb.emit_func_output(R.make_tuple(chosen, x))
    return bb.get()


class Names(ExprVisitor):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def visit_function(self, name: str, params: list[rx.Var]) -> None:
        self.seen.append(f"{name}({', '.join(p.name for p in params)})")

    def visit_default(self, binding: Binding) -> None:
        self.seen.append(binding.op)


def test_order_and_regions() -> None:
    visitor = Names()
    visitor.visit(module())
    expected = [
        "main(x, flag)",
        "dataflow",
        "sum",
        "constant",
        "add",
        "tensor.extract",
        "if",
        "exp",
        "negative",
    ]
    assert visitor.seen == [*expected, "tuple"]


def test_methods_come_before_the_default() -> None:
    class Visitor(Names):
        def visit_sum(self, binding: Binding) -> None:
            self.seen.append(f"a sum over {binding.attrs['axis']}, called {binding.name}")

        def visit_tensor_extract(self, binding: Binding) -> None:
            self.seen.append("element")

    visitor, program = Visitor(), module()
    visitor.visit(program["main"])
    assert visitor.seen[2] == "a sum over [1], called total"
    assert "element" in visitor.seen
    assert "sum" not in visitor.seen


def test_what_a_binding_says() -> None:
    found: list[Binding] = []

    class Visitor(ExprVisitor):
        def visit_add(self, binding: Binding) -> None:
            found.append(binding)
            total, one = binding.operands
            made = self.definition(total)
            assert made is not None
            assert made.op == "sum"
            assert self.users(total) == [binding]
            assert self.same(made.result, total)
            assert not self.same(total, one)
            value = self.constant_value(one)
            assert value is not None
            np.testing.assert_array_equal(value, np.ones(1, "f4"))
            assert self.constant_value(total) is None
            assert self.definition(made.operands[0]) is None

    program = module()
    Visitor().visit(program)
    (binding,) = found
    assert binding.in_dataflow
    assert binding.function == "main"
    assert binding.name is None
    assert str(binding.result.struct_info) == 'Tensor((n,), "float32")'
    assert binding.location.split(":")[0].endswith("test_visitor.py")
    assert "add" in repr(binding)
    assert binding == Binding(binding.operation)
    assert binding != "add"


def test_one_op_is_a_target() -> None:
    program = module()
    dataflow = program["main"].regions[0].blocks[0].operations[0]
    visitor = Names()
    visitor.visit(dataflow)
    assert visitor.seen == ["sum", "constant", "add"]


def test_a_method_of_no_op_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match=r"class Wrong: 'ad'; did you mean 'add'"):

        class Wrong(ExprVisitor):
            def visit_ad(self, binding: Binding) -> None: ...


def test_a_target_that_is_none() -> None:
    with pytest.raises(ArgumentError, match="neither a module, a function nor an op"):
        Names().visit("main")
