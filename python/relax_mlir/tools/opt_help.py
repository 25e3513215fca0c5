"""The texts that ``relax-opt`` shows: help, versions, lists of passes and dialects."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from relax_mlir import terminal
from relax_mlir._version import bindings_version, version
from relax_mlir.error import RelaxError
from relax_mlir.terminal import BOLD, HEADING, paint
from relax_mlir.tools.opt_flags import FLAGS, Flag
from relax_mlir.transform import registry
from relax_mlir.transform.registry import MLIR_DIALECTS, MLIR_PASSES, MLIR_PIPELINES

if TYPE_CHECKING:
    from relax_mlir.transform import Pass


MAX_WIDTH = 110

OVERVIEW = "OVERVIEW: relax-opt runs passes on a module: those of relax-mlir and those of MLIR, in any order."
USAGE = (
    "USAGE: relax-opt [options] [passes] <input: IR as text or bytecode (- for stdin), a module that IRModule.save has "
    "written, or a Python file that defines one (file.py, file.py:Name)>"
)
EXAMPLES = """\
  relax-opt model.mlir --canonicalize --cse -o out.mlir
  relax-opt model.mlir \\
    --pass-pipeline='builtin.module(legalize-ops,func.func(canonicalize,cse))'
  relax-opt --run-reproducer failed.mlir
  relax-opt model.mlir --emit=asm --target='cpu -mcpu=neoverse-n1' -o model.s
  relax-opt model.mlir --relax-to-kernels --elide-kernels
  relax-opt model.mlir --relax-to-llvm --dump-stages=stages --mlir-timing
  relax-opt model.mlir --load-pass-plugin=passes.py --my-pass
  relax-opt model.py --relax-to-kernels --explain-strategy
"""

ENVIRONMENT = {
    "RELAX_MLIR_DUMP_DIR": "directory for a reproducer of a pass that fails (as --dump-failures); without it the "
    "reproducer, of all passes, goes into the directory for temporary files",
    "RELAX_MLIR_REPRODUCERS=0": "leave no reproducer there",
    "NO_COLOR": "if it is set, use no colours",
    "RELAX_MLIR_TRACEBACK=1": "show the Python trace of an internal error",
    "RELAX_MLIR_CACHE_DIR": "directory of the cache of compiled modules; without it relax-mlir in XDG_CACHE_HOME "
    "(~/.cache)",
    "RELAX_MLIR_CACHE_SIZE": "bytes that this cache may hold (default: 1 GiB)",
    "RELAX_MLIR_CACHE=0": "neither take compiled modules from the cache nor keep them",
    "RELAX_MLIR_COMPILE_THREADS": "threads that compile a module (default: one for each CPU)",
    "RELAX_MLIR_IN_PROCESS=1": "do not work in a child process (for debuggers); a crash then ends relax-opt itself",
    "COLUMNS": "width of help and reports (default: that of the terminal, else 80)",
}
"""Environment variables that the tool reads."""


def help_text() -> str:
    """All options of the tool, by group."""
    groups: dict[str, list[Flag]] = {}
    for flag in FLAGS:
        groups.setdefault(flag.group, []).append(flag)
    sections = [f"{_wrapped(OVERVIEW)}\n\n{_wrapped(USAGE)}\n\n{EXAMPLES}", f"{_heading('OPTIONS:')}\n"]
    for group, flags in groups.items():
        sections.append(
            f"  {paint(f'{group}:', BOLD, sys.stdout)}\n" + "\n".join(_row(f.usage, f.help) for f in flags) + "\n"
        )
    variables = "\n".join(_row(name, text, 2) for name, text in ENVIRONMENT.items())
    return "\n".join([*sections, passes_text(), f"{_heading('ENVIRONMENT:')}\n\n{variables}\n"])


def _heading(text: str) -> str:
    return paint(text, HEADING, sys.stdout)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _width(), subsequent_indent="  ", break_on_hyphens=False)


def _row(left: str, right: str, indent: int = 4) -> str:
    width = _width()
    column = 46 if width >= 100 else 30
    lead = f"{' ' * indent}{left}"
    if len(lead) >= column:
        lead += "\n" + " " * column
    lines = textwrap.wrap(right, width - column, break_on_hyphens=False) or [""]
    return f"{lead:<{column}}" + ("\n" + " " * column).join(lines)


def _width() -> int:
    """The width of the terminal, limited to readable lines."""
    return min(terminal.width(), MAX_WIDTH)


def passes_text() -> str:
    """All passes: those of the project with help and options, those of MLIR by name."""
    table = summaries()
    for name in registry.names():
        if name not in table:
            table[name] = _of_plugin(name)
    named = {name: each for name, each in table.items() if each.is_pipeline}
    own = {name: each for name, each in table.items() if not each.is_pipeline}
    options = '(options: --<pass>="key=value ..."):'
    return (
        f"{_heading('PIPELINES of relax-mlir')} {options}\n\n{_table(named)}\n\n"
        f"{_heading('PASSES of relax-mlir')} {options}\n\n{_table(own)}\n\n"
        f"{_heading('PIPELINES of MLIR:')}\n\n{_columns(MLIR_PIPELINES)}\n\n"
        f"{_heading('PASSES of MLIR')} (https://mlir.llvm.org/docs/Passes):\n\n{_columns(MLIR_PASSES)}\n"
    )


def _of_plugin(name: str) -> PassSummary:
    """The summary of a pass of a plugin; if it cannot be loaded, the reason, so that the list is complete."""
    try:
        return summary_of(registry.pass_class(name))
    except RelaxError as error:
        return PassSummary(f"not available: {error}", [])


def _table(rows: Mapping[str, PassSummary]) -> str:
    return "\n".join(line for name, row in sorted(rows.items()) for line in _describe(name, row))


def _describe(name: str, row: PassSummary) -> list[str]:
    options = [_row(f"{o}=<{kind}>", f"default: {default}", 6) for o, kind, default in row.options]
    return [_row(f"--{name}", row.help), *options]


def _columns(names: Iterable[str]) -> str:
    text = "  ".join(f"--{name}" for name in sorted(names))
    wrapped = textwrap.wrap(text, _width() - 4, break_on_hyphens=False, break_long_words=False)
    return "\n".join(f"    {line}" for line in wrapped)


def dialects_text() -> str:
    """The names of all dialects."""
    text = f"Available dialects: {', '.join(sorted({*MLIR_DIALECTS, 'relax'}))}"
    return "\n".join(textwrap.wrap(text, _width(), subsequent_indent="  ", break_on_hyphens=False)) + "\n"


def target_text(text: str) -> str:
    """All attributes of a target (the host if the text is empty); raises `ParseError`, `UnknownNameError`."""
    from relax_mlir.target import Target  # needed for this text only

    target = Target.parse(text or "cpu")
    return f"{target}\n{target.describe()}\n"


def version_text() -> str:
    """Versions of the project and of the bindings."""
    return f"relax-opt of relax-mlir {version()}, on {bindings_version()}\n"


def cache_info_text() -> str:
    """Directory and size of the cache of compiled modules."""
    from relax_mlir.runtime import cache_store

    return f"{cache_store.info()}\n"


def cache_clear_text() -> str:
    """Empty the cache of compiled modules; return a message about what was removed."""
    from relax_mlir.runtime import cache_store

    before = cache_store.info()
    return f"removed {cache_store.clear()} entries ({before.bytes} bytes) from {before.directory}\n"


def completion_text(shell: str) -> str:
    """The completion script for a shell; raises `UnknownNameError`, `UnsupportedError`."""
    from relax_mlir.tools.command_line import completion_script, opt_parser  # needed for this text only

    return completion_script(opt_parser(), shell)


# Help of passes, read from their sources: importing the classes would import the whole compiler.


PACKAGE = Path(__file__).resolve().parents[1]


class PassSummary(NamedTuple):
    """The first paragraph of a pass's docstring, and name, type and default of each option."""

    help: str
    options: list[tuple[str, str, str]]
    is_pipeline: bool = False


def summary_of(cls: type[Pass]) -> PassSummary:
    """The help of a pass class."""
    import inspect

    from relax_mlir.transform import PipelinePass
    from relax_mlir.transform.pipeline_text import describe_options

    return PassSummary(first_paragraph(inspect.getdoc(cls)), describe_options(cls), issubclass(cls, PipelinePass))


def summaries() -> dict[str, PassSummary]:
    """The passes of the project by name."""
    places = {name: target.split(":") for name, target in registry.PASSES.items()}
    return {name: _summary(module, cls) for name, (module, cls) in places.items() if module.startswith("relax_mlir.")}


def first_paragraph(docstring: str | None) -> str:
    return (docstring or "").partition("\n\n")[0].replace("\n", " ")


def _summary(module: str, name: str) -> PassSummary:
    lineage = list(_lineage(module, name))
    options = [option for node in reversed(lineage) for option in _options(module, node)]
    is_pipeline = "PipelinePass" in _bases(lineage[-1])
    return PassSummary(first_paragraph(ast.get_docstring(lineage[0])), options, is_pipeline)


def _lineage(module: str, name: str) -> Iterator[ast.ClassDef]:
    """Yield a class, then its base class if that is in the same file, and so on."""
    node: ast.ClassDef | None = _class(module, name)
    while node is not None:
        yield node
        inner = [base for base in _bases(node) if re.search(rf"^class {base}\b", _text(module), re.MULTILINE)]
        node = _class(module, inner[0]) if inner else None


def _bases(node: ast.ClassDef) -> list[str]:
    return [base.id for base in node.bases if isinstance(base, ast.Name)]


def _class(module: str, name: str) -> ast.ClassDef:
    """The definition of a class; only its lines are parsed, since the files are long."""
    lines = re.search(rf"^class {name}\b.*?(?=^[^\s)]|\Z)", _text(module), re.MULTILINE | re.DOTALL)
    assert lines is not None, f"{module} defines no class {name}"
    (node,) = ast.parse(lines[0]).body
    assert isinstance(node, ast.ClassDef)
    return node


@cache
def _text(module: str) -> str:
    path = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return path.read_text(encoding="utf-8")


def _options(module: str, node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and default of the fields of a dataclass that its constructor takes."""
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            kind = ast.unparse(field.annotation)
            is_attribute = isinstance(field.value, ast.Call)  # field(init=False)
            if not kind.startswith("ClassVar") and not is_attribute:
                yield field.target.id.replace("_", "-"), kind, _default(module, field.value)


def _default(module: str, value: ast.expr | None) -> str:
    from relax_mlir.transform.pipeline_text import REQUIRED, format_value

    if value is None:
        return REQUIRED
    if isinstance(value, ast.Name):  # a constant of the file
        assigned = re.search(rf"^{value.id}\b[^=\n]*= *(.*)$", _text(module), re.MULTILINE)
        assert assigned is not None, f"{module} defines no {value.id}"
        value = ast.parse(assigned[1], mode="eval").body
    return format_value(ast.literal_eval(value))
