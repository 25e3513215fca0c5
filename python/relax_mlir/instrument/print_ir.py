"""Print the module before and after passes, in the manner of ``--mlir-print-ir-*``."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, TextIO

from relax_mlir.instrument.pass_instrument import PassInstrument
from relax_mlir.module_text import DEFAULT, PrintOptions, module_text

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.info import PassInfo


class _Printer(PassInstrument):
    """Shared part: which passes, where to, and how."""

    def __init__(
        self,
        names: Collection[str] | None = None,
        stream: TextIO | None = None,
        options: PrintOptions = DEFAULT,
    ) -> None:
        self.names = None if names is None else frozenset(names)
        self.stream = stream
        self.options = options

    def wants(self, info: PassInfo) -> bool:
        """Passes that only run others are never printed: their parts are."""
        return not info.composite and (self.names is None or info.name in self.names)

    def write(self, text: str) -> None:
        print(text, file=self.stream or sys.stderr)


class PrintBefore(_Printer):
    """Prints the module before every pass, or before those named."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.wants(info):
            self.write(
                f"// -----// IR Dump Before {info.text} //----- //\n{module_text(mod.mlir, self.options)}"
            )


class PrintAfter(_Printer):
    """Prints the module after every pass, or after those named; `on_change` only if the pass changed it."""

    def __init__(
        self,
        names: Collection[str] | None = None,
        stream: TextIO | None = None,
        options: PrintOptions = DEFAULT,
        on_change: bool = False,
    ) -> None:
        super().__init__(names, stream, options)
        self.on_change = on_change
        self._before: list[str] = []

    def enter_pass_ctx(self) -> None:
        self._before.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.on_change and self.wants(info):
            self._before.append(module_text(mod.mlir, self.options))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self.wants(info):
            return
        text = module_text(mod.mlir, self.options)
        if self.on_change and self._before.pop() == text:
            return
        self.write(f"// -----// IR Dump After {info.text} //----- //\n{text}")
