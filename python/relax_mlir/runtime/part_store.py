"""A directory of the code of parts, for those who compile modules that change little from run to run.

The cache of compiled modules knows whole modules, and nothing of one that was compiled by other sources of this
project. Here a part is known by its own text, and by the sources that make code of it (`code_makers`).
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
"""The environment variable that names the directory; without it nothing is kept."""

_PART = "part-"
"""How the names of entries begin."""


def load(key: str) -> bytes | None:
    """The code of a part; `key` says what the part is, and how it is compiled."""
    folder = os.environ.get(DIRECTORY)
    return cache_store.load(f"{_PART}{identity(key)}", Path(folder)) if folder else None


def store(key: str, code: bytes) -> None:
    """Keep the code of a part; see `load`."""
    if folder := os.environ.get(DIRECTORY):
        cache_store.store(f"{_PART}{identity(key)}", code, Path(folder))


def identity(key: str) -> str:
    """A hash of a part's key (see `load`), and of what makes code of parts in this process."""
    return hashlib.sha256(f"{_makers()} {key}".encode()).hexdigest()


@functools.cache
def _makers() -> str:
    """A hash of what makes code of a text in this process."""
    facts = (*machine(), sources_of(PART_MAKERS), sources_in(PART_PACKAGES), *LLVM_OPTIONS)
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()
