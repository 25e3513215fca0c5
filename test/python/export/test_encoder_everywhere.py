"""One encoder as a library: the same vectors as in this process, and no leaks.

It runs in C and C++ (the examples, built by their Makefiles), in a virtual environment without this project, by
``relax-run`` and on two workers of Dask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import cold_process
import distributed_programs
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.distributed import map_batches
from relax_mlir.export import inspect_library
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

from examples import minilm

pytestmark = pytest.mark.slow

EXAMPLES = Path(minilm.__file__).parent
TOKENS = ["101", "7592", "2088", "102"]


def run(
    folder: Path, *command: str, code: int = 0, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, built."""
    root = tmp_path_factory.mktemp("built")
    shutil.copytree(EXAMPLES, root / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("c", "cpp"):  # both compile one encoder, as this process does: the tests have a cache
        env = cold_process.environment()
        done = run(root / "examples" / folder, "make", f"PYTHON={sys.executable}", env=env)
        assert "warning" not in done.stderr, done.stderr
    return root / "examples"


@pytest.fixture(scope="module")
def expected() -> list[float]:
    encode = rx.build(minilm.build_encoder(minilm.load_weights(), minilm.load_config()))["main"]
    ids = np.array([list(map(int, TOKENS))], np.int64)
    return [float(each) for each in to_numpy(encode(ids, np.ones_like(ids)))[0, :8]]


def test_the_encoder_in_c(built: Path, expected: list[float]) -> None:
    shape, numbers = run(built / "c", "./encode", *TOKENS).stdout.split("] ")
    assert shape == "[1, 384"
    np.testing.assert_allclose(list(map(float, numbers.split())), expected, atol=6e-7)
    again = run(built / "c", "./encode", "--repeat", "20", *TOKENS).stdout
    assert again == run(built / "c", "./encode", *TOKENS).stdout


def test_the_encoder_in_cpp(built: Path, expected: list[float]) -> None:
    shape, numbers = run(built / "cpp", "./encode", "./encoder.so", *TOKENS).stdout.split("] ")
    assert shape == "[1, 384"
    np.testing.assert_allclose(list(map(float, numbers.split())), expected, rtol=1e-5)
    assert "nothing.so" in run(built / "cpp", "./encode", "./nothing.so", "101", code=1).stderr


BARE = """
import importlib.util, sys
import numpy as np, tvm_ffi
assert importlib.util.find_spec("relax_mlir") is None and importlib.util.find_spec("torch") is None
ids = np.array([[int(token) for token in sys.argv[2:]]])
encode = tvm_ffi.load_module(sys.argv[1]).main
vector = np.from_dlpack(encode(tvm_ffi.from_dlpack(ids), tvm_ffi.from_dlpack(np.ones_like(ids))))
print(*(float(number) for number in vector[0, :8]))
"""


def test_the_encoder_in_a_fresh_environment(built: Path, expected: list[float], tmp_path: Path) -> None:
    """With two packages from the index."""
    run(tmp_path, sys.executable, "-m", "venv", "--without-pip", "fresh")
    python = str(tmp_path / "fresh" / "bin" / "python")
    packages = [f"{name}=={version(name)}" for name in ("apache-tvm-ffi", "numpy")]
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check"]
    run(tmp_path, *pip, "--no-compile", *packages)  # most of their modules are not imported
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (tmp_path / "encode.py").write_text(BARE)
    words = [python, "encode.py", str(built / "cpp" / "encoder.so"), *TOKENS]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(map(float, done.stdout.split())) == expected


def test_the_encoder_by_relax_run(built: Path, expected: list[float], tmp_path: Path) -> None:
    library = built / "cpp" / "encoder.so"
    ids = np.array([list(map(int, TOKENS))])
    names = [each["name"] for each in inspect_library(library).facts["functions"]["main"]["params"]]
    np.savez(tmp_path / "given.npz", **dict(zip(names, (ids, np.ones_like(ids)), strict=True)))
    command = [
        sys.executable,
        "-m",
        "relax_mlir.tools.run_command",
        str(library),
        "main",
    ]
    files = ("--input", str(tmp_path / "given.npz"), "-o", str(tmp_path / "vectors.npz"))
    run(EXAMPLES.parent, *command, *files, env=cold_process.environment())
    assert np.load(tmp_path / "vectors.npz")["result"][0, :8].tolist() == expected


def test_the_encoder_on_two_workers_of_dask(built: Path, expected: list[float], tmp_path: Path) -> None:
    import distributed

    ids = np.array([list(map(int, TOKENS))])
    with (
        distributed_programs.hidden_torch(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        batches = [(np.repeat(ids, count, axis=0), np.ones((count, ids.shape[1]), np.int64)) for count in (1, 2, 3)]
        found = list(map_batches(built / "cpp" / "encoder.so", batches, client))
    for (given, _), vectors in zip(batches, found, strict=True):
        assert vectors.shape == (len(given), 384)
        for vector in vectors:
            np.testing.assert_allclose(vector[:8], expected, atol=6e-7)


def test_a_function_of_any_size_in_c(built: Path) -> None:
    for rows, columns in ((3, 4), (1, 1), (0, 5), (17, 33)):
        text = run(built / "c", "./scale_rows", "./scale_rows.so", str(rows), str(columns)).stdout
        found = np.array([[float(number) for number in line.split()] for line in text.splitlines()])
        x = np.arange(rows * columns, dtype=np.float64).reshape(rows, columns)
        np.testing.assert_array_equal(found.reshape(rows, columns), x * np.arange(1, rows + 1)[:, None])
    done = run(built / "c", "./scale_rows", "./scale_rows.so", "3", "4", "5", code=1)
    assert done.stderr == (
        "ShapeError: scale_rows: parameter 'factor' dimension 0 is 5, but n = 3, taken from parameter 'x' dimension 0 "
        '(expected factor: Tensor((n,), "float32"), got (5,))\n'
    )


SCALE_ROWS = """
@R.function
def scale_rows(x: R.Tensor(("n", "m"), "float32"), factor: R.Tensor(("n",), "float32")):
    return x * R.expand_dims(factor, axis=1)
"""

VALGRIND = ("valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9")


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_finds_no_leaks_and_no_wrong_accesses(built: Path, tmp_path: Path) -> None:
    path = rx.build(parse(SCALE_ROWS), "cpu -mcpu=x86-64-v3").export_library(tmp_path / "scale_rows.so")
    run(built / "c", *VALGRIND, "./scale_rows", str(path), "17", "33")
    run(built / "c", *VALGRIND, "./scale_rows", str(path), "3", "4", "5", code=1)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.skipif(not rx.Target.host().has("avx512f"), reason="code for this CPU runs under valgrind")
def test_a_cpu_that_lacks_something_gets_an_error(built: Path, tmp_path: Path) -> None:
    """Valgrind's CPU has no AVX-512."""
    path = rx.build(parse(SCALE_ROWS), "cpu -mcpu=x86-64-v4").export_library(tmp_path / "scale_rows.so")
    done = run(built / "c", *VALGRIND, "./scale_rows", str(path), "17", "33", code=1)
    assert "RuntimeError: this CPU lacks what the library is compiled for: cpu -mcpu=x86-64-v4\n" in done.stderr
