"""GEMM by dot products of pairs against float64, on any CPU: the instructions are replaced by equivalent arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
import sweep
from gemm_check import DTYPES, LAYOUTS, check, emulated, module_of, operand
from jit import Compiled, link
from relax_mlir.lowering.base.constant_table import Layout, in_layout
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_gemm
from relax_mlir.lowering.kernels.gemm.gemm_prepacked import emit_gemm_panels
from relax_mlir.lowering.kernels.gemm.gemm_tiling import MAX_ROWS
from relax_mlir.mlir import ir
from relax_mlir.target import Target

TARGETS = [
    "cpu -mcpu=sapphirerapids -mattr=-amx_bf16",
    "cpu -mcpu=sapphirerapids -mattr=-amx_bf16 -num-threads=2",
    "cpu -mcpu=sapphirerapids -mattr=-amx_bf16 -vector-bytes=32 -vector-registers=16",
]
KERNELS = [GemmKernel("bf16", "f32"), GemmKernel("bf16", "bf16")]


PAIRS = sweep.product(TARGETS, KERNELS)
"""Targets with kernels; in a partial sweep, the kernels alternate."""


def targets_of(kernel: GemmKernel) -> list[str]:
    return [target for target, each in PAIRS if each == kernel]


@functools.cache
def compiled(target: str, kernel: GemmKernel) -> Compiled:
    with ir.Context(), ir.Location.unknown():
        module = module_of(kernel, Target(target))
        return Compiled(emulated(module, Target(target).lanes(32)))


@pytest.mark.parametrize(("target", "kernel"), sweep.quick(PAIRS, PAIRS[0], unpack=True), ids=str)
def test_random_products(target: str, kernel: GemmKernel) -> None:
    """Odd and even depths, one depth block and several, partial tiles, all strides."""
    rng = np.random.default_rng(5)
    for trial in range(120 if sweep.ALL else 48):
        m, n, depth = (int(rng.choice([1, 5, 6, 13, 14, 15, 16, 29, 31, 32, 33, 47, 64, 65, 90])) for _ in range(3))
        if trial % 12 == 0:
            m = int(rng.choice([255, 420]))
        if trial % 12 == 1:
            n = int(rng.choice([300, 513]))
        if trial % 6 == 2:
            depth = int(rng.choice([0, 1, 511, 2049, 2311]))
        a = operand(rng, (m, depth), DTYPES["bf16"], str(rng.choice(LAYOUTS)))
        b = operand(rng, (depth, n), DTYPES["bf16"], str(rng.choice(LAYOUTS)))
        check(compiled(target, kernel), kernel, a, b, bool(trial % 3 == 0), int(rng.choice([0, 0, 1, 7])))


@pytest.fixture(scope="module", params=TARGETS[:2])
def packed(request: pytest.FixtureRequest) -> Iterator[Compiled]:
    """The result with B packed beforehand."""
    target = Target(request.param)
    with ir.Context(), ir.Location.unknown():
        module = module_of(KERNELS[0], target, emit_gemm_panels)
        yield Compiled(emulated(module, target.lanes(32)))


@pytest.mark.parametrize("layout", ["plain", "columns", "strided"])
def test_packed_beforehand(packed: Compiled, layout: str) -> None:
    rng = np.random.default_rng(6)
    for m, n, depth in [
        (1, 200, 33),
        (2, 31, 64),
        (1, 7, 1),
        (5, 33, 40),
        (29, 100, 2051),
        (300, 65, 7),
    ]:
        a = operand(rng, (m, depth), DTYPES["bf16"], layout)
        b = operand(rng, (depth, n), DTYPES["bf16"], "plain")
        (panels,) = in_layout([(b, Layout(32, group=2))])
        for accumulate in (False, True):
            c = np.full((m, n), 3.0 if accumulate else np.nan, np.float32)
            packed("gemm", a, panels, c, accumulate)
            expected = a.astype(np.float64) @ b.astype(np.float64) + (3.0 if accumulate else 0.0)
            np.testing.assert_allclose(c, expected, rtol=1e-6, atol=1e-6 * (depth + 3))


@pytest.mark.parametrize("depth", [33, 34])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 0.0, -0.0])
@pytest.mark.parametrize("target", targets_of(KERNELS[0]))
def test_special_values(target: str, special: float, depth: int) -> None:
    """Values outside of the depth, the rows and the columns of a tile do not contribute to a sum."""
    m, n = 17, 35
    whole = np.full((m + 1, depth + 1), special, ml_dtypes.bfloat16)
    a, b = whole[:m, :depth], np.ones((depth, n), ml_dtypes.bfloat16)
    a[...] = 1
    a[3, 32], b[32, 34], b[1, 0] = special, special, special
    c = np.empty((m, n), np.float32)
    compiled(target, KERNELS[0])("gemm", a, b, c, False)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("target", targets_of(KERNELS[1]))
def test_subnormal_results(target: str) -> None:
    """They are kept in GEMM of few rows, and flushed to zero in others; the smallest normal numbers are always kept."""
    b = np.full((2, 37), 1e-39, ml_dtypes.bfloat16)
    b[:, 1::2] = 1e-38
    for m in (1, 2, 3, 20):
        c = np.full((m, 37), np.nan, ml_dtypes.bfloat16)
        compiled(target, KERNELS[1])("gemm", np.ones((m, 2), ml_dtypes.bfloat16), b, c, False)
        expected = np.broadcast_to(b.astype(np.float64).sum(axis=0), c.shape).astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(c[:, 1::2], expected[:, 1::2])
        whole = slice(0, 32, 2)  # one or two vectors; the rest is rounded element by element
        np.testing.assert_array_equal(c[:, whole], expected[:, whole] if m <= MAX_ROWS else 0)


@pytest.mark.parametrize(
    ("operand_type", "target", "dots"),
    [
        ("bf16", TARGETS[0], True),
        ("f16", TARGETS[0], False),
        ("bf16", "cpu -mcpu=sapphirerapids", False),
        ("bf16", "cpu -mcpu=skylake-avx512", False),
        ("bf16", "cpu -mcpu=haswell", False),
        ("bf16", f"{TARGETS[0]},-avx512vl -vector-bytes=32", False),
    ],
)
def test_only_where_there_is_the_instruction(operand_type: str, target: str, dots: bool) -> None:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        emit_gemm(module.body, GemmKernel(operand_type, "f32"), Target(target))
        link(module, Target(target))
        assert ("x86.avx512.dot" in str(module)) == dots
