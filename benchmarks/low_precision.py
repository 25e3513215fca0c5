"""The target of bf16: a large matrix product against torch's, and its operations per second on CPUs with AMX tiles."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from benchmarks.measure import WrongResult, measure, ratio
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.targets import RATIO, Row
from benchmarks.workloads import normal

SIZE, SECONDS = 1024, 1.0
AMX_FLOPS = 500e9
ERROR = 2.0**-7
"""Allowed error against float64: twice the rounding of a bf16, of the element and of the largest one."""


def rows(size: int = SIZE, seconds: float = SECONDS) -> Iterator[Row]:
    """The product of two square matrices of bf16, with a result of bf16 and f32 accumulators."""
    from relax_mlir.target import Target

    subject = f"W1 bf16 {size},{size},{size}"
    inputs = [normal(size, size, seed=seed).astype(ml_dtypes.bfloat16) for seed in (0, 1)]
    contestants = {"ours": _ours(inputs), "torch": _torch(inputs)}
    try:
        errors = {name: _check(bound, inputs) for name, bound in contestants.items()}
    except WrongResult as error:
        yield Row(subject, "torch / ours", 0.0, RATIO, str(error))
        return
    timings = measure(contestants, errors, seconds)
    speed = 2.0 * size**3 / timings["ours"].median
    yield Row(subject, "torch / ours", ratio(timings, "torch"), RATIO, f"{speed * 1e-9:.0f} GFLOP/s")
    tiles = Target.host().has("amx_tile", "amx_bf16")
    note = "by AMX tiles" if tiles else "this CPU has no AMX tiles"
    yield Row(subject, "FLOP/s / 500 GFLOP/s", speed / AMX_FLOPS if tiles else None, 1.0, note)


def _check(bound: Bound, inputs: list[Array]) -> float:
    """The largest absolute error."""
    expected = np.matmul(*(x.astype(np.float64) for x in inputs))
    error = np.abs(bound.to_numpy(bound.call()) - expected)
    if not np.all(error <= ERROR * (np.abs(expected) + np.max(np.abs(expected)))):
        raise WrongResult(f"an element of bf16 is {np.max(error):.3g} off")
    return float(np.max(error, initial=0.0))


def _ours(inputs: list[Array]) -> Bound:
    import relax_mlir as rx
    from relax_mlir import op as R
    from relax_mlir.runtime import to_numpy

    bb = rx.BlockBuilder()
    a, b = (rx.Var(n, rx.Tensor(s, "bfloat16")) for n, s in (("a", ("n", "k")), ("b", ("k", "m"))))
    with bb.function("main", [a, b]):
        bb.emit_func_output(bb.emit(R.matmul(a, b)))
    main = rx.build(bb.get())["main"]
    return Bound(lambda: main(*inputs), lambda result: to_numpy(result).astype(np.float64))


def _torch(inputs: list[Array]) -> Bound:
    import torch

    from benchmarks import environment

    torch.set_num_threads(environment.COUNT)
    a, b = (torch.from_numpy(x.astype(np.float32)).to(torch.bfloat16) for x in inputs)
    return Bound(lambda: a @ b, lambda result: result.to(torch.float64).numpy())
