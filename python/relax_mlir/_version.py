"""Versions of this project (installed, or of the imported source tree) and of MLIR's bindings."""

from __future__ import annotations

import functools
import os
import re
from importlib import metadata
from pathlib import Path

_STATED = re.compile(r'^version = "([^"]+)"$', re.MULTILINE)


@functools.cache
def version() -> str:
    """The version in ``pyproject.toml`` of a source tree, else the installed one; ``"unknown"`` if there is neither."""
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
    """The package that provides MLIR's bindings; raises ImportError if the variable names no known one."""
    name = os.environ.get("RELAX_MLIR_BINDINGS", DEFAULT)
    if name not in PROVIDERS:
        raise ImportError(f"RELAX_MLIR_BINDINGS is {name!r}; known providers: {', '.join(PROVIDERS)}")
    return name


@functools.cache
def bindings_version() -> str:
    """Name and version of the wheel of the bindings; does not import them."""
    package = provider()
    # Several wheels contain a package called mlir; searching for them takes longer than everything else here.
    found = ["torch-mlir"] if package == DEFAULT else metadata.packages_distributions().get(package, [])
    try:
        return ", ".join(f"{name} {metadata.version(name)}" for name in found) or f"{package}, from no wheel"
    except metadata.PackageNotFoundError:
        return f"{package} (version unknown)"
