"""Versions of this project, as installed or of the source tree that is imported, and of MLIR's bindings."""

from __future__ import annotations

import functools
import os
import re
from importlib import metadata
from pathlib import Path

_STATED = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


@functools.cache
def version() -> str:
    """As in ``pyproject.toml`` of a source tree, else as installed; ``"unknown"`` where neither says it."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if project.is_file():
        text = project.read_text(encoding="utf-8")
        if 'name = "relax-mlir"' in text and (found := _STATED.search(text)):
            return found[1]
    try:
        return metadata.version("relax-mlir")
    except metadata.PackageNotFoundError:
        return "unknown"


DEFAULT = "torch_mlir"
PROVIDERS = (DEFAULT, "mlir")
"""The packages that MLIR's bindings may be taken from."""


def provider() -> str:
    """The package that MLIR's bindings are taken from; raises ImportError: the variable names no known one."""
    name = os.environ.get("RELAX_MLIR_BINDINGS", DEFAULT)
    if name not in PROVIDERS:
        raise ImportError(f"RELAX_MLIR_BINDINGS is {name!r}; known providers: {', '.join(PROVIDERS)}")
    return name


@functools.cache
def bindings_version() -> str:
    """Name and version of the wheel of the bindings, which are not imported."""
    package = provider()
    # Several wheels bring a package called mlir; to look for them takes longer than all else here.
    found = ["torch-mlir"] if package == DEFAULT else metadata.packages_distributions().get(package, [])
    try:
        return ", ".join(f"{name} {metadata.version(name)}" for name in found) or f"{package}, from no wheel"
    except metadata.PackageNotFoundError:
        return f"{package} (version unknown)"
