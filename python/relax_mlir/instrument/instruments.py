"""Print, dump, time or check the module around passes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TextIO

from relax_mlir.analysis import well_formed
from relax_mlir.error import PassError, RelaxError
from relax_mlir.files import path_of
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.module_file import DEFAULT, PrintOptions, file_name, module_text, write_atomically
from relax_mlir.transform.context import PassContext, PassInstrument
from relax_mlir.transform.passes import ModulePass

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.registry import PassInfo


# Print the module before and after passes, like ``--mlir-print-ir-*``.


class _Unit(NamedTuple):
    """A unit of printing: the module, or one of its functions."""

    name: str | None
    op: ir.Module | ir.Operation


class FileTree:
    """A directory of dumps, with file names as in ``mlir-opt``: ``builtin_module_no-symbol-name/3_cse.mlir``.

    Dumps of a function are in a subdirectory: ``func_func_main/3_0_cse.mlir``. The numbers count the dumps of the
    module and of the function.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._counts: dict[tuple[str, ...], int] = {}

    def write(self, module: str, function: str | None, pass_name: str, text: str) -> Path:
        """Write a dump of `module` ('' if unnamed), or of one of its functions, and return the path."""
        names = [f"builtin_module_{file_name(module) or 'no-symbol-name'}"]
        if function is not None:
            names.append(f"func_func_{file_name(function)}")
        key = tuple(names)
        self._counts[key] = self._counts.get(key, -1) + 1
        counts = [self._counts.setdefault(key[: depth + 1], 0) for depth in range(len(key))]
        prefix = "_".join(map(str, counts))
        path = self.directory.joinpath(*names, f"{prefix}_{file_name(pass_name)}.mlir")
        write_atomically(path, text)
        return path


class _Printer(PassInstrument):
    """Base of the printers: the selected passes, the output and the print options."""

    def __init__(
        self,
        names: Collection[str] | None = None,
        stream: TextIO | None = None,
        options: PrintOptions = DEFAULT,
        *,
        module_scope: bool = True,
        tree: FileTree | None = None,
        heading: Callable[[str], str] = str,
    ) -> None:
        """Create a printer.

        Args:
            names: print around these passes; None: around all.
            stream: the output stream; None: stderr.
            options: print options.
            module_scope: false: around function passes, print each function separately.
            tree: write files there instead of printing to `stream`.
            heading: formats the first line of each dump for the stream, for instance in colour.
        """
        self.names = None if names is None else frozenset(names)
        self.stream = stream
        self.options = options
        self.module_scope = module_scope
        self.tree = tree
        self.heading = heading

    def wants(self, info: PassInfo) -> bool:
        """True if the pass is to be printed; composite passes never are, only the passes that they run."""
        return not info.composite and (self.names is None or info.name in self.names)

    def texts(self, mod: IRModule, info: PassInfo) -> Iterator[tuple[str | None, str]]:
        """The dumps to print around a pass, as (function name, text); the name is None for the module."""
        for name, op in self._units(mod, info):
            yield name, module_text(op, self.options)

    def _units(self, mod: IRModule, info: PassInfo) -> Iterator[_Unit]:
        if self.module_scope or not info.on_functions:
            yield _Unit(None, mod.mlir)
            return
        for op in mod.mlir.body.operations:
            if isinstance(op, func.FuncOp) and not op.is_external:
                yield _Unit(op.name.value, op.operation)

    def write(self, when: str, mod: IRModule, info: PassInfo, function: str | None, text: str) -> None:
        """Print one dump, or write its file."""
        scope = "" if function is None else f" ('func.func' operation: @{function})"
        head = f"// -----// IR Dump {when} {info.text}{scope} //----- //"
        if self.tree is None:
            print(f"{self.heading(head)}\n{text}", file=self.stream or sys.stderr)
            return
        attributes = mod.mlir.operation.attributes
        module = ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""
        self.tree.write(module, function, info.name, f"{head}\n{text}")


class PrintBefore(_Printer):
    """Prints the module before every pass, or before the named ones."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.wants(info):
            for function, text in self.texts(mod, info):
                self.write("Before", mod, info, function, text)


class PrintAfter(_Printer):
    """Prints the module after every pass, or after the named ones; with `on_change` only if the pass changed it."""

    def __init__(
        self,
        names: Collection[str] | None = None,
        stream: TextIO | None = None,
        options: PrintOptions = DEFAULT,
        on_change: bool = False,
        *,
        module_scope: bool = True,
        tree: FileTree | None = None,
        heading: Callable[[str], str] = str,
    ) -> None:
        super().__init__(names, stream, options, module_scope=module_scope, tree=tree, heading=heading)
        self.on_change = on_change
        self._before: list[dict[str | None, str]] = []

    def enter_pass_ctx(self) -> None:
        self._before.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.on_change and self.wants(info):
            self._before.append(dict(self.texts(mod, info)))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self.wants(info):
            return
        before = self._before.pop() if self.on_change else {}
        for function, text in self.texts(mod, info):
            if not self.on_change or before.get(function) != text:
                self.write("After", mod, info, function, text)


# Write the module after every pass to a numbered file.


class DumpStages(PassInstrument):
    """Writes ``000-input.mlir``, then ``NNN-<pass>.mlir`` after each pass, to `directory`.

    Composite passes get no file. A file gets its name only when it is complete.
    If the same object is used again, the numbering continues.
    """

    def __init__(self, directory: str | Path, options: PrintOptions = DEFAULT) -> None:
        self.directory = path_of("DumpStages: 'directory'", directory)
        self.options = options
        self.files: list[Path] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self.files:
            self._write("input", mod)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self._write(info.name, mod)

    def _write(self, stage: str, mod: IRModule) -> None:
        path = self.directory / f"{len(self.files):03d}-{file_name(stage)}.mlir"
        write_atomically(path, module_text(mod.mlir, self.options))
        self.files.append(path)


# Count the ops of the module around every pass.


@dataclass(frozen=True)
class OpCount:
    """Number of ops before and after one run of a pass."""

    name: str
    before: int
    after: int


class PassStatistics(PassInstrument):
    """Number of ops before and after each pass that is not composite."""

    def __init__(self) -> None:
        self.counts: list[OpCount] = []
        self._before: list[int] = []

    def enter_pass_ctx(self) -> None:
        self.counts.clear()
        self._before.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self._before.append(_count(mod.mlir))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self.counts.append(OpCount(info.text, self._before.pop(), _count(mod.mlir)))

    def render(self) -> str:
        """A table: ops before, after, change, pass."""
        lines = [f"{'ops before':>10}  {'after':>8}  {'change':>8}  pass"]
        for count in self.counts:
            change = count.after - count.before
            lines.append(f"{count.before:10d}  {count.after:8d}  {change:+8d}  {count.name}")
        return "\n".join(lines) + "\n"


def _count(module: ir.Module) -> int:
    return len(ops_of(module.operation))


# Pass `print-ir`: print the module between two passes.


@dataclass(frozen=True)
class PrintIR(ModulePass):
    """Print the module to stderr, as script if possible, else as MLIR, without changing it.

    `header`: a line printed above it. Follows Relax's ``PrintIR``.
    """

    name: ClassVar[str] = "print-ir"
    header: str = ""

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        from relax_mlir.ir_module import IRModule  # which imports this package

        shown = IRModule(module)
        try:
            text = shown.script()
        except RelaxError:  # such as module attributes that are no dictionary
            text = shown.asm()
        heading = f"# {self.header}\n" if self.header else ""
        print(f"{heading}{text.rstrip()}", file=sys.stderr)


# Time per pass, as a tree: composite passes contain the passes that they run, MLIR's own passes included.


@dataclass
class PassTime:
    """One run of one pass; `seconds` includes the children."""

    name: str
    started: float = 0.0
    seconds: float = 0.0
    finished: bool = False
    children: list[PassTime] = field(default_factory=list)

    def stop(self, finished: bool) -> None:
        """End the measurement; `finished` is false if the pass failed."""
        self.seconds = time.perf_counter() - self.started
        self.finished = finished


class PassTimingInstrument(PassInstrument):
    """Measures every pass. The times remain until the context is entered again."""

    def __init__(self) -> None:
        self.passes: list[PassTime] = []
        self._open: list[PassTime] = []

    def enter_pass_ctx(self) -> None:
        self.passes.clear()
        self._open.clear()

    def exit_pass_ctx(self) -> None:
        while self._open:
            self._open.pop().stop(finished=False)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        anonymous = info.composite and not info.text.startswith(info.name)
        entry = PassTime(info.name if anonymous else info.text)
        siblings = self._open[-1].children if self._open else self.passes
        siblings.append(entry)
        self._open.append(entry)
        entry.started = time.perf_counter()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._open.pop().stop(finished=True)

    @property
    def total(self) -> float:
        """Seconds in all outermost passes."""
        return sum(entry.seconds for entry in self.passes)

    def render(self) -> str:
        """The tree as text: time, share of the total, pass; empty when nothing ran."""
        if not self.passes:
            return ""
        lines = [f"{'ms':>10}  {'%':>5}  pass"]
        for entry in self.passes:
            lines += self._lines(entry, 0)
        lines.append(f"{self.total * 1e3:10.2f}  {100.0:5.1f}  total")
        return "\n".join(lines) + "\n"

    def _lines(self, entry: PassTime, depth: int) -> list[str]:
        share = 100 * entry.seconds / self.total if self.total else 0.0
        remark = "" if entry.finished else "  (did not finish)"
        lines = [f"{entry.seconds * 1e3:10.2f}  {share:5.1f}  {'  ' * depth}{entry.name}{remark}"]
        for child in entry.children:
            lines += self._lines(child, depth + 1)
        return lines


# Check the numbered invariants of `relax_mlir.analysis.well_formed` after every pass.


class WellFormed(PassInstrument):
    """Raises `PassError` with the violations after the first pass that causes any; also checks the input."""

    def __init__(self) -> None:
        self._input_checked = False

    def enter_pass_ctx(self) -> None:
        self._input_checked = False

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self._input_checked:
            self._check(mod, info, "its input is not well-formed")
            self._input_checked = True

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self._check(mod, info, "it left a module that is not well-formed")

    def _check(self, mod: IRModule, info: PassInfo, message: str) -> None:
        violations = well_formed.check(mod.mlir)
        if violations:
            raise PassError(info.name, message, violations)
