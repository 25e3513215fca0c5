"""Passes by class name, on modules of this project, and combined."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import transform
from relax_mlir.error import ArgumentError
from relax_mlir.transform import generate_constructors, registry


def _module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(R.add(x, R.add(bb.const(np.float32(1)), bb.const(np.float32(2)))))
        bb.emit_func_output(y)
    return bb.get()


def test_every_registered_pass_is_there() -> None:
    for name in registry.PASSES:  # passes of plugins, which other tests load, are also registered
        cls = getattr(transform, registry.class_name(name))
        assert cls is registry.pass_class(name) and registry.class_name(name) in dir(transform)


def test_names_of_relax() -> None:
    for name in (
        "ToNonDataflow",
        "CallTIRRewrite",
        "VMMemoryLower",
        "VMShapeLower",
        "FoldConstant",
        "PrintIR",
    ):
        assert isinstance(getattr(transform, name)(), transform.Pass)
    with pytest.raises(AttributeError, match="has no attribute 'FuseOp'"):
        _ = transform.FuseOp  # type: ignore[attr-defined]  # wrong on purpose


def test_stub_is_current() -> None:
    assert generate_constructors.STUB.read_text(encoding="utf-8") == generate_constructors.stub()


def test_passes_take_and_give_modules() -> None:
    mod = _module()
    steps = [
        transform.FoldConstant(),
        transform.LegalizeOps(),
        transform.ToNonDataflow(),
        transform.CallTIRRewrite(),
    ]
    given = transform.Sequential(steps)(mod)
    assert isinstance(given, rx.IRModule) and "memory.alloc_tensor" in given.script()
    assert "vm.alloc_shape_heap" in transform.VMShapeLower()(transform.VMMemoryLower()(given)).script()
    with pytest.raises(ArgumentError, match=r"pass 'fold-constant': the module is 3 .int., expected an IRModule"):
        transform.FoldConstant()(3)  # type: ignore[type-var]  # wrong on purpose


def test_print_ir(capsys: pytest.CaptureFixture[str]) -> None:
    mod = _module()
    before = mod.script()
    transform.Sequential([transform.PrintIR("before"), transform.FoldConstant(), transform.PrintIR()]).apply_(mod)
    shown = capsys.readouterr().err
    assert shown.startswith(f"# before\n{before.rstrip()}\n") and shown.endswith(f"{mod.script().rstrip()}\n")
    lowered = transform.RelaxToTensors()(_module())
    transform.PrintIR("tensors").apply_(lowered)
    assert capsys.readouterr().err.startswith("# tensors\n") and "linalg" in lowered.asm()
