"""Weights in a safetensors file next to the library."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import bare_python
import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import safetensors.numpy
from relax_mlir.error import ArgumentError
from relax_mlir.export import inspect_library
from relax_mlir.export.compiled_code import ALIGNMENT, WeightsLayout, safetensors_header
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

TABLE = np.repeat(np.arange(16384, dtype=np.float32)[:, None], 1024, axis=1)
SOURCE = """
@R.function
def main(i: R.Tensor(("n",), "int64")):
    return R.take(constants["W"], i, axis=0)

@R.function
def product(x: R.Tensor(("n", 33), "float32")):
    return R.matmul(x, constants["B"]) + constants["b"]
"""
CONSTANTS = {
    "W": TABLE,
    "B": np.random.default_rng(0).standard_normal((33, 20), np.float32),
    "b": np.arange(20, dtype=np.float32),
}

CHILD = """
import os, sys
import numpy as np
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
library = tvm_ffi.load_module(sys.argv[1])
loaded = resident()
assert loaded - before < 4 << 20, (before, loaded)
row = np.from_dlpack(library.main(tvm_ffi.from_dlpack(np.array([5], np.int64))))
assert row[0, 0] == 5.0 and resident() - loaded < 8 << 20
np.save(sys.argv[2], np.from_dlpack(library.product(tvm_ffi.from_dlpack(np.load(sys.argv[2])))))
assert not [name for name in os.listdir("/proc/self/fd") if "safetensors" in os.path.realpath("/proc/self/fd/" + name)]
"""
FAILS = """
import sys
import numpy as np
try:
    tvm_ffi.load_module(sys.argv[1]).main(tvm_ffi.from_dlpack(np.zeros(1, np.int64)))
except RuntimeError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def executable() -> rx.Executable:
    return rx.build(parse(SOURCE, constants=CONSTANTS), cache=False)


@pytest.fixture(scope="module")
def library(executable: rx.Executable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return executable.export_library(tmp_path_factory.mktemp("beside") / "a model.so", weights="beside")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "packages"
    bare_python.make_packages(folder)
    return folder


def test_they_are_mapped(executable: rx.Executable, library: Path, packages: Path, tmp_path: Path) -> None:
    file = library.with_name("a model.safetensors")
    assert {path.name for path in library.parent.iterdir()} == {library.name, file.name}
    assert library.stat().st_size < 1 << 20 < TABLE.nbytes < file.stat().st_size
    x = np.random.default_rng(1).standard_normal((5, 33), np.float32)
    np.save(tmp_path / "x.npy", x)
    bare_python.run(packages, CHILD, str(library), str(tmp_path / "x.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), to_numpy(executable["product"](x)))


def test_the_file_is_one_of_safetensors(library: Path) -> None:
    file = library.with_name("a model.safetensors")
    found = safetensors.numpy.load_file(file)
    kept = [array for name, array in found.items() if name.startswith("constant.")]
    assert any(np.array_equal(array, TABLE) for array in kept)
    facts = inspect_library(library).facts["weights"]
    assert facts["file"] == file.name
    with safetensors.safe_open(file, "numpy") as opened:
        assert opened.metadata() == {"made_by": "relax-mlir", "sha256": facts["sha256"]}
    assert "bytes in a model.safetensors" in str(inspect_library(library))


def test_a_missing_or_foreign_file_is_named(library: Path, packages: Path, tmp_path: Path) -> None:
    moved = tmp_path / "a model.so"
    moved.write_bytes(library.read_bytes())
    file = moved.with_name("a model.safetensors")
    data = library.with_name(file.name).read_bytes()
    said = bare_python.run(packages, FAILS, str(moved))
    assert said == (
        f"the weights of the library cannot be opened: {file}; "
        "put the file that export_library has written beside the library\n"
    )
    for other in (b"", data[:-1], data + b"\0", data.replace(b"relax-mlir", b"relax-nlir", 1)):
        file.write_bytes(other)
        said = bare_python.run(packages, FAILS, str(moved))
        assert said == (
            f"the weights {file} do not belong to this library: their size or header is another; export both again\n"
        )


PROGRAM = r"""
#include <stdio.h>
#include <tvm/ffi/c_api.h>
int __tvm_ffi_main(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
int main(void) {
  int64_t index = 7, size = 1;
  DLTensor tensor = {&index, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, &size, NULL, 0};
  TVMFFIAny argument = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &tensor}, result = {0};
  if (__tvm_ffi_main(NULL, &argument, 1, &result)) return 1;
  DLTensor* row = (DLTensor*)((char*)result.v_obj + sizeof(TVMFFIObject));
  printf("%g\n", ((float*)((char*)row->data + row->byte_offset))[0]);
  TVMFFIObjectDecRef(result.v_obj);
  return 0;
}
"""


def test_a_program_finds_them_beside_itself(executable: rx.Executable, tmp_path: Path) -> None:
    """Also if the program is found along PATH, from another folder."""
    import tvm_ffi

    executable.export_library(tmp_path / "model.a", weights="beside")
    (tmp_path / "main.c").write_text(PROGRAM)
    include = [f"-I{path}" for path in tvm_ffi.libinfo.include_paths()]
    folder = Path(tvm_ffi.libinfo.find_libtvm_ffi()).parent
    command = [
        "cc",
        "-o",
        "program",
        "main.c",
        *include,
        "model.a",
        f"-L{folder}",
        "-ltvm_ffi",
        "-lm",
        "-ldl",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    for name in (str(tmp_path / "program"), "program"):
        done = subprocess.run(
            [name],
            cwd="/",
            env={**os.environ, "PATH": str(tmp_path), "LD_LIBRARY_PATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "7\n"


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int8", "uint16", "bool", "complex64"])
def test_headers_are_aligned_and_without_gaps(dtype: str, tmp_path: Path) -> None:
    arrays = [np.ones(shape).astype(getattr(ml_dtypes, dtype, dtype)) for shape in ((3, 5), (), (0, 4), (64,))]
    layout = WeightsLayout.of([arrays])
    header = safetensors_header(layout)
    assert len(header) % ALIGNMENT == 0
    (tmp_path / "x.safetensors").write_bytes(header + bytes(layout.size))
    with safetensors.safe_open(tmp_path / "x.safetensors", "numpy") as opened:
        assert {name for name in opened.keys() if name.startswith("constant.")}  # noqa: SIM118 - no mapping


def test_another_word_is_refused(executable: rx.Executable, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="'weights' is 'inside', expected 'embed' or 'beside'"):
        executable.export_library(tmp_path / "x.so", weights="inside")
