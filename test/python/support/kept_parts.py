"""The caches of compiled code in this process and in the virtual environment, for tests that count compilations."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from relax_mlir.lowering.kernels import library
from relax_mlir.runtime import compile_units
from relax_mlir.runtime.cache_store import LRU


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a new process without a directory of units."""
    monkeypatch.setattr(compile_units, "_kept", LRU(compile_units.KEPT_PARTS))
    monkeypatch.setattr(library, "_kernels", OrderedDict())
    monkeypatch.delenv(compile_units.UNITS_DIRECTORY, raising=False)
