"""One phase of the lowering, with as much care as there is reason for.

To verify a module after each pass, and to look at each op for whether its level allows it, costs about as much as the
passes. So `build` verifies once per phase at first. When anything fails then, it starts again and runs all phases with
`verify_each`: the pass that is to blame is named. Where somebody watches the passes, or asks for verification, that is
what runs at once.
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
    """Whether somebody looks at the passes that run in the current context."""
    context = PassContext.current()
    return bool(context.instruments or VERIFY_EACH in context.config or context.option(DUMP_DIR))


@contextmanager
def unverified(mod: IRModule) -> Iterator[IRModule]:
    """A copy of `mod` for phases without `verify_each`: passes do not verify it, and failures leave no reproducers."""
    outer = PassContext.current()
    held = None if outer.diag_ctx is None else DiagnosticContext()
    config = {**outer.config, VERIFY_EACH: False, REPRODUCERS: False}
    context = outer.derived(config=config, instruments=(), diag_ctx=held)
    with context, run_on_copy(mod, context, "build") as run:
        yield run.mod
    if held is not None and outer.diag_ctx is not None:  # of a run that fails, the next attempt reports them
        for diagnostic in held.diagnostics:
            outer.diag_ctx.emit(diagnostic)


def run_phase(phase: Phase, work: IRModule, verify_each: bool = True) -> None:
    """Run `phase` on `work`, in place.

    Args:
        verify_each: whether to hold that each op is legal at the level of the phase, and, unless the context says no,
            to verify the module after each pass; else it is verified at the end.

    Raises:
        VerifyError: the module is not at the phase's level. PassError: a pass failed, or left an invalid module. Also
        what passes raise, and, if not `verify_each`, `ir.MLIRError` for an invalid module.
    """
    compile_steps.begin(phase.name)
    if verify_each:
        work.apply_(phase.as_pass())
        return
    work.apply_(Sequential(phase.passes, name=phase.name))
    work.mlir.operation.verify()
