"""Failures of passes as errors with the pass, the source location, and a reproducer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.diagnostics import collect, of_error, report
from relax_mlir.error import Diagnostic, OutOfMemoryError, PassError, RelaxError
from relax_mlir.mlir import ir
from relax_mlir.source_frame import with_frames
from relax_mlir.transform.config import DUMP_DIR, REPRODUCERS, VERIFY_EACH
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.registry import PLUGINS
from relax_mlir.transform.reproducer import Recipe, command, write_reproducer
from relax_mlir.transform.run import current_run
from relax_mlir.transform.user_place import place_in, user_place

DUMP_VARIABLE = "RELAX_MLIR_DUMP_DIR"
"""Environment variable that is used if the config option ``pass.dump_dir`` is not set."""
REPRODUCERS_VARIABLE = "RELAX_MLIR_REPRODUCERS"
"""Environment variable: 0 disables reproducers in the folder for temporary files."""


@contextmanager
def guarded(
    module: ir.Module, info: PassInfo, ctx: PassContext, verify: bool | None = None
) -> Iterator[None]:
    """Run one pass in the context: verify the module after it, and convert its failure to an error of the project.

    `verify` overrules the context's option. Exceptions of instruments propagate unchanged. A `RelaxError` keeps its
    type and gets the pass's name and the hints. Anything else becomes a `PassError`. If the pass succeeds, its warnings
    are passed on.
    """
    folder = ctx.option(DUMP_DIR) or os.environ.get(DUMP_VARIABLE, "")
    before = module.operation.clone(ip=False) if folder else None
    seen: list[Diagnostic] = []
    earlier = len(ctx.reported_errors)
    try:
        with collect(module.context, seen.append):
            yield
            if errors := ctx.reported_errors[earlier:]:
                raise _Reported(errors)
            if ctx.option(VERIFY_EACH) if verify is None else verify:
                module.operation.verify()
    except Exception as error:
        if error is ctx.instrument_error or getattr(error, "pass_name", None) is not None:
            raise
        failure = _failure(error, info, seen)
        errors = _errors_of(failure)
        _keep(ctx, [*(diagnostic for diagnostic in seen if diagnostic not in errors), *errors])
        failure.args = (with_frames(str(failure)),)
        _leave_reproducer(failure, info, ctx, module, before, folder)
        if failure is error:
            raise
        raise failure from (None if isinstance(error, ir.MLIRError | _Reported) else error)
    finally:
        del ctx.reported_errors[earlier:]
    if not _keep(ctx, seen):
        for diagnostic in seen:
            report(diagnostic)


class _Reported(Exception):
    """The pass has ended after reporting errors."""

    def __init__(self, errors: list[Diagnostic]) -> None:
        self.errors = errors
        super().__init__(
            "1 error was reported" if len(errors) == 1 else f"{len(errors)} errors were reported"
        )


def _keep(ctx: PassContext, diagnostics: list[Diagnostic]) -> bool:
    """Add diagnostics to the context's own collection; false if it has none."""
    if ctx.diag_ctx is None:
        return False
    for diagnostic in diagnostics:
        ctx.diag_ctx.emit(diagnostic)
    return True


def _errors_of(failure: RelaxError) -> list[Diagnostic]:
    """The error diagnostics of a failure."""
    found = [d for d in getattr(failure, "diagnostics", ()) if d.severity == "error"]
    return found or [Diagnostic("error", "unknown", str(failure).partition("\n")[0])]


def _failure(error: Exception, info: PassInfo, seen: list[Diagnostic]) -> RelaxError:
    if isinstance(error, MemoryError) and not isinstance(error, RelaxError):
        error = OutOfMemoryError(f"no memory is left ({error})" if str(error) else "no memory is left")
    if isinstance(error, RelaxError):
        error.pass_name = info.name
        error.add_hint(f"in pass '{info.text}'")
        for file in PLUGINS:
            if (place := place_in(error, file)) is not None:
                error.add_hint(f"{place}: here")
        return error
    if isinstance(error, _Reported):
        return PassError(info.name, str(error), seen + error.errors)
    if not isinstance(error, ir.MLIRError):
        raised_at = user_place(error)
        where = "" if raised_at is None else f"\n  {raised_at}: here"
        return PassError(info.name, f"internal error: {type(error).__name__}: {error}{where}", seen)
    diagnostics = seen + of_error(error)
    errors = [d.message for d in diagnostics if d.severity == "error"]
    return PassError(info.name, errors[0] if errors else "MLIR gave no reason", diagnostics)


def _leave_reproducer(
    failure: RelaxError,
    info: PassInfo,
    ctx: PassContext,
    module: ir.Module,
    before: ir.Operation | None,
    folder: str,
) -> None:
    """Write a reproducer and add its path to the message.

    With `folder`, it is that of the failing pass; otherwise of the outermost pass, whose input module is available.
    """
    if not ctx.option(REPRODUCERS) or (not folder and os.environ.get(REPRODUCERS_VARIABLE) == "0"):
        return
    run = current_run()
    source, pipeline = (run.original, run.pipeline) if before is None else (before, info.text)
    recipe = Recipe.of(pipeline, ctx, module.context.allow_unregistered_dialects)
    try:
        path = write_reproducer(source, recipe, info.name, folder)
    except OSError as error:
        failure.add_hint(f"no reproducer could be written: {error}")
        return
    replay = command(path, recipe)
    if isinstance(failure, PassError):
        failure.dump, failure.reproducer = path, replay
    if replay is not None:
        failure.add_hint(f"to reproduce: {replay}")
    else:
        failure.add_hint(f"the module before the pass: {path} (the pass is not registered by name)")
