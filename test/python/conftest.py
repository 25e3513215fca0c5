"""Settings of all tests: they share a separate cache of compiled modules, and the slowest files run first."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# References are small matmuls: NumPy's threads would only wait for each other and for other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The duration of an example depends on the load of the machine.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

FOLDER = Path(__file__).parent
SLOWEST: tuple[str, ...] = (
    "advice/test_advice.py",
    "frontend/torch/test_language_models.py",
    "fuzz/test_mutants.py",
    "ops/test_empty_arrays.py",
    "ops/test_unknown.py",
    "test_docs.py",
    "test_benchmarks.py",
    "lowering/test_gemm.py",
    "lowering/test_window_kernels.py",
    "lowering/test_masked_features.py",
    "export/test_encoder_everywhere.py",
    "conformance/test_onnx_suites.py",
    "lowering/test_instructions.py",
    "runtime/test_levels.py",
    "frontend/onnx/test_text_models.py",
    "tools/test_tune_command.py",
    "tuning/test_tune.py",
    "tuning/test_dask_workers.py",
    "tuning/test_tiled_schedule.py",
    "frontend/torch/test_torch_elementwise.py",
    "script/test_tir_programs.py",
    "frontend/onnx/test_audio_models.py",
    "frontend/torch/test_vision_models.py",
    "strategy/test_windows.py",
    "topi/test_topi_manipulate.py",
    "passes/test_passes_and_effects.py",
)
"""The slowest files, in this order: a worker takes whole files, so none of these should be the last."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--both-modes",
        action="store_true",
        help="run each built module as bytecode, too, and compare the results",
    )
    parser.addoption(
        "--opt-level",
        type=int,
        choices=range(4),
        help="build all modules at this level, where tests name none",
    )


def parts_folder() -> Path | None:
    """The folder in the virtual environment of this user that caches compilation units, per version of the compiler."""
    folder = Path(sys.prefix) / "relax-mlir-parts"
    owner = (folder if folder.exists() else folder.parent).stat().st_uid
    return folder if sys.prefix != sys.base_prefix and owner == os.geteuid() else None


def pytest_configure(config: pytest.Config) -> None:
    # Tests that wait for garbage collect it explicitly: more frequent collection takes 1 % of their time.
    gc.set_threshold(50_000, 20, 50)
    if not hasattr(config, "workerinput"):
        # Workers and their child processes inherit it through the environment; it starts empty, so that everything is
        # compiled.
        folder = tempfile.TemporaryDirectory(prefix="relax-mlir-tests-", ignore_cleanup_errors=True)
        os.environ["RELAX_MLIR_CACHE"], os.environ["RELAX_MLIR_CACHE_DIR"] = "1", folder.name
        config.add_cleanup(folder.cleanup)
        if parts := parts_folder():
            os.environ.setdefault("RELAX_MLIR_PARTS_DIR", str(parts))
        if config.getoption("numprocesses", None):  # a worker has a CPU: more threads would wait
            os.environ.setdefault("RELAX_MLIR_COMPILE_THREADS", "1")
    if config.getoption("--both-modes"):
        from both_modes import install

        install()
    level = config.getoption("--opt-level")
    if level is not None:
        from relax_mlir.transform import PassContext

        PassContext.current().opt_level = level


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first; the order is kept otherwise."""
    missing = [name for name in SLOWEST if not (FOLDER / name).exists()]
    if missing:
        raise pytest.UsageError(f"conftest.py: SLOWEST names files that are not there: {', '.join(missing)}")
    rank = {FOLDER / name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture
def warm_measurers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Child processes that measure candidates of tuning are forked."""
    import warm_measuring
    from relax_mlir.tuning.measure import MeasureProcess

    monkeypatch.setattr(MeasureProcess, "_start", warm_measuring.start)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Imported modules and collected tests are never garbage: exclude them from collection from here on."""
    gc.disable()
    try:
        collected = yield
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()
    return collected


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Modules imported by a file, and its caches, are kept, too: exclude them from collection in later tests."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            gc.collect()
            gc.freeze()
