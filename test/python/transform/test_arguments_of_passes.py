"""Passes leave their argument unchanged: every registered pass, on a module of the level at which it runs."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects import constants
from relax_mlir.dpl import is_op, wildcard
from relax_mlir.error import ArgumentError, PassError
from relax_mlir.lowering.pipeline import memory_phases, phases
from relax_mlir.mlir import ir
from relax_mlir.module_file import resources
from relax_mlir.transform import (
    BindParams,
    BindSymbolicVars,
    FoldConstant,
    FuseOpsByPattern,
    MLIRPass,
    ModulePass,
    Pass,
    PassContext,
    Sequential,
    create_pass,
    module_pass,
    registry,
)

WEIGHT = np.random.default_rng(0).standard_normal((9, 9), dtype="f4")
TARGET = "cpu -mcpu=x86-64"
UNVERIFIED = PassContext(config={"pass.verify_each": False})
OPTIONS = {
    "bind-params": lambda: BindParams.of({"c": np.array(True)}),
    "bind-symbolic-vars": lambda: BindSymbolicVars.of({"n": 3}),
    "fuse-ops-by-pattern": lambda: FuseOpsByPattern([("lib.matmul", is_op("relax.matmul")(wildcard(), wildcard()))]),
}
LATER = {"instrument-calls": ("memrefs", ""), "link-kernels": ("kernels", f"target='{TARGET}'")}
"""Passes that are not part of a named pipeline, the phase after which they run, and their options."""


def program() -> rx.IRModule:
    """A function with weights, a dataflow block, a branch, and dead code."""
    bb = rx.BlockBuilder()
    row, flag = rx.Tensor(("n", 9), "float32"), rx.Tensor((), "bool")
    a, b, unused = rx.Var("a", row), rx.Var("b", row), rx.Var("unused", row)
    with bb.function("helper", [a, b, unused], private=True):
        bb.emit_func_output(bb.emit(R.add(R.exp(a), b), "sum"))
    x, c = rx.Var("x", row), rx.Var("c", flag)
    with bb.function("main", [x, c]):
        with bb.dataflow():
            two = bb.emit(R.add(R.const(np.float32(0.5)), R.const(np.float32(1.5))), "two")
            h = bb.emit(R.multiply(R.matmul(x, R.const(WEIGHT)), two), "h")
            bb.emit(R.sin(h), "dead")
            flat = bb.emit_output(R.reshape(R.reshape(R.nn.softmax(h), ("n*9",)), ("n", 9)), "flat")
        chosen = R.if_then_else(c, lambda: R.add(flat, R.const(WEIGHT[0])), lambda: R.negative(flat))
        bb.emit_func_output(bb.call("helper", chosen, flat, x))
    return bb.get()


def small() -> rx.IRModule:
    """A function that a whole pipeline lowers quickly."""
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor((81,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.add(x, R.add(R.const(WEIGHT.reshape(81)), R.const(np.float32(2)))))
    return bb.get()


def leaves(passes: Iterable[Pass]) -> Iterable[Pass]:
    for each in passes:
        if isinstance(each, Sequential) or (isinstance(each, MLIRPass) and each.info.composite):
            yield from leaves(each.passes)
        else:
            yield each


@functools.cache
def cases() -> dict[str, tuple[Pass, rx.IRModule]]:
    """Each registered pass with a module: its input in the lowering, else a Relax module."""
    found: dict[str, tuple[Pass, rx.IRModule]] = {}
    *upper, _, _ = phases(TARGET)
    branch = [phase for phase in phases(TARGET, keep_closures=True) if phase.name in ("relax", "calls")]
    for mod, way in (
        (program(), upper),
        (program(), [*branch, *memory_phases()]),
        (small(), phases(TARGET)),  # low levels of the other one are long
    ):
        for phase in way:
            for step in leaves([phase.as_pass()]):
                found.setdefault(step.info.name, (step, mod))
                mod = step(mod, UNVERIFIED)
            for name, (last, options) in LATER.items():
                if phase.name == last:
                    found.setdefault(name, (create_pass(name, options), mod))
    for name in registry.PASSES:
        if name not in found:
            step = OPTIONS[name]() if name in OPTIONS else create_pass(name)
            found[name] = (step, small() if name.startswith("relax-to-") else program())
    return found


def text(mod: rx.IRModule) -> str:
    """The module as text, with equal names for all numbered constants."""
    return re.sub(r"relax_constant_\d+", "relax_constant", mod.asm())


def weights(mod: rx.IRModule) -> dict[str, int]:
    """The addresses of the elements of all weights, by name."""
    return {name: constants.to_numpy(item).ctypes.data for name, item in resources(mod.operation).items()}


@pytest.mark.parametrize("name", registry.PASSES)
def test_a_pass_gives_a_new_module(name: str) -> None:
    step, mod = cases()[name]
    before, held = text(mod), weights(mod)
    made = step(mod, UNVERIFIED)
    assert text(mod) == before and weights(mod) == held
    assert made.mlir != mod.mlir and made.context == mod.context
    changed = mod.clone()
    assert changed.apply_(step, UNVERIFIED) is changed
    assert text(changed) == text(made)
    for found in (weights(made), weights(changed)):
        assert all(address == held.get(weight, address) for weight, address in found.items())


def test_weights_are_not_copied() -> None:
    mod = program()
    made = Sequential([create_pass("normalize"), MLIRPass("cse")])(mod)
    assert weights(made) == weights(mod) and len(weights(mod)) == 1


def test_what_a_caller_holds_belongs_to_the_old_module() -> None:
    mod = program()
    held, params = mod["main"], mod["main"].params
    bindings = held.body.blocks[0].bindings
    made = FoldConstant()(mod)
    assert [param.name for param in params] == ["x", "c"]
    assert bindings[0].var.name == "two" and bindings[0].value.op.name == "relax.add"
    assert made["main"].operation.parent == made.operation != mod.operation
    mod.apply_(FoldConstant())
    with pytest.raises(ArgumentError, match="has been changed since"):
        _ = bindings[0].value
    assert text(mod) == text(made)


def test_modules_of_the_bindings_and_of_builders() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.add(x, R.add(R.const(np.float32(1)), R.const(np.float32(2)))))
    before = str(bb.get())
    made = FoldConstant()(bb.get().mlir)
    assert isinstance(made, ir.Module) and str(bb.get()) == before != str(rx.IRModule(made))
    assert FoldConstant().apply_(bb.get().mlir) == bb.get().mlir and str(bb.get()) == str(rx.IRModule(made))


class _Nested(ModulePass):
    """Runs other passes inside, in place and on a copy."""

    name = "nested"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        copy = create_pass("legalize-ops")(module, ctx)
        assert "relax.call_tir" in str(copy) and "relax.call_tir" not in str(module)
        FoldConstant().apply_(module, ctx)


def test_passes_inside_passes() -> None:
    mod = program()
    before = text(mod)
    made = _Nested()(mod)
    assert text(mod) == before and text(made) == text(FoldConstant()(mod))


def test_a_pass_that_fails_leaves_its_argument() -> None:
    @module_pass(name="fails")
    def fails(mod: rx.IRModule, ctx: PassContext) -> None:
        del mod["helper"]
        raise ValueError("no")

    mod = program()
    before, held = text(mod), mod["helper"]
    for run in (Sequential([FoldConstant(), fails]), mod.apply_):
        with pytest.raises(PassError, match="pass 'fails' failed") as caught:
            run(mod) if isinstance(run, Pass) else run([FoldConstant(), fails])
        assert text(mod) == before and caught.value.dump is not None
        assert "relax_constant" in caught.value.dump.read_text() or "two" in caught.value.dump.read_text()
        if isinstance(run, Pass):
            assert mod["helper"].operation == held.operation


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_build_leaves_its_argument(mode: Any) -> None:
    mod = small()
    before, params = text(mod), mod["main"].params
    rx.build(mod, exec_mode=mode, cache=False)
    assert text(mod) == before and params[0].name == "x" and weights(mod)


def test_apply_takes_a_pass_or_a_list() -> None:
    mod = program()
    steps = [FoldConstant(), create_pass("legalize-ops")]
    assert text(mod.clone().apply_(steps)) == text(Sequential(steps)(mod))
    assert text(mod.clone().apply_(iter(steps), PassContext(opt_level=0))) == text(steps[1](mod))
    for wrong, message in (
        (FoldConstant, r"expected a Pass; write FoldConstant\(\)"),
        ("fold-constant", "is the string 'fold-constant', expected a list of passes"),
        (3, "pass 0 is 3, expected a Pass"),
        ([3], "pass 0 is 3, expected a Pass"),
    ):
        with pytest.raises(ArgumentError, match=message):
            mod.apply_(wrong)  # type: ignore[arg-type]  # wrong on purpose
