"""`build` verifies a phase as a whole, and names the pass that broke the module when that fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.error import PassError, UnsupportedError
from relax_mlir.instrument import PassStatistics
from relax_mlir.lowering.pipeline import Phase
from relax_mlir.mlir import ir
from relax_mlir.runtime.run_phase import run_phase
from relax_mlir.transform import MLIRPass, Pass, PassContext, module_pass


def negative() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.negative(x)))
    return bb.get()


def recording(name: str, runs: list[str], work: Callable[[ir.Module], None] = lambda module: None) -> Pass:
    """A pass that does `work`, and notes whether the context asks for verification."""

    @module_pass(name=name, opt_level=0)
    def run(module: ir.Module, ctx: PassContext) -> None:
        runs.append(f"{name} {'verified' if ctx.option('pass.verify_each') else 'unverified'}")
        work(module)

    return run


def break_it(module: ir.Module) -> None:
    """Leave a function whose type does not fit its block."""
    with module.context:
        type_ = ir.FunctionType.get([], [])
        module.body.operations[0].attributes["function_type"] = ir.TypeAttr.get(type_)


def phase(*passes: Pass) -> Phase:
    return Phase("made up", "relax", passes)


def test_a_good_phase_runs_once() -> None:
    runs: list[str] = []
    run_phase(phase(recording("one", runs), MLIRPass("cse"), recording("two", runs)), negative())
    assert runs == ["one unverified", "two unverified"]


def test_the_pass_that_broke_the_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_REPRODUCERS", "0")
    runs: list[str] = []
    work = negative()
    before = str(work.mlir)
    passes = (recording("fine", runs), recording("breaking", runs, break_it), recording("later", runs))
    with pytest.raises(PassError, match="pass 'breaking' failed") as caught:
        run_phase(phase(*passes), work)
    assert runs[3:] == ["fine verified", "breaking verified"]
    assert str(work.mlir) == before
    assert caught.value.__cause__ is None


def test_errors_of_passes_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_REPRODUCERS", "0")

    def refuse(module: ir.Module) -> None:
        raise UnsupportedError("not this")

    with pytest.raises(UnsupportedError, match="not this"):
        run_phase(phase(recording("refusing", [], refuse)), negative())


def test_whoever_watches_gets_verification() -> None:
    for context in (
        PassContext(instruments=[PassStatistics()]),
        PassContext(config={"pass.verify_each": True}),
    ):
        runs: list[str] = []
        with context:
            run_phase(phase(recording("one", runs)), negative())
        assert runs == ["one verified"]
