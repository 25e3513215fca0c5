"""The set-up of `build` around a compilation: its arguments, libraries, progress, and the GIL switch interval."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.traits import CallsPacked, ListsArguments, ops_with
from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.fork_safety import Order, SharedChange
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import ops_of
from relax_mlir.lazy import library_of, load_library
from relax_mlir.mlir import ir
from relax_mlir.target import Target

# Parse the arguments of `build`: a module and a target, or a schedule with its parameters and a target.


def module_and_target(
    mod: Any,  # noqa: ANN401 - what a user gives
    given: Sequence[Any],
    target: str | Target,
    name: str,
    more: Mapping[str, Any],
) -> tuple[IRModule, Any]:
    """Return the module to compile and the target; `given` and `more` are the positional and keyword arguments.

    Raises:
        ArgumentError: unknown or missing arguments.
    """
    rest, named = list(given), dict(more)
    if isinstance(mod, IRModule):
        _nothing_left(rest[1:], named)
        return mod, rest[0] if rest else target
    # Imported on demand, since most programs have no schedules.
    from relax_mlir.te.schedule import Schedule, lower

    if isinstance(mod, Schedule):
        if not rest and "args" not in named:
            raise ArgumentError("build: a schedule needs its parameters: build(s, [A, B, C])")
        args = named.pop("args") if "args" in named else rest.pop(0)
        _nothing_left(rest[1:], named)
        return lower(mod, args, name), rest[0] if rest else target
    expect("build: 'mod'", mod, IRModule, "an IRModule (BlockBuilder.get() gives one), or a te.Schedule")
    raise AssertionError


def _nothing_left(rest: Sequence[Any], named: Mapping[str, Any]) -> None:
    if rest:
        raise ArgumentError(f"build: {len(rest)} arguments too many, beginning with {rest[0]!r}")
    if named:
        raise ArgumentError(f"build: unknown argument '{next(iter(named))}'")


# The options of a compilation, and the report on it.


MACHINE_CODE = "machine code"
"""The name in reports of the step after the last phase."""
LEGALIZING = ("relax", "calls")
"""The phases down to level R1."""


@dataclass(frozen=True)
class CompileReport:
    """The time in seconds that each phase of a compilation took, and the path of the stage dump."""

    phases: dict[str, float] = field(default_factory=dict)
    stages: Path | None = None
    from_cache: bool = False
    """True if the code comes from the persistent cache; `phases` then has one entry."""

    @property
    def total(self) -> float:
        """The seconds of all phases."""
        return sum(self.phases.values())


@dataclass(frozen=True)
class Options:
    """Options of `build` other than the module and the target."""

    stages: Path | None
    cache: bool
    profile: bool
    is_legalized: bool = False
    source: str = ""
    """The hash of the module."""


# Third-party libraries whose packed functions a module calls by name; they are loaded at build time.


def load_libraries(module: ir.Module) -> None:
    """Load the libraries of this project whose functions `module` calls, which registers them.

    Raises their errors, with the location of a call, if they are not installed.
    """
    loaded: set[str] = set()
    for op in ops_of(module.operation, *ops_with(CallsPacked, ListsArguments)):
        if "func" not in op.attributes:
            continue
        name = ir.StringAttr(op.attributes["func"]).value
        library = library_of(name)
        if library is None or library in loaded:
            continue
        loaded.add(library)
        try:
            found = load_library(library)
            assert found is not None, "the library is one of the table"
            found.load()
        except RelaxError as error:
            error.add_hint(f"'{name}' is called at {location_text(op.location)}")
            raise


# Progress of a compilation, for listeners that display it.


Listener = Callable[[str], None]


class _ThreadState(threading.local):
    """The listeners of this thread, outermost first."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []


_state = _ThreadState()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener` with the name of each compilation step of this thread, when the step begins."""
    _state.listeners.append(listener)
    try:
        yield
    finally:
        _state.listeners.pop()


def begin_step(step: str) -> None:
    """Report that a step begins."""
    for listener in _state.listeners:
        listener(step)


# Shorten the GIL switch interval, since compiling threads need the GIL only briefly between LLVM calls.


SECONDS = 0.0003
"""Python's default is 0.005: a thread would wait that long, ten times per unit, while another one lowers the rest."""

_ROUNDED = 0.5e-6
"""The interpreter truncates the interval to microseconds."""


def _shorten() -> Callable[[], None]:
    before = sys.getswitchinterval()
    _set(min(SECONDS, before))
    return functools.partial(_set, before)


def _set(seconds: float) -> None:
    sys.setswitchinterval(seconds + _ROUNDED)


_change = SharedChange(Order.SWITCH_INTERVAL, _shorten)


def short_switch_interval() -> AbstractContextManager[None]:
    """A context in which the interpreter switches between threads more often, in whatever thread."""
    return _change.made()
