"""Text generation with a growing cache: one compiled program for the prompt and every step, compared with torch.

    python -m examples.generate --tokens 64 --onnx

The model is a Llama of `transformers` with random weights, so that nothing is downloaded; greedy decoding gives the
same tokens here and in torch. The program is exported once, with the length of the new tokens and that of the cache as
symbols: the prompt is a call with an empty cache.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from relax_mlir.frontend.torch import compile_program
from torch import nn
from torch.export import Dim

Cache = list[torch.Tensor]
Step = Callable[[torch.Tensor, Cache, Cache], tuple[torch.Tensor, Cache, Cache]]
"""Takes new tokens, and keys and values of the cache by layer; returns logits of the last token, and longer caches."""


@dataclass(frozen=True)
class Size:
    """The size of the model."""

    vocabulary: int = 2000
    hidden: int = 256
    layers: int = 4
    heads: int = 4
    longest: int = 1024


class Decoder(nn.Module):  # type: ignore[misc]  # type checkers see no types of torch
    """A causal language model as a function of tensors."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, keys: Cache, values: Cache) -> tuple[torch.Tensor, Cache, Cache]:
        cache = transformers.DynamicCache(list(zip(keys, values, strict=True)))
        out = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
        layers = out.past_key_values.layers
        return out.logits[:, -1], [layer.keys for layer in layers], [layer.values for layer in layers]


def make_model(size: Size) -> Decoder:
    """A Llama with random weights."""
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.hidden,
        intermediate_size=3 * size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads // 2,
        max_position_embeddings=size.longest,
    )
    decoder = Decoder(transformers.LlamaForCausalLM(config))
    decoder.eval()
    return decoder


def empty_cache(size: Size, batch: int, length: int = 0) -> tuple[Cache, Cache]:
    """Keys and values of `length` tokens, all zeros."""
    shape = (batch, size.heads // 2, length, size.hidden // size.heads)
    keys, values = ([torch.zeros(shape) for _ in range(size.layers)] for _ in range(2))
    return keys, values


def compile_decoder(model: Decoder, size: Size) -> Step:
    """The model compiled once, for all batches, lengths and caches."""
    batch, length, past = Dim("batch"), Dim("length", max=size.longest), Dim("past", max=size.longest)
    cache: Any = [{0: batch, 2: past}] * size.layers
    args = (torch.zeros(2, 3, dtype=torch.long), *empty_cache(size, 2, 5))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # warnings of torch and transformers
        program = torch.export.export(model, args, dynamic_shapes=({0: batch, 1: length}, cache, cache))
        return compile_program(program)


def generate(step: Step, prompt: torch.Tensor, count: int, cache: tuple[Cache, Cache]) -> torch.Tensor:
    """`count` more tokens for each row of the prompt, by greedy decoding."""
    keys, values = cache
    tokens: list[torch.Tensor] = []
    new = prompt
    with torch.inference_mode():
        for _ in range(count):
            logits, keys, values = step(new, keys, values)
            new = logits.argmax(-1, keepdim=True)
            tokens.append(new)
    return torch.cat(tokens, 1)


def rate(step: Step, prompt: torch.Tensor, count: int, size: Size) -> tuple[torch.Tensor, float]:
    """The tokens, and tokens per second, after one warm-up run."""
    batch = prompt.shape[0]
    generate(step, prompt, 2, empty_cache(size, batch))
    begin = time.perf_counter()
    tokens = generate(step, prompt, count, empty_cache(size, batch))
    return tokens, tokens.numel() / (time.perf_counter() - begin)


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate, compare, and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=16)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=Size.hidden)
    parser.add_argument("--layers", type=int, default=Size.layers)
    parser.add_argument("--onnx", action="store_true", help="ONNX Runtime, too, on a graph of the same weights")
    options = parser.parse_args(arguments)
    size = Size(hidden=options.hidden, layers=options.layers)
    model = make_model(size)
    begin = time.perf_counter()
    step = compile_decoder(model, size)
    print(f"exported, imported and built in {time.perf_counter() - begin:.1f} s")
    prompt = torch.randint(0, size.vocabulary, (options.batch, options.prompt))
    wanted, eager = rate(model, prompt, options.tokens, size)
    tokens, ours = rate(step, prompt, options.tokens, size)
    same = int((tokens == wanted).sum())
    print(f"torch eager  {eager:8.1f} tokens/s")
    print(f"relax-mlir   {ours:8.1f} tokens/s")
    print(f"{same} of {wanted.numel()} tokens are equal")
    if options.onnx:
        from examples.llama_onnx import llama_onnx, onnxruntime_decoder

        other = onnxruntime_decoder(llama_onnx(model, size), size)
        tokens, theirs = rate(other, prompt, options.tokens, size)
        same = int((tokens == wanted).sum())
        print(f"ONNX Runtime {theirs:8.1f} tokens/s; {same} of {wanted.numel()} tokens are equal")


if __name__ == "__main__":
    main()
