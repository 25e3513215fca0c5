"""Run one phase of the lowering, with or without verification after each pass.

Verifying a module after each pass and checking the legality of each op cost about as much as the passes themselves.
`build` therefore first verifies once per phase. On failure it starts again and runs all phases with `verify_each`,
which identifies the failing pass. If instruments are attached or verification is requested, it does so at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.pipeline import Phase
from relax_mlir.runtime import compile_steps
from relax_mlir.transform import DiagnosticContext, PassContext, Sequential
from relax_mlir.transform.config import DUMP_DIR, REPRODUCERS, VERIFY_EACH
from relax_mlir.transform.run import run_on_copy


def is_observed() -> bool:
    """True if instruments, verification or IR dumps are enabled in the current context."""
    context = PassContext.current()
    return bool(context.instruments or VERIFY_EACH in context.config or context.option(DUMP_DIR))


@contextmanager
def unverified(mod: IRModule) -> Iterator[IRModule]:
    """A copy of `mod` for phases without `verify_each`: no verification by passes, and no reproducers on failure."""
    outer = PassContext.current()
    held = None if outer.diag_ctx is None else DiagnosticContext()
    config = {**outer.config, VERIFY_EACH: False, REPRODUCERS: False}
    context = outer.derived(config=config, instruments=(), diag_ctx=held)
    with context, run_on_copy(mod, context, "build") as run:
        yield run.mod
    if held is not None and outer.diag_ctx is not None:  # on failure, the next attempt reports them
        for diagnostic in held.diagnostics:
            outer.diag_ctx.emit(diagnostic)


def run_phase(phase: Phase, work: IRModule, verify_each: bool = True) -> None:
    """Run `phase` on `work`, in place.

    Args:
        verify_each: if True, check that each op is legal at the level of the phase and, unless the context disables
            it, verify the module after each pass. If False, verify it only at the end.

    Raises:
        VerifyError: the module is not at the phase's level. PassError: a pass failed, or left an invalid module. Also
            errors of passes and, if not `verify_each`, `ir.MLIRError` for an invalid module.
    """
    compile_steps.begin(phase.name)
    if verify_each:
        work.apply_(phase.as_pass())
        return
    work.apply_(Sequential(phase.passes, name=phase.name))
    work.mlir.operation.verify()
