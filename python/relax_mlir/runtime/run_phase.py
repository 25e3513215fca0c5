"""One phase of the lowering, verified as a whole; after every pass only when that fails."""

from __future__ import annotations

import contextlib

from relax_mlir.error import RelaxError
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.pipeline import Phase
from relax_mlir.transform import PassContext
from relax_mlir.transform.config import DUMP_DIR, REPRODUCERS, VERIFY_EACH


def run_phase(phase: Phase, work: IRModule) -> None:
    """Run `phase` on `work`, in place; its check of legality at the end verifies what it leaves.

    Verification after every pass costs about as much as the passes. So it is left for the case of a failure: then
    `work` is again what it was before, the phase runs once more, and the pass that broke the module is named. Where
    somebody watches the passes, or asks for verification, each is verified at once.
    """
    context = PassContext.current()
    if context.instruments or VERIFY_EACH in context.config or context.option(DUMP_DIR):
        phase.as_pass()(work.mlir)
        return
    unverified = PassContext(
        context.opt_level,
        context.required_pass,
        context.disabled_pass,
        {**context.config, VERIFY_EACH: False, REPRODUCERS: False},
    )
    with contextlib.suppress(RelaxError), unverified:
        phase.as_pass()(work.mlir)
        return
    phase.as_pass()(work.mlir)
