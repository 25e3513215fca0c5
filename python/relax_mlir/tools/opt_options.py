"""The command line of ``relax-opt``: its options as data, and the parser.

Options are ``--name``, ``--name=value`` or ``--name value``, with one dash or two; every other ``--name`` is
a pass or a named pipeline, run in the order given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir.error import ParseError, UnknownNameError
from relax_mlir.transform import registry
from relax_mlir.transform.options import option_types, split_options
from relax_mlir.transform.pipeline_parser import Element, parse_elements
from relax_mlir.transform.upstream_names import PASSES, PIPELINES

TRUE, FALSE = frozenset({"", "1", "true"}), frozenset({"0", "false"})


@dataclass(frozen=True)
class Flag:
    """One option: `kind` is bool, int, str or list (comma-separated, may be repeated)."""

    name: str
    kind: type
    group: str
    help: str
    value: str = ""


GENERAL, INPUT, RUNNING, PRINTING, WATCHING = (
    "General",
    "Input and output",
    "Passes",
    "Printing",
    "Watching passes",
)

FLAGS: tuple[Flag, ...] = (
    Flag("help", bool, GENERAL, "show this help"),
    Flag("version", bool, GENERAL, "show the versions of relax-mlir and of the MLIR bindings"),
    Flag("show-passes", bool, GENERAL, "list all passes and named pipelines"),
    Flag("show-dialects", bool, GENERAL, "list all dialects"),
    Flag("cache-info", bool, GENERAL, "show where the cache of compiled modules is, and its size"),
    Flag("cache-clear", bool, GENERAL, "remove everything from that cache"),
    Flag("print-target", bool, GENERAL, "show what code is generated for: the host, or the CPU of --target"),
    Flag("o", str, INPUT, "write the output there (default: stdout)", "file"),
    Flag(
        "split-input-file", bool, INPUT, "take the input apart at '// -----' lines, process each part alone"
    ),
    Flag(
        "verify-diagnostics",
        bool,
        INPUT,
        "check the diagnostics against expected-error, -warning, -note comments",
    ),
    Flag("allow-unregistered-dialect", bool, INPUT, "accept ops of dialects that are not known"),
    Flag("pass-pipeline", str, RUNNING, "the passes to run, as text: 'builtin.module(...)'", "text"),
    Flag("run-reproducer", bool, RUNNING, "run the passes that the input, a reproducer, asks for"),
    Flag(
        "verify-each", bool, RUNNING, "verify after each pass (default: on; --verify-each=0 switches it off)"
    ),
    Flag(
        "target",
        str,
        RUNNING,
        "the machine for --emit, --print-target and passes without a target of their own, as 'cpu -mcpu=haswell "
        "-num-threads=4' (default: the host)",
        "text",
    ),
    Flag("opt-level", int, RUNNING, "skip passes of a higher level (default: 2)", "n"),
    Flag("disable-pass", list, RUNNING, "skip these passes", "names"),
    Flag(
        "emit",
        str,
        PRINTING,
        "write code: bytecode (of the module as it is), or, running --relax-to-llvm if no pass is given, llvm-ir, asm "
        "or obj (asm and obj need the extra 'asm')",
        "form",
    ),
    Flag("print-script", bool, PRINTING, "print Relax functions as script, the readable form"),
    Flag(
        "memory-plan",
        bool,
        PRINTING,
        "print how plan-memory places the temporaries of each function, as formulas of its symbols, instead of the "
        "module; without passes, --relax-to-memrefs is run",
    ),
    Flag("bind", list, PRINTING, "values of symbols for --memory-plan, as n=128,m=4", "values"),
    Flag("mlir-print-debuginfo", bool, PRINTING, "print locations"),
    Flag("mlir-print-op-generic", bool, PRINTING, "print the generic form of ops"),
    Flag("mlir-print-local-scope", bool, PRINTING, "print without aliases"),
    Flag("mlir-elide-elementsattrs-if-larger", int, PRINTING, "elide dense constants of more elements", "n"),
    Flag("mlir-print-ir-before", list, WATCHING, "print the module before these passes", "names"),
    Flag("mlir-print-ir-after", list, WATCHING, "print the module after these passes", "names"),
    Flag("mlir-print-ir-before-all", bool, WATCHING, "print the module before each pass"),
    Flag("mlir-print-ir-after-all", bool, WATCHING, "print the module after each pass"),
    Flag(
        "mlir-print-ir-after-change", bool, WATCHING, "print after a pass only if the pass changed the module"
    ),
    Flag("mlir-timing", bool, WATCHING, "show the time of each pass, as a tree"),
    Flag("mlir-pass-statistics", bool, WATCHING, "show the number of ops around each pass"),
    Flag("explain-fusion", bool, WATCHING, "show what fuse-ops fused, what it left apart, and why"),
    Flag(
        "dump-stages", str, WATCHING, "write the module after each pass to a numbered file there", "directory"
    ),
    Flag(
        "dump-failures",
        str,
        WATCHING,
        "write a reproducer of a pass that fails there: the module as it was before it",
        "directory",
    ),
    Flag("check-well-formed", bool, WATCHING, "check the invariants of Relax after each pass"),
)

BY_NAME = {flag.name: flag for flag in FLAGS}


@dataclass
class Options:
    """A parsed command line; `values` holds the flags that were given."""

    input: str = "-"
    elements: list[Element] = field(default_factory=list)
    values: dict[str, bool | int | str | list[str]] = field(default_factory=dict)

    def on(self, name: str, default: bool = False) -> bool:
        """A bool flag."""
        return bool(self.values.get(name, default))

    def text(self, name: str) -> str:
        """A string flag, '' if absent."""
        return str(self.values.get(name, ""))

    def number(self, name: str) -> int | None:
        """An int flag, None if absent."""
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    def names(self, name: str) -> list[str]:
        """A list flag, empty if absent."""
        value = self.values.get(name)
        return value if isinstance(value, list) else []


def parse_arguments(arguments: Sequence[str]) -> Options:
    """The options that the arguments stand for.

    Raises:
        UnknownNameError: a flag that is neither option nor pass; lists near matches.
        ParseError: a missing, superfluous or malformed value.
    """
    options = Options()
    inputs: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "-" or not argument.startswith("-"):
            inputs.append(argument)
        else:
            _flag(argument, rest, options)
    if len(inputs) > 1:
        raise ParseError(f"more than one input file: {', '.join(inputs)}")
    if options.elements and "pass-pipeline" in options.values:
        raise ParseError("--pass-pipeline and passes as flags exclude each other")
    options.input = inputs[0] if inputs else "-"
    return options


def _flag(argument: str, rest: Iterator[str], options: Options) -> None:
    name, equals, value = argument.lstrip("-").partition("=")
    flag = BY_NAME.get(name)
    if flag is None:
        options.elements.append(_pass(name, value))
        return
    if not equals and flag.kind is not bool:
        value = next(rest, "")
        if not value:
            raise ParseError(f"--{name} needs a value: --{name}=<{flag.value}>")
    _store(flag, value, options)


def _store(flag: Flag, value: str, options: Options) -> None:
    if flag.kind is bool:
        if value.lower() not in TRUE | FALSE:
            raise ParseError(f"--{flag.name} is on or off (1 or 0), got '{value}'")
        options.values[flag.name] = value.lower() in TRUE
    elif flag.kind is int:
        if not value.lstrip("-").isdecimal():
            raise ParseError(f"--{flag.name} takes a number, got '{value}'")
        options.values[flag.name] = int(value)
    elif flag.kind is list:
        options.values[flag.name] = [*options.names(flag.name), *filter(None, value.split(","))]
    else:
        options.values[flag.name] = value


def _pass(name: str, value: str) -> Element:
    """The pass that a flag names; whether its options are right is seen when it is made."""
    if registry.is_known(name) or name in PASSES or name in PIPELINES:
        return Element(name, value.strip())
    known = [*BY_NAME, *registry.names(), *PASSES, *PIPELINES]
    raise UnknownNameError("option or pass", f"--{name}", [f"--{n}" for n in known], "see relax-opt --help")


def pipeline_elements(options: Options) -> tuple[Element, ...]:
    """The passes to run, from ``--pass-pipeline`` or from the flags; they get the target of ``--target``.

    Raises:
        ParseError: a pipeline that is not ``builtin.module(...)``.
    """
    elements = _elements(options)
    if not elements and options.text("emit") not in ("", "bytecode"):
        elements = (Element("relax-to-llvm"),)
    target = options.text("target")
    return tuple(_with_target(e, target) for e in elements) if target else elements


def _with_target(element: Element, target: str) -> Element:
    """The element with the option ``target``, if its pass takes one and has none."""
    if not registry.is_known(element.name):
        return element
    known = option_types(registry.pass_class(element.name))
    given = [name for name, _ in split_options(element.name, element.options)]
    if "target" not in known or "target" in given:
        return element
    return Element(element.name, f'{element.options} target="{target}"'.strip())


def _elements(options: Options) -> tuple[Element, ...]:
    text = options.text("pass-pipeline")
    if not text:
        return tuple(options.elements)
    elements = parse_elements(text)
    if len(elements) != 1 or elements[0].name != "builtin.module" or elements[0].children is None:
        raise ParseError(f"--pass-pipeline must be of the form 'builtin.module(...)', got '{text}'")
    return elements[0].children
