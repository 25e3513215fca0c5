"""The bindings of upstream MLIR: the only module of the project that imports them.

The default provider is the pinned ``torch-mlir`` wheel, which carries the complete upstream bindings under
the package name ``torch_mlir``. Set ``RELAX_MLIR_BINDINGS=mlir`` to use an installed ``mlir`` package.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import Any

PROVIDERS = ("torch_mlir", "mlir")


def _provider() -> str:
    name = os.environ.get("RELAX_MLIR_BINDINGS", PROVIDERS[0])
    if name not in PROVIDERS:
        raise ImportError(f"RELAX_MLIR_BINDINGS is {name!r}; known providers: {', '.join(PROVIDERS)}")
    return name


provider = _provider()


def _load(name: str) -> Any:  # noqa: ANN401 - the bindings ship no type stubs
    try:
        return importlib.import_module(f"{provider}.{name}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the MLIR bindings {provider!r} are not installed (looked for {provider}.{name}): "
            "pip install relax-mlir brings torch-mlir; RELAX_MLIR_BINDINGS chooses another provider"
        ) from error


ir = _load("ir")
passmanager = _load("passmanager")
rewrite = _load("rewrite")
PassManager = passmanager.PassManager
ExecutionEngine = _load("execution_engine").ExecutionEngine

DIALECTS = {
    "arith": "dialects.arith",
    "bufferization": "dialects.bufferization",
    "cf": "dialects.cf",
    "ext": "dialects.ext",
    "func": "dialects.func",
    "index": "dialects.index",
    "irdl": "dialects.irdl",
    "linalg": "dialects.linalg",
    "llvm": "dialects.llvm",
    "math": "dialects.math",
    "memref": "dialects.memref",
    "scf": "dialects.scf",
    "tensor": "dialects.tensor",
    "transform_interpreter": "dialects.transform.interpreter",
    "vector": "dialects.vector",
}
"""Modules of the bindings that are imported when they are first used: together they take 0.3 s."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module of the untyped bindings
    if name not in DIALECTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _load(DIALECTS[name])
    return globals()[name]


libraries: ModuleType = _load("_mlir_libs")
"""Where the shared libraries are."""


def version() -> str:
    """Name and version of the installed bindings wheel."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    distribution = {"torch_mlir": "torch-mlir", "mlir": "mlir-python-bindings"}[provider]
    try:
        return f"{distribution} {installed(distribution)}"
    except PackageNotFoundError:
        return f"{distribution} (version unknown)"
