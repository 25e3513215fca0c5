"""Libraries for AArch64, run by QEMU: results, levels, errors and weights as on this machine.

They need Debian's ``qemu-user`` and ``gcc-aarch64-linux-gnu``, and the FFI's package for AArch64 from the index.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.export import CompiledCode, Linker, cross_build, export_library, inspect_library
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

pytestmark = pytest.mark.slow

COMPILER, EMULATOR, SYSTEM = "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"
needs_emulator = pytest.mark.skipif(
    not (shutil.which(COMPILER) and shutil.which(EMULATOR)) or platform.machine() != "x86_64",
    reason="needs qemu-user and gcc-aarch64-linux-gnu, on x86-64",
)

SOURCE = """
@R.function
def layer(x: R.Tensor(("n", 64), "float32")):
    y = R.nn.gelu(R.matmul(x, constants["W"]) + R.sum(x, axis=[1], keepdims=True))
    for i in R.range(3):
        y = R.nn.softmax(y)
    return R.concat([y, R.cumsum(y, axis=1)], axis=1)
"""
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <tvm/ffi/c_api.h>
int __tvm_ffi_layer(void *, const TVMFFIAny *, int32_t, TVMFFIAny *);
int main(int argc, char **argv) {
  int64_t shape[2] = {atoi(argv[1]), atoi(argv[2])};
  float *x = malloc(sizeof(float) * shape[0] * shape[1] + 1);
  for (int i = 0; i < shape[0] * shape[1]; i++) x[i] = ((i * 7) % 13 - 6) / 8.0f;
  DLTensor tensor = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  TVMFFIAny argument = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &tensor}, result = {0};
  for (int call = 0; call < 3; call++) {
    if (call) TVMFFIObjectDecRef(result.v_obj);
    if (__tvm_ffi_layer(NULL, &argument, 1, &result)) {
      TVMFFIObjectHandle error;
      TVMFFIErrorMoveFromRaised(&error);
      TVMFFIErrorCell *cell = (void *)((char *)error + sizeof(TVMFFIObject));
      fprintf(stderr, "%.*s", (int)cell->message.size, cell->message.data);
      return 3;
    }
  }
  DLTensor *y = (DLTensor *)((char *)result.v_obj + sizeof(TVMFFIObject));
  fwrite(y->data, sizeof(float), y->shape[0] * y->shape[1], stdout);
  TVMFFIObjectDecRef(result.v_obj);
  return 0;
}
"""


@pytest.fixture(scope="module")
def module() -> rx.IRModule:
    weights = np.random.default_rng(0).standard_normal((64, 96), np.float32)
    return parse(SOURCE, constants={"W": weights})


@pytest.fixture(scope="module")
def code(module: rx.IRModule) -> CompiledCode:
    return cross_build(module, "cpu -mcpu=neoverse-n1 -num-threads=2")


@pytest.fixture(scope="module")
def ffi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The FFI's package for AArch64, of the version that is installed."""
    folder = tmp_path_factory.mktemp("ffi")
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 24, 28)]
    wanted = f"apache-tvm-ffi=={tvm_ffi.__version__}"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *platforms]
    done = subprocess.run(
        [*command, "-d", str(folder), wanted], capture_output=True, text=True, timeout=240, check=False
    )
    if done.returncode:
        pytest.skip(f"{wanted} for AArch64 cannot be had: {done.stderr[-300:]}")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder / "tvm_ffi"


class Emulated:
    """A program in C that calls a library."""

    def __init__(self, library: Path, ffi: Path) -> None:
        self.program = library.with_name("program")
        source = library.with_name("program.c")
        source.write_text(PROGRAM)
        folders = [f"-Wl,-rpath,{folder}" for folder in (library.parent, ffi / "lib")]
        links = [str(library), f"-L{ffi / 'lib'}", "-ltvm_ffi", "-lm", *folders]
        subprocess.run([COMPILER, "-o", self.program, source, f"-I{ffi / 'include'}", *links], check=True, timeout=120)

    def run(self, *arguments: int, cpu: str = "max") -> subprocess.CompletedProcess[bytes]:
        words = [EMULATOR, "-cpu", cpu, "-L", SYSTEM, str(self.program), *map(str, arguments)]
        return subprocess.run(words, capture_output=True, timeout=120, check=False)


def given(rows: int) -> np.ndarray[Any, Any]:
    return (((np.arange(rows * 64) * 7) % 13 - 6) / 8).astype(np.float32).reshape(rows, 64)


@needs_emulator
def test_results_and_errors(module: rx.IRModule, code: CompiledCode, ffi: Path, tmp_path: Path) -> None:
    native = rx.build(module)["layer"]
    for weights in ("embed", "beside"):
        folder = tmp_path / weights
        program = Emulated(code.export_library(folder / "model.so", weights=weights), ffi)
        for rows in (0, 1, 5, 37, 200):
            done = program.run(rows, 64)
            assert done.returncode == 0, done.stderr
            found = np.frombuffer(done.stdout, np.float32).reshape(rows, 192)
            np.testing.assert_allclose(found, to_numpy(native(given(rows))), rtol=2e-5, atol=1e-6)
    failed = program.run(2, 63)
    assert failed.returncode == 3
    assert failed.stderr.decode() == (
        "layer: parameter 'x' dimension 1 is 63, expected 64 (expected x: Tensor((n, 64), \"float32\"), got (2, 63))"
    )
    (tmp_path / "beside" / "model.safetensors").unlink()
    assert b"the weights of the library cannot be opened" in program.run(2, 64).stderr


@needs_emulator
def test_levels(module: rx.IRModule, code: CompiledCode, ffi: Path, tmp_path: Path) -> None:
    """Without the half floats of ARMv8.2, the code for the Neoverse is rejected and that for the Cortex selected."""
    alone = Emulated(code.export_library(tmp_path / "one" / "model.so"), ffi)
    refused = alone.run(3, 64, cpu="cortex-a72")
    assert refused.returncode == 3
    assert refused.stderr.decode() == (
        "this CPU lacks what the library is compiled for: cpu -mcpu=neoverse-n1 -num-threads=2"
    )
    levels = [cross_build(module, "cpu -mcpu=cortex-a72"), code]
    path = export_library(levels, tmp_path / "two" / "model.so")
    assert [text.split()[1] for text in inspect_library(path).facts["targets"]] == [
        "-mcpu=neoverse-n1",
        "-mcpu=cortex-a72",
    ]
    both = Emulated(path, ffi)
    results = [both.run(3, 64, cpu=cpu) for cpu in ("cortex-a72", "neoverse-n1")]
    assert [done.returncode for done in results] == [0, 0]
    first, second = (np.frombuffer(done.stdout, np.float32) for done in results)
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_code_for_this_machine_is_the_same(tmp_path: Path) -> None:
    """llvmlite compiles the module and the kernels of its product, each to an object file."""
    pytest.importorskip("llvmlite")
    own = parse("""
@R.function
def main(x: R.Tensor(("n", 64), "float32"), y: R.Tensor((64, "m"), "float32")):
    return R.nn.relu(x @ y)
""")
    target = "cpu -mcpu=x86-64 -num-threads=2"
    crossed = cross_build(own, target)
    assert len(crossed.objects) > 1
    function = tvm_ffi.load_module(str(crossed.export_library(tmp_path / "own.so"))).main
    native = rx.build(own, target)["main"]
    for rows in (0, 1, 5, 200):
        x, y = given(rows), given(64).T.copy()
        found = to_numpy(function(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y)))
        np.testing.assert_array_equal(found, to_numpy(native(x, y)))


def test_zig_links_for_other_machines(code: CompiledCode, module: rx.IRModule, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="needs the extra 'link'")
    zig = (sys.executable, "-m", "ziglang", "cc")
    path = export_library(code, tmp_path / "arm.so", Linker((*zig, "-target", "aarch64-linux-gnu")))
    assert _header(path) == ("ELF64", "AArch64")
    path = export_library(rx.build(module), tmp_path / "own.so", Linker(zig))
    result = tvm_ffi.load_module(str(path)).layer(tvm_ffi.from_dlpack(given(3)))
    np.testing.assert_array_equal(to_numpy(result), to_numpy(rx.build(module)["layer"](given(3))))


def _header(path: Path) -> Sequence[str]:
    done = subprocess.run(["readelf", "-h", str(path)], capture_output=True, text=True, check=True)
    facts = dict(line.strip().split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    return facts["Class"].strip(), facts["Machine"].strip()


def test_what_goes_together(
    module: rx.IRModule, code: CompiledCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "no.so"
    with pytest.raises(ArgumentError, match="one is for x86_64, another one for aarch64: a library has code for one"):
        export_library([rx.build(module, "cpu -mcpu=x86-64"), code], path)
    with pytest.raises(UnsupportedError, match=r"for aarch64, .*rx\.export\.cross_build makes code for it"):
        rx.build(module, "cpu -mcpu=neoverse-n1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"no C compiler for aarch64 .*\(aarch64-linux-gnu-gcc\).*\[link\]"):
        code.export_library(path)
    assert not path.exists()
