"""Code of parts that lies in this process or in the virtual environment: for tests that count what is compiled."""

from __future__ import annotations

import pytest
from relax_mlir.runtime import compile_parts, part_store
from relax_mlir.runtime.lru import LRU


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on it is as in a new process without a directory of parts."""
    monkeypatch.setattr(compile_parts, "_kept", LRU(compile_parts.KEPT_PARTS))
    monkeypatch.delenv(part_store.DIRECTORY, raising=False)
