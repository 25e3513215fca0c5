"""The library that all tests of `map_batches` run; a process builds it once."""

from __future__ import annotations

from pathlib import Path

import distributed_programs
import pytest
import relax_mlir as rx


@pytest.fixture(scope="session")
def executable() -> rx.Executable:
    """`distributed_programs.PROGRAM`."""
    return distributed_programs.build()


@pytest.fixture(scope="session")
def library(executable: rx.Executable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, exported."""
    return executable.export_library(tmp_path_factory.mktemp("library") / "model.so")


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `worker_hooks.register`."""
    return tmp_path_factory.mktemp("marks")
