"""`PassContext.diag_ctx`: diagnostics of passes are collected, and errors fail the pass when it ends."""

from __future__ import annotations

from unittest import TestCase

import numpy as np
import pytest
import relax_mlir as rx
from pass_helpers import parse
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, CompileError, PassError
from relax_mlir.mlir import ir
from relax_mlir.transform import DiagnosticContext, MLIRPass, PassContext, Sequential, module_pass

UNBUFFERISABLE = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.unknown"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@module_pass
def talks(mod: rx.IRModule, ctx: PassContext) -> rx.IRModule:
    """Reports diagnostics on the module, on its first function, and on a location."""
    ctx.note("a note", next(iter(mod.body.operations)))
    ctx.warning("a warning", ir.Location.file("a.py", 3, 4, mod.context))
    return mod


@module_pass
def fails(mod: rx.IRModule, ctx: PassContext) -> None:
    """Reports two errors, continuing after the first."""
    ctx.warning("before")
    ctx.error("first", ir.Location.file("a.py", 1, 2, mod.context))
    ctx.error("second")


def test_messages_are_kept_in_order_and_not_logged() -> None:
    found = DiagnosticContext()
    with TestCase().assertNoLogs("relax_mlir", "INFO"), PassContext(diag_ctx=found):
        Sequential([talks, MLIRPass("cse"), talks])(parse())
    assert [(d.severity, d.message) for d in found.diagnostics] == [
        ("note", "a note"),
        ("warning", "a warning"),
    ] * 2
    assert found.of_severity("warning")[0].location == "a.py:3:4"
    assert "a.py:3:4: warning: a warning" in found.render()
    assert DiagnosticContext().render() == ""


def test_without_one_messages_are_logged() -> None:
    with TestCase().assertLogs("relax_mlir", "WARNING") as logs:
        talks(parse())
    assert any("a.py:3:4: warning: a warning" in text for text in logs.output)


def test_errors_fail_the_pass_when_it_ends() -> None:
    found, module = DiagnosticContext(), parse()
    with PassContext(diag_ctx=found) as ctx, pytest.raises(PassError) as caught:
        fails(module)
    assert str(caught.value).startswith("pass 'fails' failed: 2 errors were reported\n")
    assert [d.message for d in caught.value.diagnostics] == ["before", "first", "second"]
    assert [d.message for d in found.diagnostics] == ["before", "first", "second"]
    assert ctx.reported_errors == []


def test_errors_of_an_inner_pass_are_reported_once() -> None:
    @module_pass
    def outer(mod: rx.IRModule, ctx: PassContext) -> None:
        ctx.error("of the outer one")
        with pytest.raises(PassError, match="2 errors"):
            fails(mod)

    found = DiagnosticContext()
    with (
        PassContext(diag_ctx=found),
        pytest.raises(PassError, match=r"(?s)'outer' failed: 1 error was.*outer one"),
    ):
        outer(parse())
    assert [d.message for d in found.of_severity("error")] == ["first", "second", "of the outer one"]


def test_errors_of_mlir_and_other_errors_are_kept_too() -> None:
    @module_pass
    def raises(mod: rx.IRModule, ctx: PassContext) -> None:
        raise CompileError("no way")

    found = DiagnosticContext()
    with PassContext(diag_ctx=found):
        with pytest.raises(PassError):
            MLIRPass("one-shot-bufferize")(parse(UNBUFFERISABLE, unregistered=True))
        with pytest.raises(CompileError):
            raises(parse())
    messages = [d.message for d in found.of_severity("error")]
    assert "op was not bufferized" in messages[0] and messages[-1].startswith("no way")


def test_build_reports_once() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor((2,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.abs(x))
    found = DiagnosticContext()
    with PassContext(diag_ctx=found):
        ex = rx.build(talks(bb.get()), cache=False)
    assert len(found.diagnostics) == 2
    assert np.from_dlpack(ex["main"](np.float32([-1, 2]))).tolist() == [1, 2]


def test_something_else_is_no_diagnostic_context() -> None:
    with pytest.raises(ArgumentError, match="'diag_ctx' is 3"):
        PassContext(diag_ctx=3)  # type: ignore[arg-type]  # wrong on purpose
