"""Pass ``print-ir``: print the module between two passes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.error import RelaxError
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext


@dataclass(frozen=True)
class PrintIR(ModulePass):
    """Print the module to stderr, as script if possible, else as MLIR, without changing it.

    `header`: a line printed above it. Follows Relax's ``PrintIR``.
    """

    name: ClassVar[str] = "print-ir"
    header: str = ""

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        shown = IRModule(module)
        try:
            text = shown.script()
        except RelaxError:  # such as module attributes that are no dictionary
            text = shown.asm()
        heading = f"# {self.header}\n" if self.header else ""
        print(f"{heading}{text.rstrip()}", file=sys.stderr)
