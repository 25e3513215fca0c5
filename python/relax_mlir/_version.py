"""The version of this project: that of the installed package, or of the source tree that is imported."""

from __future__ import annotations

import functools
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
