"""Third-party libraries as parts of programs, against our own kernels, if the library is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.measure import beside
from benchmarks.report import duration
from benchmarks.targets import Row

SIZES = ((64, 64, 64), (256, 256, 256), (511, 513, 509), (512, 512, 512))
LEAST = 0.85
"""The minimum of our kernel's speed over the library's."""

CALL = 1e-6
"""Maximum seconds of a call of a 4 x 4 product: the wrapper is native."""
SECONDS = 1.0


def rows() -> Iterator[Row]:
    """Matrix products by OpenBLAS, and by our kernel, on one thread."""
    if importlib.util.find_spec("scipy_openblas64") is None:
        return
    for size in SIZES:
        ratio, seconds = _beside(size, threads=1)
        yield Row(f"matmul {'x'.join(map(str, size))}", "OpenBLAS / ours", ratio, LEAST, duration(seconds))
    _, seconds = _beside((4, 4, 4), threads=1)
    yield Row("matmul 4x4x4", "a call of OpenBLAS, limit / time", CALL / seconds, 1.0, duration(seconds))


def _beside(size: Sequence[int], threads: int) -> tuple[float, float]:
    """The library's time over ours, and the library's."""
    import relax_mlir as rx
    import tvm_ffi
    from relax_mlir import op as R
    from relax_mlir.contrib import openblas

    m, n, k = size
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(shape, "float32")) for name, shape in (("x", ("m", "k")), ("y", ("k", "n"))))
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.matmul(x, y))
    target = rx.Target("cpu", num_threads=threads)
    ours = rx.build(bb.get(), target)["main"]
    theirs = rx.build(openblas.use_openblas(bb.get()), target)["main"]
    openblas.set_num_threads(threads)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, dtype="f4") for shape in ((m, k), (k, n))]
    given = [tvm_ffi.from_dlpack(array) for array in arrays]
    for main in (ours, theirs):
        np.testing.assert_allclose(np.from_dlpack(main(*given)), arrays[0] @ arrays[1], rtol=1e-3, atol=1e-3)
    ratio, _ = beside(theirs, ours, given, SECONDS)
    return ratio, beside(ours, theirs, given, SECONDS / 4)[1]
