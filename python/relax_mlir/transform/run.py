"""One outermost run of a pass: its history, and the restoration of the module on failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from relax_mlir.changes import changed
from relax_mlir.diagnostics import of_error
from relax_mlir.dialects.types import remembered_types
from relax_mlir.error import VerifyError
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import entry_block
from relax_mlir.memory_left import require_for
from relax_mlir.mlir import ir
from relax_mlir.module_functions import remove
from relax_mlir.transform.config import VERIFY_EACH
from relax_mlir.transform.context import PassContext


@dataclass
class Run:
    """The state of an outermost call: the names of the passes that have run, in order."""

    mod: IRModule
    """The module that instruments and users' passes get."""
    original: ir.Operation
    """The module before the run: the source of the copy `mod`, or a copy of `mod`."""
    pipeline: str
    """The outermost pass as text."""
    history: list[str] = field(default_factory=list)

    def just_run(self, names: frozenset[str]) -> set[str]:
        """Those of `names` that ran last, with no other pass after them."""
        recent: set[str] = set()
        for name in reversed(self.history):
            if name not in names:
                break
            recent.add(name)
        return recent


class _ThreadState(threading.local):
    """The active runs of this thread, outermost first (a pass may run passes on a second module)."""

    def __init__(self) -> None:
        self.runs: list[Run] = []


_state = _ThreadState()


@contextmanager
def run_on_copy(mod: IRModule, ctx: PassContext, pipeline: str) -> Iterator[Run]:
    """A run on a copy of `mod`; `mod` is unchanged and is used in reproducers."""
    if ctx.option(VERIFY_EACH):
        verify_input(mod.mlir)
    require_for(pipeline, mod.mlir)
    with _entered(Run(mod.clone(), mod.operation, pipeline)) as run:
        yield run


@contextmanager
def run_in_place(mod: IRModule, ctx: PassContext, pipeline: str) -> Iterator[Run]:
    """The active run on `mod`, or a new one, which restores `mod` on failure."""
    if _state.runs and _state.runs[-1].mod.mlir == mod.mlir:
        yield _state.runs[-1]
        return
    if ctx.option(VERIFY_EACH):
        verify_input(mod.mlir)
    require_for(pipeline, mod.mlir)
    backup = mod.operation.clone(ip=False)
    with _entered(Run(mod, backup, pipeline)) as run:
        try:
            yield run
        except BaseException:
            _restore(mod.mlir, backup)
            changed(mod.operation)
            raise


@contextmanager
def _entered(run: Run) -> Iterator[Run]:
    _state.runs.append(run)
    try:
        with remembered_types():
            yield run
    finally:
        _state.runs.pop()


def current_run() -> Run:
    """The innermost run of this thread."""
    return _state.runs[-1]


def current_module(module: ir.Module) -> IRModule:
    """`module` as the object that the instruments of its run get."""
    if _state.runs and _state.runs[-1].mod.mlir == module:
        return _state.runs[-1].mod
    return IRModule(module)


def verify_input(module: ir.Module) -> None:
    """Raise `VerifyError` with the diagnostics unless the input `module` of passes is valid MLIR."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise VerifyError("the module is invalid before the first pass", of_error(error)) from None


def _restore(module: ir.Module, backup: ir.Operation) -> None:
    """Restore the contents of `module` from `backup`, if they have changed."""
    if _fingerprint(module.operation) == _fingerprint(backup):
        return
    for op in list(module.body.operations):
        remove(module, op)
    for op in list(entry_block(backup).operations):
        module.body.append(op)
    attributes = module.operation.attributes
    for name in list(attributes):
        del attributes[name]
    for name in list(backup.attributes):
        attributes[name] = backup.attributes[name]


def _fingerprint(op: ir.Operation) -> str:
    """The text of an op, which may be invalid, with names for weights, since no pass changes these in place."""
    text: str = op.get_asm(print_generic_op_form=True, enable_debug_info=True, use_local_scope=True)
    return text
