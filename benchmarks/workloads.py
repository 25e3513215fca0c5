"""The workloads: one class each, written once in terms of `Ops`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from benchmarks.ops import Array, Heads, Ops, Value


@dataclass(frozen=True)
class Parameter:
    """An input: its name, its shape with symbolic dimensions as strings, its dtype."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str = "float32"


def normal(*shape: int, seed: int, scale: float = 1.0) -> Array:
    """Normally distributed float32 values, the same in every run."""
    numbers: Array = np.random.default_rng([seed, *shape]).standard_normal(shape, dtype=np.float32)
    numbers *= np.float32(scale)
    return numbers


class Workload(ABC):
    """A function of arrays with symbolic shapes, and the sizes at which it is measured."""

    name: ClassVar[str]
    title: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    sizes: ClassVar[tuple[tuple[int, ...], ...]]
    """Values of the symbols, in the order of their first use in the parameters."""

    def symbols(self) -> list[str]:
        named = [d for p in self.parameters for d in p.shape if isinstance(d, str)]
        return list(dict.fromkeys(named))

    def label(self, size: tuple[int, ...]) -> str:
        return ",".join(map(str, size)) if size else "-"

    def constants(self) -> Mapping[str, Array]:
        return {}

    def inputs(self, size: tuple[int, ...]) -> list[Array]:
        """Arrays for the parameters at this size."""
        values = dict(zip(self.symbols(), size, strict=True))
        shapes = [tuple(values.get(d, d) if isinstance(d, str) else d for d in p.shape) for p in self.parameters]
        return [normal(*map(int, shape), seed=index) for index, shape in enumerate(shapes)]

    def flops(self, size: tuple[int, ...]) -> float | None:
        """Floating-point operations of one call, if that is a usual unit."""
        return None

    @abstractmethod
    def compute(self, ops: Ops, *inputs: Value) -> Value:
        """The result, in float32."""


def linear_constants(sizes: Mapping[str, tuple[int, int]], seed: int) -> dict[str, Array]:
    """Weights ``[out, in]``, scaled to preserve the magnitude of activations, and biases, for ``name: (in, out)``."""
    found = {}
    for index, (name, (width, out)) in enumerate(sizes.items()):
        found[f"{name}.weight"] = normal(out, width, seed=seed + index, scale=width**-0.5)
        found[f"{name}.bias"] = normal(out, seed=seed + index, scale=0.1)
    return found


def norm_constants(name: str, width: int, seed: int) -> dict[str, Array]:
    return {
        f"{name}.weight": 1 + normal(width, seed=seed, scale=0.1),
        f"{name}.bias": normal(width, seed=seed + 1, scale=0.1),
    }


class Add(Workload):
    name, title = "W0", "x + y of 4 elements: the cost of a call"
    parameters = (Parameter("x", ("n",)), Parameter("y", ("n",)))
    sizes = ((4,),)

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        return ops.add(*inputs)


class MatMul(Workload):
    name, title = "W1", "C[n,m] = A[n,k] B[k,m], all dynamic"
    parameters = (Parameter("a", ("n", "k")), Parameter("b", ("k", "m")))
    sizes = (
        (1, 1024, 1024),
        (16, 1024, 1024),
        (128, 1024, 1024),
        (512, 512, 512),
        (1024, 1024, 1024),
        (37, 129, 255),
    )

    def flops(self, size: tuple[int, ...]) -> float:
        n, k, m = size
        return 2.0 * n * k * m

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        return ops.matmul(*inputs)


class TransposedMatMul(Workload):
    name, title = "W1t", "C[n,m] = A[n,k] B[m,k]ᵀ, all dynamic"
    parameters = (Parameter("a", ("n", "k")), Parameter("b", ("m", "k")))
    sizes = ((1, 1024, 1024), (8, 1024, 1024), (32, 1024, 1024), (128, 1024, 1024), (512, 512, 512))

    def flops(self, size: tuple[int, ...]) -> float:
        n, k, m = size
        return 2.0 * n * k * m

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        return ops.matmul_transposed(*inputs)


class ConstantMatMul(Workload):
    name, title = "W1c", "A[n,1024] B, B a constant of 1024x1024"
    parameters = (Parameter("a", ("n", 1024)),)
    sizes = ((1,), (16,), (128,), (1024,))

    def constants(self) -> Mapping[str, Array]:
        return {"b.weight": normal(1024, 1024, seed=10)}

    def flops(self, size: tuple[int, ...]) -> float:
        return 2.0 * size[0] * 1024 * 1024

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        return ops.linear(inputs[0], "b")


class Mlp(Workload):
    name, title = "W2", "MLP [n,784] -> 512 relu -> 256 relu -> 10"
    parameters = (Parameter("x", ("n", 784)),)
    sizes = ((1,), (7,), (64,), (256,))

    def constants(self) -> Mapping[str, Array]:
        return linear_constants({"fc1": (784, 512), "fc2": (512, 256), "fc3": (256, 10)}, seed=20)

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        hidden = ops.relu(ops.linear(inputs[0], "fc1"))
        hidden = ops.relu(ops.linear(hidden, "fc2"))
        return ops.linear(hidden, "fc3")


class Softmax(Workload):
    name, title = "W3", "softmax over the last axis of [n,1024]"
    parameters = (Parameter("x", ("n", 1024)),)
    sizes = ((1,), (64,), (4096,))

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        return ops.softmax(inputs[0])


class NormGelu(Workload):
    name, title = "W4", "gelu(layer_norm(x)) + x of [n,768]"
    parameters = (Parameter("x", ("n", 768)),)
    sizes = ((1,), (64,), (2048,))

    def constants(self) -> Mapping[str, Array]:
        return norm_constants("norm", 768, seed=40)

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        return ops.add(ops.gelu(ops.layer_norm(inputs[0], "norm", 1e-5)), inputs[0])


def transformer_layer(
    ops: Ops, x: Value, bias: Value | None, names: Mapping[str, str], heads: Heads, eps: float
) -> Value:
    """An encoder layer with layer norm after each residual sum."""
    query, key, value = (ops.linear(x, names[part]) for part in ("query", "key", "value"))
    attended = ops.linear(ops.attention(query, key, value, heads, bias), names["out"])
    x = ops.layer_norm(ops.add(attended, x), names["norm1"], eps)
    inner = ops.gelu(ops.linear(x, names["inner"]))
    return ops.layer_norm(ops.add(ops.linear(inner, names["outer"]), x), names["norm2"], eps)


class EncoderLayer(Workload):
    name, title = "W5", "transformer encoder layer, d=256, 4 heads, ffn 1024"
    parameters = (Parameter("x", (1, "s", 256)),)
    sizes = ((1,), (17,), (128,), (512,))
    NAMES: ClassVar = {n: n for n in ("query", "key", "value", "out", "norm1", "inner", "outer", "norm2")}

    def constants(self) -> Mapping[str, Array]:
        square = dict.fromkeys(("query", "key", "value", "out"), (256, 256))
        found = linear_constants({**square, "inner": (256, 1024), "outer": (1024, 256)}, seed=50)
        return found | norm_constants("norm1", 256, seed=60) | norm_constants("norm2", 256, seed=62)

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        return transformer_layer(ops, inputs[0], None, self.NAMES, heads=Heads(4, 64), eps=1e-5)


class Elementwise(Workload):
    name, title = "W6", "exp(2x + 1) / (1 + |y|)"
    parameters = (Parameter("x", ("n",)), Parameter("y", ("n",)))
    sizes = ((100,), (10_000,), (1_000_000,), (16_000_000,))

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        x, y = inputs
        one = ops.scalar(1.0)
        top = ops.exp(ops.add(ops.multiply(x, ops.scalar(2.0)), one))
        return ops.divide(top, ops.add(one, ops.absolute(y)))


class MiniLm(Workload):
    name, title = "MiniLM", "sentence encoder all-MiniLM-L6-v2, real weights"
    parameters = (Parameter("ids", ("b", "s"), "int64"), Parameter("mask", ("b", "s"), "int64"))
    sizes = tuple((b, s) for b in (1, 8) for s in (1, 7, 32, 128, 256))
    LAYERS, HEADS, EPSILON = 6, Heads(12, 32), 1e-12

    @cache  # noqa: B019 - one instance for the whole run
    def constants(self) -> Mapping[str, Array]:
        from examples.minilm import load_weights

        found = {n: w for n, w in load_weights().items() if w.dtype == np.float32 and "pooler" not in n}
        kinds = found.pop("embeddings.token_type_embeddings.weight")
        found["embeddings.position_embeddings.weight"] = found["embeddings.position_embeddings.weight"] + kinds[0]
        return found

    def inputs(self, size: tuple[int, ...]) -> list[Array]:
        b, s = size
        rng = np.random.default_rng([b, s])
        kept = rng.integers(1, s + 1, size=b)
        kept[0] = s
        mask = (np.arange(s) < kept[:, None]).astype(np.int64)
        return [rng.integers(1000, 30000, size=(b, s), dtype=np.int64) * mask, mask]

    def compute(self, ops: Ops, *inputs: Value) -> Value:
        ids, mask = inputs[0], ops.to_float(inputs[1])
        one, masked = ops.scalar(1.0), ops.scalar(-1e9)
        bias = ops.expand(ops.multiply(ops.subtract(one, mask), masked), (1, 2))
        words = ops.take("embeddings.word_embeddings.weight", ids)
        x = ops.add(words, ops.first_rows("embeddings.position_embeddings.weight", ids))
        x = ops.layer_norm(x, "embeddings.LayerNorm", self.EPSILON)
        for index in range(self.LAYERS):
            names = {part: f"encoder.layer.{index}.{name}" for part, name in self.PARTS.items()}
            x = transformer_layer(ops, x, bias, names, self.HEADS, self.EPSILON)
        total = ops.sum(ops.multiply(x, ops.expand(mask, (2,))), axis=1, keepdims=False)
        count = ops.maximum(ops.sum(mask, axis=1, keepdims=True), ops.scalar(1e-9))
        mean = ops.divide(total, count)
        length = ops.sqrt(ops.sum(ops.multiply(mean, mean), axis=1, keepdims=True))
        return ops.divide(mean, ops.maximum(length, ops.scalar(1e-12)))

    PARTS: ClassVar = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "inner": "intermediate.dense",
        "outer": "output.dense",
        "norm2": "output.LayerNorm",
    }


WORKLOADS: tuple[Workload, ...] = (
    Add(),
    MatMul(),
    TransposedMatMul(),
    ConstantMatMul(),
    Mlp(),
    Softmax(),
    NormGelu(),
    EncoderLayer(),
    Elementwise(),
    MiniLm(),
)
