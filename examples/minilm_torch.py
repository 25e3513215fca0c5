"""The encoder of `examples.minilm` in torch, for comparison: the same weights, the same arithmetic, float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from examples.minilm import MASKED, Config

Array = NDArray[Any]


def encoder(weights: Mapping[str, Array], config: Config) -> Callable[[Array, Array], Array]:
    """``(input_ids int64 [b, s], attention_mask int64 [b, s]) -> float32 [b, hidden]``, in eager mode."""
    w = {name: torch.from_numpy(value) for name, value in weights.items()}

    def linear(x: Any, name: str) -> Any:  # noqa: ANN401 - torch tensors
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:  # noqa: ANN401
        size, epsilon = (config.hidden_size,), config.layer_norm_eps
        return F.layer_norm(x, size, w[f"{name}.weight"], w[f"{name}.bias"], epsilon)

    def layer(x: Any, bias: Any, name: str) -> Any:  # noqa: ANN401
        b, s, hidden = x.shape
        heads = (b, s, config.num_attention_heads, config.head_size)
        query, key, value = (
            linear(x, f"{name}.attention.self.{part}").view(heads).transpose(1, 2) for part in ("query", "key", "value")
        )
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        context = context.transpose(1, 2).reshape(b, s, hidden)
        x = norm(linear(context, f"{name}.attention.output.dense") + x, f"{name}.attention.output.LayerNorm")
        inner = F.gelu(linear(x, f"{name}.intermediate.dense"))
        return norm(linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")

    def run(ids: Array, mask: Array) -> Array:
        with torch.inference_mode():
            kept = torch.from_numpy(mask).float()
            bias = ((1.0 - kept) * MASKED)[:, None, None, :]
            x = w["embeddings.word_embeddings.weight"][torch.from_numpy(ids)]
            x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
            x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
            for index in range(config.num_hidden_layers):
                x = layer(x, bias, f"encoder.layer.{index}")
            total = (x * kept[:, :, None]).sum(1)
            mean = total / kept.sum(1, keepdim=True).clamp(min=1e-9)
            return np.asarray(F.normalize(mean, dim=-1))

    return run
