"""Passes that return modules and functions: the document's examples, and refused results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import transform
from relax_mlir.error import ArgumentError, PassError, RelaxError, VerifyError
from relax_mlir.mlir import func, ir
from relax_mlir.script import ir as I
from relax_mlir.script import relax
from relax_mlir.script import tir as T

X = np.arange(12, dtype="float32").reshape(3, 4) - 5


def unary(name: str, op: Callable[..., Any], weight: int = 0) -> rx.IRModule:
    """A function of one parameter that optionally adds a weight of 100 elements."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function(name, [x]):
        with bb.dataflow():
            y = op(x)
            if weight:
                y = R.add(y, R.sum(bb.const(np.full(100, weight, "float32"))))
            out = bb.emit_output(y)
        bb.emit_func_output(out)
    return bb.get()


@I.ir_module
class WithPrimFunc:
    @T.prim_func
    def twice(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, 4), "float32")):  # noqa: F821 - a symbol
        for i, j in T.grid(n, 4):  # noqa: F821 - a symbol
            B[i, j] = A[i, j] * T.float32(2)

    @relax.function
    def main(x: relax.Tensor(("n", 4), "float32")):
        y = relax.call_tir(cls.twice, (x,), out=relax.Tensor((n, 4), "float32"))  # noqa: F821 - a symbol
        return y


def run(mod: rx.IRModule, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(np.from_dlpack(rx.build(mod)[name](X)))


def test_example_pass_that_adds_abs() -> None:
    @transform.module_pass(opt_level=2)
    def module_pass(mod, ctx):
        gv = rx.GlobalVar("abs")
        new_mod = rx.IRModule({gv: unary("f", R.abs)["f"]})
        new_mod.update(mod)
        return new_mod

    assert isinstance(module_pass, transform.ModulePass)
    assert module_pass.info == transform.PassInfo("module_pass", 2)
    mod = unary("main", R.negative, weight=2)
    updated = module_pass(mod)
    assert list(mod) == ["main"] and list(updated) == ["abs", "main"]
    np.testing.assert_array_equal(run(updated, "abs"), np.abs(X))
    np.testing.assert_array_equal(run(updated, "main"), -X + 200)


def test_example_pass_that_adds_abs_to_what_it_was_given() -> None:
    @transform.module_pass(opt_level=2)
    def add_abs(mod: rx.IRModule, ctx: transform.PassContext) -> rx.IRModule:
        gv = rx.GlobalVar("abs")
        mod.update({gv: unary("f", R.abs)})
        assert mod.get_global_var("abs") == gv and gv.name_hint == "abs"
        return mod

    mod = add_abs(unary("main", R.negative))
    np.testing.assert_array_equal(run(mod, "abs"), np.abs(X))


def test_example_test_replace_func() -> None:
    @transform.function_pass(opt_level=1)
    class TestReplaceFunc:
        def __init__(self, new_func):
            self.new_func = new_func

        def transform_function(self, func, mod, ctx):
            return self.new_func

    f1 = unary("f1", R.abs, weight=3)
    fpass = TestReplaceFunc(f1["f1"])
    assert isinstance(fpass, transform.FunctionPass) and fpass.info.opt_level == 1
    input_mod = unary("main", R.negative)
    input_mod["other"] = unary("g", R.exp)
    held = input_mod["main"]
    res_mod = fpass(input_mod)
    assert str(input_mod["main"]) == str(held)
    assert input_mod.apply_(fpass) is input_mod and list(res_mod) == list(input_mod) == ["main", "other"]
    for name in res_mod:
        np.testing.assert_array_equal(run(res_mod, name), np.abs(X) + 300)
    assert "relax.negative" in str(held)  # references of users stay readable
    np.testing.assert_array_equal(run(f1, "f1"), np.abs(X) + 300)


def test_pass_on_prim_funcs() -> None:
    seen: list[str] = []

    @transform.prim_func_pass(opt_level=1)
    def thrice(f: func.FuncOp, mod: rx.IRModule, ctx: transform.PassContext) -> func.FuncOp:
        seen.append(f.name.value)
        with ir.InsertionPoint(mod.body):
            new = ir.Operation.parse(str(f).replace("2.000000e+00", "3.000000e+00"))
        made = new.opview
        assert isinstance(made, func.FuncOp)
        return made

    assert isinstance(thrice, transform.PrimFuncPass)
    mod = thrice(WithPrimFunc.clone())
    assert seen == ["twice"]
    np.testing.assert_array_equal(run(mod, "main"), 3 * X)


def test_class_of_a_pass_on_prim_funcs() -> None:
    @transform.prim_func_pass
    class Count:
        def __init__(self) -> None:
            self.names: list[str] = []

        def transform_function(self, f: func.FuncOp, mod: rx.IRModule, ctx: transform.PassContext) -> None:
            self.names.append(f.name.value)

    count = Count()
    count(WithPrimFunc.clone())
    assert count.names == ["twice"]


def test_new_functions_keep_name_and_visibility() -> None:
    mod = unary("main", R.negative)
    private = unary("p", R.abs)
    with private.context:
        private["p"].attributes["sym_visibility"] = ir.StringAttr.get("private")

    @transform.function_pass
    def replace(f: func.FuncOp, mod: rx.IRModule, ctx: transform.PassContext) -> rx.IRModule:
        return private

    np.testing.assert_array_equal(run(replace(mod), "main"), np.abs(X))


def test_module_attributes_come_with_a_new_module() -> None:
    @transform.module_pass
    def change(mod: rx.IRModule, ctx: transform.PassContext) -> rx.IRModule:
        new = mod.clone()
        with new.context:
            new.operation.attributes["test.note"] = ir.StringAttr.get("new")
        return new

    assert 'test.note = "new"' in change(unary("main", R.negative)).asm()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"pass 'wrong' returned None, expected an IRModule.*'-> None'"),
        (3, r"pass 'wrong' returned int, expected an IRModule"),
    ],
)
def test_module_passes_that_return_something_else(result: object, message: str) -> None:
    @transform.module_pass(name="wrong")
    def wrong(mod, ctx):
        return result

    mod = unary("main", R.negative)
    with pytest.raises(ArgumentError, match=message):
        wrong(mod)
    np.testing.assert_array_equal(run(mod, "main"), -X)


def test_function_passes_that_return_something_else() -> None:
    for result, message in (
        (None, "pass 'wrong' returned None, expected a function: 'main', or a new one"),
        ("main", "pass 'wrong' returned str, expected a function"),
        (
            WithPrimFunc,
            "pass 'wrong' returned a wrong value: a module stands for its function if it has just one",
        ),
    ):

        @transform.function_pass(name="wrong")
        def wrong(f, mod, ctx, result=result):
            return result

        with pytest.raises(ArgumentError, match=message):
            wrong(unary("main", R.negative))


def test_function_pass_cannot_add_or_delete_functions() -> None:
    @transform.function_pass
    def adds(f: func.FuncOp, mod: rx.IRModule, ctx: transform.PassContext) -> None:
        mod["g"] = f

    @transform.function_pass
    def deletes(f: func.FuncOp, mod: rx.IRModule, ctx: transform.PassContext) -> None:
        del mod["main"]

    mod = unary("main", R.negative)
    with pytest.raises(PassError, match=r"pass 'adds' failed: a pass on functions must not add.*added 'g'; a module"):
        adds(mod)
    with pytest.raises(PassError, match=r"pass 'deletes' failed.*deleted 'main'"):
        deletes(mod)
    assert list(mod) == ["main"]


def test_functions_that_call_what_is_not_there() -> None:
    @transform.module_pass
    def orphan(mod: rx.IRModule, ctx: transform.PassContext) -> rx.IRModule:
        return rx.IRModule({"main": WithPrimFunc["main"]})

    mod = unary("main", R.negative)
    with pytest.raises(RelaxError):
        rx.build(orphan(mod))


def test_invalid_functions_are_refused_where_they_are_put() -> None:
    mod, broken = unary("main", R.negative), unary("f", R.abs)
    block = broken["f"].regions[0].blocks[0]
    list(block.operations)[-1].operation.erase()
    with pytest.raises(VerifyError, match="function 'f' is not valid"):
        mod["g"] = broken["f"]
    assert list(mod) == ["main"]
