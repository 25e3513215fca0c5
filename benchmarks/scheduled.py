"""The target of scheduled loops: a matrix product of loops with kinds, in tiles, beside the kernel of `matmul`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.measure import WrongResult, measure
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.targets import Row
from benchmarks.workloads import normal

SIZES = ((512, 512, 512), (511, 513, 509))
"""Rows, depth and columns."""
SECONDS, LEAST = 1.0, 0.85
ERROR = 1e-3

SCRIPT = """
@T.prim_func
def product(A: T.Buffer(("n", "k"), "float32"), B: T.Buffer(("k", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")):
    for ib in T.parallel((n + 63) // 64):
        for jo in range((m + 31) // 32):
            for io in range((T.min(64, n - ib * 64) + 7) // 8):
                sums = T.alloc_buffer((8, 32), "float32", scope="local")
                for ii in T.unroll(T.min(8, T.min(64, n - ib * 64) - io * 8)):
                    for ji in T.vectorized(T.min(32, m - jo * 32)):
                        sums[ii, ji] = T.float32(0)
                for kk in range(k):
                    for ii in T.unroll(T.min(8, T.min(64, n - ib * 64) - io * 8)):
                        for ji in T.vectorized(T.min(32, m - jo * 32)):
                            sums[ii, ji] = sums[ii, ji] + A[ib * 64 + io * 8 + ii, kk] * B[kk, jo * 32 + ji]
                for ii in T.unroll(T.min(8, T.min(64, n - ib * 64) - io * 8)):
                    for ji in T.vectorized(T.min(32, m - jo * 32)):
                        C[ib * 64 + io * 8 + ii, jo * 32 + ji] = sums[ii, ji]
"""
"""Two levels of tiles, sums of 8 rows and 32 columns in registers, blocks of rows on several threads."""


def rows(seconds: float = SECONDS) -> Iterator[Row]:
    """Our kernel's time over that of the script."""
    import relax_mlir as rx
    from relax_mlir import op as R
    from relax_mlir.script import parse

    bb = rx.BlockBuilder()
    a, b = (rx.Var(name, rx.Tensor(dims, "float32")) for name, dims in (("a", ("n", "k")), ("b", ("k", "m"))))
    with bb.function("main", [a, b]):
        bb.emit_func_output(bb.emit(R.matmul(a, b)))
    kernel, script = rx.build(bb.get())["main"], rx.build(parse(SCRIPT))["product"]
    for n, k, m in SIZES:
        subject = f"W1 scheduled {n},{k},{m}"
        x, y, out = normal(n, k, seed=0), normal(k, m, seed=1), np.empty((n, m), np.float32)
        contestants = {
            "kernel": Bound(partial(kernel, x, y), np.from_dlpack),
            "script": Bound(partial(_written, script, x, y, out), np.asarray),
        }
        try:
            errors = {
                name: _check(bound, x.astype(float) @ y.astype(float)) for name, bound in contestants.items()
            }
        except WrongResult as error:
            yield Row(subject, "matmul / script", 0.0, LEAST, str(error))
            continue
        timings = measure(contestants, errors, seconds)
        pairs = zip(timings["kernel"].samples, timings["script"].samples, strict=True)
        ratio = float(np.median([own / other for own, other in pairs]))
        speed = 2.0 * n * k * m / timings["script"].median
        yield Row(subject, "matmul / script", ratio, LEAST, f"{speed * 1e-9:.0f} GFLOP/s")


def _written(script: Callable[..., object], x: Array, y: Array, out: Array) -> Array:
    script(x, y, out)
    return out


def _check(bound: Bound, expected: Array) -> float:
    """The largest absolute error."""
    error = float(np.max(np.abs(bound.to_numpy(bound.call()) - expected)))
    if error > ERROR:
        raise WrongResult(f"an element is {error:.3g} off")
    return error
