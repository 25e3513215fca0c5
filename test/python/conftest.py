"""Settings of all tests: the user's cache of compiled modules is not used, and the slowest files come first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ["RELAX_MLIR_CACHE"] = "0"

FOLDER = Path(__file__).parent
SLOWEST: tuple[str, ...] = (
    "lowering/test_guard_pages.py",
    "tools/test_stock_mlir_opt.py",
    "test_minilm.py",
    "differential/test_differential.py",
    "tools/test_fuzz.py",
    "runtime/test_in_place.py",
    "ops/test_binary.py",
    "runtime/test_cache.py",
    "lowering/test_attention_kernel.py",
    "explicit_memory/test_script.py",
)
"""The files that take longest, in this order: where each worker takes whole files, none of these is the last."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first; the order is kept otherwise."""
    rank = {FOLDER / name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
