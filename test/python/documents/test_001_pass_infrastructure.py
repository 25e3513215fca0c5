"""The document on the pass infrastructure, row by row; `test/python/transform` tests the rules of each row."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import transform
from relax_mlir.error import ArgumentError, PassError
from relax_mlir.instrument import pass_instrument
from relax_mlir.script import parse
from relax_mlir.transform import DiagnosticContext, PassContext, PassInfo, Sequential

FUNCTION = """
@R.function
def {name}(x: R.Tensor((4,), "float32")):
    R.func_attr({{"SkipOptimization": {skip}}})
    with R.dataflow():
        y = R.add(x, R.add(R.const(1.0, "float32"), R.const(2.0, "float32")))
        unused = R.sin(y)
        z = R.exp(y)
        R.output(z)
    return z
"""
SKIPPED = FUNCTION.format(name="kept", skip=1) + FUNCTION.format(name="main", skip=0)


def module(name: str = "main") -> rx.IRModule:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function(name, [x]):
        with bb.dataflow():
            y = bb.emit_output(R.add(x, R.add(bb.const(np.float32(1)), bb.const(np.float32(2)))))
        bb.emit_func_output(y)
    return bb.get()


def folded(mod: rx.IRModule) -> bool:
    return mod.asm().count("relax.add") == 1


def test_opt_level_tells_which_passes_run() -> None:
    for level, runs in ((0, False), (1, True), (2, True), (3, True)):
        with PassContext(opt_level=level):
            assert folded(Sequential([transform.FoldConstant()])(module())) is runs
    with PassContext(opt_level=0, required_pass=["FoldConstant"]):
        assert folded(Sequential([transform.FoldConstant()])(module()))
    with PassContext(opt_level=3, disabled_pass=["fold-constant"]):
        assert not folded(Sequential([transform.FoldConstant()])(module()))


def test_diag_ctx() -> None:
    @transform.module_pass
    def reports(mod: rx.IRModule, ctx: PassContext) -> rx.IRModule:
        ctx.error("wrong", mod["main"].operation)
        return mod

    found = DiagnosticContext()
    with PassContext(diag_ctx=found), pytest.raises(PassError, match="wrong"):
        reports(module())
    assert [d.message for d in found.of_severity("error")] == ["wrong"]


def test_argument_checking() -> None:
    assert PassContext(required_pass=None, disabled_pass=None, instruments=None).required_pass == frozenset()
    with pytest.raises(ArgumentError, match="expected a list of names"):
        PassContext(disabled_pass="fuse-ops")


def test_pass_takes_and_gives_a_module() -> None:
    mod = module()
    assert folded(transform.FoldConstant()(mod)) and not folded(mod)


def test_a_pass_both_disabled_and_required_does_not_run() -> None:
    with pytest.warns(UserWarning, match="both required and disabled"):
        ctx = PassContext(required_pass=["FoldConstant"], disabled_pass=["FoldConstant"])
    with ctx:
        assert not folded(Sequential([transform.FoldConstant()])(module()))


def test_skip_optimization() -> None:
    seen: list[str] = []

    @transform.function_pass(opt_level=1)
    def looks(func: rx.Function, mod: rx.IRModule, ctx: PassContext) -> rx.Function:
        seen.append(func.name.value)
        return func

    mod = parse(SKIPPED)
    done = Sequential([looks, transform.FoldConstant(), transform.DeadCodeElimination(), transform.LegalizeOps()])(mod)
    done = transform.FuseOps()(done)
    assert seen == ["main"]
    assert (str(done["main"]).count("call_tir"), str(done["kept"]).count("call_tir")) == (1, 4)
    x = np.arange(4, dtype="f4")
    for mode in ("native", "bytecode"):  # passes that are required for compilation still run
        built = rx.build(mod, exec_mode=mode)
        main = built if mode == "native" else rx.VirtualMachine(built)
        for name in ("main", "kept"):
            np.testing.assert_allclose(np.from_dlpack(main[name](x)), np.exp(x + 3), rtol=1e-6)


def test_fold_constant_as_function_of_transform() -> None:
    assert isinstance(transform.FoldConstant(), transform.Pass)
    assert transform.get_pass("FoldConstant") == transform.FoldConstant()


def test_print_ir_in_a_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    Sequential([transform.PrintIR("here"), transform.FoldConstant()])(module())
    assert capsys.readouterr().err.startswith("# here\n")


def test_instrument_gets_the_ir_module() -> None:
    seen: list[str] = []

    @pass_instrument
    class Looks:
        def run_before_pass(self, mod: rx.IRModule, info: PassInfo) -> None:
            seen.append(f"{info.name}: {', '.join(mod.functions)}")
            assert "def main(x" in mod.script()

    with PassContext(instruments=[Looks()]):
        transform.FoldConstant()(module())
    assert seen == ["fold-constant: main"]


def test_example_pass_that_adds_abs() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("abs", [x]):
        bb.emit_func_output(R.abs(x))
    func = bb.get()["abs"]

    @transform.module_pass(opt_level=2)
    def add_abs(mod: rx.IRModule, ctx: PassContext) -> rx.IRModule:
        new_mod = rx.IRModule({rx.GlobalVar("abs"): func})
        new_mod.update(mod)
        return new_mod

    assert list(add_abs(module())) == ["abs", "main"]


def test_an_empty_module() -> None:
    assert list(rx.IRModule()) == []


def test_example_test_replace_func() -> None:
    @transform.function_pass(opt_level=1)
    class TestReplaceFunc:
        def __init__(self, new_func: object) -> None:
            self.new_func = new_func

        def transform_function(self, func: object, mod: rx.IRModule, ctx: PassContext) -> object:
            return self.new_func

    f1 = transform.FoldConstant()(module("f1"))
    assert folded(TestReplaceFunc(f1["f1"])(module()))
