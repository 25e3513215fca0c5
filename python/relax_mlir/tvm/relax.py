"""TVM's ``relax``: the classes, functions and packages of this project under TVM's names."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from relax_mlir import op, tvm
from relax_mlir.lazy import modules_of
from relax_mlir.tvm import pipelines as pipeline

MODULES = {
    "analysis": "relax_mlir.analysis",
    "block_builder": "relax_mlir.builder",
    "dpl": "relax_mlir.dpl",
    "expr": "relax_mlir.expr",
    "expr_functor": "relax_mlir.expr_functor",
    "frontend": "relax_mlir.tvm.frontend",
    "op": "relax_mlir.op",
    "pipeline": "relax_mlir.tvm.pipelines",
    "transform": "relax_mlir.transform",
}
"""The packages of TVM's ``relax``."""

_INFOS = "relax_mlir.dialects.types"
_ALIASES = {
    "CallableType": (_INFOS, "Callable"),
    "FuncStructInfo": (_INFOS, "Callable"),
    "ObjectStructInfo": (_INFOS, "Object"),
    "PrimStructInfo": (_INFOS, "Prim"),
    "ShapeStructInfo": (_INFOS, "Shape"),
    "ShapeType": (_INFOS, "Shape"),
    "TensorStructInfo": (_INFOS, "Tensor"),
    "TensorType": (_INFOS, "Tensor"),
    "TupleStructInfo": (_INFOS, "Tuple"),
    "VirtualMachine": ("relax_mlir.tvm.runtime", "VirtualMachine"),
    "build": ("relax_mlir.tvm.runtime", "compile"),
    "get_default_pipeline": ("relax_mlir.tvm.pipelines", "get_default_pipeline"),
    "get_pipeline": ("relax_mlir.tvm.pipelines", "get_pipeline"),
    "register_pipeline": ("relax_mlir.tvm.pipelines", "register_pipeline"),
}
"""Names that TVM spells differently: their modules, and their names there."""
_NAMES = modules_of(
    {
        "relax_mlir": ("BlockBuilder", "Executable", "Var"),
        "relax_mlir.op": ("const", "extern_func"),
    }
)
CALLS = (
    *(
        "call_dps_packed",
        "call_inplace_packed",
        "call_packed",
        "call_pure_packed",
        "call_tir",
        "call_tir_inplace",
    ),
    *("invoke_closure", "invoke_pure_closure"),
)
"""The builders whose argument ``out`` has other names in TVM."""
OUT = ("out_sinfo", "out_ty", "sinfo_args", "ty_args")
"""TVM's names of the struct info of a result."""


@functools.cache
def _call(name: str) -> Callable[..., Any]:
    """The builder of a call, which takes TVM's names of the argument ``out``."""
    builder = getattr(op, name)

    @functools.wraps(builder)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the builder
        return builder(*args, **{"out" if key in OUT else key: value for key, value in kwargs.items()})

    return call


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any name of the package
    if name in MODULES:
        return importlib.import_module(MODULES[name])
    if name in _ALIASES:
        module, original = _ALIASES[name]
        return getattr(importlib.import_module(module), original)
    if name in CALLS:
        return _call(name)
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    return getattr(tvm, name)


def __dir__() -> list[str]:
    return sorted({*MODULES, *_ALIASES, *_NAMES, *CALLS, *tvm.HOMES})


__all__ = ["MODULES", "pipeline"]
