"""TVM's packages, classes and functions, for programs that are written for TVM Relax.

``from relax_mlir import tvm`` takes the place of ``import tvm``; `install` lets ``from tvm import relax`` find it, too.
``from relax_mlir.tvm import SeqExpr`` and ``rx.SeqExpr`` are the same; `dir` of `relax_mlir` does not list them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from relax_mlir.error import UnsupportedError
from relax_mlir.lazy import modules_of

if TYPE_CHECKING:
    from relax_mlir.analysis.structural import assert_structural_equal, structural_equal, structural_hash
    from relax_mlir.bytecode.exec_builder import ExecBuilder
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import (
        Binding,
        BindingBlock,
        Call,
        Constant,
        DataflowBlock,
        DataflowVar,
        DynTensorType,
        Expr,
        ExternFunc,
        Function,
        GlobalVar,
        If,
        LocalFunction,
        Loop,
        MatchCast,
        MatchShape,
        Op,
        PrimValue,
        SeqExpr,
        ShapeExpr,
        TupleGetItem,
        VarBinding,
    )
    from relax_mlir.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
    from relax_mlir.te.emit_te import te_tensor
    from relax_mlir.vm.machine import VirtualMachine

HOMES = modules_of(
    {
        "relax_mlir.analysis.structural": ("assert_structural_equal", "structural_equal", "structural_hash"),
        "relax_mlir.bytecode.exec_builder": ("ExecBuilder",),
        "relax_mlir.dialects.types": ("StructInfo",),
        "relax_mlir.expr": (
            *("Binding", "BindingBlock", "Call", "Constant", "DataflowBlock", "DataflowVar", "DynTensorType"),
            *("Expr", "ExternFunc", "Function", "GlobalVar", "If", "LocalFunction", "Loop", "MatchCast"),
            *("MatchShape", "Op", "PrimValue", "SeqExpr", "ShapeExpr", "TupleGetItem", "VarBinding"),
        ),
        "relax_mlir.expr_functor": ("PyExprMutator", "PyExprVisitor", "mutator", "visitor"),
        "relax_mlir.te.emit_te": ("te_tensor",),
        "relax_mlir.vm.machine": ("VirtualMachine",),
    }
)
"""The module of each name."""

FUNCTIONS = modules_of(
    {
        "relax_mlir": ("BlockBuilder", "IRModule"),
        "relax_mlir.tvm.runtime": (
            *("compile", "cpu", "device", "get_global_func", "register_func", "register_global_func"),
        ),
    }
)
"""The modules of TVM's names that `relax_mlir` itself has, or that only this package has."""
MODULES = {
    "ir": "relax_mlir.ir",
    "ir.instrument": "relax_mlir.instrument",
    "ir.transform": "relax_mlir.transform",
    "nd": "relax_mlir.tvm.runtime",
    "relax.analysis": "relax_mlir.analysis",
    "relax.dpl": "relax_mlir.dpl",
    "relax.expr": "relax_mlir.expr",
    "relax.expr_functor": "relax_mlir.expr_functor",
    "relax.frontend": "relax_mlir.tvm.frontend",
    "relax.frontend.nn": "relax_mlir.frontend.nn",
    "relax.frontend.onnx": "relax_mlir.frontend.onnx",
    "relax.frontend.torch": "relax_mlir.tvm.frontend",
    "relax.op": "relax_mlir.op",
    "relax.transform": "relax_mlir.transform",
    "s_tir": "relax_mlir.tir.schedule",
    "script": "relax_mlir.script",
    "te": "relax_mlir.te",
    "tir": "relax_mlir.tir",
    "tirx": "relax_mlir.tir",
    "topi": "relax_mlir.topi",
    "topi.nn": "relax_mlir.topi.nn",
    "transform": "relax_mlir.transform",
}
"""TVM's packages under other names; ``relax``, ``runtime`` and ``target`` are modules of this package."""
UNAVAILABLE = {
    "contrib": "relax_mlir.contrib has third-party libraries",
    "cuda": "the only device is the CPU: tvm.cpu()",
    "meta_schedule": "relax_mlir.tuning measures schedules",
    "metal": "the only device is the CPU: tvm.cpu()",
    "rocm": "the only device is the CPU: tvm.cpu()",
    "rpc": "relax_mlir.tuning and relax_mlir.distributed use Dask workers",
    "vulkan": "the only device is the CPU: tvm.cpu()",
}
"""Names of TVM that do not exist here, and what to use."""
_OWN = ("pipelines", "relax", "runtime", "target")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any name of the package
    if name in _OWN or name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    for homes in (FUNCTIONS, HOMES):
        if name in homes:
            return getattr(importlib.import_module(homes[name]), name)
    if name in UNAVAILABLE:
        raise UnsupportedError(f"tvm.{name} is not available: {UNAVAILABLE[name]}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class _Alias(ModuleType):
    """A module under another name, whose modules may be those of other packages."""

    def __init__(self, name: str, original: str) -> None:
        super().__init__(name)
        self.__dict__["original"] = original
        self.__dict__["__path__"] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any name of the original
        if name.startswith("__"):
            raise AttributeError(name)
        inner = f"{self.__name__.removeprefix('relax_mlir.').removeprefix('tvm.')}.{name}"
        if inner in MODULES:
            return importlib.import_module(f"{__name__}.{inner}")
        return getattr(importlib.import_module(self.__dict__["original"]), name)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__dict__["original"]))


class _Aliases(MetaPathFinder, Loader):
    """Finds ``relax_mlir.tvm.relax.transform`` and the like, and as ``tvm.relax.transform`` after `install`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.removeprefix("relax_mlir.").partition(".")
        here = sys.modules.get(fullname.removesuffix(f".{name}")) is sys.modules[__name__]
        found = package == "tvm" and here and name in MODULES
        return ModuleSpec(fullname, self, is_package=True) if found else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Alias(spec.name, MODULES[spec.name.removeprefix("relax_mlir.").removeprefix("tvm.")])

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.insert(0, _Aliases())


def install() -> ModuleType:
    """Make ``import tvm`` and ``from tvm import relax`` import this package, in this process.

    Raises:
        UnsupportedError: another package called ``tvm`` has been imported.
    """
    here = sys.modules[__name__]
    if sys.modules.setdefault("tvm", here) is not here:
        raise UnsupportedError("install: another package 'tvm' is imported; call install before it is")
    for name in _OWN:
        sys.modules[f"tvm.{name}"] = importlib.import_module(f"{__name__}.{name}")
    return here


__all__ = [
    "Binding", "BindingBlock", "Call", "Constant", "DataflowBlock", "DataflowVar", "DynTensorType",
    "ExecBuilder", "Expr", "ExternFunc", "Function", "GlobalVar", "If", "LocalFunction", "Loop", "MatchCast",
    "MatchShape", "Op", "PrimValue", "PyExprMutator", "PyExprVisitor", "SeqExpr", "ShapeExpr", "StructInfo",
    "TupleGetItem", "VarBinding", "VirtualMachine", "assert_structural_equal", "mutator", "structural_equal",
    "structural_hash", "te_tensor", "visitor",
]  # fmt: skip
