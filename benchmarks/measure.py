"""Timing: each round measures all peers of a cell alternately, so that a slow moment affects all of them."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.ops import Array
from benchmarks.peers.base import Bound

RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""Allowed error of an output against float64: relative, and absolute as a share of the largest element."""

SAMPLE_SECONDS = 2e-3
MIN_ROUNDS, MAX_ROUNDS = 5, 200


class WrongResult(Exception):
    """An output that is not close to the reference."""


@dataclass(frozen=True)
class Timing:
    """Seconds per call over the rounds, and the largest error of the output that was checked."""

    samples: tuple[float, ...]
    loops: int
    max_error: float

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.samples, share))

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def spread(self) -> float:
        """Distance of the 10th from the 90th percentile as a share of the median."""
        return (self.quantile(0.9) - self.quantile(0.1)) / self.median

    def as_dict(self) -> dict[str, float]:
        return {
            "median": self.median,
            "low": self.quantile(0.1),
            "high": self.quantile(0.9),
            "rounds": len(self.samples),
            "loops": self.loops,
            "max_error": self.max_error,
        }


def check(bound: Bound, expected: Array) -> float:
    """Call once and compare with the float64 result; returns the largest absolute error."""
    actual = np.asarray(bound.to_numpy(bound.call()))
    if actual.shape != expected.shape:
        raise WrongResult(f"shape {actual.shape}, expected {expected.shape}")
    if actual.dtype != np.float32:
        raise WrongResult(f"dtype {actual.dtype}, expected float32")
    error = np.abs(actual - expected)
    allowed = RELATIVE * np.abs(expected) + ABSOLUTE * np.max(np.abs(expected), initial=0.0)
    if not np.all(error <= allowed):
        worst = np.unravel_index(np.argmax(np.nan_to_num(error - allowed, nan=np.inf)), error.shape)
        place = [int(i) for i in worst]
        raise WrongResult(f"element {place} is {actual[worst]}, expected {expected[worst]}")
    return float(np.max(error, initial=0.0))


def time_loop(call: Callable[[], Any], loops: int) -> float:
    """Seconds per call, over ``loops`` calls in a row."""
    start = time.perf_counter()
    for _ in range(loops):
        call()
    return (time.perf_counter() - start) / loops


def measure(contestants: Mapping[str, Bound], errors: Mapping[str, float], seconds: float) -> dict[str, Timing]:
    """Timings by peer: rounds until about ``seconds`` have passed for all of them together."""
    loops = {}
    round_seconds = 0.0
    for name, bound in contestants.items():
        time_loop(bound.call, 1)
        once = time_loop(bound.call, 1)
        loops[name] = max(1, math.ceil(SAMPLE_SECONDS / max(once, 1e-9)))
        round_seconds += once * loops[name]
    rounds = min(MAX_ROUNDS, max(MIN_ROUNDS, int(seconds / max(round_seconds, 1e-9))))
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            for name in rotated(list(contestants), turn):
                samples[name].append(time_loop(contestants[name].call, loops[name]))
    finally:
        gc.enable()
    return {name: Timing(tuple(values), loops[name], errors[name]) for name, values in samples.items()}


def ratio(timings: Mapping[str, Timing], other: str, own: str = "ours") -> float:
    """The median, over the rounds, of the time of one peer over that of another."""
    pairs = zip(timings[other].samples, timings[own].samples, strict=True)
    return statistics.median(theirs / ours for theirs, ours in pairs)


def best_other(timings: Mapping[str, Timing], own: str = "ours") -> tuple[str, float]:
    """The fastest peer other than the given one, and its ratio."""
    ratios = {name: ratio(timings, name, own) for name in timings if name != own}
    return min(ratios.items(), key=lambda item: item[1])


def beside(
    first: Callable[..., Any], second: Callable[..., Any], arguments: Sequence[Any], seconds: float
) -> tuple[float, float]:
    """Measure two functions of a tensor alternately on the same arguments: medians of first / second, and of second."""
    calls = {"first": lambda: first(*arguments), "second": lambda: second(*arguments)}
    contestants = {name: Bound(call, np.from_dlpack) for name, call in calls.items()}
    timings = measure(contestants, dict.fromkeys(contestants, 0.0), seconds)
    return ratio(timings, "first", "second"), timings["second"].median


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """The names, starting with another one each round, so that no peer always runs after the same one."""
    start = turn % len(names)
    return [*names[start:], *names[:start]]
