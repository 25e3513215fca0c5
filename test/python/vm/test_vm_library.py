"""Bytecode executables as libraries: the kernels are machine code, nothing is compiled at load."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import ArgumentError, ParseError, UnsupportedError
from relax_mlir.export import inspect_library
from relax_mlir.export.metadata import sections
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.tools import run_command, run_driver
from relax_mlir.vm import ExecBuilder, Executable, VirtualMachine, machine

TABLE = np.random.default_rng(1).standard_normal((64, 512), np.float32)
SOURCE = """
@R.function
def main(x: R.Tensor(("n", 64), "float32"), c: R.Tensor((), "bool")):
    y = R.nn.gelu(R.matmul(x, constants["W"]))
    if c:
        z = R.sum(y, axis=[0])
    else:
        z = constants["b"]
    return z, R.unique(R.astype(y, "int32"))

@R.function
def größe(x: R.Tensor(("n",), "float32")):
    return R.call_packed("vm_library.twice", x * 2.0, out=R.Tensor(("n",), "float32"))
"""


@tvm_ffi.register_global_func("vm_library.twice")
def twice(x: tvm_ffi.Tensor) -> tvm_ffi.Tensor:
    return tvm_ffi.from_dlpack(2 * np.from_dlpack(x))


@pytest.fixture(scope="module")
def executable() -> Executable:
    constants = {"W": TABLE, "b": np.arange(512, dtype=np.float32)}
    return rx.build(parse(SOURCE, constants=constants), exec_mode="bytecode")


@pytest.fixture(scope="module", params=["inside", "beside"])
def library(executable: Executable, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return executable.export_library(tmp_path_factory.mktemp("vm") / "model.so", bytecode=request.param)


def check(first: VirtualMachine, second: VirtualMachine) -> None:
    for rows in (0, 1, 5, 37):
        x = np.random.default_rng(rows).standard_normal((rows, 64), np.float32)
        for choice in (True, False):
            results = [vm["main"](x, np.array(choice)) for vm in (first, second)]
            for ours, theirs in zip(*results, strict=True):
                np.testing.assert_array_equal(to_numpy(ours), to_numpy(theirs))
        np.testing.assert_array_equal(to_numpy(first["größe"](x[:, 0].copy())), 4 * x[:, 0])


def test_nothing_is_compiled_at_load(executable: Executable, library: Path) -> None:
    with mock.patch.object(machine, "load_kernels", side_effect=AssertionError("kernels are compiled")):
        loaded = Executable.load(library)
        check(VirtualMachine(loaded), VirtualMachine(executable))
    assert loaded.function_names == executable.function_names
    where = inspect_library(library).facts["bytecode"]
    assert where in ("inside", "model.vmexec")
    assert library.with_suffix(".vmexec").exists() == (where != "inside")


def test_prim_funcs_alone(tmp_path: Path) -> None:
    source = """
@T.prim_func
def double_it(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        B[i] = A[i] * 2.0
"""
    executable = rx.build(parse(source), exec_mode="bytecode")
    loaded = Executable.load(executable.export_library(tmp_path / "prim.so"))
    x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    loaded["double_it"](x, out)
    np.testing.assert_array_equal(out, 2 * x)
    with pytest.raises(ArgumentError, match="read-only"):
        loaded["double_it"](x, np.broadcast_to(out, out.shape))


def test_weights_are_stored_once(executable: Executable, library: Path) -> None:
    """In the library only: the bytecode has just the constants that its instructions use."""
    loaded = Executable.load(library)
    sizes = sorted(each.nbytes for each in loaded.constants if isinstance(each, np.ndarray))
    assert sizes and sizes[-1] <= 512 * 4
    assert inspect_library(library).facts["weights"]["bytes"] >= TABLE.nbytes


def test_relax_run_takes_such_libraries(library: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", TABLE.T[:3].copy())
    np.save(tmp_path / "c.npy", np.array(True))
    words = [
        "--input",
        f"x={tmp_path / 'x.npy'}",
        "--input",
        f"c={tmp_path / 'c.npy'}",
        "-o",
        str(tmp_path / "o.npz"),
    ]
    assert run_driver.run_model(run_command.parser().parse_args([str(library), "main", *words])) == 0
    expected = Executable.load(library)["main"](TABLE.T[:3].copy(), np.array(True))
    np.testing.assert_array_equal(np.load(tmp_path / "o.npz")["result0"], to_numpy(expected[0]))


def test_what_is_refused(executable: Executable, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"'path' is '.*model\.o', expected an ending of \.so"):
        executable.export_library(tmp_path / "model.o")
    with pytest.raises(ArgumentError, match="'bytecode' is 'near', expected 'inside' or 'beside'"):
        executable.export_library(tmp_path / "model.so", bytecode="near")
    builder = ExecBuilder()
    with builder.function("f", num_inputs=1):
        builder.emit_ret(builder.r(0))
    with pytest.raises(UnsupportedError, match="it has no kernels: save writes it"):
        builder.get().export_library(tmp_path / "model.so")
    native = rx.build(parse('@R.function\ndef f(x: R.Tensor(("n",), "float32")):\n    return x + 1.0'))
    path = native.export_library(tmp_path / "native.so")
    with pytest.raises(ParseError, match=r"machine code alone, and no bytecode: tvm_ffi.load_module loads it"):
        Executable.load(path)
    with pytest.raises(ParseError, match="cannot open"):
        Executable.load(tmp_path / "missing.so")
    beside = executable.export_library(tmp_path / "two.so", bytecode="beside")
    loaded = Executable.load(beside)
    with pytest.raises(UnsupportedError, match="its kernels have been loaded from a library"):
        loaded.export_library(tmp_path / "again.so")
    beside.with_suffix(".vmexec").write_bytes(b"")
    with pytest.raises(ParseError, match=r"two\.vmexec: is empty"):
        Executable.load(beside)


def test_damaged_bytecode_is_refused(executable: Executable, tmp_path: Path) -> None:
    path = executable.export_library(tmp_path / "model.so")
    data = bytearray(path.read_bytes())
    (start,) = (offset for name, offset, _ in sections(bytes(data)) if name == ".vmexec_relax")
    data[start + 3] ^= 0x41
    path.write_bytes(data)
    with pytest.raises(ParseError, match=r"model\.so"):
        Executable.load(path)
