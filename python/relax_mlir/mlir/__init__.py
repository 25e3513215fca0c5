"""The bindings of upstream MLIR: the only module of the project that imports them.

The default provider is the pinned ``torch-mlir`` wheel, which contains the complete upstream bindings in the package
``torch_mlir``. With ``RELAX_MLIR_BINDINGS=mlir`` it is an installed package ``mlir``: bindings of MLIR 23 or newer,
since older ones have no ``dialects.ext`` with traits. MLIR 24 is tested.

The bindings have no type annotations: the ``.pyi`` files in this folder declare those that the project uses.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from relax_mlir import _version

provider = _version.provider()


DIALECTS = {
    "arith": "dialects.arith",
    "bufferization": "dialects.bufferization",
    "cf": "dialects.cf",
    "ext": "dialects.ext",
    "func": "dialects.func",
    "irdl": "dialects.irdl",
    "linalg": "dialects._linalg_ops_gen",
    "llvm": "dialects.llvm",
    "math": "dialects.math",
    "memref": "dialects.memref",
    "scf": "dialects.scf",
    "tensor": "dialects.tensor",
    "vector": "dialects.vector",
}
"""Modules of the bindings that are imported on first use."""

OWN = ("linalg",)
"""Dialects whose module is in this package, and uses that of the bindings."""

MODULES = ("ir", "passmanager", "execution_engine", "_mlir_libs", *DIALECTS.values())
NAMES = ("DynamicAttr", "DynamicOpTrait", "DynamicType", "IsTerminatorTrait")
"""Names that the module ``ir`` must have: the newest of those that define dialects in Python."""


def _load(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"{provider}.{name}")
    except ImportError as error:
        raise _unusable(error) from error


def _unusable(error: Exception | None = None) -> ImportError:
    """The error for an unusable provider: the reason, and a provider that works."""
    spec = importlib.util.find_spec(provider)
    if spec is None:
        reason = f"no package {provider!r} is installed"
    else:
        place = ", ".join(spec.submodule_search_locations or [str(spec.origin)])
        reason = f"package {provider!r} at {place} ({_version.bindings_version()}) "
        lacking = _lacking()
        if MODULES[0] in lacking:
            reason += "does not hold MLIR's bindings"
        else:
            reason += f"lacks {', '.join(lacking)}" if lacking else f"cannot be loaded: {error}"
    return ImportError(
        f"RELAX_MLIR_BINDINGS={provider}: {reason}. relax-mlir needs the complete Python bindings of MLIR 23 or newer; "
        "pip install relax-mlir brings them with torch-mlir, which is used without RELAX_MLIR_BINDINGS"
    )


def _lacking() -> list[str]:
    """The modules and names in use that the provider lacks."""
    with contextlib.suppress(ImportError):  # absent, or it reports the reason when it is used
        importlib.import_module(provider)
    modules = [name for name in MODULES if not _has(name)]
    try:
        bindings = importlib.import_module(f"{provider}.ir")
    except ImportError:  # it is one of the lacking modules, or there is another reason
        return modules
    return modules + [f"ir.{name}" for name in NAMES if not hasattr(bindings, name)]


def _has(name: str) -> bool:
    full = f"{provider}.{name}"
    try:
        return full in sys.modules or importlib.util.find_spec(full) is not None
    except ImportError:  # the package around it
        return False


if provider != _version.DEFAULT and _lacking():  # before half of the project is imported
    raise _unusable()


def extension(name: str) -> ModuleType:
    """A module of the provider in addition to MLIR's own bindings: ``dialects.torch``. Raises ImportError."""
    return _load(name)


if TYPE_CHECKING:  # the stubs in this folder
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
    try:
        ir = _load("ir")
        PassManager = _load("passmanager").PassManager
        ExecutionEngine = _load("execution_engine").ExecutionEngine
    except AttributeError as error:
        raise _unusable(error) from error

    def __getattr__(name: str) -> ModuleType:
        if name not in DIALECTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        own = importlib.import_module(f"{__name__}.{name}") if name in OWN else None
        globals()[name] = own or _load(DIALECTS[name])
        return globals()[name]


libraries: ModuleType = _load("_mlir_libs")
"""The package of the shared libraries."""


def library(name: str) -> Any:  # noqa: ANN401 - the shared libraries are untyped
    """A module in the package of the shared libraries."""
    return importlib.import_module(f"{libraries.__name__}.{name}")


# When the bindings meet an op of a dialect in `OWN`, they import this package's module instead of theirs.
_lookup = library("_mlir").globals
_lookup.dialect_search_modules = [__name__, *_lookup.dialect_search_modules]


version = _version.bindings_version
