"""A directory with the code of compilation units, for modules that change little between runs.

The cache of compiled modules contains only whole modules, and nothing compiled by other sources of this project. Here
the key of a unit covers its own text and the sources that generate its code (`code_makers`).
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import machine, sources_in, sources_of
from relax_mlir.runtime.code_makers import PART_MAKERS, PART_PACKAGES
from relax_mlir.runtime.llvm_codegen import LLVM_OPTIONS

DIRECTORY = "RELAX_MLIR_PARTS_DIR"
"""The environment variable with the directory; without it nothing is stored."""

_PART = "part-"
"""The prefix of entry names."""


def load(key: str) -> bytes | None:
    """Return the code of a unit; `key` identifies the unit and its compilation options."""
    folder = os.environ.get(DIRECTORY)
    return cache_store.load(f"{_PART}{identity(key)}", Path(folder)) if folder else None


def store(key: str, code: bytes) -> None:
    """Store the code of a unit; see `load`."""
    if folder := os.environ.get(DIRECTORY):
        cache_store.store(f"{_PART}{identity(key)}", code, Path(folder))


def identity(key: str) -> str:
    """Hash a unit's key (see `load`) together with the code generator of this process."""
    return hashlib.sha256(f"{_makers()} {key}".encode()).hexdigest()


@functools.cache
def _makers() -> str:
    """Hash everything that determines the code generated for a text in this process."""
    facts = (*machine(), sources_of(PART_MAKERS), sources_in(PART_PACKAGES), *LLVM_OPTIONS)
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()
