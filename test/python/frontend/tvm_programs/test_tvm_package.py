"""Programs in the manner of TVM's documentation, with one import changed, and the package `relax_mlir.tvm`."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import tvm
from relax_mlir.error import ArgumentError, DeviceError, RelaxError, UnknownNameError, UnsupportedError

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.fixture(autouse=True)
def _not_installed() -> Iterator[None]:
    """Each test starts, and leaves the process, without a package called ``tvm``."""
    yield
    for name in [name for name in sys.modules if name == "tvm" or name.startswith("tvm.")]:
        del sys.modules[name]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program(program: Path) -> None:
    """Each program compares its results with NumPy's or torch's."""
    runpy.run_path(str(program))
    assert "\ntvm = relax_mlir.tvm.install()\n" in program.read_text(encoding="utf-8")


def test_names() -> None:
    """TVM's names are the objects of this project."""
    assert tvm.relax.BlockBuilder is rx.BlockBuilder and tvm.IRModule is rx.IRModule
    assert tvm.relax.TensorStructInfo is rx.Tensor and tvm.relax.op.add is rx.op.add
    assert tvm.relax.transform.FuseOps is rx.transform.FuseOps and tvm.relax.SeqExpr is tvm.SeqExpr
    assert tvm.ir.transform.Sequential is rx.transform.Sequential and tvm.s_tir.Schedule is not None
    assert tvm.script.tirx.prim_func is tvm.script.tir.prim_func
    assert {"frontend", "VirtualMachine", "call_tir", "SeqExpr"} <= set(dir(tvm.relax))
    with pytest.raises(AttributeError, match="has no attribute 'relay'"):
        tvm.relay  # noqa: B018
    with pytest.raises(AttributeError, match="no_such_name"):
        tvm.relax.no_such_name  # noqa: B018


def test_install_keeps_another_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tvm", ModuleType("tvm"))
    with pytest.raises(UnsupportedError, match="another package 'tvm' is imported"):
        tvm.install()


def test_without_install_there_is_no_tvm() -> None:
    with pytest.raises(ImportError):
        __import__("tvm.relax.transform")


def test_out_has_tvms_names() -> None:
    """Of struct infos that calls return: ``out_ty``, ``out_sinfo``, ``sinfo_args`` and ``ty_args``."""
    bb, info = rx.BlockBuilder(), rx.Tensor(("n",), "float32")
    x = rx.Var("x", info)
    with bb.function("main", [x]):
        y = tvm.relax.call_pure_packed("f", x, ty_args=info)
        z = tvm.relax.call_dps_packed("g", [y], out_sinfo=info)
        assert y.struct_info == z.struct_info == info
        bb.emit_func_output(z)


def test_pipelines() -> None:
    @tvm.relax.register_pipeline("test_only_canonicalize")
    def make(level: int) -> rx.transform.Pass:
        assert level == 2
        return rx.transform.CanonicalizeBindings()

    assert tvm.relax.get_pipeline("test_only_canonicalize", level=2).info.name == "canonicalize-bindings"
    with pytest.raises(ArgumentError, match="'test_only_canonicalize' is registered already"):
        tvm.relax.register_pipeline("test_only_canonicalize")
    with pytest.raises(UnknownNameError, match="did you mean 'zero'"):
        tvm.relax.get_pipeline("zeros")
    assert tvm.relax.get_default_pipeline("llvm").info.name == "relax-to-relax"


def test_tensors() -> None:
    a = tvm.runtime.tensor([[1, 2], [3, 4]])
    assert a.shape == (2, 2) and len(a) == 2 and a.dtype == "int64" and "shape=(2, 2)" in repr(a)
    b = tvm.runtime.empty((2, 2), "int64").copyfrom(a)
    np.testing.assert_array_equal(b.copyto(tvm.cpu()).numpy(), a.asnumpy())
    np.testing.assert_array_equal(np.from_dlpack(tvm.nd.array(b)), [[1, 2], [3, 4]])
    with pytest.raises(ArgumentError, match=r"the source has shape \(3,\), the tensor \(2, 2\)"):
        a.copyfrom(np.ones(3))
    with pytest.raises(DeviceError, match="'cuda:0' is not available; the only device is the CPU"):
        tvm.runtime.tensor([1], device="cuda:0")


def module() -> rx.IRModule:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(rx.op.add(x, x))
    return bb.get()


def test_mistakes_of_machines() -> None:
    vm = tvm.relax.VirtualMachine(tvm.compile(module()), tvm.cpu())
    for call, message in (
        (lambda: vm.invoke_stateful("main"), "'main' has no arguments; set_input gives them"),
        (lambda: vm.get_outputs("main"), "'main' has not been called; invoke_stateful calls it"),
        (lambda: vm.set_input("man"), "did you mean 'main'"),
        (lambda: vm.save_function("main", "s", x=1), "functions take arguments by position"),
        (lambda: vm.time_evaluator("main", number=0), "'number' is 0 and 'repeat' 1, expected at least 1"),
        (lambda: vm.profile("main", np.ones(2, "float32")), "profile=True"),
        (lambda: tvm.relax.VirtualMachine(tvm.compile(module()), "cuda"), "the only device is the CPU"),
        (lambda: tvm.relax.frontend.detach_params(module()), "keep_params_as_input=True"),
        (lambda: tvm.get_global_func("no.such"), "no.such"),
        (lambda: tvm.compile(3), "'mod' is 3"),
        (lambda: tvm.target.Target("nvidia/geforce-rtx-3090"), "is not available; targets are CPUs"),
    ):
        with pytest.raises(RelaxError) as caught:
            call()  # type: ignore[no-untyped-call]
        assert message in str(caught.value)
    assert tvm.get_global_func("no.such", True) is None


def test_pipelines_of_compile() -> None:
    for pipeline in ("zero", None, rx.transform.CanonicalizeBindings()):
        ex = tvm.compile(module(), relax_pipeline=pipeline)
        np.testing.assert_array_equal(ex["main"](np.ones(3, "float32")), [2, 2, 2])
    saved = tvm.relax.VirtualMachine(tvm.compile(module()))
    saved.save_function("main", "quiet", np.ones(2, "float32"), include_return=False)
    assert saved["quiet"]() is None
