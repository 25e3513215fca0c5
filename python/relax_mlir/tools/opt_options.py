"""The parser of the command line of ``relax-opt``.

Options are ``--name``, ``--name=value`` or ``--name value``, with one dash or two, and ``-oFILE``; every other
``--name`` is a pass or a named pipeline, run in the order given.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir.error import ParseError, UnknownNameError
from relax_mlir.tools.opt_flags import ALIASES, BY_NAME, Flag
from relax_mlir.transform import registry
from relax_mlir.transform.pipeline_text import (
    Element,
    option_text,
    option_types,
    parse_elements,
    split_options,
)
from relax_mlir.transform.registry import MLIR_PASSES, MLIR_PIPELINES

TRUE, FALSE = frozenset({"", "1", "true"}), frozenset({"0", "false"})


@dataclass
class Options:
    """A parsed command line; `values` holds the options that are set."""

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
    """Parse the arguments.

    Raises:
        UnknownNameError: a name that is neither an option nor a pass; lists near matches.
        ParseError: a missing, superfluous or malformed value.
    """
    options = Options()
    inputs: list[str] = []
    load_plugins(arguments)
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


def load_plugins(arguments: Sequence[str]) -> None:
    """Run the files of ``--load-pass-plugin``, since the other arguments may name their passes.

    Raises RelaxError if a file cannot be read, or fails.
    """
    option = "load-pass-plugin"
    for argument, after in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        name, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name == option and (path := value if equals else after):
            from relax_mlir.tools.plugins import load_plugin  # needed for this option only

            load_plugin(path)


def _flag(argument: str, rest: Iterator[str], options: Options) -> None:
    name, equals, value = argument.lstrip("-").partition("=")
    flag = BY_NAME.get(ALIASES.get(name, name))
    if flag is None and not _is_pass(name) and (output := _attached(argument)):
        flag, equals, value = BY_NAME["o"], "=", output
    if flag is None:
        options.elements.append(_pass(name, value))
        return
    if not equals and flag.kind is not bool:
        value = next(rest, "")
    if not value and flag.kind is not bool and (not equals or flag.value in ("file", "directory", "file.py")):
        raise ParseError(f"{flag.option} needs a value: {flag.usage}")
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
    elif flag.kind is tuple:
        options.values[flag.name] = [*options.names(flag.name), value]
    elif flag.kind is list:
        options.values[flag.name] = [*options.names(flag.name), *filter(None, value.split(","))]
    else:
        options.values[flag.name] = value


def _is_pass(name: str) -> bool:
    return registry.is_known(name) or name in MLIR_PASSES or name in MLIR_PIPELINES


def _known() -> list[str]:
    return [*BY_NAME, *registry.names(), *MLIR_PASSES, *MLIR_PIPELINES]


def _attached(argument: str) -> str:
    """The file of ``-oFILE``; '' for other arguments, including those that resemble a known name."""
    if not argument.startswith("-o") or len(argument) < 3:
        return ""
    near = difflib.get_close_matches(argument[1:].partition("=")[0], _known(), n=1, cutoff=0.8)
    return "" if near else argument[2:].removeprefix("=")


def _pass(name: str, value: str) -> Element:
    """The pass that an option names; its own options are checked when it is created."""
    if _is_pass(name):
        return Element(name, value.strip())
    known = _known()
    raise UnknownNameError("option or pass", f"--{name}", [f"--{n}" for n in known], "see relax-opt --help")


WITH_KERNELS = (
    Element("relax-to-kernels"),
    Element("link-kernels"),
    Element("relax-to-llvm", "start=kernels"),
)
"""The pipeline ``relax-to-llvm`` for code that contains the kernels of the library."""


def pipeline_elements(options: Options) -> tuple[Element, ...]:
    """The passes to run, from ``--pass-pipeline`` or from the flags; they get the target of ``--target``.

    Raises:
        ParseError: the pipeline is not ``builtin.module(...)``.
    """
    elements = _elements(options)
    if options.text("emit") not in ("", "bytecode") and elements in ((), (Element("relax-to-llvm"),)):
        elements = WITH_KERNELS
    target = options.text("target")
    return tuple(_with_target(e, target) for e in elements) if target else elements


def _with_target(element: Element, target: str) -> Element:
    """The element with the option ``target``, if its pass has that option and it is not set."""
    if not registry.is_known(element.name):
        return element
    known = option_types(registry.pass_class(element.name))
    given = [name for name, _ in split_options(element.name, element.options)]
    if "target" not in known or "target" in given:
        return element
    return Element(element.name, f"{element.options} target={option_text(target)}".strip())


def _elements(options: Options) -> tuple[Element, ...]:
    text = options.text("pass-pipeline")
    if not text:
        return tuple(options.elements)
    elements = parse_elements(text)
    if len(elements) != 1 or elements[0].name != "builtin.module" or elements[0].children is None:
        raise ParseError(f"--pass-pipeline must be of the form 'builtin.module(...)', got '{text}'")
    return elements[0].children
