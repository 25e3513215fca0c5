"""The inputs of ``relax-tune``: the tasks in a file, a time budget, sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relax_mlir.error import ArgumentError, ParseError, UnknownNameError
from relax_mlir.frontend.load import is_python, python_globals, read_module
from relax_mlir.target import Target
from relax_mlir.tuning import Task, extract_tasks

_TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


def read_seconds(option: str, text: str) -> float:
    """The seconds of a text like ``90s``, ``10m``, ``1h30m`` or ``90``; raises ParseError."""
    found = _TIME.fullmatch(text.strip())
    parts = found.groups() if found else (None, None, None)
    seconds = sum(float(part or 0) * unit for part, unit in zip(parts, (3600, 60, 1), strict=True))
    if not seconds > 0:
        raise ParseError(f"{option}: {text!r} is no time above 0: expected one like 90s, 10m or 1h30m")
    return seconds


def read_sizes(texts: Sequence[str]) -> list[dict[str, int]]:
    """The sizes of texts like ``n=1,m=7``, one set per text; raises ParseError."""
    return [_sizes(text) for text in texts]


def _sizes(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        name, _, value = (part.strip() for part in item.partition("="))
        if not name.isidentifier() or not value.isdecimal():
            raise ParseError(f"--sizes: {item.strip()!r}, expected symbols with sizes, as n=1,m=7")
        if name in found:
            raise ParseError(f"--sizes: {text!r} gives {name!r} twice: repeat the option for other sizes")
        found[name] = int(value)
    if not found:
        raise ParseError(f"--sizes: {text!r}, expected symbols with sizes, as n=1,m=7")
    return found


def require_sizes(tasks: Sequence[Task], sizes: Sequence[dict[str, int]]) -> None:
    """Check sizes against the symbols of tasks.

    Raises:
        UnknownNameError: a symbol that no task has. ArgumentError: a set without some symbol of a task, or a size
            outside of the symbol's bounds.
    """
    known = {symbol for task in tasks for symbol in task.symbols}
    for each in sizes:
        shown = "--sizes " + ",".join(f"{name}={size}" for name, size in each.items())
        for name in each:
            if name not in known:
                raise UnknownNameError("symbol", name, known, f"in {shown}")
        for task in tasks:
            for symbol in task.symbols:
                if symbol not in each:
                    raise ArgumentError(
                        f"{shown}: task '{task.name}' has a symbol '{symbol}' too: give its size"
                    )
                low, high = task.bounds.get(symbol, (0, None))
                if each[symbol] < low or (high is not None and each[symbol] > high):
                    last = "" if high is None else f" to {high}"
                    raise ArgumentError(
                        f"{shown}: '{symbol}' of task '{task.name}' is outside of its bounds, from {low}{last}"
                    )


def read_tasks(text: str, target: Target, *, trusted: bool = False) -> list[Task]:
    """The tasks of a file: those of its module and, if it is Python, those that it defines.

    Args:
        text: a path, as for `read_module`; ``file.py:Name`` selects one module or one task of the file.
        trusted: as for `relax_mlir.load`.

    Raises:
        ParseError, UnknownNameError: as `read_module`. ArgumentError: the file has no task.
    """
    tasks = (
        _of_python(text, target)
        if is_python(text)
        else extract_tasks(read_module(text, trusted=trusted), target)
    )
    if not tasks:
        raise ArgumentError(
            f"{text}: there is nothing to tune. A task is a schedule with knobs (get_config().define_split, "
            "define_knob) that a strategy gives for a call of the module: --strategies FILE.py runs a file that "
            "registers some. Or it is what tuning.create_task gives, as a global of a Python file"
        )
    return tasks


def _of_python(text: str, target: Target) -> list[Task]:
    path, _, name = text.partition(".py:") if ".py:" in text else (text.removesuffix(".py"), "", "")
    variables = python_globals(f"{path}.py")
    found = {key: value for key, value in variables.items() if isinstance(value, Task)}
    if name in found:
        return [found[name]]
    if found and not name:
        return list({id(task): task for task in found.values()}.values())
    return extract_tasks(read_module(text, variables), target)
