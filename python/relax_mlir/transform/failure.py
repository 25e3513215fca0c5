"""What a failing pass turns into: an error with the pass, the diagnostics, a dump, a way to reproduce it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from relax_mlir.diagnostics import collect, of_error, report
from relax_mlir.error import Diagnostic, PassError, RelaxError
from relax_mlir.mlir import ir
from relax_mlir.module_text import PrintOptions, file_name, module_text, write_atomically
from relax_mlir.transform import registry
from relax_mlir.transform.config import DUMP_DIR, VERIFY_EACH
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.upstream_names import PASSES as UPSTREAM_PASSES

DUMP_VARIABLE = "RELAX_MLIR_DUMP_DIR"
"""Environment variable that stands in for the config option ``pass.dump_dir``."""


@contextmanager
def guarded(module: ir.Module, info: PassInfo, ctx: PassContext, verify: bool = True) -> Iterator[None]:
    """Around the work of one pass: verify what it leaves, and turn its failure into an error of the project.

    Exceptions of instruments go on unchanged. A `RelaxError` keeps its type and gets the pass's name and the
    hints. Anything else becomes a `PassError`. Warnings of a pass that succeeds are reported on.
    """
    folder = ctx.option(DUMP_DIR) or os.environ.get(DUMP_VARIABLE, "")
    before = module.operation.clone(ip=False) if folder else None
    seen: list[Diagnostic] = []
    try:
        with collect(module.context, seen.append):
            yield
            if verify and ctx.option(VERIFY_EACH):
                module.operation.verify()
    except Exception as error:
        if error is ctx.instrument_error or getattr(error, "pass_name", None) is not None:
            raise
        dump = None if before is None else _dump(before, info, Path(folder))
        failure = _failure(error, info, seen)
        _add_hints(failure, info, dump, module.context.allow_unregistered_dialects)
        if failure is error:
            raise
        raise failure from (None if isinstance(error, ir.MLIRError) else error)
    for diagnostic in seen:
        report(diagnostic)


def _failure(error: Exception, info: PassInfo, seen: list[Diagnostic]) -> RelaxError:
    if isinstance(error, RelaxError):
        error.pass_name = info.name
        error.add_hint(f"in pass '{info.text}'")
        return error
    if not isinstance(error, ir.MLIRError):
        return PassError(info.name, f"internal error: {type(error).__name__}: {error}", seen)
    diagnostics = seen + of_error(error)
    errors = [d.message for d in diagnostics if d.severity == "error"]
    return PassError(info.name, errors[0] if errors else "MLIR gave no reason", diagnostics)


def _add_hints(failure: RelaxError, info: PassInfo, dump: Path | None, unregistered: bool) -> None:
    command = None if dump is None else reproducer(info, dump, unregistered)
    if isinstance(failure, PassError):
        failure.dump, failure.reproducer = dump, command
    if dump is None:
        failure.add_hint(f"set {DUMP_VARIABLE} to a directory to get the module as it was before the pass")
        return
    failure.add_hint(f"the module before the pass: {dump}")
    if command is not None:
        failure.add_hint(f"to reproduce: {command}")


def reproducer(info: PassInfo, dump: Path, unregistered: bool = False) -> str | None:
    """The command that runs the pass on the dumped module; None for a pass that has no registered name."""
    if not registry.is_known(info.name) and info.name not in UPSTREAM_PASSES:
        return None
    allow = "--allow-unregistered-dialect " if unregistered else ""
    return f"relax-opt {allow}--pass-pipeline='builtin.module({info.text})' {dump}"


def _dump(module: ir.Operation, info: PassInfo, folder: Path) -> Path:
    for number in count():
        path = folder / f"failed-{file_name(info.name)}-{number}.mlir"
        if not path.exists():
            break
    write_atomically(path, module_text(module, PrintOptions(debug_info=True)))
    return path
