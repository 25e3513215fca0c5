"""Convolutions and poolings of symbolic sizes beside torch, on one thread each, in turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import WrongResult, measure
from benchmarks.peers.base import Bound
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import normal

SECONDS, LEAST, ERROR = 0.5, 0.8, 1e-3


@dataclass(frozen=True)
class Case:
    """A layer: "conv", "max" or "avg", its data, its kernels or its window, and steps, padding and groups."""

    name: str
    kind: str
    data: tuple[int, ...]
    window: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def rank(self) -> int:
        return len(self.data) - 2


CASES = (
    Case("ResNet 3x3 64@56", "conv", (1, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    Case("ResNet 3x3 256@14", "conv", (1, 256, 14, 14), (256, 256, 3, 3), 1, 1),
    Case("ResNet 1x1 256-64@56", "conv", (1, 256, 56, 56), (64, 256, 1, 1)),
    Case("MobileNet dw 144@56", "conv", (1, 144, 56, 56), (144, 1, 3, 3), 1, 1, 144),
    Case("MobileNet dw 384@14", "conv", (1, 384, 14, 14), (384, 1, 3, 3), 1, 1, 384),
    Case("grouped 4 of 128@28", "conv", (1, 128, 28, 28), (128, 4, 3, 3), 1, 1, 32),
    Case("grouped 32 of 256@14", "conv", (1, 256, 14, 14), (256, 32, 3, 3), 1, 1, 8),
    Case("conv3d 16@16", "conv", (1, 16, 16, 16, 16), (16, 16, 3, 3, 3), 1, 1),
    Case("max 3x3/2 64@112", "max", (1, 64, 112, 112), (3, 3), 2, 1),
    Case("avg 3x3x3/2 16@33", "avg", (1, 16, 33, 33, 33), (3, 3, 3), 2, 1),
)


def rows(seconds: float = SECONDS) -> Iterator[Row]:
    """torch's time over ours of each layer; the note has ours."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for case in CASES:
                yield _row(case, seconds)
    finally:
        torch.set_num_threads(threads)


def _row(case: Case, seconds: float) -> Row:
    import torch

    subject = f"layers {case.name}"
    arrays = [normal(*case.data, seed=0)]
    if case.kind == "conv":
        arrays.append(normal(*case.window, seed=1))
    tensors = [torch.from_numpy(array) for array in arrays]
    contestants = {
        "ours": Bound(partial(_ours(case), *arrays), np.from_dlpack),
        "torch": Bound(partial(_torch(case), *tensors), lambda tensor: tensor.numpy()),
    }
    ours, theirs = (bound.to_numpy(bound.call()) for bound in contestants.values())
    error = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    if error > ERROR:
        return Row(subject, "torch / ours", 0.0, LEAST, str(WrongResult(f"an element is {error:.3g} off")))
    timings = measure(contestants, dict.fromkeys(contestants, error), seconds)
    pairs = zip(timings["torch"].samples, timings["ours"].samples, strict=True)
    ratio = float(np.median([other / own for other, own in pairs]))
    return Row(subject, "torch / ours", ratio, LEAST, duration(timings["ours"].median))


def _ours(case: Case) -> Any:  # noqa: ANN401 - a function of the FFI
    import relax_mlir as rx
    from relax_mlir import op as R

    spatial, sides = [f"d{axis}" for axis in range(case.rank)], [case.padding] * case.rank
    params = [rx.Var("x", rx.Tensor(("n", case.data[1], *spatial)))]
    options: dict[str, Any] = {"strides": [case.stride] * case.rank, "padding": sides}
    if case.kind == "conv":
        params.append(rx.Var("w", rx.Tensor(case.window)))
        builder, options = getattr(R.nn, f"conv{case.rank}d"), {**options, "groups": case.groups}
    else:
        builder, options = (
            getattr(R.nn, f"{case.kind}_pool{case.rank}d"),
            {**options, "pool_size": case.window},
        )
    bb = rx.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(builder(*params, **options))
    return rx.build(bb.get(), "cpu -num-threads=1")["main"]


def _torch(case: Case) -> Any:  # noqa: ANN401 - a function of torch
    import torch

    functional: Any = torch.nn.functional
    if case.kind == "conv":
        convolution = getattr(functional, f"conv{case.rank}d")
        return lambda x, w: convolution(x, w, None, case.stride, case.padding, 1, case.groups)
    pool = getattr(functional, f"{case.kind}_pool{case.rank}d")
    if case.kind == "max":
        return lambda x: pool(x, case.window, case.stride, case.padding)
    return lambda x: pool(x, case.window, case.stride, case.padding, count_include_pad=False)
