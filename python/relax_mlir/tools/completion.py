"""Scripts that complete the options of the tools in bash, zsh and fish, by ``shtab``."""

from __future__ import annotations

from argparse import ArgumentParser

from relax_mlir.error import UnknownNameError, UnsupportedError
from relax_mlir.tools.command_line import DIRECTORY, FILE, completed
from relax_mlir.tools.opt_flags import ALIASES, FLAGS, SHELLS, Flag


def script(parser: ArgumentParser, shell: str) -> str:
    """The script for a tool's command line.

    Arguments of `parser` that are files or folders have an attribute ``completed_as``, `FILE` or `DIRECTORY`.

    Raises:
        UnknownNameError: another shell. UnsupportedError: shtab is not installed.
    """
    if shell not in SHELLS:
        raise UnknownNameError("shell", shell, SHELLS)
    try:
        import shtab
    except ImportError:
        raise UnsupportedError(
            "--print-completion needs shtab: pip install 'relax-mlir[completion]'"
        ) from None
    kinds = {FILE: shtab.FILE, DIRECTORY: shtab.DIRECTORY}
    for action in parser._actions:
        kind = getattr(action, "completed_as", None)
        if kind is not None:
            action.complete = kinds[kind]  # type: ignore[attr-defined]  # where shtab looks for it
    text: str = shtab.complete(parser, shell)
    return text


def opt_parser() -> ArgumentParser:
    """The command line of ``relax-opt`` as shtab reads it; ``relax-opt`` itself has a parser of its own."""
    from relax_mlir.tools.pass_summaries import summaries
    from relax_mlir.transform import registry
    from relax_mlir.transform.upstream_names import PASSES, PIPELINES

    parser = ArgumentParser(prog="relax-opt", add_help=False, allow_abbrev=False)
    own = summaries()
    for flag in FLAGS:
        _add(parser, flag)
    for name in registry.names():
        text = own[name].help.replace("%", "%%") if name in own else ""  # argparse fills in the help
        parser.add_argument(f"--{name}", action="store_true", help=text)
    for name in sorted({*PASSES, *PIPELINES} - set(registry.names())):
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
