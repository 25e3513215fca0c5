"""The tables of advice import each other, and the fuzzer's interpreter, by name; equal modules are compiled once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

for _folder in ("fuzz", "advice"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / _folder))


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of compiled modules of this room alone: many rows build the same small module."""
    folder = str(tmp_path_factory.mktemp("cache"))
    with mock.patch.dict(os.environ, {"RELAX_MLIR_CACHE": "1", "RELAX_MLIR_CACHE_DIR": folder}):
        yield
