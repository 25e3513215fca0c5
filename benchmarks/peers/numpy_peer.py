"""NumPy, with SciPy for erf; in float64 also the reference for all other peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.ops import Array, Heads, Ops, Value
from benchmarks.peers.base import Bound, Peer, Prepared
from benchmarks.workloads import Workload


class NumpyOps(Ops):
    """Eager operations in the precision ``dtype``."""

    def __init__(self, constants: Mapping[str, Array], dtype: type[np.floating[Any]] = np.float32) -> None:
        self.dtype = dtype
        super().__init__(constants)

    def store(self, name: str, array: Array) -> Value:
        return array.astype(self.dtype, copy=False)

    def scalar(self, value: float) -> Value:
        return self.dtype(value)

    def add(self, x: Value, y: Value) -> Value:
        return x + y

    def subtract(self, x: Value, y: Value) -> Value:
        return x - y

    def multiply(self, x: Value, y: Value) -> Value:
        return x * y

    def divide(self, x: Value, y: Value) -> Value:
        return x / y

    def maximum(self, x: Value, y: Value) -> Value:
        return np.maximum(x, y)

    def exp(self, x: Value) -> Value:
        return np.exp(x)

    def absolute(self, x: Value) -> Value:
        return np.abs(x)

    def sqrt(self, x: Value) -> Value:
        return np.sqrt(x)

    def relu(self, x: Value) -> Value:
        return np.maximum(x, 0)

    def gelu(self, x: Value) -> Value:
        from scipy.special import erf

        return x * (self.dtype(0.5) * (1 + erf(x * self.dtype(0.5**0.5))))

    def softmax(self, x: Value) -> Value:
        shifted = np.exp(x - x.max(axis=-1, keepdims=True))
        return shifted / shifted.sum(axis=-1, keepdims=True)

    def layer_norm(self, x: Value, name: str, epsilon: float) -> Value:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + self.dtype(epsilon))
        return scaled * self.constants[f"{name}.weight"] + self.constants[f"{name}.bias"]

    def matmul(self, x: Value, y: Value) -> Value:
        return x @ y

    def matmul_transposed(self, x: Value, y: Value) -> Value:
        return x @ y.T

    def linear(self, x: Value, name: str) -> Value:
        product = x @ self.constants[f"{name}.weight"].T
        bias = self.constants.get(f"{name}.bias")
        return product if bias is None else product + bias

    def attention(self, query: Value, key: Value, value: Value, split: Heads, bias: Value | None = None) -> Value:
        b, s, d = query.shape
        q, k, v = (t.reshape(b, s, split.count, split.size).transpose(0, 2, 1, 3) for t in (query, key, value))
        scores = q @ k.transpose(0, 1, 3, 2) * self.dtype(split.size**-0.5)
        weights = self.softmax(scores if bias is None else scores + bias)
        return (weights @ v).transpose(0, 2, 1, 3).reshape(b, s, d)

    def take(self, name: str, indices: Value) -> Value:
        return self.constants[name][indices]

    def first_rows(self, name: str, like: Value) -> Value:
        return self.constants[name][: like.shape[1]]

    def to_float(self, x: Value) -> Value:
        return x.astype(self.dtype)

    def expand(self, x: Value, axes: tuple[int, ...]) -> Value:
        return np.expand_dims(x, axes)

    def sum(self, x: Value, axis: int, keepdims: bool) -> Value:
        return x.sum(axis=axis, keepdims=keepdims)


class NumpyPeer(Peer):
    name, distribution = "numpy", "numpy"

    def prepare(self, workload: Workload) -> Prepared:
        ops = NumpyOps(workload.constants())
        return lambda inputs: Bound(lambda: workload.compute(ops, *inputs), np.asarray)


def reference(workload: Workload, inputs: Sequence[Array]) -> Array:
    """The workload's result computed in float64."""
    ops = NumpyOps(workload.constants(), np.float64)
    wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs]
    return np.asarray(workload.compute(ops, *wide))
