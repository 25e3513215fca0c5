"""Calls with arguments that no user means: which of them end in anything but an error of this package."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
from relax_mlir.error import RelaxError


class Unmeant:
    """A class in the place of a value. Where a function of the user is called it raises the user's error."""

    def __init__(self, *args: object) -> None:
        raise RelaxError("the user's function failed")


HOSTILE = (
    *(
        None,
        10**22,
        -1,
        2.5,
        True,
        "",
        "é\n\0",
        b"\0",
        object(),
        Unmeant,
        [],
        {},
        (None,),
        ["x", 3],
        ("n", -1),
    ),
    *(float("nan"), np.array([{}], dtype=object)),
)
OF_PYTHON = (
    *("required positional", "required keyword-only", "positional argument", "takes no arguments"),
    *("takes no keyword arguments", "unexpected keyword argument", "t instantiate abstract class"),
    "Protocols cannot be instantiated",
)
"""What Python says of a wrong number of arguments, and of classes that have no instances."""
SECONDS = 30.0
"""The time limit of a call, which may import PyTorch or build a module."""
MOST = 16
"""How many parameters of a function are tried one by one."""


class TooLong(BaseException):
    """A call that does not end."""


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise `TooLong` in a call of Python code that takes longer."""

    def ring(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def public(room: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions and classes of a package, without exceptions, and those of the modules that it shows."""
    found: dict[str, Callable[..., Any]] = {}
    for name in room.__all__:
        value = getattr(room, name)
        where = f"{room.__name__.removeprefix('relax_mlir.')}.{name}"
        if isinstance(value, ModuleType) and hasattr(value, "__all__"):
            found |= public(value)
        elif callable(value) and not (inspect.isclass(value) and issubclass(value, BaseException)):
            found[where] = value
    return found


def methods(name: str, item: object) -> dict[str, Callable[..., Any]]:
    """The public methods of an object."""
    found = {}
    for key in dir(type(item)):
        if not key.startswith("_") and inspect.isroutine(inspect.getattr_static(type(item), key)):
            found[f"{name}.{key}"] = getattr(item, key)
    return found


def calls(
    function: Callable[..., Any], good: Mapping[str, Any], otherwise: Any = None
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments: all hostile, or one among fitting ones, which `good` has by the names of parameters."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    ordered = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    more = [p for p in parameters if p.kind is p.VAR_POSITIONAL]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    needed = sum(p.default is p.empty for p in ordered)
    fitting = [good.get(p.name, otherwise) for p in ordered]
    required = {p.name: good.get(p.name, otherwise) for p in named if p.default is p.empty}
    for value in HOSTILE:
        yield (value,) * needed, {p.name: value for p in named if p.default is p.empty}
        for place in range(min(len(ordered), MOST)):
            yield (*fitting[:place], value, *fitting[place + 1 : needed]), required
        for parameter in more:
            yield (*fitting, value), required
            yield (*fitting, good.get(parameter.name, otherwise), value), required
        for parameter in named[:MOST]:
            yield tuple(fitting[:needed]), required | {parameter.name: value}


def findings(things: Mapping[str, Callable[..., Any]], good: Mapping[str, Any], otherwise: Any = None) -> list[str]:
    """The faults in the errors of hostile calls; see `calls`."""
    return [
        found
        for name, function in things.items()
        for args, kwargs in calls(function, good, otherwise)
        if (found := finding(name, function, args, kwargs))
    ]


def finding(name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Call a function; return what is wrong with its error, or nothing."""
    try:
        with limited():
            function(*args, **kwargs)
        return ""
    except RelaxError as error:
        wrong = "internal error" in str(error)
        reason = f"{type(error).__name__}: {error}"
    except TooLong:
        wrong, reason = True, f"more than {SECONDS} s"
    except Exception as error:
        wrong = not (isinstance(error, TypeError) and any(text in str(error) for text in OF_PYTHON))
        reason = f"{type(error).__name__}: {error}"
    return f"{name}{tuple(args)}{dict(kwargs) or ''}: {reason}" if wrong else ""
