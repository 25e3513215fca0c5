"""TVM Relax rebuilt on MLIR, in Python only.

>>> import relax_mlir as rx
>>> from relax_mlir import op as R

`dir` lists the names to start with (docs/index.md describes them). Names of TVM, such as ``rx.SeqExpr``, are those of
`relax_mlir.tvm`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from relax_mlir import torch_bridge

if TYPE_CHECKING:
    from relax_mlir.builder import BlockBuilder
    from relax_mlir.dialects.types import Callable, Object, Prim, Shape, Tensor, Tuple
    from relax_mlir.dialects.value import Value as Value
    from relax_mlir.dialects.value import Var
    from relax_mlir.dialects.value import var as var
    from relax_mlir.frontend.load import load
    from relax_mlir.ir_module import IRModule
    from relax_mlir.runtime.build import build
    from relax_mlir.runtime.build_setup import CompileReport as CompileReport
    from relax_mlir.runtime.executable import Executable
    from relax_mlir.target import Target
    from relax_mlir.tvm import *  # noqa: F403 - names of TVM

    __version__: str

_HOMES = {
    "BlockBuilder": "relax_mlir.builder",
    "Callable": "relax_mlir.dialects.types",
    "CompileReport": "relax_mlir.runtime.build_setup",
    "Executable": "relax_mlir.runtime.executable",
    "IRModule": "relax_mlir.ir_module",
    "Object": "relax_mlir.dialects.types",
    "Prim": "relax_mlir.dialects.types",
    "Shape": "relax_mlir.dialects.types",
    "Target": "relax_mlir.target",
    "Tensor": "relax_mlir.dialects.types",
    "Tuple": "relax_mlir.dialects.types",
    "Value": "relax_mlir.dialects.value",
    "Var": "relax_mlir.dialects.value",
    "assert_structural_equal": "relax_mlir.analysis.structural",
    "build": "relax_mlir.runtime.build",
    "load": "relax_mlir.frontend.load",
    "structural_equal": "relax_mlir.analysis.structural",
    "structural_hash": "relax_mlir.analysis.structural",
    "te_tensor": "relax_mlir.te.emit_te",
    "var": "relax_mlir.dialects.value",
}
"""Names are imported on first use, so tools that need few of them start faster."""

_LISTED_MODULES = (
    *("analysis", "dpl", "error", "export", "frontend", "op", "profiler", "rewrite", "script"),
    *("strategy", "te", "tir", "topi", "transform", "tuning", "tvm", "vm"),
)
_MODULES = (
    *_LISTED_MODULES,
    *("contrib", "distributed", "expr", "expr_functor", "instrument", "ir", "runtime"),
)
"""Public packages and modules, also imported on first use."""

torch_bridge.install()  # before anything imports tvm_ffi


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any object of the package
    if name == "__version__":
        from relax_mlir._version import version

        globals()[name] = version()
        return globals()[name]
    if name in _MODULES:
        return _imported(f"relax_mlir.{name}")
    if name in _HOMES:
        globals()[name] = getattr(_imported(_HOMES[name]), name)
        return globals()[name]
    if name[:1].isupper() and name in (homes := _imported("relax_mlir.tvm").HOMES):
        globals()[name] = getattr(_imported(homes[name]), name)
        return globals()[name]
    raise _UnknownNameError(name)


class _UnknownNameError(AttributeError):
    """A name that the package does not have. Imports of modules raise it, so only its text looks for near names."""

    def __str__(self) -> str:
        from difflib import get_close_matches

        name = self.args[0]
        known = [*_HOMES, *_MODULES, *_imported("relax_mlir.tvm").HOMES]
        near = get_close_matches(name, known, n=3, cutoff=0.6)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        return f"module 'relax_mlir' has no attribute '{name}'{hint}"


_UnknownNameError.__name__ = _UnknownNameError.__qualname__ = "AttributeError"  # in tracebacks
_UnknownNameError.__module__ = "builtins"


def _imported(name: str) -> ModuleType:
    if name in sys.modules:  # another thread may be importing it: this waits
        return importlib.import_module(name)
    from relax_mlir.lazy import collector_paused
    from relax_mlir.memory_left import IMPORTS, reported, require

    with reported(name), collector_paused():
        require(name, IMPORTS)
        return importlib.import_module(name)


def __dir__() -> list[str]:
    dunder = (name for name in globals() if name.startswith("__"))
    return sorted({*dunder, *__all__, *_LISTED_MODULES})


__all__ = [
    "BlockBuilder", "Callable", "Executable", "IRModule", "Object", "Prim", "Shape", "Target", "Tensor",
    "Tuple", "Var", "__version__", "build", "load",
]  # fmt: skip
