"""The work of ``relax-compile``: read, compile, write, report."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from relax_mlir import terminal
from relax_mlir.error import ArgumentError, ParseError, UnknownNameError
from relax_mlir.export import CompiledCode, cross_build, export_library, inspect_library
from relax_mlir.export.compiled_code import FILE_ENDING
from relax_mlir.frontend.common import hidden
from relax_mlir.frontend.load import read_module
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.pipeline import PIPELINES, PREFIX, pipeline
from relax_mlir.mlir import func, ir
from relax_mlir.module_file import write_atomically
from relax_mlir.runtime.build import build
from relax_mlir.runtime.build_setup import MACHINE_CODE, listening
from relax_mlir.runtime.executable import Executable
from relax_mlir.target import Target
from relax_mlir.tools import emit_code
from relax_mlir.tools.command_line import load_strategies, require_folder, tuned_schedules
from relax_mlir.tools.compile_command import ENDINGS, TOOL
from relax_mlir.tools.supervise import note
from relax_mlir.transform import PassContext

# Reports of ``relax-compile``: a progress bar on terminals, and phases and sizes on request.


class Report:
    """Phases and their durations: as a progress bar on terminals while entered, and as a table at the end.

    `steps` are the names of all steps, if they are known: without them, the bar shows no fraction.
    """

    def __init__(self, verbose: bool, steps: Sequence[str] = ()) -> None:
        self.verbose, self.steps = verbose, list(steps)
        self.console = Console(file=sys.stderr, width=terminal.width())
        self.rows: list[tuple[str, float]] = []
        self._heard: list[tuple[str, float]] = []
        self._open = ExitStack()
        self._bar = Progress(
            TextColumn("{task.description:<18}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("", total=len(self.steps) or None)

    def __enter__(self) -> Report:
        self._open.enter_context(self._bar)
        self._open.enter_context(hidden())
        self._open.enter_context(listening(self._hear))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Run a phase of this name in the context."""
        note(f"it was {name}")
        self._begin(name)
        self._heard.clear()
        started = perf_counter()
        yield
        ended = perf_counter()
        self.rows.append((name, ended - started))
        ends = [start for _, start in self._heard[1:]]
        self.rows += [
            (f"  {step}", end - start) for (step, start), end in zip(self._heard, [*ends, ended], strict=False)
        ]

    def _hear(self, step: str) -> None:
        """Record that a step of the compiler begins."""
        self._heard.append((step, perf_counter()))
        self._begin(step)

    def _begin(self, step: str) -> None:
        done = self.steps.index(step) if step in self.steps else None
        self._bar.update(self._task, description=step, completed=done, refresh=True)

    def show(self, *paths: Path) -> None:
        """Print the table of phases, and the sizes of files."""
        if not self.verbose:
            return
        table = terminal.report_table("", ["phase"], ["ms"])
        for name, seconds in self.rows:
            table.add_row(name, f"{1e3 * seconds:.1f}")
        terminal.print_table(table, self.console)
        for path in paths:
            self.console.print(f"{path}: {path.stat().st_size:,} bytes", highlight=False, soft_wrap=True)


# Preparation of the input modules of command-line tools.


def keep_entries(module: IRModule, entries: list[str]) -> IRModule:
    """The module with only these functions public; compilation removes functions that they do not need.

    Raises UnknownNameError if there is no such public function.
    """
    public = {
        op.name.value: op
        for op in module.mlir.body.operations
        if isinstance(op, func.FuncOp) and "sym_visibility" not in op.attributes
    }
    for entry in entries:
        if entry not in public:
            raise UnknownNameError("public function", entry, public)
    if not entries:
        return module
    kept = module.clone()
    with kept.context:
        private = ir.StringAttr.get("private")
        for op in kept.mlir.body.operations:
            if isinstance(op, func.FuncOp) and op.name.value in public and op.name.value not in entries:
                op.attributes["sym_visibility"] = private
    return kept


BYTECODE = ".vmexec"
_CODE = {"llvm-ir": emit_code.llvm_ir, "asm": emit_code.assembly, "bytecode": emit_code.bytecode}


def compile_file(options: Namespace) -> None:
    """Compile the input, or print it at a level.

    Raises RelaxError: an error in the command line, the input, the compilation or the output.
    """
    output = None if options.output in (None, "-") else Path(options.output)
    if options.json:
        raise ArgumentError("--json is for --inspect")
    if options.emit is None:
        if output is None:
            raise ArgumentError(f"give a file with -o that ends with {', '.join(ENDINGS)}, or a form with --emit")
        _require_ending(output, options.exec_mode)
    elif options.exec_mode is not None:
        raise ArgumentError("--exec-mode is for files of code; the forms of --emit say what they are")
    targets = [Target.parse(text) for text in options.target or ["cpu"]]
    _require_library(options, output, targets)
    if output is not None:
        require_folder(output)
    load_strategies(options.strategies)
    report = Report(options.verbose, steps_of(output))
    with report:
        _run(options, output, targets, report)
    report.show(*_files(output, options.weights))


def _run(options: Namespace, output: Path | None, targets: list[Target], report: Report) -> None:
    with report.phase("reading the module"):
        module = keep_entries(read_module(options.input, trusted=options.trusted), options.entry)
        module.verify()
    with PassContext(opt_level=options.opt_level):
        if options.emit is not None:
            with report.phase(f"making {options.emit}"), _tuned(options, targets[0]):
                text = _text(module, options.emit, targets[0])
            _write(text, output)
        else:
            assert output is not None
            _compile(module, targets, output, options, report)


def _files(output: Path | None, weights: str | None) -> list[Path]:
    """The written files."""
    found = [] if output is None else [output]
    return found if weights != "beside" else [*found, *(each.with_suffix(FILE_ENDING) for each in found)]


def steps_of(output: Path | None) -> tuple[str, ...]:
    """The steps of a compilation in order, for the progress bar; empty if a module is printed."""
    if output is None or output.suffix not in ENDINGS:
        return ()
    is_bytecode = output.suffix == BYTECODE
    others = {"llvm"} if is_bytecode else {"explicit-memory", "vm", "llvm"}
    levels = [name.removeprefix(PREFIX) for name in PIPELINES]
    phases = [level for level in levels if level not in others]
    return ("reading the module", *phases, MACHINE_CODE, "writing" if is_bytecode else "linking")


def inspect_file(options: Namespace) -> None:
    """Print the metadata of a library; raises ParseError, ArgumentError."""
    if options.emit or options.output or options.entry or options.tuned or options.strategies:
        raise ArgumentError("--inspect goes with --json alone")
    info = inspect_library(options.input)
    print(info.as_json() if options.json else info)


def _require_ending(output: Path, exec_mode: str | None) -> None:
    if output.suffix not in ENDINGS:
        raise ArgumentError(f"-o: {str(output)!r} does not end with {', '.join(ENDINGS)}")
    fits = (BYTECODE, ".so") if exec_mode == "bytecode" else tuple(set(ENDINGS) - {BYTECODE})
    if exec_mode is not None and output.suffix not in fits:
        raise ArgumentError(
            f"--exec-mode={exec_mode} does not go with {output.suffix}: bytecode goes into {BYTECODE} or .so, "
            "native code into .so, .o or .a"
        )


def _require_library(options: Namespace, output: Path | None, targets: list[Target]) -> None:
    """Raise ArgumentError for options that apply to libraries only, if the output is not a library."""
    if options.emit is None and output is not None and not _is_bytecode(options, output):
        return
    if options.profile:
        raise ArgumentError("--profile is for libraries of native code: leave it out")
    if options.weights is not None:
        raise ArgumentError("--weights is for libraries: other files have their constants inside")
    if len(targets) > 1:
        raise ArgumentError("--target may be given several times for libraries only: give one")


def _is_bytecode(options: Namespace, output: Path) -> bool:
    return bool(output.suffix == BYTECODE or options.exec_mode == "bytecode")


def _compile(module: IRModule, targets: list[Target], output: Path, options: Namespace, report: Report) -> None:
    cache = not options.no_cache
    if _is_bytecode(options, output):
        with report.phase("compiling"), _tuned(options, targets[0]):
            bytecode = build(module, targets[0], exec_mode="bytecode", cache=cache)
        with report.phase("writing"):
            if output.suffix == BYTECODE:
                bytecode.save(output)
            else:
                bytecode.export_library(output)
        return
    executables: list[Executable | CompiledCode] = []
    for target in targets:
        phase = "compiling" if len(targets) == 1 else f"compiling for {target}"
        with report.phase(phase), _tuned(options, target):
            executables.append(_code(module, target, options))
    with report.phase("linking"):
        export_library(executables, output, weights=options.weights or "embed")


def _tuned(options: Namespace, target: Target) -> AbstractContextManager[None]:
    return tuned_schedules(TOOL, options.tuned, target)


def _code(module: IRModule, target: Target, options: Namespace) -> Executable | CompiledCode:
    if target.architecture == Target.host().architecture:
        return build(module, target, cache=not options.no_cache, profile=options.profile)
    if options.profile:
        raise ArgumentError("--profile is for this machine: leave it out, or compile for its architecture")
    return cross_build(module, target)


def _text(module: IRModule, form: str, target: Target) -> str:
    if form in _CODE:
        return _CODE[form](module, target)
    return pipeline(f"{PREFIX}{form}", str(target))(module).asm(elide_above=None)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    try:
        write_atomically(output, text)
    except OSError as error:
        raise ParseError(f"cannot write output file {str(output)!r}: {error.strerror}") from None
