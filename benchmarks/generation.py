"""Text generation with a growing cache: a step of a small Llama against torch, `torch.compile` and ONNX Runtime.

One thread each, measured alternately. The model is that of `examples.generate`, exported and compiled once for all
lengths; ONNX Runtime gets a graph with the same weights (`examples.llama_onnx`).
"""

from __future__ import annotations

from benchmarks import environment  # noqa: F401  # isort: skip - before anything that imports NumPy

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import WrongResult, best_other, measure
from benchmarks.peers.base import Bound
from benchmarks.report import duration
from benchmarks.targets import Row

if TYPE_CHECKING:
    from examples.generate import Size

SECONDS, LEAST, ERROR = 0.5, 1.0, 1e-3
Step = tuple[int, int, int]
STEPS: tuple[Step, ...] = ((1, 128, 0), (1, 1, 128), (1, 1, 512), (8, 1, 128))
"""Batch, new tokens, and tokens in the cache: a prompt, then steps."""


def rows(
    seconds: float = SECONDS, steps: Sequence[Step] = STEPS, size: Size | None = None, inductor: bool = True
) -> Iterator[Row]:
    """The time of the fastest other system over ours for each step; the note has our time, and tokens per second.

    `size`: size of the model; None: that of the example. `inductor`: include `torch.compile`.
    """
    import torch

    from examples.generate import Size, compile_decoder, make_model
    from examples.llama_onnx import llama_onnx, onnxruntime_decoder

    size = size or Size()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = make_model(size)
        ways: dict[str, Callable[..., Any]] = {
            "ours": compile_decoder(model, size),
            "torch": model,
            "ONNX Runtime": onnxruntime_decoder(llama_onnx(model, size), size, threads=1),
        }
        if inductor:
            ways["torch.compile"] = torch.compile(model, dynamic=True)
        for batch, length, past in steps:
            yield _row(ways, size, (batch, length, past), seconds)
    finally:
        torch.set_num_threads(threads)


def _row(ways: Mapping[str, Callable[..., Any]], size: Size, step: Step, seconds: float) -> Row:
    import torch

    from examples.generate import empty_cache

    batch, length, past = step
    subject = f"generation {batch}x{length} behind {past}"
    ids = torch.randint(0, size.vocabulary, (batch, length), generator=torch.Generator().manual_seed(0))
    draw = torch.Generator().manual_seed(1)
    zeros = empty_cache(size, batch, past)
    keys, values = ([torch.randn(t.shape, generator=draw) for t in cache] for cache in zeros)
    with torch.inference_mode():
        bound = {
            name: Bound(partial(way, ids, keys, values), lambda found: found[0].numpy()) for name, way in ways.items()
        }
        results = {name: each.to_numpy(each.call()) for name, each in bound.items()}
        wanted = results["torch"]
        errors = {n: float(np.max(np.abs(r - wanted)) / np.max(np.abs(wanted))) for n, r in results.items()}
        off = {name: error for name, error in errors.items() if not error <= ERROR}
        if off:
            wrong = WrongResult(", ".join(f"{name}: an element is {off[name]:.3g} off" for name in off))
            return Row(subject, "best other / ours", 0.0, LEAST, str(wrong))
        timings = measure(bound, errors, seconds)
    best, value = best_other(timings)
    rate = batch * length / timings["ours"].median
    note = f"{duration(timings['ours'].median)}, {rate:,.0f} tokens/s, {best}"
    return Row(subject, "best other / ours", value, LEAST, note)


if __name__ == "__main__":
    for row in rows():
        print(f"{row.subject:32} {row.value:6.2f}  {row.note}", flush=True)
