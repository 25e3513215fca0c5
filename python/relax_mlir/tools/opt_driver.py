"""The work of ``relax-opt`` on one input: parse, run the passes, print, for each of its modules."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relax_mlir.analysis.well_formed import invalid_types, verify_linkable
from relax_mlir.diagnostics import BYTECODE, collect, name_source, of_error, parse_module, source_frame
from relax_mlir.dialects import dialect
from relax_mlir.error import CompileError, Diagnostic, ParseError, RelaxError, UnknownNameError, VerifyError
from relax_mlir.files import read_bytes
from relax_mlir.frontend.load import ARCHIVE, is_python, read_module
from relax_mlir.instrument import (
    DumpStages,
    FileTree,
    PassInstrument,
    PassStatistics,
    PassTimingInstrument,
    PrintAfter,
    PrintBefore,
    WellFormed,
)
from relax_mlir.ir_module import IRModule, keep_names
from relax_mlir.lowering.strategy.op_strategy import StrategyReport, explain_strategy
from relax_mlir.mlir import ir
from relax_mlir.module_file import PrintOptions, module_text, write_atomically
from relax_mlir.terminal import NOTE, error_line, is_coloured, paint
from relax_mlir.tools.command_line import require_folder, tuned_schedules
from relax_mlir.tools.opt_actions import bytecode_of, compare, read_expectations, show, verify_roundtrip
from relax_mlir.tools.opt_flags import EMITTED
from relax_mlir.tools.opt_options import Options, pipeline_elements
from relax_mlir.tools.supervise import note
from relax_mlir.transform import PassContext, PassInfo, Sequential, registry
from relax_mlir.transform.context import DUMP_DIR, VERIFY_EACH, explain_loops
from relax_mlir.transform.fusion_report import explain_fusion
from relax_mlir.transform.pipeline import passes_of
from relax_mlir.transform.pipeline_text import Element
from relax_mlir.transform.run import Recipe, read_recipe

# The instruments that options of ``relax-opt`` request, and their print options.

BEFORE = ("mlir-print-ir-before", "mlir-print-ir-before-all")
AFTER = ("mlir-print-ir-after", "mlir-print-ir-after-all", "mlir-print-ir-after-change")


class Breadcrumbs(PassInstrument):
    """Records the current pass, for the message after a crash."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        note(f"pass '{info.text}' ran")


def print_options(options: Options) -> PrintOptions:
    """The options of printing modules."""
    without_body = None
    if options.on("elide-kernels"):
        from relax_mlir.tools.opt_actions import is_library_kernel  # needed for this option only

        without_body = is_library_kernel
    return PrintOptions(
        debug_info=options.on("mlir-print-debuginfo"),
        elements_limit=options.number("mlir-elide-elementsattrs-if-larger"),
        generic=options.on("mlir-print-op-generic"),
        local_scope=options.on("mlir-print-local-scope"),
        value_names=options.on("mlir-use-nameloc-as-prefix", True),
        without_body=without_body,
    )


def requested_instruments(options: Options) -> Iterator[PassInstrument]:
    """The instruments that the options request; timing last, so that it does not measure printing.

    Raises ParseError if a printing option is set and nothing is printed.
    """
    yield Breadcrumbs()
    yield from _printers(options)
    if options.text("dump-stages"):
        yield DumpStages(options.text("dump-stages"), print_options(options))
    if options.on("check-well-formed"):
        yield WellFormed()
    if options.on("mlir-pass-statistics"):
        yield PassStatistics()
    if options.on("mlir-timing"):
        yield PassTimingInstrument()


def check_printing(options: Options) -> None:
    """Raise ParseError for a dump folder without dumps, UnknownNameError for an unknown pass."""
    for name in (*options.names(BEFORE[0]), *options.names(AFTER[0])):
        if not (registry.is_known(name) or registry.is_upstream(name)):
            raise registry.unknown_pass(name)
    directory = "mlir-print-ir-tree-dir"
    if options.text(directory) and not any(options.values.get(name) for name in BEFORE + AFTER):
        raise ParseError(f"--{directory} says where dumps go: give --mlir-print-ir-after-all, too, or its like")


def _printers(options: Options) -> Iterator[PassInstrument]:
    directory = options.text("mlir-print-ir-tree-dir")
    common: dict[str, Any] = {
        "stream": sys.stderr,
        "options": print_options(options),
        "module_scope": options.on("mlir-print-ir-module-scope"),
        "tree": FileTree(directory) if directory else None,
        "heading": lambda text: paint(text, NOTE, sys.stderr),
    }
    named_before, all_before = options.names(BEFORE[0]), options.on(BEFORE[1])
    if all_before or named_before:
        yield PrintBefore(None if all_before else named_before, **common)
    named_after, all_after, on_change = options.names(AFTER[0]), options.on(AFTER[1]), options.on(AFTER[2])
    if all_after or on_change or named_after:
        yield PrintAfter(None if all_after or not named_after else named_after, on_change=on_change, **common)


SEPARATOR = re.compile(rb"^// -----.*$", re.MULTILINE)
OUTPUT_SEPARATOR = "// -----\n"
STDIN = "-"


@dataclass
class Part:
    """One module of the input: its text, after empty lines so that line numbers are those of the file."""

    text: bytes
    first_line: int


@dataclass
class Driver:
    """The processing of one input file."""

    options: Options
    source: str = ""
    lines: list[str] = field(default_factory=list)
    recipe: Recipe | None = None
    watchers: list[PassInstrument] = field(default_factory=list)
    bindings: dict[str, int] = field(default_factory=dict)

    def run(self) -> int:
        """Process the input; 0 on success, else 1.

        Raises:
            RelaxError: a bad command line, or a file that cannot be read or written.
        """
        self._check_emit()
        check_printing(self.options)
        if self.options.text("o") not in ("", STDIN):
            require_folder(Path(self.options.text("o")))
        if not self.options.on("run-reproducer"):
            pipeline = self._pipeline()
        data = self._read()
        self.source = "<stdin>" if self.options.input == STDIN else self.options.input
        self.lines = data.decode(errors="replace").split("\n")
        if self.options.on("run-reproducer"):
            data = self._reproduce(data)
            pipeline = self._pipeline()
        outputs: list[str | bytes] = []
        succeeded = True
        with (
            self._pass_context() as context,
            tuned_schedules("relax-opt", self.options.text("tuned") or None, None),
            self._strategies() as strategies,
            explain_fusion() as fusion,
            explain_loops() as loops,
        ):
            if self.options.on("dump-pass-pipeline"):
                from relax_mlir.tools.opt_actions import pipeline_text  # needed for this option only

                print(pipeline_text(pipeline.passes, context), file=sys.stderr)
            for part in _split(data) if self.options.on("split-input-file") else [Part(data, 1)]:
                text, good = self._process(part, pipeline)
                succeeded &= good
                outputs += [] if text is None else [text]
            self._write_reports()
        if strategies is not None:
            print(f"===== Strategies =====\n{strategies.render()}", file=sys.stderr)
        if self.options.on("explain-fusion"):
            print(f"===== Fusion =====\n{fusion.render()}", file=sys.stderr)
        if self.options.on("explain-loops"):
            print(f"===== Loops =====\n{loops.render()}", file=sys.stderr)
        if outputs:
            self._write(outputs[0] if len(outputs) == 1 else OUTPUT_SEPARATOR.join(map(str, outputs)))
        return 0 if succeeded else 1

    def _strategies(self) -> AbstractContextManager[StrategyReport | None]:
        """The context that collects choices of implementations, if they are to be shown."""
        return explain_strategy() if self.options.on("explain-strategy") else nullcontext()

    def _check_emit(self) -> None:
        """Raise for an unknown form of code, and for options that exclude each other."""
        form = self.options.text("emit")
        if form and form not in EMITTED:
            raise UnknownNameError("form of code", form, EMITTED)
        for other in ("split-input-file", "print-script", "memory-plan", "run-reproducer"):
            if form and self.options.on(other):
                raise ParseError(f"--emit and --{other} exclude each other: the code is that of one module")
        for other in ("emit", "split-input-file", "print-script", "memory-plan"):
            if self.options.on("emit-bytecode") and self.options.on(other):
                raise ParseError(f"--emit-bytecode and --{other} exclude each other")
        is_binary = form == "obj" or self.options.on("emit-bytecode")
        if is_binary and self.options.text("o") in ("", STDIN) and sys.stdout.isatty():
            option = "emit=obj" if form == "obj" else "emit-bytecode"
            raise ParseError(f"--{option} does not write to a terminal: give a file with -o")

    def _pipeline(self) -> Sequential:
        """The passes to run; unknown names fail here, before the input is read."""
        elements = pipeline_elements(self.options)
        if self.options.on("memory-plan") or self.options.names("bind"):
            from relax_mlir.tools import opt_actions  # needed for these options only

            if self.options.on("memory-plan") and not elements:
                elements = (Element(opt_actions.PLAN_PIPELINE),)
            self.bindings = opt_actions.symbol_values(self.options.names("bind"))
        return Sequential(passes_of(elements), name="relax-opt")

    def _reproduce(self, data: bytes) -> bytes:
        """Take passes and options from the reproducer `data`; return its module."""
        if self.options.elements or self.options.text("pass-pipeline"):
            raise ParseError("--run-reproducer takes the passes from the file: give no others")
        self.recipe, text = read_recipe(data.decode(errors="replace"), self.source)
        self.options.values["pass-pipeline"] = self.recipe.pipeline
        self.options.values.setdefault("allow-unregistered-dialect", self.recipe.unregistered)
        self.options.values.setdefault("opt-level", self.recipe.opt_level)
        return text.encode()

    def _process(self, part: Part, pipeline: Sequential) -> tuple[str | bytes | None, bool]:
        """The output for a part (None if it failed), and true if it was processed as expected."""
        diagnostics: list[Diagnostic] = []
        text: str | bytes | None = None
        error: RelaxError | None = None
        try:
            text = self._transform(part, pipeline, diagnostics)
        except RelaxError as raised:
            error = raised
            diagnostics += raised.diagnostics if isinstance(raised, CompileError) else ()
        if not self.options.on("verify-diagnostics"):
            for diagnostic in diagnostics:
                show(diagnostic, self.source, self.lines, sys.stderr)
            if error is not None:
                print(error_line("relax-opt", _without_diagnostics(error), sys.stderr), file=sys.stderr)
            return text, text is not None
        if error is not None and not any(d.severity == "error" for d in diagnostics):
            diagnostics.append(Diagnostic("error", "unknown", str(error)))
        expected, complaints = read_expectations(part.text.decode(errors="replace"))
        complaints += compare(expected, diagnostics)
        for complaint in complaints:
            show(complaint.diagnostic, self.source, self.lines, sys.stderr, complaint.underlined)
        return text, not complaints

    def _transform(self, part: Part, pipeline: Sequential, diagnostics: list[Diagnostic]) -> str | bytes | None:
        """The output for a part; None if it cannot be parsed.

        Raises:
            RelaxError: a pass failed.
        """
        context = self._context()
        with collect(context, diagnostics.append):
            note("the input was parsed")
            try:
                module = parse_module(part.text, context)
            except ir.MLIRError as error:
                diagnostics += of_error(error) or [Diagnostic("error", "unknown", str(error))]
                return None
            except ParseError as error:
                diagnostics.append(Diagnostic("error", "unknown", str(error)))
                return None
            if not part.text.startswith(BYTECODE):
                name_source(module, self.source)
                keep_names(module, part.text, self.source, "-")
            if wrong := invalid_types(module):
                diagnostics += wrong
                return None
            if self.options.on("verify-roundtrip"):
                note("the module was printed and read again")
                verify_roundtrip(module, self._context)
            if pipeline.passes:
                pipeline.apply_(module)
            if self.options.text("emit"):
                note("code was made of the module")
                return self._emit(module)
            note("the module was printed")
            if self.options.on("emit-bytecode"):
                return bytecode_of(module)
            if self.options.on("print-script"):
                from relax_mlir.script import script  # needed for this option only

                text = script(module)
                return self._painted(text, is_script=True)
            if self.options.on("memory-plan"):
                from relax_mlir.tools.opt_actions import plans_text  # needed for this option only

                return plans_text(module, self.bindings)
            return self._painted(module_text(module, print_options(self.options)))

    def _painted(self, text: str, is_script: bool = False) -> str:
        """The output in colour, if it goes to a standard output that has colours."""
        if self.options.text("o") not in ("", STDIN) or not is_coloured(sys.stdout):
            return text
        from relax_mlir.highlight import ir_in_colours, script_in_colours  # on terminals only

        return script_in_colours(text) if is_script else ir_in_colours(text)

    def _context(self) -> ir.Context:
        context: ir.Context = dialect.context()
        context.allow_unregistered_dialects = self.options.on("allow-unregistered-dialect")
        if self.options.on("mlir-disable-threading"):
            context.enable_multithreading(False)
        if self.options.text("irdl-file"):
            from relax_mlir.tools.opt_actions import load_irdl_file  # needed for this option only

            load_irdl_file(self.options.text("irdl-file"), context)
        return context

    def _emit(self, module: ir.Module) -> str | bytes:
        from relax_mlir.target import Target  # needed for this option only
        from relax_mlir.tools.emit_code import FORMS

        form = self.options.text("emit")
        verify_linkable(module)
        try:
            return FORMS[form](module, Target.parse(self.options.text("target") or "cpu"))
        except VerifyError as error:
            if form != "bytecode":
                error.add_hint("--emit takes a module of level llvm: --relax-to-llvm leads there")
            raise

    @contextmanager
    def _pass_context(self) -> Iterator[PassContext]:
        recipe = self.recipe or Recipe("")
        config = {
            VERIFY_EACH: self.options.on("verify-each", recipe.config.get(VERIFY_EACH, True)),
            DUMP_DIR: self.options.text("dump-failures"),
        }
        level = self.options.number("opt-level")
        self.watchers = list(requested_instruments(self.options))
        context = PassContext(
            opt_level=2 if level is None else level,
            required_pass=recipe.required,
            disabled_pass=[*self.options.names("disable-pass"), *recipe.disabled],
            config={**recipe.config, **config},
            instruments=self.watchers,
        )
        with context:
            yield context

    def _write_reports(self) -> None:
        for watcher in self.watchers:
            if isinstance(watcher, PassStatistics):
                print(f"===== Pass statistics =====\n{watcher.render()}", file=sys.stderr)
            elif isinstance(watcher, PassTimingInstrument):
                print(f"===== Execution time =====\n{watcher.render()}", file=sys.stderr)

    def _read(self) -> bytes:
        """IR as text or bytecode: that of the file, or of the module in an archive or a Python file."""
        if self.options.input == STDIN:
            return sys.stdin.buffer.read()
        try:
            is_module = is_python(self.options.input)
            data = b"" if is_module else read_bytes(self.options.input)
            if is_module or data.startswith(ARCHIVE):
                note("the module was read")
                return bytecode_of(read_module(self.options.input, trusted=self.options.on("trusted")).mlir)
            return data
        except OSError as error:
            raise ParseError(f"cannot open input file '{self.options.input}': {error.strerror}") from None

    def _write(self, output: str | bytes) -> None:
        target = self.options.text("o") or STDIN
        if target == STDIN:
            data = output if isinstance(output, bytes) else output.encode()
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            return
        try:
            write_atomically(Path(target), output)
        except OSError as error:
            raise ParseError(f"cannot write output file '{target}': {error.strerror}") from None


def _split(data: bytes) -> Iterator[Part]:
    """The parts between the separator lines, each after as many empty lines as precede it in the input."""
    start = 0
    for end in [*(match.start() for match in SEPARATOR.finditer(data)), len(data)]:
        before = data.count(b"\n", 0, start)
        yield Part(b"\n" * before + data[start:end], before + 1)
        newline = data.find(b"\n", end)
        start = len(data) if newline < 0 else newline + 1


def _without_diagnostics(error: RelaxError) -> str:
    """The message of an error without its diagnostics, which are shown separately."""
    diagnostics = error.diagnostics if isinstance(error, CompileError) else ()
    shown = {line for d in diagnostics for line in (f"  {d}", *source_frame(d.location))}
    return "\n".join(line for line in str(error).split("\n") if line not in shown)
