"""The bindings of upstream MLIR: the only module of the project that imports them.

The default provider is the pinned ``torch-mlir`` wheel, which carries the complete upstream bindings under
the package name ``torch_mlir``. Set ``RELAX_MLIR_BINDINGS=mlir`` to use an installed ``mlir`` package instead.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
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

arith = _load("dialects.arith")
bufferization = _load("dialects.bufferization")
cf = _load("dialects.cf")
ext = _load("dialects.ext")
func = _load("dialects.func")
index = _load("dialects.index")
irdl = _load("dialects.irdl")
linalg = _load("dialects.linalg")
llvm = _load("dialects.llvm")
math = _load("dialects.math")
memref = _load("dialects.memref")
scf = _load("dialects.scf")
tensor = _load("dialects.tensor")
vector = _load("dialects.vector")
transform_interpreter = _load("dialects.transform.interpreter")

_libs: ModuleType = _load("_mlir_libs")


def capi_library() -> Path:
    """Path of the shared library that holds MLIR's C API (for ``ctypes``)."""
    folder = Path(str(_libs.__file__)).parent
    found = sorted(folder.glob("lib*CAPI*.so*")) + sorted(folder.glob("lib*CAPI*.dylib"))
    if not found:
        raise ImportError(f"no MLIR C API library in {folder}")
    return found[0]


def version() -> str:
    """Name and version of the installed bindings wheel."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    distribution = {"torch_mlir": "torch-mlir", "mlir": "mlir-python-bindings"}[provider]
    try:
        return f"{distribution} {installed(distribution)}"
    except PackageNotFoundError:
        return f"{distribution} (version unknown)"
