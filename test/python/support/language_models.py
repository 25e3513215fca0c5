"""Models of `transformers` with few random weights, as modules that take and return tensors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sweep
import torch
import transformers
from torch import nn
from torch.export import Dim

logging.getLogger("transformers").setLevel(logging.ERROR)
VOCABULARY = 60
LAYERS = 2 if sweep.ALL else 1
"""Layers of a model: a second one is like the first. Llama always has two."""
STEPS = 6 if sweep.ALL else 4
"""Tokens of a model whose export unrolls the loop over them."""
COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass(frozen=True)
class Case:
    """A module, arguments for sizes, and the shapes that are dynamic."""

    module: nn.Module
    arguments: Callable[..., tuple[Any, ...]]
    shapes: Any
    example: Sequence[int]
    sizes: Sequence[Sequence[int]]


def tokens(batch: int, length: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (batch, length))


def padding(batch: int, length: int) -> torch.Tensor:
    """A mask that hides the last tokens of some rows."""
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[: batch // 2, length - length // 3 :] = 0
    return mask


class Encoder(nn.Module):
    """Token ids and a mask to hidden states."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any, mask: Any) -> Any:
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state


def encoder(model: nn.Module) -> Case:
    batch, length = Dim("batch"), Dim("length", max=60)
    shapes = ({0: batch, 1: length}, {0: batch, 1: length})
    sizes = ((1, 1), (1, 9), (4, 2), (2, 23), (5, 5))
    return Case(Encoder(model), lambda b, n: (tokens(b, n), padding(b, n)), shapes, (3, 7), sizes)


class Decoder(nn.Module):
    """Token ids and caches to logits and longer caches."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any, mask: Any, keys: Any, values: Any) -> Any:
        cache = transformers.DynamicCache(list(zip(keys, values, strict=True)))
        out = self.model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
        layers = out.past_key_values.layers
        return out.logits, [layer.keys for layer in layers], [layer.values for layer in layers]


def decoder(model: nn.Module, layers: int = LAYERS, heads: int = 2, size: int = 8) -> Case:
    """A decoder whose cache grows: batch, new tokens, and tokens in the cache."""
    batch, length, past = Dim("batch"), Dim("length", max=60), Dim("past", max=60)
    cache = [{0: batch, 2: past}] * layers
    shapes = ({0: batch, 1: length}, {0: batch, 1: Dim.AUTO}, cache, cache)

    def arguments(b: int, new: int, old: int) -> tuple[Any, ...]:
        caches = [[torch.randn(b, heads, old, size) for _ in range(layers)] for _ in range(2)]
        return tokens(b, new), torch.ones(b, new + old, dtype=torch.long), *caches

    sizes = ((1, 1, 1), (1, 7, 2), (2, 1, 19), (3, 6, 0), (1, 1, 33))
    return Case(Decoder(model), arguments, shapes, (3, 4, 5), sizes)


def bert() -> Case:
    return encoder(transformers.BertModel(transformers.BertConfig(**COMMON)))


def distilbert() -> Case:
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY, dim=16, hidden_dim=24, n_layers=LAYERS, n_heads=2, max_position_embeddings=64
    )
    return encoder(transformers.DistilBertModel(config))


def roberta() -> Case:
    return encoder(transformers.RobertaModel(transformers.RobertaConfig(**COMMON)))


def deberta() -> Case:
    config = transformers.DebertaV2Config(
        **COMMON, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8, type_vocab_size=0
    )
    return encoder(transformers.DebertaV2Model(config))


def gpt2() -> Case:
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=64,
        n_embd=16,
        n_layer=LAYERS,
        n_head=2,
        bos_token_id=1,
        eos_token_id=2,
    )
    return decoder(transformers.GPT2LMHeadModel(config))


def llama() -> Case:
    config = transformers.LlamaConfig(**COMMON | {"num_hidden_layers": 2}, num_key_value_heads=1)
    return decoder(transformers.LlamaForCausalLM(config), layers=2, heads=1)


def qwen() -> Case:
    config = transformers.Qwen2Config(**COMMON, num_key_value_heads=1)
    return decoder(transformers.Qwen2ForCausalLM(config), heads=1)


def gemma() -> Case:
    config = transformers.GemmaConfig(**COMMON, num_key_value_heads=1, head_dim=8)
    return decoder(transformers.GemmaForCausalLM(config), heads=1)


def phi() -> Case:
    return decoder(transformers.PhiForCausalLM(transformers.PhiConfig(**COMMON)))


def mistral() -> Case:
    config = transformers.MistralConfig(**COMMON, num_key_value_heads=1, sliding_window=None)
    return decoder(transformers.MistralForCausalLM(config), heads=1)


def mixtral() -> Case:
    config = transformers.MixtralConfig(
        **COMMON, num_key_value_heads=1, num_local_experts=4, num_experts_per_tok=2, sliding_window=None
    )
    return decoder(transformers.MixtralForCausalLM(config), heads=1)


class Translator(nn.Module):
    """Source and target token ids to logits."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Any, mask: Any, target: Any) -> Any:
        return self.model(input_ids=source, attention_mask=mask, decoder_input_ids=target, use_cache=False).logits


def translator(model: nn.Module) -> Case:
    batch, source, target = Dim("batch"), Dim("source", max=60), Dim("target", max=60)
    shapes = ({0: batch, 1: source}, {0: batch, 1: source}, {0: batch, 1: target})

    def arguments(b: int, n: int, m: int) -> tuple[Any, ...]:
        return tokens(b, n), padding(b, n), tokens(b, m)

    sizes = ((1, 1, 1), (1, 9, 2), (2, 4, 11), (4, 3, 1), (1, 17, 16))
    return Case(Translator(model), arguments, shapes, (3, 7, 5), sizes)


def t5() -> Case:
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=16,
        d_kv=8,
        d_ff=24,
        num_layers=LAYERS,
        num_heads=2,
        decoder_start_token_id=0,
    )
    return translator(transformers.T5ForConditionalGeneration(config))


def bart() -> Case:
    config = transformers.BartConfig(
        vocab_size=VOCABULARY,
        d_model=16,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
    )
    return translator(transformers.BartForConditionalGeneration(config))


class Vision(nn.Module):
    """Images to features."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: Any) -> Any:
        return self.model(pixel_values=pixels).pooler_output


def vit() -> Case:
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        intermediate_size=24,
        image_size=16,
        patch_size=8,
    )
    sizes = ((1,), (2,), (4,), (5,), (7,))
    return Case(
        Vision(transformers.ViTModel(config)),
        lambda b: (torch.randn(b, 3, 16, 16),),
        ({0: Dim("batch")},),
        (3,),
        sizes,
    )


class TextAndImage(nn.Module):
    """Similarities of images and texts."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any, mask: Any, pixels: Any) -> Any:
        return self.model(input_ids=ids, attention_mask=mask, pixel_values=pixels).logits_per_image


def clip() -> Case:
    parts = {
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
    }
    text = {**parts, "vocab_size": VOCABULARY, "max_position_embeddings": 32, "eos_token_id": 2}
    config = transformers.CLIPConfig(
        text_config=text, vision_config={**parts, "image_size": 16, "patch_size": 8}, projection_dim=8
    )
    texts, images, length = Dim("texts"), Dim("images"), Dim("length", max=32)
    shapes = ({0: texts, 1: length}, {0: texts, 1: length}, {0: images})

    def arguments(t: int, n: int, i: int) -> tuple[Any, ...]:
        return tokens(t, n), padding(t, n), torch.randn(i, 3, 16, 16)

    sizes = ((1, 1, 1), (1, 9, 2), (2, 4, 3), (4, 3, 1), (2, 17, 2))
    return Case(TextAndImage(transformers.CLIPModel(config)), arguments, shapes, (3, 7, 2), sizes)


class Speech(nn.Module):
    """Features of sound and token ids to logits: the encoder and the decoder."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Any, ids: Any) -> Any:
        return self.model(input_features=features, decoder_input_ids=ids, use_cache=False).logits


def whisper() -> Case:
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=16,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        num_mel_bins=8,
        max_source_positions=10,
        max_target_positions=40,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    batch, length = Dim("batch"), Dim("length", max=40)

    def arguments(b: int, n: int) -> tuple[Any, ...]:
        return torch.randn(b, 8, 20), tokens(b, n)

    sizes = ((1, 1), (1, 9), (4, 2), (2, 23), (5, 5))
    module = Speech(transformers.WhisperForConditionalGeneration(config))
    return Case(module, arguments, ({0: batch}, {0: batch, 1: length}), (3, 7), sizes)


class StateSpace(nn.Module):
    """Token ids to logits, without a cache."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any) -> Any:
        return self.model(input_ids=ids, use_cache=False).logits


def mamba() -> Case:
    """Its scan is a Python loop over the length, which export unrolls: only the batch is dynamic."""
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        state_size=4,
        num_hidden_layers=LAYERS,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    sizes = ((1,), (2,), (4,), (5,), (7,))
    return Case(
        StateSpace(transformers.MambaForCausalLM(config)),
        lambda b: (tokens(b, STEPS),),
        ({0: Dim("batch")},),
        (3,),
        sizes,
    )


MODELS: dict[str, Callable[[], Case]] = {
    function.__name__: function
    for function in (
        *(bert, distilbert, roberta, deberta, gpt2, llama, qwen, gemma, phi, mistral, mixtral),
        *(t5, bart, vit, clip, whisper, mamba),
    )
}
