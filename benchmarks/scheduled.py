"""The targets of scheduled loops: tiled matrix products, by annotated loops and by an intrinsic, against matmul."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.measure import WrongResult, measure, ratio
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
"""Two levels of tiles, accumulators of 8 rows and 32 columns in registers, blocks of rows on several threads."""


ROWS, COLUMNS, TILES = 14, 32, 8
"""The tile of the intrinsic, and the number of tiles per job of a thread."""


def tensorized() -> Callable[..., object]:
    """The product by a schedule with an intrinsic, `te.intrin.gemm`."""
    import relax_mlir as rx
    from relax_mlir import te

    n, m, k = te.var("n"), te.var("m"), te.var("k")
    a, b, r = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B"), te.reduce_axis((0, k), "r")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "local")
    i, j = c.op.axis
    i_outer, j_outer, _, j_inner = s[c].tile(i, j, ROWS, COLUMNS)
    blocks, i_outer = s[c].split(i_outer, factor=TILES)
    s[c].reorder(blocks, j_outer, i_outer)
    s[c].parallel(blocks)
    s[c].vectorize(j_inner)
    s[sums].compute_at(s[c], i_outer)
    i, j, depth = s[sums].leaf_iter_vars
    s[sums].reorder(depth, i, j)
    s[sums].unroll(i)
    s[sums].vectorize(j)
    s[sums].tensorize(depth, te.intrin.gemm("float32", ROWS, COLUMNS))
    return rx.build(s, [a, b, c])


def rows(seconds: float = SECONDS) -> Iterator[Row]:
    """Our kernel's time over that of the script, and over that of the intrinsic."""
    import relax_mlir as rx
    from relax_mlir import op as R
    from relax_mlir.script import parse

    bb = rx.BlockBuilder()
    a, b = (rx.Var(name, rx.Tensor(dims, "float32")) for name, dims in (("a", ("n", "k")), ("b", ("k", "m"))))
    with bb.function("main", [a, b]):
        bb.emit_func_output(bb.emit(R.matmul(a, b)))
    kernel, script, intrinsic = rx.build(bb.get())["main"], rx.build(parse(SCRIPT))["product"], tensorized()
    for n, k, m in SIZES:
        subject = f"W1 scheduled {n},{k},{m}"
        x, y, out = normal(n, k, seed=0), normal(k, m, seed=1), np.empty((n, m), np.float32)
        contestants = {
            "kernel": Bound(partial(kernel, x, y), np.from_dlpack),
            "script": Bound(partial(_written, script, x, y, out), np.asarray),
            "intrinsic": Bound(partial(_written, intrinsic, x, y, out), np.asarray),
        }
        try:
            errors = {name: _check(bound, x.astype(float) @ y.astype(float)) for name, bound in contestants.items()}
        except WrongResult as error:
            yield Row(subject, "matmul / script", 0.0, LEAST, str(error))
            continue
        timings = measure(contestants, errors, seconds)
        for name in ("script", "intrinsic"):
            speed = 2.0 * n * k * m / timings[name].median
            yield Row(
                subject,
                f"matmul / {name}",
                ratio(timings, "kernel", name),
                LEAST,
                f"{speed * 1e-9:.0f} GFLOP/s",
            )


def _written(script: Callable[..., object], x: Array, y: Array, out: Array) -> Array:
    script(x, y, out)
    return out


def _check(bound: Bound, expected: Array) -> float:
    """The largest absolute error."""
    error = float(np.max(np.abs(bound.to_numpy(bound.call()) - expected)))
    if error > ERROR:
        raise WrongResult(f"an element is {error:.3g} off")
    return error
