"""Compile modules at level V for tests: `jit.Compiled`, with every function made callable."""

from __future__ import annotations

import jit
from relax_mlir.mlir import func, ir


class Compiled(jit.Compiled):
    """A compiled module; ``compiled(name, *arrays)`` calls a function."""

    def __init__(self, module: ir.Module) -> None:
        for function in module.body.operations:
            if isinstance(function, func.FuncOp):
                function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get(module.context)
        super().__init__(module)
