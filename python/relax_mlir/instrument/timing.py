"""Pass instruments that time passes, and that check the module after each."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir.analysis import well_formed
from relax_mlir.error import PassError
from relax_mlir.transform.context import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.registry import PassInfo


# Time per pass, as a tree: composite passes contain the passes that they run, MLIR's own passes included.


@dataclass
class PassTime:
    """One run of one pass; `seconds` includes the children."""

    name: str
    started: float = 0.0
    seconds: float = 0.0
    finished: bool = False
    children: list[PassTime] = field(default_factory=list)

    def stop(self, finished: bool) -> None:
        """End the measurement; `finished` is false if the pass failed."""
        self.seconds = time.perf_counter() - self.started
        self.finished = finished


class PassTimingInstrument(PassInstrument):
    """Measures every pass. The times remain until the context is entered again."""

    def __init__(self) -> None:
        self.passes: list[PassTime] = []
        self._open: list[PassTime] = []

    def enter_pass_ctx(self) -> None:
        self.passes.clear()
        self._open.clear()

    def exit_pass_ctx(self) -> None:
        while self._open:
            self._open.pop().stop(finished=False)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        anonymous = info.composite and not info.text.startswith(info.name)
        entry = PassTime(info.name if anonymous else info.text)
        siblings = self._open[-1].children if self._open else self.passes
        siblings.append(entry)
        self._open.append(entry)
        entry.started = time.perf_counter()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._open.pop().stop(finished=True)

    @property
    def total(self) -> float:
        """Seconds in all outermost passes."""
        return sum(entry.seconds for entry in self.passes)

    def render(self) -> str:
        """The tree as text: time, share of the total, pass; empty when nothing ran."""
        if not self.passes:
            return ""
        lines = [f"{'ms':>10}  {'%':>5}  pass"]
        for entry in self.passes:
            lines += self._lines(entry, 0)
        lines.append(f"{self.total * 1e3:10.2f}  {100.0:5.1f}  total")
        return "\n".join(lines) + "\n"

    def _lines(self, entry: PassTime, depth: int) -> list[str]:
        share = 100 * entry.seconds / self.total if self.total else 0.0
        remark = "" if entry.finished else "  (did not finish)"
        lines = [f"{entry.seconds * 1e3:10.2f}  {share:5.1f}  {'  ' * depth}{entry.name}{remark}"]
        for child in entry.children:
            lines += self._lines(child, depth + 1)
        return lines


# Check the numbered invariants of `relax_mlir.analysis.well_formed` after every pass.


class WellFormed(PassInstrument):
    """Raises `PassError` with the violations after the first pass that causes any; also checks the input."""

    def __init__(self) -> None:
        self._input_checked = False

    def enter_pass_ctx(self) -> None:
        self._input_checked = False

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self._input_checked:
            self._check(mod, info, "its input is not well-formed")
            self._input_checked = True

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self._check(mod, info, "it left a module that is not well-formed")

    def _check(self, mod: IRModule, info: PassInfo, message: str) -> None:
        violations = well_formed.check(mod.mlir)
        if violations:
            raise PassError(info.name, message, violations)
