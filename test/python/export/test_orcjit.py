"""Object files without a linker: ``apache-tvm-ffi-orcjit`` loads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
import tvm_ffi_orcjit
from relax_mlir.error import CheckError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

SOURCE = """
@R.function
def layer(x: R.Tensor(("n", 64), "float32")):
    return R.nn.softmax(R.matmul(x, constants["W"]))

@R.function
def fails(x: R.Tensor(("n",), "float32")):
    R.assert_op(R.const(False), [], format="never")
    return x
"""


def test_objects_are_loaded(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((64, 96), np.float32)
    executable = rx.build(parse(SOURCE, constants={"W": weights}), rx.Target(num_threads=2))
    path = executable.export_library(tmp_path / "model.o")
    # Results outlive the last user of the module; their memory returns to its pool.
    library = tvm_ffi_orcjit.default_session().load_module(str(path), keep_module_alive=True)
    for rows in (0, 1, 37, 400):
        x = np.random.default_rng(rows).standard_normal((rows, 64), np.float32)
        result = library.layer(tvm_ffi.from_dlpack(x))
        np.testing.assert_array_equal(to_numpy(result), to_numpy(executable["layer"](x)))
    with pytest.raises(CheckError, match=": never"):
        library.fails(tvm_ffi.from_dlpack(np.zeros(3, np.float32)))
