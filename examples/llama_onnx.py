"""The model of `examples.generate` as an ONNX graph with the same weights, in the form of language model exporters.

One graph serves the prompt and every step: the lengths of the new tokens and of the cache are symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from examples.generate import Cache, Decoder, Size, Step

OPSET = 23
"""The opset of attention, rotary embeddings and RMS norms."""


def llama_onnx(decoder: Decoder, size: Size) -> onnx.ModelProto:
    """A graph of new tokens (``ids``) and caches (``keys0``, ``values0``, …) to ``logits`` and longer caches."""
    return _Graph(decoder, size).model()


class _Graph:
    def __init__(self, decoder: Decoder, size: Size) -> None:
        self.size, self.weights = size, decoder.model.state_dict()
        self.eps = decoder.model.config.rms_norm_eps
        self.heads, self.groups = size.heads, size.heads // 2
        self.width = size.hidden // size.heads
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        """The whole model."""
        self._positions()
        x = self._add("Gather", [self._weight("model.embed_tokens.weight"), "ids"])
        for layer in range(self.size.layers):
            x = self._layer(x, layer)
        last = self._constant(np.array(-1))
        x = self._add("Gather", [self._norm(x, "model.norm.weight"), last], axis=1)
        self._linear(x, "lm_head.weight", "logits")
        caches = [f"{kind}{layer}" for kind in ("keys", "values") for layer in range(self.size.layers)]
        shape = ("batch", self.groups, "past", self.width)
        after = ("batch", self.groups, "past + length", self.width)
        graph = helper.make_graph(
            self.nodes,
            "llama",
            [
                helper.make_tensor_value_info("ids", TensorProto.INT64, ("batch", "length")),
                *(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in caches),
            ],
            [
                helper.make_tensor_value_info("logits", TensorProto.FLOAT, ("batch", self.size.vocabulary)),
                *(helper.make_tensor_value_info(f"new_{name}", TensorProto.FLOAT, after) for name in caches),
            ],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def _positions(self) -> None:
        """The positions of the new tokens, and the mask of the tokens that each of them attends to."""
        length, past = self._size("ids", 1), self._size("keys0", 2)
        zero, one = self._constant(np.array(0)), self._constant(np.array(1))
        total = self._add("Add", [past, length])
        self.places = self._add("Range", [past, total, one])
        batch = self._add("Shape", ["ids"])
        self.position_ids = self._add("Expand", [self.places, batch])
        rows = self._add("Unsqueeze", [self.places, self._constant(np.array([1]))])
        self.mask = self._add("LessOrEqual", [self._add("Range", [zero, total, one]), rows])
        inverse = 10000.0 ** (-np.arange(0, self.width, 2) / self.width)
        angles = np.outer(np.arange(self.size.longest), inverse)
        self.cos, self.sin = (self._constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin))

    def _layer(self, x: str, layer: int) -> str:
        prefix = f"model.layers.{layer}."
        normal = self._norm(x, f"{prefix}input_layernorm.weight")
        parts = {name: self._linear(normal, f"{prefix}self_attn.{name}_proj.weight") for name in "qkv"}
        for name, heads in (("q", self.heads), ("k", self.groups)):
            given = [parts[name], self.cos, self.sin, self.position_ids]
            parts[name] = self._add("RotaryEmbedding", given, num_heads=heads)
        past = [f"keys{layer}", f"values{layer}"]
        attention = self._name()
        self.nodes.append(
            helper.make_node(
                "Attention",
                [*parts.values(), self.mask, *past],
                [attention, *(f"new_{name}" for name in past)],
                q_num_heads=self.heads,
                kv_num_heads=self.groups,
            )
        )
        x = self._add("Add", [x, self._linear(attention, f"{prefix}self_attn.o_proj.weight")])
        normal = self._norm(x, f"{prefix}post_attention_layernorm.weight")
        gate, up = (self._linear(normal, f"{prefix}mlp.{name}_proj.weight") for name in ("gate", "up"))
        silu = self._add("Mul", [gate, self._add("Sigmoid", [gate])])
        down = self._linear(self._add("Mul", [silu, up]), f"{prefix}mlp.down_proj.weight")
        return self._add("Add", [x, down])

    def _size(self, tensor: str, axis: int) -> str:
        return self._add("Gather", [self._add("Shape", [tensor]), self._constant(np.array(axis))])

    def _norm(self, x: str, weight: str) -> str:
        return self._add("RMSNormalization", [x, self._weight(weight)], epsilon=self.eps)

    def _linear(self, x: str, weight: str, name: str = "") -> str:
        return self._add("MatMul", [x, self._weight(weight, lambda array: array.T)], name)

    def _weight(self, name: str, form: Callable[[Any], Any] = lambda array: array) -> str:
        return self._constant(form(self.weights[name].numpy()))

    def _constant(self, array: Any) -> str:  # noqa: ANN401 - an array
        name = self._name()
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def _add(self, op: str, inputs: list[str], name: str = "", **attributes: Any) -> str:  # noqa: ANN401 - of nodes
        result = name or self._name()
        self.nodes.append(helper.make_node(op, inputs, [result], **attributes))
        return result

    def _name(self) -> str:
        return f"t{len(self.nodes) + len(self.constants)}"


def onnxruntime_decoder(model: onnx.ModelProto, size: Size, threads: int = 0) -> Step:
    """The graph in ONNX Runtime, as a step of `examples.generate`; `threads` 0: ONNX Runtime's default."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def step(ids: torch.Tensor, keys: Cache, values: Cache) -> tuple[torch.Tensor, Cache, Cache]:
        feeds = {"ids": ids.numpy()}
        for layer in range(size.layers):
            feeds |= {f"keys{layer}": keys[layer].numpy(), f"values{layer}": values[layer].numpy()}
        logits, *caches = map(torch.from_numpy, session.run(None, feeds))
        return logits, caches[: size.layers], caches[size.layers :]

    return step
