"""OpenBLAS in other settings: exported libraries, bytecode executables, without the library, at all levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import relax_mlir as rx
import warm_process
from programs import numpy
from relax_mlir import op as R
from relax_mlir.contrib import openblas


def product_module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(("n", "n"), "float32")) for name in "xy")
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.exp(R.matmul(x, y)))
    return openblas.use_openblas(bb.get())


def output(program: str, *paths: Path) -> list[str]:
    """The lines that a program prints in a separate process."""
    done = warm_process.run(["-c", program, *map(str, paths)])
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


EXPORTED = """
import sys
import numpy as np
import tvm_ffi

library = tvm_ffi.load_module(sys.argv[1])
x = np.eye(3, dtype="f4")
try:
    library["main"](x, x)
except Exception as error:  # its text is what is tested
    print(error)
from relax_mlir.contrib import openblas

openblas.load()
print(np.from_dlpack(library["main"](x, x)).sum())
"""


def test_exported_libraries(tmp_path: Path) -> None:
    path = tmp_path / "product.so"
    rx.build(product_module()).export_library(str(path))
    first, second = output(EXPORTED, path)
    assert "'relax_mlir.openblas.matmul' is not registered" in first
    assert "relax_mlir.contrib.openblas.load() registers it (pip install relax-mlir[openblas])" in first
    np.testing.assert_allclose(float(second), 3 * np.e + 6, rtol=1e-6)


def test_executables_of_bytecode(tmp_path: Path) -> None:
    path = tmp_path / "product.bin"
    rx.build(product_module(), exec_mode="bytecode").save(str(path))
    program = """
import sys
import numpy as np
import relax_mlir as rx

try:
    rx.VirtualMachine(rx.vm.Executable.load(sys.argv[1]))
except Exception as error:  # its text is what is tested
    print(type(error).__name__, error)
"""
    (line,) = output(program, path)
    assert line.startswith("PackedFunctionError VirtualMachine: 1 packed functions are not registered")
    assert "'relax_mlir.openblas.matmul'" in line
    assert "relax_mlir.contrib.openblas.load() registers it" in line


MISSING = """
import sys
import relax_mlir as rx

sys.modules["scipy_openblas64"] = None  # as if it were not installed
from relax_mlir.contrib import openblas

module = rx.IRModule.parse(open(sys.argv[1]).read())
plain = rx.IRModule.parse(open(sys.argv[2]).read())
for attempt in (
    lambda: rx.build(module),
    lambda: rx.build(module, exec_mode="bytecode"),
    lambda: openblas.use_openblas(plain),
    lambda: rx.transform.Sequential(
        [
            rx.transform.FuseOpsByPattern(("openblas",), annotate_codegen=True),
            rx.transform.RunCodegen(),
        ]
    )(plain),
):
    try:
        attempt()
    except rx.error.RelaxError as error:
        print(str(error).replace(chr(10), " | "))
"""


def test_the_library_is_not_installed(tmp_path: Path) -> None:
    files = [tmp_path / "module.mlir", tmp_path / "plain.mlir"]
    files[0].write_text(str(product_module()))
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "n"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.matmul(x, x))
    files[1].write_text(str(bb.get()))
    lines = output(MISSING, *files)
    assert len(lines) == 4
    for line in lines:
        assert line.startswith(
            "openblas: the package scipy-openblas64 is not installed; pip install relax-mlir[openblas]"
        )
    assert "'relax_mlir.openblas.matmul' is called at " in lines[0]


def test_levels_of_optimisation() -> None:
    module, x = product_module(), np.random.default_rng(0).standard_normal((6, 6), "float32")
    for level in range(4):
        found = numpy(rx.build(module, opt_level=level)["main"](x, x))
        np.testing.assert_allclose(found, np.exp(x @ x), rtol=1e-5)
