"""Compile hand-written modules of levels T, M and V for the tests of the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from relax_mlir.lowering.llvm.to_llvm import lower_to_llvm
from relax_mlir.mlir import ir
from relax_mlir.runtime import Executable
from relax_mlir.transform import Sequential


def run_passes(module: ir.Module, passes: Sequence[Any]) -> None:
    """Run passes one after the other."""
    Sequential(list(passes)).apply_(module)
    assert module.operation.verify()


def compile_module(
    text: str, constants: Sequence[np.ndarray[Any, Any]] = (), before: Sequence[Any] = (), opt_level: int = 0
) -> Executable:
    """Lower a module (level M or V after the passes `before`) and compile it."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_passes(module, [*before, *lower_to_llvm()])
        return Executable.from_llvm_module(module, constants, opt_level)
