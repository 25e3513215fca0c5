"""Layers of image networks against torch, ONNX Runtime and OpenVINO, on one thread each.

Convolutions have constant weights, a bias and an activation. Sizes of the data are symbols here, and in the other
systems that support them.
"""

from __future__ import annotations

from benchmarks import environment  # noqa: F401  # isort: skip - before anything that imports NumPy

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import WrongResult, best_other, measure
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.peers.onnxruntime_peer import IR_VERSION, OPSET
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import normal

SECONDS, LEAST, ERROR = 0.3, 1.0, 1e-3
BATCHES = (1, 8)


@dataclass(frozen=True)
class Case:
    """A layer: "conv", "max" or "avg", its data, its kernels or its window, and strides, padding and groups."""

    name: str
    kind: str
    data: tuple[int, ...]
    window: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def rank(self) -> int:
        return len(self.data) - 2

    def constants(self) -> list[Array]:
        """Weights and bias."""
        if self.kind != "conv":
            return []
        return [normal(*self.window, seed=1), normal(self.window[0], seed=2)]


LAYERS = (
    Case("ResNet 7x7/2 3-64@224", "conv", (1, 3, 224, 224), (64, 3, 7, 7), 2, 3),
    Case("ResNet 3x3 64@56", "conv", (1, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    Case("ResNet 3x3 128@28", "conv", (1, 128, 28, 28), (128, 128, 3, 3), 1, 1),
    Case("ResNet 3x3/2 256@28", "conv", (1, 256, 28, 28), (256, 256, 3, 3), 2, 1),
    Case("ResNet 3x3 256@14", "conv", (1, 256, 14, 14), (256, 256, 3, 3), 1, 1),
    Case("ResNet 3x3 512@7", "conv", (1, 512, 7, 7), (512, 512, 3, 3), 1, 1),
    Case("ResNet 1x1 256-64@56", "conv", (1, 256, 56, 56), (64, 256, 1, 1)),
    Case("ResNet 1x1/2 512-1024@28", "conv", (1, 512, 28, 28), (1024, 512, 1, 1), 2),
    Case("ResNet 1x1 512-2048@7", "conv", (1, 512, 7, 7), (2048, 512, 1, 1)),
    Case("MobileNet 3x3/2 3-32@224", "conv", (1, 3, 224, 224), (32, 3, 3, 3), 2, 1),
    Case("MobileNet 1x1 24-144@56", "conv", (1, 24, 56, 56), (144, 24, 1, 1)),
    Case("MobileNet 1x1 96-576@14", "conv", (1, 96, 14, 14), (576, 96, 1, 1)),
    Case("MobileNet dw 144@56", "conv", (1, 144, 56, 56), (144, 1, 3, 3), 1, 1, 144),
    Case("MobileNet dw/2 144@56", "conv", (1, 144, 56, 56), (144, 1, 3, 3), 2, 1, 144),
    Case("MobileNet dw 384@14", "conv", (1, 384, 14, 14), (384, 1, 3, 3), 1, 1, 384),
    Case("MobileNet dw 960@7", "conv", (1, 960, 7, 7), (960, 1, 3, 3), 1, 1, 960),
    Case("max 3x3/2 64@112", "max", (1, 64, 112, 112), (3, 3), 2, 1),
)
"""Layers of ResNet-50 and MobileNetV2; each for every batch of `BATCHES`."""
OTHERS = (
    Case("grouped 4 of 128@28", "conv", (1, 128, 28, 28), (128, 4, 3, 3), 1, 1, 32),
    Case("grouped 32 of 256@14", "conv", (1, 256, 14, 14), (256, 32, 3, 3), 1, 1, 8),
    Case("conv1d 80-384@3000", "conv", (1, 80, 3000), (384, 80, 3), 1, 1),
    Case("conv3d 16@16", "conv", (1, 16, 16, 16, 16), (16, 16, 3, 3, 3), 1, 1),
    Case("avg 3x3x3/2 16@33", "avg", (1, 16, 33, 33, 33), (3, 3, 3), 2, 1),
)


def cases() -> Iterator[Case]:
    """All measured cases."""
    for batch in BATCHES:
        for case in LAYERS:
            yield replace(case, name=f"{case.name} x{batch}", data=(batch, *case.data[1:]))
    yield from OTHERS


def rows(seconds: float = SECONDS, chosen: Sequence[Case] | None = None) -> Iterator[Row]:
    """The time of the fastest other system over ours for each layer; the note has our time, and that system."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for case in cases() if chosen is None else chosen:
                yield _row(case, seconds)
    finally:
        torch.set_num_threads(threads)


def _row(case: Case, seconds: float) -> Row:
    subject, x = f"layers {case.name}", normal(*case.data, seed=0)
    contestants = {"ours": _ours(case, x), "torch": _torch(case, x)}
    for name, prepare in (("onnxruntime", _onnxruntime), ("openvino", _openvino)):
        try:
            contestants[name] = prepare(case, x)
        except ImportError:
            continue
    results = {name: bound.to_numpy(bound.call()) for name, bound in contestants.items()}
    wanted = results["torch"]
    errors = {n: float(np.max(np.abs(r - wanted)) / np.max(np.abs(wanted))) for n, r in results.items()}
    if errors["ours"] > ERROR:
        wrong = WrongResult(f"an element is {errors['ours']:.3g} off")
        return Row(subject, "best other / ours", 0.0, LEAST, str(wrong))
    timings = measure(contestants, errors, seconds)
    best, value = best_other(timings)
    note = f"{duration(timings['ours'].median)}, {best}"
    return Row(subject, "best other / ours", value, LEAST, note)


def _ours(case: Case, x: Array) -> Bound:
    import relax_mlir as rx
    from relax_mlir import op as R

    data = rx.Var("x", rx.Tensor(("n", case.data[1], *[f"d{axis}" for axis in range(case.rank)])))
    options: dict[str, Any] = {"strides": [case.stride] * case.rank, "padding": [case.padding] * case.rank}
    bb = rx.BlockBuilder()
    with bb.function("main", [data]):
        if case.kind == "conv":
            weight, bias = case.constants()
            made = getattr(R.nn, f"conv{case.rank}d")(data, R.const(weight), groups=case.groups, **options)
            bb.emit_func_output(R.nn.relu(made + R.const(bias.reshape(-1, *[1] * case.rank))))
        else:
            pool = getattr(R.nn, f"{case.kind}_pool{case.rank}d")
            bb.emit_func_output(pool(data, case.window, **options))
    return Bound(partial(rx.build(bb.get(), "cpu -num-threads=1")["main"], x), np.asarray)


def _torch(case: Case, x: Array) -> Bound:
    import torch

    functional: Any = torch.nn.functional
    data, constants = torch.from_numpy(x), [torch.from_numpy(array) for array in case.constants()]

    def call() -> Any:  # noqa: ANN401 - a tensor of torch
        options = {"stride": case.stride, "padding": case.padding}
        if case.kind == "conv":
            convolution = getattr(functional, f"conv{case.rank}d")
            return convolution(data, *constants, **options, groups=case.groups).relu_()
        pool = getattr(functional, f"{case.kind}_pool{case.rank}d")
        more = {} if case.kind == "max" else {"count_include_pad": False}
        return pool(data, case.window, **options, **more)

    return Bound(call, lambda tensor: tensor.numpy())


def onnx_model(case: Case) -> bytes:
    """The layer as an ONNX model of symbolic sizes."""
    from onnx import TensorProto, helper, numpy_helper

    shape = ["n", case.data[1], *[f"d{axis}" for axis in range(case.rank)]]
    options = {"strides": [case.stride] * case.rank, "pads": [case.padding] * (2 * case.rank)}
    weights = [numpy_helper.from_array(array, f"w{n}") for n, array in enumerate(case.constants())]
    names = ["x", *(weight.name for weight in weights)]
    if case.kind == "conv":
        made = [helper.make_node("Conv", names, ["c"], **options, group=case.groups)]
        nodes = [*made, helper.make_node("Relu", ["c"], ["y"])]
    else:
        kind = {"max": "MaxPool", "avg": "AveragePool"}[case.kind]
        nodes = [helper.make_node(kind, names, ["y"], **options, kernel_shape=case.window)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "layer", inputs, outputs, weights)
    opset = [helper.make_opsetid("", OPSET)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION).SerializeToString())


def _onnxruntime(case: Case, x: Array) -> Bound:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(onnx_model(case), options, providers=["CPUExecutionProvider"])
    return Bound(lambda: session.run(None, {"x": x})[0], np.asarray)


def _openvino(case: Case, x: Array) -> Bound:
    import openvino

    core = openvino.Core()
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    request = core.compile_model(core.read_model(onnx_model(case)), "CPU", options).create_infer_request()
    return Bound(lambda: request.infer([x], share_inputs=True, share_outputs=True)[0], np.asarray)


if __name__ == "__main__":
    for row in rows():
        print(f"{row.subject:42} {row.value:6.2f}  {row.note}", flush=True)
