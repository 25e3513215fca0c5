"""One thread pool for all code of a process, from any library or the compiler."""

from __future__ import annotations

import ctypes
from pathlib import Path

import bare_python
import cold_process
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ArgumentError
from relax_mlir.ffi import LIMIT_OFFSET, thread_pools
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.tools.run_driver import load_function

SOURCE = '@R.function\ndef {name}(x: R.Tensor(("n", "n"), "float64")):\n    return R.matmul(x, x)'
COMMON = """
import os, sys
import numpy as np, tvm_ffi
def threads():
    return len(os.listdir("/proc/self/task"))
x = np.ones((400, 400))
def check(result):
    assert (np.from_dlpack(result) == 400.0).all()
def load(path, name):
    return getattr(tvm_ffi.load_module(path), name)
teams = lambda: [name for name in tvm_ffi.registry.list_global_func_names() if name.startswith("relax_mlir.team.")]
"""
LIBRARIES = """
before = threads()
for path, name in zip(sys.argv[1:], ("first", "second")):
    function = load(path, name)
    for _ in range(3):
        check(function(tvm_ffi.from_dlpack(x)))
assert len(teams()) == 1, teams()
print(threads() - before)
child = os.fork()  # for which OpenBLAS ends its own threads
if child == 0:
    check(function(tvm_ffi.from_dlpack(x)))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
COMPILER = f"""
import relax_mlir as rx
from relax_mlir.script import parse
def jit():
    check(rx.build(parse({SOURCE.format(name="main")!r}), rx.Target(num_threads=2))["main"](x))
def library():
    check(load(sys.argv[1], "first")(tvm_ffi.from_dlpack(x)))
steps = {{"jit": jit, "library": library}}
for step in sys.argv[2].split():
    steps[step]()
from relax_mlir.runtime.threads import running_threads
assert running_threads() == 1
assert len(teams()) == 1, teams()
print(threads())
if os.fork() == 0:
    jit()
    library()
    os._exit(0)
assert os.wait()[1] == 0
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("libraries")
    target = rx.Target(num_threads=2)
    return [
        str(rx.build(parse(SOURCE.format(name=name)), target).export_library(folder / f"{name}.so"))
        for name in ("first", "second")
    ]


def test_two_libraries_in_a_bare_python(libraries: list[str], tmp_path: Path) -> None:
    bare_python.make_packages(tmp_path / "packages")
    assert int(bare_python.run(tmp_path / "packages", COMMON + LIBRARIES, *libraries)) == 1


@pytest.mark.slow
def test_a_library_beside_the_compiler(libraries: list[str]) -> None:
    """The same number of threads as without the library, in either load order."""
    counts = []
    for order in ("jit jit", "library jit library", "jit library jit"):
        done = cold_process.run(["-c", COMMON + COMPILER, libraries[0], order])
        assert done.returncode == 0, done.stderr
        counts.append(int(done.stdout))
    assert len(set(counts)) == 1, counts


def test_relax_run_limits_the_threads_of_a_library(libraries: list[str]) -> None:
    """Fewer threads than it is compiled for; the limit does not apply to the next library."""
    x = np.ones((400, 400))
    for threads, expected in ((1, 1), (2, 2), (None, 0)):
        function = load_function(libraries[0], "first", threads, profiled=False)
        np.testing.assert_array_equal(to_numpy(function.call(x)), x @ x)
        assert thread_pools() and all(
            ctypes.c_int64.from_address(team + LIMIT_OFFSET).value == expected for team in thread_pools()
        )
    with pytest.raises(ArgumentError, match=r"--threads is 3, and .*first\.so is compiled for 1 to 2"):
        load_function(libraries[0], "first", 3, profiled=False)
