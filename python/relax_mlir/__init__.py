"""TVM Relax rebuilt on MLIR, in Python alone.

>>> import relax_mlir as rx
>>> from relax_mlir import op as R
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value, Var
from relax_mlir.ir_module import IRModule
from relax_mlir.target import Target

if TYPE_CHECKING:
    from relax_mlir.runtime.build import CompileReport, build
    from relax_mlir.runtime.executable import Executable

_LAZY = {
    "CompileReport": "relax_mlir.runtime.build",
    "Executable": "relax_mlir.runtime.executable",
    "build": "relax_mlir.runtime.build",
}
"""What needs the runtime is imported when it is asked for: tools that only transform IR start faster."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module has under that name
    if name not in _LAZY:
        raise AttributeError(f"module 'relax_mlir' has no attribute '{name}'")
    return getattr(importlib.import_module(_LAZY[name]), name)


__all__ = [
    "BlockBuilder",
    "CompileReport",
    "Executable",
    "IRModule",
    "Object",
    "Prim",
    "Shape",
    "StructInfo",
    "Target",
    "Tensor",
    "Tuple",
    "Value",
    "Var",
    "build",
]
