"""ONNX Runtime on a model built here with symbolic dimensions, all its graph optimisations on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.ops import Array, Heads, Ops, Value
from benchmarks.peers.base import Bound, Peer, Prepared
from benchmarks.workloads import Workload

OPSET, IR_VERSION = 20, 10


class OnnxOps(Ops):
    """Append ONNX nodes; a value is the name of a node's output."""

    def __init__(self, constants: Mapping[str, Array]) -> None:
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.named: set[str] = set()
        super().__init__(constants)

    def store(self, name: str, array: Array) -> Value:
        return array

    def constant(self, name: str, transpose: bool = False) -> str:
        """The initializer of a constant, added to the model at its first use."""
        if name not in self.named:
            array = self.constants[name]
            stored = np.ascontiguousarray(array.T if transpose else array)
            self.initializers.append(self.numpy_helper.from_array(stored, name))
            self.named.add(name)
        return name

    def node(self, kind: str, *inputs: Value, **attributes: Any) -> str:  # noqa: ANN401
        output = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def literal(self, array: Array) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(self.numpy_helper.from_array(array, name))
        return name

    def integers(self, *values: int) -> str:
        return self.literal(np.array(values, dtype=np.int64))

    def scalar(self, value: float) -> Value:
        return self.literal(np.array(value, dtype=np.float32))

    def add(self, x: Value, y: Value) -> Value:
        return self.node("Add", x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        return self.node("Sub", x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        return self.node("Mul", x, y)

    def divide(self, x: Value, y: Value) -> Value:
        return self.node("Div", x, y)

    def maximum(self, x: Value, y: Value) -> Value:
        return self.node("Max", x, y)

    def exp(self, x: Value) -> Value:
        return self.node("Exp", x)

    def absolute(self, x: Value) -> Value:
        return self.node("Abs", x)

    def sqrt(self, x: Value) -> Value:
        return self.node("Sqrt", x)

    def relu(self, x: Value) -> Value:
        return self.node("Relu", x)

    def gelu(self, x: Value) -> Value:
        return self.node("Gelu", x)

    def softmax(self, x: Value) -> Value:
        return self.node("Softmax", x, axis=-1)

    def layer_norm(self, x: Value, name: str, epsilon: float) -> Value:
        weight, bias = self.constant(f"{name}.weight"), self.constant(f"{name}.bias")
        return self.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon)

    def matmul(self, x: Value, y: Value) -> Value:
        return self.node("MatMul", x, y)

    def matmul_transposed(self, x: Value, y: Value) -> Value:
        return self.node("Gemm", x, y, transB=1)

    def linear(self, x: Value, name: str) -> Value:
        product = self.node("MatMul", x, self.constant(f"{name}.weight", transpose=True))
        bias = f"{name}.bias"
        return self.node("Add", product, self.constant(bias)) if bias in self.constants else product

    def attention(self, query: Value, key: Value, value: Value, split: Heads, bias: Value | None = None) -> Value:
        shape = self.integers(0, 0, split.count, split.size)
        parts = [self.node("Reshape", t, shape) for t in (query, key, value)]
        q, v = (self.node("Transpose", t, perm=[0, 2, 1, 3]) for t in (parts[0], parts[2]))
        k = self.node("Transpose", parts[1], perm=[0, 2, 3, 1])
        scores = self.node("Mul", self.node("MatMul", q, k), self.scalar(split.size**-0.5))
        weights = self.softmax(scores if bias is None else self.node("Add", scores, bias))
        context = self.node("Transpose", self.node("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.node("Reshape", context, self.integers(0, 0, -1))

    def take(self, name: str, indices: Value) -> Value:
        return self.node("Gather", self.constant(name), indices, axis=0)

    def first_rows(self, name: str, like: Value) -> Value:
        length = self.node("Shape", like, start=1, end=2)
        return self.node("Slice", self.constant(name), self.integers(0), length, self.integers(0))

    def to_float(self, x: Value) -> Value:
        return self.node("Cast", x, to=self.helper.np_dtype_to_tensor_dtype(np.dtype("float32")))

    def expand(self, x: Value, axes: tuple[int, ...]) -> Value:
        return self.node("Unsqueeze", x, self.integers(*axes))

    def sum(self, x: Value, axis: int, keepdims: bool) -> Value:
        return self.node("ReduceSum", x, self.integers(axis), keepdims=int(keepdims))


def onnx_model(workload: Workload) -> Any:  # noqa: ANN401
    """The workload as an ONNX model (``onnx.ModelProto``) with its symbols as named dimensions."""
    from onnx import helper

    def info(name: str, shape: Sequence[int | str] | None, dtype: str) -> Any:  # noqa: ANN401
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    ops = OnnxOps(workload.constants())
    result = workload.compute(ops, *(p.name for p in workload.parameters))
    inputs = [info(p.name, p.shape, p.dtype) for p in workload.parameters]
    graph = helper.make_graph(ops.nodes, workload.name, inputs, [info(result, None, "float32")], ops.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


class OnnxRuntimePeer(Peer):
    name, distribution = "onnxruntime", "onnxruntime"

    def prepare(self, workload: Workload) -> Prepared:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = environment.COUNT
        options.log_severity_level = 3
        model = onnx_model(workload).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [p.name for p in workload.parameters]

        def bind(inputs: Sequence[Array]) -> Bound:
            feed = dict(zip(names, inputs, strict=True))
            return Bound(lambda: session.run(None, feed)[0], np.asarray)

        return bind
