"""A child process that builds and measures candidates: ``python -m relax_mlir.tuning.measure_worker PARENT``.

It reads requests from its input, one JSON object per line, and answers each with a line. A crash of a candidate only
ends this process, never the tuner. It ends with its parent, whose process id is its argument.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter
from typing import Any

import ml_dtypes  # noqa: F401 - makes its dtypes known to NumPy by name
import numpy as np
import tvm_ffi

from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.ir_module import IRModule
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.build import build
from relax_mlir.tuning.task import FUNCTION

TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Tolerances relative to the largest result, since sums are accumulated in another order."""


MIN_ROUNDS, MAX_ROUND_SECONDS = 5, 0.01
"""The minimum number of rounds, and the average time of a round above which the remaining rounds are skipped."""


def serve() -> None:
    """Answer requests until the input ends."""
    _end_with_parent(int(sys.argv[1]))
    gc.freeze()
    gc.enable()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keep the output of candidates out of the answers
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"id": request["id"], **measure(request)}
        except Exception as error:  # any error of a candidate is part of its answer
            answer = {"id": request["id"], "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _end_with_parent(parent: int) -> None:
    """Make Linux kill this process when its parent ends."""
    if sys.platform != "linux":
        return
    set_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent has ended before the call
        sys.exit(1)


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Check a candidate against the baseline, and time both interleaved, for all sizes."""
    if request.get("cpu") is not None:
        os.sched_setaffinity(0, {request["cpu"]})
    base = _function(request["baseline"], request["target"])
    candidate = _function(request["candidate"], request["target"])
    found = []
    for number, (arguments, integers) in enumerate(zip(request["calls"], request["integers"], strict=True)):
        inputs = [_draw(a, request["seed"] + number) for a in arguments if not a["is_output"]]
        plain, wanted = _called(base, inputs, arguments, integers)
        call, outputs = _called(candidate, inputs, arguments, integers)
        for given, expected in zip(outputs, wanted, strict=True):
            _require_equal(given, expected, arguments)
        found.append(_compare(plain, call, rounds=request["rounds"], least=request["least"]))
    return {"times": found}


@dataclass(frozen=True)
class _Function:
    """A compiled function that fills its outputs, or a Relax function that returns them."""

    call: Any
    gives_results: bool


@lru_cache(maxsize=4)
def _function(text: str, target: str) -> _Function:
    """Compile a function; cached because each request repeats the baseline."""
    module = IRModule.parse(text, trusted=True)
    gives_results = PRIM_FUNC not in module[FUNCTION].operation.attributes
    return _Function(build(module, target, cache=False)[FUNCTION], gives_results)


def _called(
    function: _Function,
    inputs: Sequence[np.ndarray[Any, Any]],
    arguments: Sequence[dict[str, Any]],
    integers: Sequence[int],
) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """A call of a function as a callable, and its results."""
    if function.gives_results:
        given = function.call(*inputs)
        results = [given] if not isinstance(given, tvm_ffi.Array | tuple | list) else list(given)
        return partial(function.call, *inputs), [to_numpy(result) for result in results]
    outputs = [np.zeros(a["shape"], a["dtype"]) for a in arguments if a["is_output"]]
    call = partial(function.call, *inputs, *outputs, *integers)
    call()
    return call, outputs


def _draw(argument: dict[str, Any], seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    dtype, shape = np.dtype(argument["dtype"]), argument["shape"]
    found: np.ndarray[Any, Any] = rng.uniform(-1, 1, shape)
    if dtype.kind in "biu":
        found = rng.integers(0, 2 if dtype.kind == "b" else 8, shape)
    return found.astype(dtype)


def _require_equal(given: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], arguments: Sequence[Any]) -> None:
    shapes = ", ".join(str(tuple(a["shape"])) for a in arguments)
    tolerance = TOLERANCES.get(str(wanted.dtype))
    if tolerance is None:  # integers and bools
        if not np.array_equal(given, wanted):
            raise ValueError(f"{np.count_nonzero(given != wanted)} results differ for {shapes}")
        return
    first, second = (array.astype("float64") for array in (given, wanted))
    scale = max(float(np.abs(second[np.isfinite(second)]).max(initial=0)), 1e-30)
    if not np.allclose(first, second, rtol=0, atol=tolerance * scale, equal_nan=True):
        raise ValueError(f"the results differ by up to {np.nanmax(np.abs(first - second)):.3g} for {shapes}")


def _compare(base: Any, candidate: Any, rounds: int, least: float) -> dict[str, float]:  # noqa: ANN401 - functions
    """The speedup of a candidate, the quartiles of the ratios per round, and the seconds per call.

    Disturbances only make calls slower, so the lower quartiles of the times are compared. Many short rounds are
    disturbed less than few long ones. If calls take long, the number of rounds decreases to `MIN_ROUNDS`.
    """
    counts = [_count(call, least) for call in (base, candidate)]
    samples: tuple[list[float], list[float]] = [], []
    begun = perf_counter()
    for number in range(rounds):
        if number >= MIN_ROUNDS and perf_counter() - begun > rounds * MAX_ROUND_SECONDS:
            break
        for which in (0, 1) if number % 2 else (1, 0):
            started = perf_counter()
            for _ in range(counts[which]):
                (base, candidate)[which]()
            samples[which].append((perf_counter() - started) / counts[which])
    ratios = [first / second for first, second in zip(*samples, strict=True)]
    slow, fast = (float(np.quantile(times, 0.25)) for times in samples)
    low, high = (float(np.quantile(ratios, share)) for share in (0.25, 0.75))
    return {"ratio": slow / fast, "low": low, "high": high, "seconds": fast}


def _count(call: Any, least: float) -> int:  # noqa: ANN401 - a function
    """The number of calls that take `least` seconds or more; counting them also warms up."""
    count = 1
    while True:
        taken = min(_seconds(call, count) for _ in range(2))  # one run may have been disturbed
        if taken >= least or count >= 1 << 20:
            return count
        count = max(count * 2, min(1 << 20, int(count * least / max(taken, 1e-9))))


def _seconds(call: Any, count: int) -> float:  # noqa: ANN401 - a function
    started = perf_counter()
    for _ in range(count):
        call()
    return perf_counter() - started


if __name__ == "__main__":
    serve()
