"""`build` verifies once per phase; after a failure it repeats with verification per pass, to name the failing pass."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.error import PassError, UnsupportedError, VerifyError
from relax_mlir.instrument import PassStatistics
from relax_mlir.lowering.pipeline import Phase, phases
from relax_mlir.mlir import ir
from relax_mlir.transform import Pass, PassContext, module_pass


@pytest.fixture(autouse=True)
def no_reproducers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_REPRODUCERS", "0")


def negative() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.negative(x)))
    return bb.get()


def recording(name: str, runs: list[str], work: Callable[[ir.Module], None] = lambda module: None) -> Pass:
    """A pass that does `work`, and records if the context requests verification."""

    @module_pass(name=name, opt_level=0)
    def run(module: ir.Module, ctx: PassContext) -> None:
        runs.append(f"{name} {'verified' if ctx.option('pass.verify_each') else 'unverified'}")
        work(module)

    return run


def break_it(module: ir.Module) -> None:
    """Leave a function whose type does not match its block."""
    with module.context:
        type_ = ir.FunctionType.get([], [])
        module.body.operations[0].attributes["function_type"] = ir.TypeAttr.get(type_)


@pytest.fixture
def more(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Insert passes before those of the phase of this name."""

    def put(name: str, *passes: Pass) -> None:
        def changed(*options: Any) -> tuple[Phase, ...]:
            return tuple(
                Phase(each.name, (*passes, *each.passes)) if each.name == name else each for each in phases(*options)
            )

        monkeypatch.setattr(importlib.import_module("relax_mlir.runtime.compile_native"), "phases", changed)

    return put


def built() -> rx.Executable:
    return rx.build(negative(), cache=False)


def test_a_good_build_runs_once(more: Callable[..., None]) -> None:
    runs: list[str] = []
    more("calls", recording("one", runs), recording("two", runs))
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(np.from_dlpack(built()["main"](x)), -x)
    assert runs == ["one unverified", "two unverified"]


def test_the_pass_that_broke_the_module_is_named(more: Callable[..., None]) -> None:
    runs: list[str] = []
    more("calls", recording("fine", runs), recording("breaking", runs, break_it), recording("later", runs))
    mod = negative()
    before = str(mod.mlir)
    with pytest.raises(PassError, match="pass 'breaking' failed") as caught:
        rx.build(mod, cache=False)
    assert str(mod.mlir) == before
    assert runs[-2:] == ["fine verified", "breaking verified"]
    assert caught.value.__cause__ is None


def test_errors_of_passes_come_through(more: Callable[..., None]) -> None:
    def refuse(module: ir.Module) -> None:
        raise UnsupportedError("not this")

    more("calls", recording("refusing", [], refuse))
    with pytest.raises(UnsupportedError, match="not this"):
        built()


def test_a_second_attempt_that_succeeds_says_so(more: Callable[..., None]) -> None:
    runs: list[str] = []

    def fail_once(module: ir.Module) -> None:
        if len(runs) == 1:
            raise UnsupportedError("not now")

    more("calls", recording("fickle", runs, fail_once))
    with pytest.warns(UserWarning, match=r"succeeded at the second attempt only; the first: not now"):
        built()
    assert runs == ["fickle unverified", "fickle verified"]


def test_what_a_level_does_not_allow_is_named(more: Callable[..., None]) -> None:
    """LLVM would only report that it cannot compile it."""
    text = """
func.func @left(%x: f32, %m: memref<?xf32>) {
  linalg.fill ins(%x : f32) outs(%m : memref<?xf32>)
  return
}"""

    def leave(module: ir.Module) -> None:
        with module.context:
            source = ir.Module.parse(text)
        function = source.body.operations[0]
        function.operation.detach_from_parent()
        module.body.append(function)

    more("flat", recording("leaving", [], leave))
    with pytest.raises(VerifyError, match=r"linalg\.fill is not allowed at level flat \(flat functions\)"):
        built()


def test_whoever_watches_gets_verification(more: Callable[..., None]) -> None:
    for context in (
        PassContext(instruments=[PassStatistics()]),
        PassContext(config={"pass.verify_each": True}),
    ):
        runs: list[str] = []
        more("calls", recording("one", runs))
        with context:
            built()
        assert runs == ["one verified"]
