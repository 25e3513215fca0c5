"""relax-mlir: the workload as a Relax module with symbolic dimensions, compiled once for all sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
from relax_mlir import op as R

from benchmarks.ops import Array, Heads, Ops, Value
from benchmarks.peers.base import Bound, Peer, Prepared
from benchmarks.workloads import Workload


class RelaxOps(Ops):
    """Emit Relax bindings into the function that ``bb`` is building."""

    def __init__(self, bb: Any, constants: Mapping[str, Array]) -> None:  # noqa: ANN401
        self.bb = bb
        super().__init__(constants)

    def store(self, name: str, array: Array) -> Value:
        return array

    def constant(self, name: str) -> Value:
        return self.bb.const(self.constants[name])

    def scalar(self, value: float) -> Value:
        return self.bb.const(np.float32(value))

    def add(self, x: Value, y: Value) -> Value:
        return self.bb.emit(R.add(x, y))

    def subtract(self, x: Value, y: Value) -> Value:
        return self.bb.emit(R.subtract(x, y))

    def multiply(self, x: Value, y: Value) -> Value:
        return self.bb.emit(R.multiply(x, y))

    def divide(self, x: Value, y: Value) -> Value:
        return self.bb.emit(R.divide(x, y))

    def maximum(self, x: Value, y: Value) -> Value:
        return self.bb.emit(R.maximum(x, y))

    def exp(self, x: Value) -> Value:
        return self.bb.emit(R.exp(x))

    def absolute(self, x: Value) -> Value:
        return self.bb.emit(R.abs(x))

    def sqrt(self, x: Value) -> Value:
        return self.bb.emit(R.sqrt(x))

    def relu(self, x: Value) -> Value:
        return self.bb.emit(R.nn.relu(x))

    def gelu(self, x: Value) -> Value:
        return self.bb.emit(R.nn.gelu(x))

    def softmax(self, x: Value) -> Value:
        return self.bb.emit(R.nn.softmax(x, axis=-1))

    def layer_norm(self, x: Value, name: str, epsilon: float) -> Value:
        weight, bias = self.constant(f"{name}.weight"), self.constant(f"{name}.bias")
        return self.bb.emit(R.nn.layer_norm(x, weight, bias, axes=[-1], epsilon=epsilon))

    def matmul(self, x: Value, y: Value) -> Value:
        return self.bb.emit(R.matmul(x, y))

    def matmul_transposed(self, x: Value, y: Value) -> Value:
        return self.matmul(x, self.bb.emit(R.permute_dims(y)))

    def linear(self, x: Value, name: str) -> Value:
        weight = self.bb.const(np.ascontiguousarray(self.constants[f"{name}.weight"].T))
        product = self.matmul(x, weight)
        return self.add(product, self.constant(f"{name}.bias")) if f"{name}.bias" in self.constants else product

    def attention(self, query: Value, key: Value, value: Value, split: Heads, bias: Value | None = None) -> Value:
        b, s, d = query.shape
        q, k, v = (self.bb.emit(R.reshape(t, (b, s, split.count, split.size))) for t in (query, key, value))
        return self.bb.emit(R.reshape(self.bb.emit(R.nn.attention(q, k, v, bias)), (b, s, d)))

    def take(self, name: str, indices: Value) -> Value:
        return self.bb.emit(R.take(self.constant(name), indices, axis=0))

    def first_rows(self, name: str, like: Value) -> Value:
        return self.take(name, self.bb.emit(R.arange(0, like.shape[1], 1, dtype="int64")))

    def to_float(self, x: Value) -> Value:
        return self.bb.emit(R.astype(x, "float32"))

    def expand(self, x: Value, axes: tuple[int, ...]) -> Value:
        return self.bb.emit(R.expand_dims(x, axis=list(axes)))

    def sum(self, x: Value, axis: int, keepdims: bool) -> Value:
        return self.bb.emit(R.sum(x, axis=[axis], keepdims=keepdims))


def relax_module(workload: Workload) -> rx.IRModule:
    """The workload as the function ``main`` of a Relax module."""
    bb = rx.BlockBuilder()
    parameters = [rx.Var(p.name, rx.Tensor(p.shape, p.dtype)) for p in workload.parameters]
    ops = RelaxOps(bb, workload.constants())
    with bb.function("main", parameters):
        with bb.dataflow():
            result = bb.emit_output(workload.compute(ops, *parameters))
        bb.emit_func_output(result)
    return bb.get()


class RelaxPeer(Peer):
    name, distribution = "relax-mlir", "relax-mlir"

    def available(self) -> str:
        return super().available() or "not installed, run from its sources"

    def prepare(self, workload: Workload) -> Prepared:
        import tvm_ffi

        main = rx.build(relax_module(workload), target="cpu")["main"]

        def bind(inputs: Sequence[Array]) -> Bound:
            tensors = [tvm_ffi.from_dlpack(x) for x in inputs]
            return Bound(lambda: main(*tensors), np.from_dlpack)

        return bind
