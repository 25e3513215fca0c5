"""The cache of compilation units in this process and in the virtual environment, for tests that count compilations."""

from __future__ import annotations

import pytest
from relax_mlir.runtime import compile_parts, part_store
from relax_mlir.runtime.lru import LRU


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a new process without a directory of units."""
    monkeypatch.setattr(compile_parts, "_kept", LRU(compile_parts.KEPT_PARTS))
    monkeypatch.delenv(part_store.DIRECTORY, raising=False)
