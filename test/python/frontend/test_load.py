"""`relax_mlir.load`: files of all kinds as modules."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import torch
import tvm_ffi
from onnx import TensorProto, helper, save
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, ParseError, UnknownNameError
from relax_mlir.frontend.load import _without_log


def scaled() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 64), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.multiply(x, bb.const(np.full(64, 3, "float32"))))
    return bb.get()


SCRIPT = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Doubled:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32")) -> R.Tensor(("n", 64), "float32"):
        return R.add(x, x)

Other = Doubled.clone()
"""


def result(module: rx.IRModule) -> np.ndarray:
    x = np.arange(128, dtype="float32").reshape(2, 64)
    return np.from_dlpack(rx.build(module)["main"](x)) / np.maximum(x, 1)


def test_ir_saved_modules_bytecode_and_python(tmp_path: Path) -> None:
    module = scaled()
    module.save(tmp_path / "model.rx")
    (tmp_path / "model.mlir").write_text(module.asm(elide_above=None))
    with open(tmp_path / "model.mlirbc", "wb") as stream:
        module.mlir.operation.write_bytecode(stream)
    (tmp_path / "model.py").write_text(SCRIPT)
    for name, factor in (("model.rx", 3), ("model.mlir", 3), ("model.mlirbc", 3), ("model.py:Doubled", 2)):
        found = result(rx.load(tmp_path / name))
        np.testing.assert_array_equal(found.reshape(-1)[1:], np.full(127, factor, "float32"))


def test_models_of_onnx_and_torch(tmp_path: Path) -> None:
    shape = ["n", 64]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        "doubled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    save(helper.make_model(graph), tmp_path / "model.onnx")

    class Doubled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + x

    sizes = {"x": {0: torch.export.Dim("n")}}
    program = torch.export.export(Doubled(), (torch.ones(3, 64),), dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "model.pt2")
    for name in ("model.onnx", "model.pt2"):
        module = rx.load(tmp_path / name)
        x = np.arange(128, dtype="float32").reshape(2, 64)
        found = rx.build(module)["main"](x)
        found = found[0] if isinstance(found, tuple | tvm_ffi.Array) else found
        np.testing.assert_array_equal(np.from_dlpack(found), 2 * x)
        assert re.search(r"dynamic  \w+\n", str(module.summary()))
    for name in ("damaged.onnx", "damaged.pt2"):
        (tmp_path / name).write_bytes(b"PK this is no model")
        with pytest.raises(ParseError, match=name):
            rx.load(tmp_path / name)


def test_logs_are_as_before() -> None:
    """Also where two threads read files at a time."""
    logger = logging.getLogger("torch.export")
    before = logger.level, list(logger.filters)
    first, second = _without_log(logger.name), _without_log(logger.name)
    for each in (first, second):
        each.__enter__()
        assert not logger.filter(logging.makeLogRecord({}))
    for each in (first, second):
        assert not logger.filter(logging.makeLogRecord({}))
        each.__exit__(None, None, None)
    assert (logger.level, logger.filters) == before


def test_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SCRIPT)
    (tmp_path / "broken.mlirbc").write_bytes(b"ML\xefR cut off")
    (tmp_path / "text.mlir").write_text("no module")
    with pytest.raises(ParseError, match="there is no such file"):
        rx.load(tmp_path / "missing.mlir")
    with pytest.raises(ArgumentError, match="defines 2 modules; say which"):
        rx.load(tmp_path / "model.py")
    with pytest.raises(UnknownNameError, match="Trebled"):
        rx.load(f"{tmp_path}/model.py:Trebled")
    with pytest.raises(ParseError, match="no MLIR bytecode that can be read"):
        rx.load(tmp_path / "broken.mlirbc")
    with pytest.raises(ParseError, match="not a valid module"):
        rx.load(tmp_path / "text.mlir")
    with pytest.raises(ArgumentError, match="'path'"):
        rx.load(3)  # type: ignore[arg-type]  # tested here
