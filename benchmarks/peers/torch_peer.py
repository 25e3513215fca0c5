"""torch in eager mode, with its fused linear, layer norm and attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.ops import Array, Heads, Ops, Value
from benchmarks.peers.base import Bound, Peer, Prepared
from benchmarks.workloads import Workload


class TorchOps(Ops):
    """Eager operations; ``torch`` is the module, imported when the peer is used."""

    torch: Any
    functional: Any

    def store(self, name: str, array: Array) -> Value:
        return self.torch.from_numpy(np.ascontiguousarray(array))

    def scalar(self, value: float) -> Value:
        return value

    def add(self, x: Value, y: Value) -> Value:
        return x + y

    def subtract(self, x: Value, y: Value) -> Value:
        return x - y

    def multiply(self, x: Value, y: Value) -> Value:
        return x * y

    def divide(self, x: Value, y: Value) -> Value:
        return x / y

    def maximum(self, x: Value, y: Value) -> Value:
        return x.clamp(min=y)

    def exp(self, x: Value) -> Value:
        return x.exp()

    def absolute(self, x: Value) -> Value:
        return x.abs()

    def sqrt(self, x: Value) -> Value:
        return x.sqrt()

    def relu(self, x: Value) -> Value:
        return x.relu()

    def gelu(self, x: Value) -> Value:
        return self.functional.gelu(x)

    def softmax(self, x: Value) -> Value:
        return x.softmax(-1)

    def layer_norm(self, x: Value, name: str, epsilon: float) -> Value:
        weight, bias = self.constants[f"{name}.weight"], self.constants[f"{name}.bias"]
        return self.functional.layer_norm(x, weight.shape, weight, bias, epsilon)

    def matmul(self, x: Value, y: Value) -> Value:
        return x @ y

    def matmul_transposed(self, x: Value, y: Value) -> Value:
        return x @ y.T

    def linear(self, x: Value, name: str) -> Value:
        return self.functional.linear(x, self.constants[f"{name}.weight"], self.constants.get(f"{name}.bias"))

    def attention(self, query: Value, key: Value, value: Value, split: Heads, bias: Value | None = None) -> Value:
        b, s, d = query.shape
        q, k, v = (t.view(b, s, split.count, split.size).transpose(1, 2) for t in (query, key, value))
        context = self.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return context.transpose(1, 2).reshape(b, s, d)

    def take(self, name: str, indices: Value) -> Value:
        return self.functional.embedding(indices, self.constants[name])

    def first_rows(self, name: str, like: Value) -> Value:
        return self.constants[name][: like.shape[1]]

    def to_float(self, x: Value) -> Value:
        return x.float()

    def expand(self, x: Value, axes: tuple[int, ...]) -> Value:
        for axis in axes:
            x = x.unsqueeze(axis)
        return x

    def sum(self, x: Value, axis: int, keepdims: bool) -> Value:
        return x.sum(axis, keepdim=keepdims)


class TorchPeer(Peer):
    name, distribution = "torch", "torch"

    def prepare(self, workload: Workload) -> Prepared:
        import torch

        torch.set_num_threads(environment.COUNT)
        torch.set_grad_enabled(False)
        TorchOps.torch, TorchOps.functional = torch, torch.nn.functional
        ops = TorchOps(workload.constants())

        def bind(inputs: Any) -> Bound:  # noqa: ANN401
            tensors = [torch.from_numpy(x) for x in inputs]
            return Bound(lambda: workload.compute(ops, *tensors), np.asarray)

        return bind
