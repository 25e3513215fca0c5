"""Code that a process needs once is compiled concurrently with the first module, on a separate thread."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import cold_process
import pytest
import sweep
from relax_mlir.runtime import process_code
from relax_mlir.target import usable_cpus

PROGRAM = """
import threading
import time
import numpy as np
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.runtime import memory, process_codegen, threads
from relax_mlir.target import Target

compile_, names = process_codegen.compile_code, []

def noted(*code):
    names.append(threading.current_thread().name)
    return compile_(*code)

process_codegen.compile_code = noted
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
    return cold_process.run(
        ["-c", PROGRAM.replace("COUNT", str(count))],
        env=os.environ | {"RELAX_MLIR_CACHE": "0", "RELAX_MLIR_COMPILE_THREADS": str(usable_cpus())} | environment,
    )


@pytest.mark.parametrize("count", sweep.quick([1, 2], 2))
def test_compiled_once_beside_the_first_module(count: int) -> None:
    done = run(count)
    assert not done.returncode, done.stderr
    ready, team_ready, *names, left = done.stdout.split()
    assert (ready, team_ready, left) == ("True", str(count > 1), "1")
    assert len(names) == count
    assert set(names) <= {"MainThread", *(f"relax-mlir-compile_{i}" for i in range(usable_cpus() - 1))}


def test_an_error_reaches_the_caller_of_build() -> None:
    done = run(1, RELAX_MLIR_MEMORY_LIMIT="much")
    assert done.returncode == 1
    assert done.stdout.split() == ["False", "False", "1"]
    assert "RELAX_MLIR_MEMORY_LIMIT is 'much', expected a number of bytes" in done.stderr


TRACED = """
import sys
import relax_mlir.runtime
from relax_mlir.lowering.base.support import POOL_STATE, pool_text
from relax_mlir.runtime import process_codegen

text, seen = pool_text(), set()

def note(frame, event, argument):
    name = frame.f_globals.get("__name__", "")
    if name.startswith("relax_mlir."):
        seen.add(name)

sys.setprofile(note)
process_codegen.compile_code(process_codegen.part_of(text, (POOL_STATE,)), 2)
sys.setprofile(None)
print(*sorted(seen))
"""


def test_the_key_depends_on_all_modules_that_make_the_code() -> None:
    done = cold_process.run(["-c", TRACED])
    assert not done.returncode, done.stderr
    found = set(done.stdout.split())
    plain = {
        "relax_mlir.lowering.base.module_parts",
        "relax_mlir.error",
        "relax_mlir.fork_safety",
        "relax_mlir.memory_left",
        "relax_mlir.torch_bridge",
    }  # a record, checks of arguments, a property, locks, checks of memory, and imports: no code depends on them
    assert "relax_mlir.runtime.machine_code" in found
    assert found - plain <= set(process_code.MAKERS)


def test_the_key_changes_with_the_text_and_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("maker")
    file = tmp_path / "maker.py"
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "maker", module)
    monkeypatch.setattr(process_code, "MAKERS", ("maker",))
    keys = []
    for source, text, level in (("a", "t", 0), ("ab", "t", 0), ("ab", "u", 0), ("ab", "u", 2)):
        file.write_text(source)
        keys.append(process_code.key_of(text, ("f",), level, False))
    assert len(set(keys)) == 4
    assert process_code.key_of("u", ("f",), 2, False) == keys[-1]
    assert process_code.key_of("u", ("f",), 2, True) != keys[-1]
