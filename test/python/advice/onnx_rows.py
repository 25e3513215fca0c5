"""Advice of the importer of ONNX models: what is wrong, the message, and what follows it."""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnx
import relax_mlir.frontend.onnx as importer
from advice_rows import Rows
from onnx import TensorProto, helper, numpy_helper
from onnx_models import model
from relax_mlir.frontend.onnx import InferenceSession, from_onnx

X = np.linspace(-1, 1, 6, dtype="f4").reshape(3, 2)
AXES = np.array([1])
RELU = "g (float[n, 2] x) => (float[n, 2] y) { y = Relu(x) }"
SUM = "g (float[n, 2] x, int64[1] axes) => (float[n] y) { y = ReduceSum<keepdims = 0>(x, axes) }"
ROUNDS = """g (float[n, 2] x, int64 count) => (float[n, 2] y) {
    yes = Constant<value = bool {1}>()
    y = Loop(count, yes, x) <
        body = b (int64 i, bool c, float[n, 2] before) => (bool d, float[n, 2] after) {
            d = Identity(c)
            axes = AXES
            sums = ReduceSum<keepdims = 1>(before, axes)
            after = Sub(before, sums)
        }
    >
}"""
ROUND_AXES = ROUNDS.replace("AXES", "Identity(i)")
NARROW_SUM = "g (int4[n] x) => (int4[n] y) { y = Add(x, x) }"
SQUEEZE = "g (float[n, m] x) => (float[n] y) { y = Squeeze(x) }"


def without_rank() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")
    return helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y]))


def of_sequence() -> onnx.ModelProto:
    x = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k", 2])
    node = helper.make_node("ConcatFromSequence", ["x"], ["y"], axis=0)
    return helper.make_model(helper.make_graph([node], "g", [x], [y]))


def with_files(use: Callable[[Path], Any]) -> Any:
    """The result of `use` for the path of a model that multiplies by a matrix in the file ``m.data``."""
    proto = model("g (float[n, 2] x) => (float[n, 3] y) { y = MatMul(x, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(X.T.copy(), "w"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        onnx.save(proto, path, save_as_external_data=True, location="m.data", size_threshold=0)
        return use(path)


def without_data(path: Path) -> Any:
    (path.parent / "m.data").unlink()
    return from_onnx(path)


def without_onnx() -> Any:
    with mock.patch.dict("sys.modules", {"onnx": None}):
        return runpy.run_path(str(importer.__file__))


def of_an_older_onnx() -> Any:
    with mock.patch("onnx.defs.onnx_opset_version", lambda: 17):
        return from_onnx(model(RELU))


def session(names: list[str]) -> list[Any]:
    return list(InferenceSession(model(RELU)).run(names, {"x": X}))


TABLE = Rows(
    {
        "not-installed": (without_onnx, r"needs onnx: pip install 'relax-mlir\[onnx\]'"),
        "opset": (of_an_older_onnx, "install a newer onnx"),
        "rank": (lambda: from_onnx(without_rank()), "give its shape"),
        "sequence": (lambda: from_onnx(of_sequence()), "give the shapes of its elements"),
        "external-data": (
            lambda: with_files(lambda path: from_onnx(onnx.load(path, load_external_data=False))),
            "give the path of the model, not the model itself, or load it with onnx.load",
        ),
        "missing-file": (lambda: with_files(without_data), "copy it beside the model"),
        "narrow": (lambda: from_onnx(model(NARROW_SUM)), "cast it to float32 or int8 first"),
        "value": (lambda: from_onnx(model(SUM)), r"give the values of 'axes' as from_onnx\(..., fixed="),
        "value-of-no-input": (lambda: from_onnx(model(ROUND_AXES)), "make them constants of the model"),
        "squeeze": (lambda: from_onnx(model(SQUEEZE)), "is not known at import: give axes"),
        "output": (lambda: session(["z"]), "output of the model"),
    }
)
