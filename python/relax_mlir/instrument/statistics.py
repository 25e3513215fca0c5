"""Count the ops of the module around every pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.instrument.pass_instrument import PassInstrument
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.info import PassInfo


@dataclass(frozen=True)
class OpCount:
    """Number of ops before and after one run of a pass."""

    name: str
    before: int
    after: int


class PassStatistics(PassInstrument):
    """Number of ops before and after each pass that is not composite."""

    def __init__(self) -> None:
        self.counts: list[OpCount] = []
        self._before: list[int] = []

    def enter_pass_ctx(self) -> None:
        self.counts.clear()
        self._before.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self._before.append(_count(mod.mlir))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self.counts.append(OpCount(info.text, self._before.pop(), _count(mod.mlir)))

    def render(self) -> str:
        """A table: ops before, after, change, pass."""
        lines = [f"{'ops before':>10}  {'after':>8}  {'change':>8}  pass"]
        for count in self.counts:
            change = count.after - count.before
            lines.append(f"{count.before:10d}  {count.after:8d}  {change:+8d}  {count.name}")
        return "\n".join(lines) + "\n"


def _count(module: ir.Module) -> int:
    return len(ops_of(module.operation))
