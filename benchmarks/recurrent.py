"""Recurrent layers against torch, on one thread each: short sequences one at a time, and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import WrongResult, measure, ratio
from benchmarks.peers.base import Bound
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import normal

SECONDS, LEAST, ERROR = 0.5, 1.0, 1e-4
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
SIZES = ((64, 1, 50), (512, 8, 30))
"""Inputs and hidden state, batch, and steps."""


def rows(seconds: float = SECONDS, sizes: tuple[tuple[int, int, int], ...] = SIZES) -> Iterator[Row]:
    """torch's time over ours for each layer and size; the note has our time."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for kind in GATES:
                for size in sizes:
                    yield _row(kind, size, seconds)
    finally:
        torch.set_num_threads(threads)


def _row(kind: str, size: tuple[int, int, int], seconds: float) -> Row:
    import torch

    hidden, batch, steps = size
    layer: Any = getattr(torch.nn, kind.upper())(hidden, hidden)
    weights = [parameter.detach().numpy() for parameter in layer.parameters()]
    data = normal(steps, batch, hidden, seed=0)
    contestants = {
        "ours": Bound(partial(_ours(kind, hidden), data, *weights), lambda found: np.asarray(found[0])),
        "torch": Bound(partial(layer, torch.from_numpy(data)), lambda found: found[0].numpy()),
    }
    subject = f"{kind} hidden {hidden}, batch {batch}, {steps} steps"
    ours, theirs = (bound.to_numpy(bound.call()) for bound in contestants.values())
    error = float(np.max(np.abs(ours - theirs)))
    if not error <= ERROR:
        return Row(subject, "torch / ours", 0.0, LEAST, str(WrongResult(f"an element is {error:.3g} off")))
    timings = measure(contestants, dict.fromkeys(contestants, error), seconds)
    return Row(subject, "torch / ours", ratio(timings, "torch"), LEAST, duration(timings["ours"].median))


def _ours(kind: str, hidden: int) -> Callable[..., Any]:
    import relax_mlir as rx
    from relax_mlir import op

    wide = GATES[kind] * hidden
    shapes = {"w": (wide, hidden), "u": (wide, hidden), "b": (wide,), "c": (wide,)}
    params = [rx.Var("x", rx.Tensor(("steps", "batch", hidden)))]
    params += [rx.Var(name, rx.Tensor(shape)) for name, shape in shapes.items()]
    bb = rx.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(getattr(op.nn, kind)(*params))
    main: Callable[..., Any] = rx.build(bb.get(), "cpu -num-threads=1")["main"]
    return main
