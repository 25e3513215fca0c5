"""Code that a process needs once is compiled beside the first module, on a thread of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from relax_mlir.target import usable_cpus

PROGRAM = """
import threading
import time
import numpy as np
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.runtime import memory, process_code, threads
from relax_mlir.target import Target

compile_, names = process_code._compile, []

def noted(*code):
    names.append(threading.current_thread().name)
    return compile_(*code)

process_code._compile = noted
builder = rx.BlockBuilder()
x = rx.Var("x", rx.Tensor(("n",), "float32"))
with builder.function("main", [x]):
    builder.emit_func_output(R.exp(x))
module = builder.get()
assert not memory.is_ready() and not threads.is_ready()
try:
    executables = [rx.build(module, Target("cpu", num_threads=COUNT), cache=False) for _ in range(2)]
finally:
    deadline = time.monotonic() + 60
    while threading.active_count() > 1 and time.monotonic() < deadline:
        time.sleep(0.01)  # a thread destroys what LLVM has left
    print(memory.is_ready(), threads.is_ready(), *names, threading.active_count())
for executable in executables:
    np.testing.assert_allclose(np.from_dlpack(executable["main"](np.ones(3, "f4"))), np.exp(np.ones(3)), rtol=1e-6)
"""


def run(count: int, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("COUNT", str(count))],
        env=os.environ | {"RELAX_MLIR_CACHE": "0"} | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("count", [1, 2])
def test_compiled_once_beside_the_first_module(count: int) -> None:
    done = run(count)
    assert not done.returncode, done.stderr
    where = "MainThread" if usable_cpus() == 1 else "relax-mlir-prepare"
    assert done.stdout.split() == ["True", str(count > 1), *[where] * count, "1"]


def test_an_error_reaches_the_caller_of_build() -> None:
    done = run(1, RELAX_MLIR_MEMORY_LIMIT="much")
    assert done.returncode == 1
    assert done.stdout.split() == ["False", "False", "1"]
    assert "RELAX_MLIR_MEMORY_LIMIT is 'much', expected a number of bytes" in done.stderr
