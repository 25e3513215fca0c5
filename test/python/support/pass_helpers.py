"""Small modules and instruments for the tests of the pass infrastructure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.instrument import PassInstrument
from relax_mlir.mlir import ir
from relax_mlir.transform import PassInfo, module_pass

TWO_ADDS = """
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""


def parse(text: str = TWO_ADDS, unregistered: bool = False) -> ir.Module:
    """A module in a new context."""
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = unregistered
    return ir.Module.parse(text, context)


class Recorder(PassInstrument):
    """Records every call in `events`; raises in the method named by `fail`; returns `answer` from should_run."""

    def __init__(self, tag: str, events: list[str], fail: str = "", answer: bool = True) -> None:
        self.tag, self.events, self.fail, self.answer = tag, events, fail, answer

    def _note(self, method: str, info: PassInfo | None = None) -> None:
        self.events.append(f"{self.tag} {method}" + (f" {info.name}" if info else ""))
        if self.fail == method:
            raise RuntimeError(f"{self.tag} fails in {method}")

    def enter_pass_ctx(self) -> None:
        self._note("enter")

    def exit_pass_ctx(self) -> None:
        self._note("exit")

    def should_run(self, module: ir.Module, info: PassInfo) -> bool:
        self._note("should_run", info)
        return self.answer

    def run_before_pass(self, module: ir.Module, info: PassInfo) -> None:
        self._note("before", info)

    def run_after_pass(self, module: ir.Module, info: PassInfo) -> None:
        self._note("after", info)


def logging_pass(name: str, events: list[str], opt_level: int = 0, required: tuple[str, ...] = ()) -> Any:
    """A module pass that only writes its name to `events`."""

    @module_pass(name=name, opt_level=opt_level, required=required)
    def work(module: ir.Module, ctx: object) -> None:
        events.append(name)

    return work


def failing_pass(error: Callable[[], Exception]) -> Any:
    """A module pass that erases everything and then raises."""

    @module_pass(name="failing")
    def work(module: ir.Module, ctx: object) -> None:
        for op in list(module.body.operations):
            op.operation.erase()
        raise error()

    return work
