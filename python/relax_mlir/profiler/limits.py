"""Peak performance of the machine: multiply-adds of one core, and bandwidth of copies."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.llvm.to_llvm import flat_control_flow, to_llvm_dialect
from relax_mlir.mlir import ExecutionEngine, func, ir
from relax_mlir.target import Target


@dataclass(frozen=True)
class Limits:
    """Peak performance of one core: f32 operations per second, and bytes per second of a large copy."""

    flops: float
    bandwidth: float

    @staticmethod
    def measure() -> Limits:
        """The limits of this machine, measured once per process."""
        return Limits(fma_peak(), copy_bandwidth(LARGE))


LARGE = 1 << 28
ROUNDS = 15
STEPS = 200_000
"""Iterations of independent multiply-adds per call: about a millisecond."""


@cache
def fma_peak() -> float:
    """FLOP/s of f32 vector multiply-adds on one core, with as many independent chains as vector registers allow."""
    target = Target("cpu")
    lanes, chains = target.lanes(32), min(target.num_vector_registers - 4, 24)
    engine = _engine(lanes, chains)
    floats = (ctypes.c_float(0.999), ctypes.c_float(1e-6), ctypes.c_float())
    pointers = [ctypes.pointer(ctypes.c_int64(STEPS)), *map(ctypes.pointer, floats)]
    seconds = _best(lambda: engine.invoke("multiply_add", *pointers))
    return 2.0 * STEPS * chains * lanes / seconds


def _engine(lanes: int, chains: int) -> ExecutionEngine:
    """``multiply_add(n, x, y)``: repeat v = v·x + y for `chains` vectors, `n` times; return the sum of all lanes."""
    with ir.Context(), ir.Location.unknown():
        module, f32 = ir.Module.create(), ir.F32Type.get()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("multiply_add", ([ir.IndexType.get(), f32, f32], [f32]))
            function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        with ir.InsertionPoint(function.add_entry_block()):
            count, x, y = function.arguments
            factor, term = simd.splat(x, lanes), simd.splat(y, lanes)
            with e.carrying_loop(0, count, 1, [factor] * chains) as loop:
                loop.give([simd.fma(value, factor, term) for value in loop.values])
            total = e.constant(f32, 0)
            for value in loop.results:
                total = simd.reduce("add", value, total)
            func.ReturnOp([total])
        for transform in (*flat_control_flow(), *to_llvm_dialect()):
            transform.apply_(module)
        return ExecutionEngine(module, opt_level=2)


@cache
def copy_bandwidth(size: int) -> float:
    """Bytes per second of a copy that moves `size` bytes in total, reads plus writes."""
    source = np.ones(max(size // 8, 1), np.float32)
    copy = np.empty_like(source)
    return 2 * source.nbytes / _best(lambda: np.copyto(copy, source))


def _best(call: Callable[[], object]) -> float:
    """Seconds per call: the median of the faster half of the runs, because this is a limit."""
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return statistics.median(sorted(samples)[: len(samples) // 2])
