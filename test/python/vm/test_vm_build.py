"""From modules to bytecode: its contents, files of it, and symbols of linear dimensions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, CheckError, RelaxError
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import quoted
from relax_mlir.runtime import to_numpy
from relax_mlir.vm import ExecBuilder, Executable, VirtualMachine

WEIGHT = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)
X = np.random.default_rng(1).standard_normal((7, 40)).astype(np.float32)


def _layer() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 40), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.nn.softmax(R.matmul(x, bb.const(WEIGHT))))
    return bb.get()


@pytest.fixture(scope="module")
def layer() -> Executable:
    return rx.vm.build(_layer())


def test_both_spellings_give_bytecode(layer: Executable) -> None:
    other = rx.build(_layer(), exec_mode="bytecode")
    assert isinstance(other, Executable) and other == layer
    native = to_numpy(rx.build(_layer())["main"](X))
    for function in (layer["main"], VirtualMachine(other)["main"]):
        np.testing.assert_array_equal(to_numpy(function(X)), native)
    assert list(layer) == ["main"] and len(layer) == 1


def test_weights_stay_with_their_kernel(layer: Executable) -> None:
    calls = [line for line in layer.as_text().splitlines() if line.startswith("  call  matmul")]
    assert len(calls) == 1 and "c[" not in calls[0]
    assert layer.kernels is not None and "dense_resource" in layer.kernels.text
    assert any(isinstance(value, np.ndarray) and value.shape == (40, 30) for value in layer.constants)


def test_equal_programs_give_equal_kernels(layer: Executable) -> None:
    """Names of resources are numbered per process; those of kernels are not."""
    other = rx.vm.build(_layer())
    assert other.kernels is not None and layer.kernels is not None
    assert other.kernels.text == layer.kernels.text
    assert "dense_resource<weight0>" in layer.kernels.text and "{-#" not in layer.kernels.text


def test_strings_that_look_like_weights(tmp_path: Path) -> None:
    """Locations in the text of the kernels, before and between weights."""
    text = '{-# dense_resource<w> "x"\n\u00e4'
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 40), "float32"))
    with bb.function("main", [x]):
        R.assert_op(R.max(x) < 1e9, format=text.replace("{", "{{"))
        bb.emit_func_output(R.matmul(R.exp(R.matmul(x, bb.const(WEIGHT))), bb.const(WEIGHT.T.copy())))
    mod = bb.get()

    def move(op: ir.Operation) -> ir.WalkResult:
        op.location = ir.Location.file(text, 1, 2, op.context)
        return ir.WalkResult.ADVANCE

    mod.operation.walk(move)
    built = rx.vm.build(mod)
    assert built.kernels is not None and built.kernels.text.count("dense_resource<weight") == 2
    assert quoted(text)[1:-1] in built.kernels.text
    built.save(tmp_path / "mod.vmexec")
    found = VirtualMachine(Executable.load(tmp_path / "mod.vmexec", trusted=True))["main"](X)
    np.testing.assert_allclose(to_numpy(found), np.exp(X @ WEIGHT) @ WEIGHT.T, rtol=1e-4)


@pytest.mark.parametrize("trusted", [True, False])
def test_files(layer: Executable, tmp_path: Path, trusted: bool) -> None:
    path = tmp_path / "layer.vmexec"
    layer.save(path)
    loaded = Executable.load(path, trusted=trusted)
    assert loaded == layer and loaded.library is None
    found, wanted = (to_numpy(executable["main"](X)) for executable in (loaded, layer))
    if trusted:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_kernels_that_cannot_be_read() -> None:
    ib = ExecBuilder()
    with ib.function("f", num_inputs=1):
        ib.emit_ret(ib.r(0))
    ib.set_kernels("this is no module")
    with pytest.raises(RelaxError, match="VirtualMachine: the kernels of the executable cannot be compiled"):
        VirtualMachine(ib.get())


def test_symbols_of_linear_dimensions() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("4*n", "m + 2"), "float32"))
    s = rx.Var("s", rx.Shape(("k*n",)))
    with bb.function("main", [x, s]):
        bb.emit_func_output(R.full(("n", "m", "k"), 1.0))
    main = rx.vm.build(bb.get())["main"]
    assert to_numpy(main(np.zeros((12, 5), np.float32), (6,))).shape == (3, 3, 2)
    assert to_numpy(main(np.zeros((4, 2), np.float32), (0,))).shape == (1, 0, 0)
    for shape, size in (((11, 5), 6), ((12, 1), 6), ((12, 5), 7), ((0, 5), 0)):
        with pytest.raises(CheckError, match=r"main: parameter '[xs]'"):
            main(np.zeros(shape, np.float32), (size,))


def test_sizes_beyond_64_bits() -> None:
    bb = rx.BlockBuilder()
    s = rx.Var("s", rx.Shape(("n", "m")))
    with bb.function("main", [s]):
        bb.emit_func_output(R.full(("n", "m"), 1.0))
    main = rx.vm.build(bb.get())["main"]
    assert to_numpy(main((0, 2**40))).shape == (0, 2**40)
    for shape in ((2**40, 2**40), (2**62, 2), (2**63 - 1, 1), (3, 2**62)):
        with pytest.raises(CheckError, match=r"main: '4\*m\*n' has more than 64 bits"):
            main(shape)


def test_options() -> None:
    with pytest.raises(ArgumentError, match="exec_mode is 'byte', expected one of 'native', 'bytecode'"):
        rx.build(_layer(), exec_mode="byte")  # type: ignore[call-overload]  # wrong on purpose
    with pytest.raises(ArgumentError, match="a virtual machine profiles any bytecode"):
        rx.build(_layer(), exec_mode="bytecode", profile=True)  # type: ignore[call-overload]  # wrong on purpose
