"""The bindings of upstream MLIR: the only module of the project that imports them.

The default provider is the pinned ``torch-mlir`` wheel, which carries the complete upstream bindings under
the package name ``torch_mlir``. Set ``RELAX_MLIR_BINDINGS=mlir`` to use an installed ``mlir`` package.

The bindings carry no types: the ``.pyi`` files beside this one do, for the parts that the project uses.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from relax_mlir import _version

provider = _version.provider()


def _load(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"{provider}.{name}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the MLIR bindings {provider!r} are not installed (looked for {provider}.{name}): "
            "pip install relax-mlir brings torch-mlir; RELAX_MLIR_BINDINGS chooses another provider"
        ) from error


def extension(name: str) -> ModuleType:
    """A module that the provider has beside MLIR's own bindings, ``dialects.torch``. Raises ImportError."""
    return _load(name)


DIALECTS = {
    "arith": "dialects.arith",
    "bufferization": "dialects.bufferization",
    "cf": "dialects.cf",
    "ext": "dialects.ext",
    "func": "dialects.func",
    "irdl": "dialects.irdl",
    "linalg": "dialects.linalg",
    "llvm": "dialects.llvm",
    "math": "dialects.math",
    "memref": "dialects.memref",
    "scf": "dialects.scf",
    "tensor": "dialects.tensor",
    "vector": "dialects.vector",
}
"""Modules of the bindings that are imported when they are first used: together they take 0.3 s."""

if TYPE_CHECKING:  # the stubs beside this file
    from relax_mlir.mlir import arith as arith
    from relax_mlir.mlir import bufferization as bufferization
    from relax_mlir.mlir import cf as cf
    from relax_mlir.mlir import ext as ext
    from relax_mlir.mlir import func as func
    from relax_mlir.mlir import ir as ir
    from relax_mlir.mlir import irdl as irdl
    from relax_mlir.mlir import linalg as linalg
    from relax_mlir.mlir import llvm as llvm
    from relax_mlir.mlir import math as math
    from relax_mlir.mlir import memref as memref
    from relax_mlir.mlir import scf as scf
    from relax_mlir.mlir import tensor as tensor
    from relax_mlir.mlir import vector as vector
    from relax_mlir.mlir.execution_engine import ExecutionEngine as ExecutionEngine
    from relax_mlir.mlir.passmanager import PassManager as PassManager
else:
    ir = _load("ir")
    PassManager = _load("passmanager").PassManager
    ExecutionEngine = _load("execution_engine").ExecutionEngine

    def __getattr__(name: str) -> ModuleType:
        if name not in DIALECTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = _load(DIALECTS[name])
        return globals()[name]


libraries: ModuleType = _load("_mlir_libs")
"""Where the shared libraries are."""


version = _version.bindings_version
