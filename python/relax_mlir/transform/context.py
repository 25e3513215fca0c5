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

import threading
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from relax_mlir.diagnostics import report
from relax_mlir.error import Diagnostic, RelaxError, expect
from relax_mlir.instrument.pass_instrument import PassInstrument
from relax_mlir.transform.config import ConfigOption, check_config, config_option, config_options
from relax_mlir.transform.diagnostic_context import DiagnosticContext, Place, diagnostic_at
from relax_mlir.transform.info import PassInfo, known_name, level, pass_names

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule


class _ThreadState(threading.local):
    """The contexts that this thread has entered, and its default context."""

    def __init__(self) -> None:
        self.default = PassContext()
        self.stack: list[PassContext] = []


class PassContext:
    """Options under which passes run; ``with`` makes it the current one of this thread.

    Args:
        opt_level: 0 to 3; a sequence runs the passes of at most this level (docs/passes.md has a table for `build`).
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
