"""Single options of ``relax-opt``: check diagnostics and round trips, read IRDL, print pipelines and plans."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TextIO

from relax_mlir.diagnostics import collect, of_error, parse_module, source_frame, split_place
from relax_mlir.dialects.attributes import AS_GENERATED, KERNEL, SIGNATURE
from relax_mlir.error import ArgumentError, Diagnostic, ParseError, VerifyError
from relax_mlir.files import read_bytes
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir, irdl
from relax_mlir.terminal import BOLD, BY_SEVERITY, CARET, paint
from relax_mlir.transform import MLIRPass, Pass, PassContext, PipelinePass, Sequential

if TYPE_CHECKING:
    from relax_mlir.runtime.memory import MemoryPlan


# ``--verify-diagnostics``: compare the diagnostics of a module with the comments that expect them.
#
# ``// expected-error @below {{part of the message}}`` (``-warning``, ``-note``, ``-remark``) expects a diagnostic on
# the line of the comment, relative to it (``@above``, ``@below``, ``@+2``, ``@-1``), in line 7 (``@7``), or without a
# location (``@unknown``). ``expected-error-re {{... {{regular expression}} ...}}`` matches regular expressions.

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)?"
    r"\s*(?:@(?P<place>above|below|unknown|[+-]?\d+))?\s*\{\{"
)
_MALFORMED = re.compile(r"expected-\w+")
OP_NOTE = "see current operation"
"""The note with the op that the bindings attach to every error; ``mlir-opt`` does not in this mode."""


@dataclass(frozen=True)
class Expectation:
    """One comment: the diagnostic expected on `line` (None: no location), and the position of the comment."""

    severity: str
    line: int | None
    pattern: str
    shown: str
    written_at: str
    length: int

    def matches(self, diagnostic: Diagnostic) -> bool:
        if self.severity != diagnostic.severity or self.line != line_of(diagnostic):
            return False
        return re.search(self.pattern, diagnostic.message, re.DOTALL) is not None


class Complaint(NamedTuple):
    """An error, its location in the input, and the number of characters to underline."""

    diagnostic: Diagnostic
    underlined: int = 1


def line_of(diagnostic: Diagnostic) -> int | None:
    """The line that a diagnostic refers to."""
    parts = diagnostic.location.rsplit(":", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else None


def read_expectations(text: str) -> tuple[list[Expectation], list[Complaint]]:
    """The expectations in `text`, and complaints about malformed ones; their locations name the file ``-``."""
    found: list[Expectation] = []
    malformed: list[Complaint] = []
    for number, line in enumerate(text.split("\n"), 1):
        position = 0
        spans: list[tuple[int, int]] = []
        while match := _EXPECTED.search(line, position):
            end = line.rfind("}}") if match["re"] else line.find("}}", match.end())
            if end < match.end():
                break
            found.append(_expectation(match, line[match.end() : end], number))
            position = end + 2
            spans.append((match.start(), position))
        for match in _MALFORMED.finditer(line):
            if not any(start <= match.start() < end for start, end in spans):
                place = f"-:{number}:{match.start() + 1}"
                error = Diagnostic("error", place, f"malformed expected-* comment: {line.strip()}")
                malformed.append(Complaint(error, match.end() - match.start()))
                break
    return found, malformed


def _expectation(match: re.Match[str], content: str, number: int) -> Expectation:
    pattern = re.escape(content)
    if match["re"]:
        parts = re.split(r"\{\{(.*?)\}\}", content)
        pattern = "".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(parts))
    place = f"-:{number}:{match.start() + 1}"
    length = len("expected-" + match["severity"])
    return Expectation(match["severity"], _place(match["place"], number), pattern, content, place, length)


def _place(place: str | None, number: int) -> int | None:
    if place == "unknown":
        return None
    if place in (None, "above", "below"):
        return number + {None: 0, "above": -1, "below": 1}[place]
    return number + int(place) if place[0] in "+-" else int(place)


def compare(expected: Sequence[Expectation], diagnostics: Sequence[Diagnostic]) -> list[Complaint]:
    """Complaints about unexpected diagnostics, and about expected ones that are missing."""
    open_ = list(expected)
    complaints: list[Complaint] = []
    for diagnostic in diagnostics:
        if diagnostic.severity == "note" and diagnostic.message.startswith(OP_NOTE):
            continue
        match = next((e for e in open_ if e.matches(diagnostic)), None)
        if match is not None:
            open_.remove(match)
            continue
        if any(e.matches(diagnostic) for e in expected):
            continue
        message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
        complaints.append(Complaint(Diagnostic("error", diagnostic.location, message)))
    for left in open_:
        message = f'expected {left.severity} "{left.shown}" was not produced'
        complaints.append(Complaint(Diagnostic("error", left.written_at, message), left.length))
    return complaints


# Diagnostics in the format of ``mlir-opt``: location, message, the line of the input and a caret.

MAX_LINE = 1000
"""Longer lines of the input are not shown."""


def show(diagnostic: Diagnostic, source: str, lines: Sequence[str], stream: TextIO, underlined: int = 1) -> None:
    """Write a diagnostic to a stream.

    Args:
        source, lines: name and text of the input; lines of other files are read from those files.
        underlined: the number of characters to underline.
    """
    place = split_place(diagnostic.location)
    if place is None or place[0] not in ("-", source):
        print(
            "\n".join([_head(diagnostic.location, diagnostic, stream), *_frame(diagnostic, stream)]),
            file=stream,
        )
        return
    _, line, column = place
    print(_head(f"{source}:{line}:{column}", diagnostic, stream), file=stream)
    if 0 < line <= len(lines) and column and len(lines[line - 1]) <= MAX_LINE:
        text = lines[line - 1].replace("\t", " ")
        mark = "^" + "~" * (underlined - 1)
        print(f"{text}\n{' ' * (column - 1)}{paint(mark, CARET, stream)}", file=stream)


def _head(place: str, diagnostic: Diagnostic, stream: TextIO) -> str:
    severity = paint(f"{diagnostic.severity}:", BY_SEVERITY.get(diagnostic.severity, BOLD), stream)
    return f"{paint(f'{place}:', BOLD, stream)} {severity} {paint(diagnostic.message, BOLD, stream)}"


def _frame(diagnostic: Diagnostic, stream: TextIO) -> list[str]:
    frame = source_frame(diagnostic.location)
    return [*frame[:-1], *(paint(marks, CARET, stream) for marks in frame[-1:])]


# ``--verify-roundtrip`` and ``--emit-bytecode``: modules as text and as MLIR's bytecode, and back.


def bytecode_of(module: ir.Module) -> bytes:
    """A module as MLIR's bytecode."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def verify_roundtrip(module: ir.Module, new_context: Callable[[], ir.Context]) -> None:
    """Check that printing and parsing a module yields the same module, except for locations, which some ops do not
    print.

    Args:
        module: the module.
        new_context: creates a context with the same dialects.

    Raises VerifyError if it differs, as text or as bytecode.
    """
    text = module.operation.get_asm(enable_debug_info=True)
    reference = _generic(module)
    for kind, data in (("textual", text.encode()), ("bytecode", bytecode_of(module))):
        try:
            again = _generic(parse_module(data, new_context()))
        except ir.MLIRError as error:
            message = f"failed to parse {kind} content back, cannot verify round-trip"
            raise VerifyError(message, of_error(error)) from None
        if again != reference:
            raise VerifyError(
                f"{kind} round-trip: the module that is read again differs\n{_difference(reference, again)}"
            )


def _generic(module: ir.Module) -> str:
    text: str = module.operation.get_asm(print_generic_op_form=True)
    return text


def _difference(first: str, second: str) -> str:
    """The first lines that differ."""
    for before, after in zip(first.split("\n"), second.split("\n"), strict=False):
        if before != after:
            return f"  before: {before}\n  after:  {after}"
    return "  one is longer"


# ``--irdl-file``: dialects defined by an IRDL file.


def load_irdl_file(path: str, context: ir.Context) -> None:
    """Register the dialects of a file in a context.

    Raises:
        ParseError: the file cannot be read or is no valid IRDL, or a dialect exists already.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise ParseError(f"cannot open IRDL file '{path}': {error.strerror}") from None
    try:
        module = parse_module(data, context)
    except ir.MLIRError as error:
        raise _invalid(path, of_error(error)) from None
    names = list(_dialects(module))
    if not names:
        raise ParseError(f"'{path}' is no IRDL file: it has no irdl.dialect")
    for name in names:
        if _is_there(name, context):
            raise ParseError(f"'{path}' defines dialect '{name}', which is there already")
    found: list[Diagnostic] = []
    try:
        with collect(context, found.append), context:
            irdl.load_dialects(module)
    except (RuntimeError, ValueError, ir.MLIRError) as error:
        raise _invalid(path, [*found, *of_error(error)]) from None


def _invalid(path: str, diagnostics: list[Diagnostic]) -> ParseError:
    errors = [each for each in diagnostics if each.severity == "error"]
    lines = [f"  {path}{str(each).removeprefix('-')}" for each in errors]
    return ParseError("\n".join([f"'{path}' is no valid IRDL file", *lines]))


def _dialects(module: ir.Module) -> Iterator[str]:
    for op in module.body.operations:
        if op.operation.name == "irdl.dialect":
            yield ir.StringAttr(op.operation.attributes["sym_name"]).value


def _is_there(name: str, context: ir.Context) -> bool:
    try:
        context.get_dialect_descriptor(name)
    except ValueError:
        return False
    return True


# ``--dump-pass-pipeline``: the passes of a pipeline, in the syntax of ``--pass-pipeline``.


def pipeline_text(passes: Iterable[Pass], ctx: PassContext) -> str:
    """The passes that run in a context, one per line, with named pipelines expanded."""
    texts = [each.info.text for each in _leaves(passes, ctx)]
    head = f"Pass Manager with {len(texts)} passes:"  # "1 passes", as in mlir-opt
    inside = ",\n".join(f"  {text}" for text in texts)
    if not texts:
        return f"{head}\nbuiltin.module()\n"
    return f"{head}\nbuiltin.module(\n{inside}\n)\n"


def _leaves(passes: Iterable[Pass], ctx: PassContext) -> Iterator[Pass]:
    for each in passes:
        if not ctx.pass_enabled(each.info):
            continue
        if isinstance(each, PipelinePass):
            yield from _leaves(each.passes(), ctx)
        elif isinstance(each, Sequential) or (isinstance(each, MLIRPass) and len(each.passes) != 1):
            yield from _leaves(each.passes, ctx)
        else:
            yield each


# The output of ``relax-opt --memory-plan``: the memory plans of a module's functions.

PLAN_PIPELINE = "relax-to-memrefs"
"""The pipeline that is run for the plans if no passes are given."""


def symbol_values(texts: Sequence[str]) -> dict[str, int]:
    """Values of symbols from texts like ``n=128``. ParseError: another text, or two values for a symbol."""
    values: dict[str, int] = {}
    for text in texts:
        found = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\d+)\s*", text)
        if found is None:
            raise ParseError(f"--bind takes a symbol and a number from 0, as n=128, got '{text}'")
        name, value = found[1], int(found[2])
        if values.setdefault(name, value) != value:
            raise ParseError(f"--bind gives '{name}' two values: {values[name]} and {value}")
    return values


def plans_text(module: ir.Module, values: Mapping[str, int]) -> str:
    """The plans of all functions, with the given symbols replaced by their values.

    Raises ArgumentError if no function has been planned, or no plan has a symbol of `values`.
    """
    plans = list(_memory_plans(module))
    if not plans:
        raise ArgumentError(
            f"--memory-plan: the module has no function with a plan; run --plan-memory, --{PLAN_PIPELINE} or no passes"
        )
    symbols = {name for plan in plans for name in plan.symbols}
    if unknown := sorted(set(values) - symbols):
        raise ArgumentError(
            f"--bind: no memory plan has a symbol {', '.join(unknown)}; "
            f"there are: {', '.join(sorted(symbols)) or 'none'}"
        )
    given = [{name: values[name] for name in plan.symbols if name in values} for plan in plans]
    return "\n\n".join(str(plan.bind(**known)) for plan, known in zip(plans, given, strict=True)) + "\n"


def _memory_plans(module: ir.Module) -> Iterator[MemoryPlan]:
    from relax_mlir.lowering.base.signature import MEMORY_PLAN  # needed for this option only
    from relax_mlir.runtime.memory import MemoryPlan

    for op in module.body.operations:
        if MEMORY_PLAN in op.attributes:
            yield MemoryPlan.from_json(ir.StringAttr(op.attributes[MEMORY_PLAN]).value)
        elif SIGNATURE in op.attributes:
            yield MemoryPlan(ir.StringAttr(op.attributes["sym_name"]).value, 0, (), ())


# The functions that ``--elide-kernels`` prints on one line: those written by the compiler's generators.


def is_library_kernel(function: ir.Operation) -> bool:
    """True if a function is a kernel or a support function, not code of the module itself.

    These are the functions that are the same in all modules, functions that generators write for one module
    (epilogues), and prim funcs whose bodies a kernel generator has replaced: while the body is still the linalg
    reference, it is shown.
    """
    from relax_mlir.lowering.base.module_parts import is_support  # needed for this option only

    if is_support(function) or AS_GENERATED in function.attributes:
        return True
    if KERNEL not in function.attributes:
        return False
    return not any(op.name.startswith("linalg.") for op in ops_of(function))
