"""`PassContext`: the passes to run, their configuration, and the instruments.

The rules are TVM's:

1. A disabled pass does not run; else a required one does; else the level decides (`pass_enabled`). A pass that is both
   is disabled, with a warning.
2. Entering calls ``enter_pass_ctx`` of the instruments in order. When one fails, those entered before it are exited in
   order, the instruments are cleared, the context is not entered, and the exception propagates.
3. Leaving calls ``exit_pass_ctx`` in order. When one fails, those after it are not called, the instruments are cleared,
   and the exception propagates; the context has been left by then.
4. Before a pass, ``should_run`` of *all* instruments is called and the results are ANDed; it is not called for passes
   that the context requires. ``run_before_pass`` and ``run_after_pass`` are called in order.
5. An exception in ``should_run``, ``run_before_pass`` or ``run_after_pass`` propagates unchanged, and no later call is
   made; ``run_after_pass`` is not called either when the pass itself fails.
"""

from __future__ import annotations

import builtins
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from relax_mlir.diagnostics import location_text, report, with_frames
from relax_mlir.error import ArgumentError, Diagnostic, RelaxError, UnknownNameError, expect
from relax_mlir.mlir import ir
from relax_mlir.transform.registry import PassInfo, known_name, level, pass_names

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule


# The base class of objects that observe passes. Subclass it and override what you need.


class PassInstrument:
    """Base of all instruments; every method does nothing, and `should_run` returns True.

    The rules at the head of `relax_mlir.transform.context` have the order of calls, and the effect of exceptions.
    """

    def enter_pass_ctx(self) -> None:
        """The context is being entered."""

    def exit_pass_ctx(self) -> None:
        """The context is being left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """True if the pass may run."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass is about to run on `mod`, which is not copied."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass has run; `mod` is its result."""


T = TypeVar("T")


def pass_instrument(cls: type[T]) -> type[T]:
    """Class decorator: make a `PassInstrument` from a class that has some of its methods."""
    namespace = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls, PassInstrument), namespace)


# Registered options of `PassContext.config`: each has a type, a default and one line of help.


@dataclass(frozen=True)
class ConfigOption:
    """A valid key of `PassContext.config`."""

    key: str
    type: type
    default: object
    help: str

    def check(self, value: object) -> object:
        """The value, converted if the conversion is exact (an int for a float).

        Raises:
            ArgumentError: the value has another type.
        """
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, self.type) and (self.type is bool or not isinstance(value, bool)):
            return value
        raise ArgumentError(
            f"config option '{self.key}' takes {self.type.__name__}, got {type(value).__name__}: {value!r}"
        )


_OPTIONS: dict[str, ConfigOption] = {}


def register_config_option(key: str, type: type, default: object, help: str = "") -> ConfigOption:
    """Register `key` as an option of every `PassContext`.

    Raises:
        ArgumentError: the key is taken, or the default does not have the type.
    """
    what = "register_config_option"
    expect(f"{what}: 'key'", key, str, "the name of an option")
    expect(f"{what}: 'type'", type, builtins.type, "a class, such as int")
    expect(f"{what}: 'help'", help, str, "a text")
    if key in _OPTIONS:
        raise ArgumentError(f"config option '{key}' is registered already")
    option = ConfigOption(key, type, default, help)
    option.check(default)
    _OPTIONS[key] = option
    return option


def config_option(key: str) -> ConfigOption:
    """The option of that key; raises UnknownNameError, which lists near matches."""
    if key not in _OPTIONS:
        raise UnknownNameError("config option", key, _OPTIONS)
    return _OPTIONS[key]


def config_options() -> tuple[ConfigOption, ...]:
    """All registered options, sorted by key."""
    return tuple(_OPTIONS[key] for key in sorted(_OPTIONS))


def check_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of `config`, after checking that every key is registered and every value has its option's type."""
    return {key: config_option(key).check(value) for key, value in (config or {}).items()}


VERIFY_EACH = register_config_option("pass.verify_each", bool, True, "verify the module after every pass").key
REPRODUCERS = register_config_option(
    "pass.reproducers", bool, True, "leave a module and a command that reproduce the failure of a pass"
).key
DUMP_DIR = register_config_option(
    "pass.dump_dir", str, "", "directory for the module as it was before a pass that failed"
).key
BOUNDS_CHECK = register_config_option(
    "tir.bounds_check",
    str,
    "auto",
    "run-time checks in prim funcs: auto (where nothing is proved), all (of all prim funcs), none (nothing is safe)",
).key
SHIPPED_VALUES = register_config_option(
    "strategy.shipped_values",
    bool,
    True,
    "give the project's own schedules the values of knobs that come with the package for classes of CPUs",
).key
MATH_FAST = register_config_option(
    "math.fast",
    bool,
    False,
    "exp, exp2, tanh and erf, and what is made of them, but for f64, by shorter polynomials: to 1e-5, not some ulp",
).key


# `DiagnosticContext`: the diagnostics that the passes of a `PassContext` report, for the caller.

Place = ir.Operation | ir.OpView | ir.Value | ir.Location | None
"""The subject of a message: the location of an op, of a value, or a location itself."""


class DiagnosticContext:
    """Warnings, errors and remarks of passes, and of MLIR during passes, in the order in which they were reported.

    >>> found = DiagnosticContext()
    >>> with PassContext(diag_ctx=found):
    ...     mod = Sequential([...])(mod)
    >>> print(found.render())
    """

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Append a diagnostic."""
        self.diagnostics.append(diagnostic)

    def of_severity(self, severity: str) -> list[Diagnostic]:
        """The diagnostics of a severity: ``"error"``, ``"warning"``, ``"note"`` or ``"remark"``."""
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.severity == severity]

    def render(self) -> str:
        """The diagnostics, each with its source underlined if that can be read; empty if there are none."""
        return "\n".join(with_frames(str(diagnostic)) for diagnostic in self.diagnostics)


def diagnostic_at(severity: str, message: str, place: Place) -> Diagnostic:
    """A diagnostic at the location of `place`."""
    if isinstance(place, ir.Location):
        location: ir.Location | None = place
    else:
        location = None if place is None else place.location
    return Diagnostic(severity, "unknown" if location is None else location_text(location), message)


class _ThreadState(threading.local):
    """The contexts that this thread has entered, and its default context."""

    def __init__(self) -> None:
        self.default = PassContext()
        self.stack: list[PassContext] = []


class PassContext:
    """Options under which passes run; ``with`` makes it the current one of this thread.

    Args:
        opt_level: 0 to 3; a sequence runs the passes of at most this level (docs/passes.md describes the levels).
        required_pass: names of passes that run at any level, unless they are disabled.
        disabled_pass: names of passes that do not run.
        config: values of registered options, by key.
        instruments: called around every pass.
        diag_ctx: collects the diagnostics of passes; None: they are logged.

    Raises:
        ArgumentError: an argument of another kind.
        UnknownNameError: an unknown pass or option; lists near matches.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        config: Mapping[str, Any] | None = None,
        instruments: Iterable[PassInstrument] | None = None,
        diag_ctx: DiagnosticContext | None = None,
    ) -> None:
        self.opt_level = level("PassContext: 'opt_level'", opt_level)
        required = _names("PassContext: 'required_pass'", required_pass)
        self.disabled_pass = _names("PassContext: 'disabled_pass'", disabled_pass)
        self.required_pass = required - self.disabled_pass
        if both := sorted(required & self.disabled_pass):
            warnings.warn(
                f"PassContext: both required and disabled, and therefore disabled: {', '.join(both)}",
                stacklevel=2,
            )
        expect("PassContext: 'config'", config, Mapping | None, "options by key")
        expect("PassContext: 'diag_ctx'", diag_ctx, DiagnosticContext | None, "a DiagnosticContext")
        self.config = check_config(config)
        self.instruments = as_instruments(instruments)
        self.diag_ctx = diag_ctx
        self.instrument_error: BaseException | None = None
        self.reported_errors: list[Diagnostic] = []
        """Errors that running passes have reported without raising: the passes fail when they end."""

    def derived(self, **changes: Any) -> PassContext:  # noqa: ANN401 - constructor arguments
        """A copy of this context with `changes`, which are arguments of the constructor."""
        same = {
            "opt_level": self.opt_level,
            "required_pass": self.required_pass,
            "disabled_pass": self.disabled_pass,
            "config": self.config,
            "instruments": self.instruments,
            "diag_ctx": self.diag_ctx,
        }
        return PassContext(**{**same, **changes})

    @staticmethod
    def current() -> PassContext:
        """The innermost context that this thread has entered, or the thread's default context."""
        return _state.stack[-1] if _state.stack else _state.default

    @staticmethod
    def list_configs() -> dict[str, ConfigOption]:
        """All registered config options by key."""
        return {option.key: option for option in config_options()}

    def option(self, key: str) -> Any:  # noqa: ANN401 - the option's own type
        """The value of a config option in this context, or its default."""
        default = config_option(key).default
        return self.config.get(key, default)

    def pass_enabled(self, info: PassInfo) -> bool:
        """True if a pass in a sequence runs (rule 1)."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def note(self, message: str, place: Place = None) -> None:
        """For passes: report a note at the location of an op or value (see `DiagnosticContext`)."""
        report(diagnostic_at("note", message, place))

    def warning(self, message: str, place: Place = None) -> None:
        """For passes: report a warning at the location of an op or value."""
        report(diagnostic_at("warning", message, place))

    def error(self, message: str, place: Place = None) -> None:
        """For passes: report an error and continue. The pass fails when it ends, with all errors that it reported."""
        self.reported_errors.append(diagnostic_at("error", message, place))

    def __enter__(self) -> PassContext:
        self._enter_instruments()
        _state.stack.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not _state.stack or _state.stack[-1] is not self:
            raise RelaxError("a PassContext is left that is not the current one of this thread")
        _state.stack.pop()
        self._exit_instruments()

    def override_instruments(self, instruments: Iterable[PassInstrument] | None) -> None:
        """Exit the current instruments and enter these instead (rules 2 and 3)."""
        self._exit_instruments()
        self.instruments = as_instruments(instruments)
        self._enter_instruments()

    def before_pass(self, module: IRModule, info: PassInfo, ask: bool = True) -> bool:
        """True if the instruments let the pass run; in that case ``run_before_pass`` has been called (rule 4).

        `ask` is false for a pass that runs because another one requires it: ``should_run`` is not called.
        """
        try:
            if ask and info.name not in self.required_pass:
                answers = [i.should_run(module, info) for i in self.instruments]
                if not all(answers):
                    return False
            for instrument in self.instruments:
                instrument.run_before_pass(module, info)
        except BaseException as error:
            self.instrument_error = error
            raise
        return True

    def after_pass(self, module: IRModule, info: PassInfo) -> None:
        """Call ``run_after_pass`` of the instruments, after a pass has succeeded."""
        try:
            for instrument in self.instruments:
                instrument.run_after_pass(module, info)
        except BaseException as error:
            self.instrument_error = error
            raise

    def _enter_instruments(self) -> None:
        entered: list[PassInstrument] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = []
            for instrument in entered:
                instrument.exit_pass_ctx()
            raise

    def _exit_instruments(self) -> None:
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise


def _names(what: str, given: Iterable[str] | None) -> frozenset[str]:
    return frozenset(known_name(name) for name in pass_names(what, given))


def as_instruments(given: Iterable[PassInstrument] | None) -> list[PassInstrument]:
    """The instruments of a context; raises `ArgumentError` for anything else."""
    if given is None:
        return []
    expect("PassContext: 'instruments'", given, Iterable, "a list of PassInstruments")
    found = list(given)
    for item in found:
        expect(
            "PassContext: 'instruments': an entry",
            item,
            PassInstrument,
            "a PassInstrument (@pass_instrument)",
        )
    return found


_state = _ThreadState()


# Decisions about loop annotations, and their reasons: the records, and the text of ``relax-opt --explain-loops``.


@dataclass(frozen=True)
class LoopDecision:
    """The decision about a loop of prim func `function`: `honoured` if it runs as `kind` requests, and the `reason`.

    `place` is the source line of the loop. The `reason` of an honoured loop says what its kind amounts to.
    """

    function: str
    place: str
    kind: str
    honoured: bool
    reason: str


@dataclass
class LoopReport:
    """The decisions about annotated loops, in order."""

    decisions: list[LoopDecision] = field(default_factory=list)

    def render(self) -> str:
        """The decisions as text; copies of a loop with equal decisions are merged."""
        decisions = dict.fromkeys(self.decisions)
        lines = [
            f"{d.kind if d.honoured else 'serial':<11}{d.function}: "
            f"{'' if d.honoured else f'T.{d.kind}, but '}{d.reason}, at {d.place}"
            for d in decisions
        ]
        honoured = sum(d.honoured for d in decisions)
        return "\n".join([*lines, f"{honoured} as their kind says, {len(decisions) - honoured} serial"])


_report: ContextVar[LoopReport | None] = ContextVar("loop_report", default=None)


@contextmanager
def explain_loops() -> Iterator[LoopReport]:
    """Collect the decisions about `T.vectorized`, `T.unroll` and `T.parallel` loops in the ``with`` block.

    Example: `with explain_loops() as report: rx.build(module, cache=False)`, then `print(report.render())`. A module
    from the cache has no decisions.
    """
    report = LoopReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def open_report() -> LoopReport | None:
    """The report of the innermost active `explain_loops`; None if there is none."""
    return _report.get()
