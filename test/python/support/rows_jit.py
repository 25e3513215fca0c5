"""Compile modules at level V for tests: `jit.Compiled`, with every function made callable."""

from __future__ import annotations

import jit
import sweep
from relax_mlir.mlir import func, ir


class Compiled(jit.Compiled):
    """A compiled module; ``compiled(name, *arrays)`` calls a function.

    `build` runs LLVM's optimisations only on code that gains from them. Here, full sweeps run them.
    """

    def __init__(self, module: ir.Module) -> None:
        for function in module.body.operations:
            if isinstance(function, func.FuncOp):
                function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get(module.context)
        super().__init__(module, 2 if sweep.ALL else 0)
