"""Command lines of ``relax-compile``, ``relax-run`` and ``relax-tune``: common options, help, completion."""

from __future__ import annotations

import argparse
import sys
import textwrap
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_mlir import terminal
from relax_mlir.error import ParseError, UnknownNameError, UnsupportedError
from relax_mlir.tools.opt_flags import ALIASES, FLAGS, SHELLS, TRUSTED_HELP, Flag

if TYPE_CHECKING:
    from relax_mlir.target import Target


FILE, DIRECTORY = "file", "directory"


def completed(action: Any, kind: str = FILE) -> None:  # noqa: ANN401 - an action of argparse
    """Complete the values of an argument as names of files or folders."""
    action.completed_as = kind


class _PrintCompletion(Action):
    """Prints the script for a shell, and exits."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: object, option: str | None = None) -> None:

        sys.stdout.write(completion_script(parser, str(values)))
        parser.exit()


def non_negative(text: str) -> int:
    """Parse a non-negative integer option; argparse reports a ValueError."""
    number = int(text)
    if number < 0:
        raise ArgumentTypeError(f"expected an integer from 0 on, got {number}")
    return number


def add_common(parser: ArgumentParser) -> None:
    """Add the options that all tools have."""
    from relax_mlir._version import version

    parser.add_argument("--trusted", action="store_true", help=TRUSTED_HELP)
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print a script that completes options and files in a shell: {', '.join(SHELLS)}",
    )
    parser.add_argument("--version", action="version", version=f"{parser.prog} {version()}")


def run_tool(parser: ArgumentParser, work: Callable[[Namespace], int], arguments: Sequence[str]) -> int:
    """Run `work` with the parsed arguments; 0 on success, else 1 (2: a wrong command line)."""
    from relax_mlir.error import RelaxError

    try:
        return work(parser.parse_args(arguments))
    except SystemExit as ended:  # --help, --version, or a wrong command line
        return ended.code if isinstance(ended.code, int) else 2
    except RelaxError as error:
        print(terminal.error_line(parser.prog, error, sys.stderr), file=sys.stderr)
        return 1


# Help texts of ``relax-compile``, ``-run`` and ``-tune``: options are not split, examples have a line each.

EXAMPLES = "examples:"


def examples(*commands: str) -> str:
    """The examples at the end of a help text."""
    return "\n".join([EXAMPLES, *(f"  {command}" for command in commands)])


class CommandHelp(argparse.HelpFormatter):
    """Wraps text at spaces only, since options and names of commands have hyphens; keeps the lines of `examples`."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLES):
            return text
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))


# Output files of the tools, which do not create folders.


def require_folder(path: Path) -> None:
    """Raise `ParseError` if the path is a folder, or its folder does not exist."""
    if path.is_dir():
        raise ParseError(f"cannot open output file '{path}': it is a folder")
    if not path.parent.is_dir():
        raise ParseError(f"cannot open output file '{path}': there is no folder '{path.parent}'")


# ``--strategies`` and ``--tuned``: users' registrations for ops, and the values found by ``relax-tune``.


def add_strategies(parser: ArgumentParser) -> None:
    """Add the option for files that register strategies."""
    strategies = parser.add_argument(
        "--strategies",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run a Python file that registers strategies first (may be repeated)",
    )
    completed(strategies)


def add_tuned(parser: ArgumentParser) -> None:
    """Add the options of tools that compile: files of strategies, and of measurements."""
    add_strategies(parser)
    tuned = parser.add_argument(
        "--tuned", metavar="FILE", help="take the values of knobs that relax-tune has found (tuned.json)"
    )
    completed(tuned)


def load_strategies(paths: Sequence[str]) -> None:
    """Run the files of ``--strategies``; raises ParseError, ArgumentError."""
    if paths:
        from relax_mlir.tools.plugins import load_plugin  # needed for this option only

        for path in paths:
            load_plugin(path)


def tuned_schedules(tool: str, path: str | None, target: Target | None) -> AbstractContextManager[None]:
    """Use the measured values of a file for schedules built in the context; without a path, their default values.

    A note reports that the file has measurements for other targets. `target` None: the target of each pass is used, and
    it is an error if a schedule was measured for other targets only.

    Raises:
        ParseError: the file does not exist, or is not a file of measurements.
    """
    if path is None:
        return nullcontext()
    from relax_mlir.tuning.database import (  # needed for this option only
        apply_history_best,
        existing_database,
    )

    database = existing_database(path)
    if target is None:
        return apply_history_best(database)
    if others := database.other_targets(target):
        print(terminal.note_line(tool, f"{path}: {others}", sys.stderr), file=sys.stderr)
    return apply_history_best(database.for_target(target))


# Scripts that complete the options of the tools in bash, zsh and fish, generated by ``shtab``.


def completion_script(parser: ArgumentParser, shell: str) -> str:
    """The script for a tool's command line.

    Arguments of `parser` that are files or folders have the attribute ``completed_as``, `FILE` or `DIRECTORY`.

    Raises:
        UnknownNameError: an unsupported shell. UnsupportedError: shtab is not installed.
    """
    if shell not in SHELLS:
        raise UnknownNameError("shell", shell, SHELLS)
    try:
        import shtab
    except ImportError:
        raise UnsupportedError("--print-completion needs shtab: pip install 'relax-mlir[completion]'") from None
    kinds = {FILE: shtab.FILE, DIRECTORY: shtab.DIRECTORY}
    for action in parser._actions:
        kind = getattr(action, "completed_as", None)
        if kind is not None:
            action.complete = kinds[kind]  # type: ignore[attr-defined]  # where shtab looks for it
    text: str = shtab.complete(parser, shell)
    return text


def opt_parser() -> ArgumentParser:
    """The command line of ``relax-opt`` for shtab; ``relax-opt`` itself does not use argparse."""
    from relax_mlir.tools.opt_help import summaries
    from relax_mlir.transform import registry
    from relax_mlir.transform.registry import MLIR_PASSES, MLIR_PIPELINES

    parser = ArgumentParser(prog="relax-opt", add_help=False, allow_abbrev=False)
    own = summaries()
    for flag in FLAGS:
        _add(parser, flag)
    for name in registry.names():
        text = own[name].help.replace("%", "%%") if name in own else ""  # argparse substitutes values in help
        parser.add_argument(f"--{name}", action="store_true", help=text)
    for name in sorted({*MLIR_PASSES, *MLIR_PIPELINES} - set(registry.names())):
        parser.add_argument(f"--{name}", action="store_true", help="a pass of MLIR")
    completed(parser.add_argument("input", nargs="?", help="the module"), FILE)
    return parser


def _add(parser: ArgumentParser, flag: Flag) -> None:
    dashes = [f"-{name}" for name, meant in ALIASES.items() if meant == flag.name]
    dashes.append(flag.option)
    if flag.kind is bool:
        parser.add_argument(*dashes, action="store_true", help=flag.help)
        return
    choices = flag.choices or None
    action = parser.add_argument(*dashes, metavar=flag.value.upper(), choices=choices, help=flag.help)
    if flag.value in ("file", "file.py"):
        completed(action, FILE)
    elif flag.value == "directory":
        completed(action, DIRECTORY)
