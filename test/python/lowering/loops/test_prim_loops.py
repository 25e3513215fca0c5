"""Loops of prim funcs with annotations: results, instructions, threads, buffers, and bounds of split loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from guard_pages import run_apart
from guarded_loops import arrays
from loop_generator import LoopGenerator
from machine_text import Assembly, Code
from relax_mlir import op as R
from relax_mlir.dialects.attributes import PRIM_FUNC, UNCHECKED
from relax_mlir.error import BoundsError
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs
from relax_mlir.lowering.loops import parallelize_loops
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.tools.emit_code import assembly
from relax_mlir.transform import LoopReport, MLIRPass, create_pass, explain_loops
from tir_reference import interpret

SUPPORT = Path(__file__).parents[2] / "support"
SIZES = ((0, 3), (2, 0), (1, 1), (5, 7), (9, 33), *(((17, 50),) if sweep.ALL else ()))
PER_MODULE = 6


def module_of(generators: Sequence[LoopGenerator], sources: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for source in sources for line in source.splitlines())
    return f"@I.ir_module\nclass M:\n{body}\n"


@pytest.mark.parametrize("seed", range(5 if sweep.ALL else 1))
def test_native_code_agrees_with_python(seed: int) -> None:
    compare(seed, "native")


@pytest.mark.parametrize("seed", range(100, 101))
@pytest.mark.slow
def test_bytecode_agrees_with_python(seed: int) -> None:
    compare(seed, "bytecode")


@pytest.mark.slow
def test_parallel_loops_of_little_work_agree_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelize_loops, "THRESHOLD", 0)
    compare(200, "native", target="cpu -num-threads=4", cache=False)


def compare(seed: int, exec_mode: str, target: str = "cpu", cache: bool = True) -> None:
    generators = [LoopGenerator(Random(seed * PER_MODULE + number)) for number in range(PER_MODULE)]
    sources = [generator.program(f"k{number}") for number, generator in enumerate(generators)]
    built = rx.build(parse(module_of(generators, sources)), target, exec_mode=exec_mode, cache=cache)
    for number, (generator, source) in enumerate(zip(generators, sources, strict=True)):
        for n, m in SIZES:
            given = arrays(generator, n, m, seed)
            expected = [array.copy() for array in given]
            interpret(source, expected)
            built[f"k{number}"](*given)
            for ours, theirs in zip(given, expected, strict=True):
                np.testing.assert_array_equal(ours, theirs, err_msg=f"n = {n}, m = {m}\n{source}")


@pytest.mark.parametrize(
    ("seed", "target"),
    [
        pytest.param(500, "cpu", marks=pytest.mark.slow),
        (600, "cpu -mcpu=haswell"),
        pytest.param(700, "cpu -mcpu=x86-64", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_touched_out_of_bounds(seed: int, target: str) -> None:
    run_apart(SUPPORT / "guarded_loops.py", [str(seed), "4", target])


PRODUCT = """
@T.prim_func
def product(A: T.Buffer(("n", "k"), "float32"), B: T.Buffer(("k", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")):
    for io in T.parallel((n + {rows} - 1) // {rows}):
        for jo in range((m + {columns} - 1) // {columns}):
            sums = T.alloc_buffer(({rows}, {columns}), "float32", scope="local")
            for ii in T.unroll(T.min({rows}, n - io * {rows})):
                for ji in T.vectorized(T.min({columns}, m - jo * {columns})):
                    sums[ii, ji] = T.float32(0)
            for kk in range(k):
                for ii in T.unroll(T.min({rows}, n - io * {rows})):
                    for ji in T.vectorized(T.min({columns}, m - jo * {columns})):
                        sums[ii, ji] = sums[ii, ji] + A[io * {rows} + ii, kk] * B[kk, jo * {columns} + ji]
            for ii in T.unroll(T.min({rows}, n - io * {rows})):
                for ji in T.vectorized(T.min({columns}, m - jo * {columns})):
                    C[io * {rows} + ii, jo * {columns} + ji] = sums[ii, ji]
"""
VECTOR = r"%[xyz]mm|\bq\d"
MASKED = re.compile(r"vmaskmov|\{%k")
MULTIPLY_ADD = r"vfmadd\d+ps|fmla "


def code_of(rows: int, columns: int, target: str) -> Code:
    """The function of the GEMM: that of its job, if there are threads."""
    text = assembly(parse(PRODUCT.format(rows=rows, columns=columns)), target)
    return max(Assembly(text).functions.values(), key=lambda code: code.count(MULTIPLY_ADD))


TILES = (("skylake-avx512", 8, 32, 16), ("haswell", 6, 16, 12), ("neoverse-n1", 6, 16, 24))


@pytest.mark.parametrize(
    ("cpu", "rows", "columns", "sums", "threads"),
    [(*tile, threads) for tile, threads in sweep.product(TILES, (1, 4))],
)
def test_full_tiles_stay_in_registers(cpu: str, rows: int, columns: int, sums: int, threads: int) -> None:
    code = code_of(rows, columns, f"cpu -mcpu={cpu} -num-threads={threads}")
    loops = [loop for loop in code.inner_loops if loop.count(MULTIPLY_ADD) in (sums, 2 * sums)]
    loops = [loop for loop in loops if not any(MASKED.search(line) for line in loop.lines)]
    assert loops
    for loop in loops:
        assert [line for line in loop.on_the_stack if re.search(VECTOR, line)] == []
        assert loop.calls == []


N, M = 517, 403

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def rows(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for io in T.parallel((n + 7) // 8):
            own = T.alloc_buffer((8, 4), "float32")
            row = T.alloc_buffer((m,), "float32")
            for ii in range(T.min(8, n - io * 8)):
                for t in T.vectorized(4):
                    own[ii, t] = T.float32(0)
                for j in T.vectorized(m):
                    row[j] = A[io * 8 + ii, j] * T.float32(2)
                for j in range(m):
                    own[ii, j % 4] = own[ii, j % 4] + row[j]
                for j in T.vectorized(m):
                    C[io * 8 + ii, j] = row[m - 1 - j]
                D[io * 8 + ii] = (own[ii, 0] + own[ii, 1]) + (own[ii, 2] + own[ii, 3])

    @T.prim_func
    def fused(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for fo in T.parallel((n * m + 63) // 64):
            for fi in T.vectorized(T.min(64, n * m - fo * 64)):
                C[(fo * 64 + fi) // m, (fo * 64 + fi) % m] = A[(fo * 64 + fi) // m, (fo * 64 + fi) % m] + T.float32(1)
        for i in T.parallel(n):
            D[i] = T.float32(0)
            for j in range(m):
                D[i] = D[i] + A[i, j]

    @T.prim_func
    def columns(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for i in range(n):
            for jo in T.parallel((m + 15) // 16):
                for k in range(50):
                    for ji in T.unroll(T.min(16, m - jo * 16)):
                        C[i, jo * 16 + ji] = A[i, jo * 16 + ji] - T.float32(k)
        for i in T.parallel(n):
            D[i] = T.float32(i)

    @T.prim_func
    def tiles(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for t in T.parallel((n + 7) // 8 * ((m + 31) // 32)):
            for ii in T.unroll(T.min(8, n - t // ((m + 31) // 32) * 8)):
                for ji in T.vectorized(T.min(32, m - t % ((m + 31) // 32) * 32)):
                    C[t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji] = (
                        A[t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji] * T.float32(5)
                    )
        for i in T.parallel(n):
            D[i] = T.float32(i)

    @T.prim_func
    def parts(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), D: T.Buffer(("n",), "float32")):
        for io in T.parallel(5):
            for ii in range(T.min((n + 4) // 5, n - io * ((n + 4) // 5))):
                D[io * ((n + 4) // 5) + ii] = T.float32(7)
                for j in T.vectorized(m):
                    C[io * ((n + 4) // 5) + ii, j] = A[io * ((n + 4) // 5) + ii, j] * T.float32(3)
"""


def rows(a: Any) -> tuple[Any, Any]:
    return (2 * a)[:, ::-1], (2 * a).sum(axis=1)


def fused(a: Any) -> tuple[Any, Any]:
    return a + 1, a.sum(axis=1)


def columns(a: Any) -> tuple[Any, Any]:
    return a - 49, np.arange(len(a), dtype="float32")


def parts(a: Any) -> tuple[Any, Any]:
    return 3 * a, np.full(len(a), 7, "float32")


def tiles(a: Any) -> tuple[Any, Any]:
    return 5 * a, np.arange(len(a), dtype="float32")


@cache
def built(threads: int) -> tuple[Any, LoopReport]:
    with explain_loops() as report:
        executable = rx.build(parse(SCRIPT), f"cpu -num-threads={threads}", cache=False)
    return executable, report


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("reference", [rows, fused, columns, tiles, parts])
def test_results_are_those_of_one_thread(reference: Callable[[Any], tuple[Any, Any]], threads: int) -> None:
    a = np.random.default_rng(0).integers(-4, 5, (N, M)).astype("float32")
    wanted = reference(a)
    function = built(threads)[0][reference.__name__]
    for _ in range(5):
        c, d = np.full((N, M), np.nan, "float32"), np.full(N, np.nan, "float32")
        function(a, c, d)
        np.testing.assert_array_equal(c, wanted[0])
        np.testing.assert_array_equal(d, wanted[1])


def test_all_of_them_are_jobs() -> None:
    decisions = built(2)[1].decisions
    assert sum(d.kind == "parallel" for d in decisions) >= 5
    assert [d for d in decisions if not d.honoured] == []


def test_totals_before_each_element() -> None:
    """Computed by its defining loop, not by a kernel: it has been canonicalised."""
    bb = rx.BlockBuilder()
    for name, shape in (("four", (4,)), ("any", ("n",))):
        x = rx.Var("x", rx.Tensor(shape))
        with bb.function(name, [x]):
            bb.emit_func_output(R.cumsum(x, axis=0, exclusive=True))
    module = bb.get()
    create_pass("legalize-ops").apply_(module)
    MLIRPass("canonicalize").apply_(module)
    built = rx.build(module)
    for name in ("four", "any"):
        found = to_numpy(built[name](np.array([2, -3, 5, 7], np.float32)))
        np.testing.assert_array_equal(found, [0, 2, -1, 4], err_msg=name)


@pytest.mark.parametrize("target", sweep.quick(["cpu", "cpu -mcpu=haswell", "cpu -mcpu=x86-64"], "cpu"))
def test_every_second_third_and_fourth_element(target: str) -> None:
    run_apart(SUPPORT / "guarded_strides.py", [target])


ONE_AXIS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in {outer}((n + {tile} - 1) // {tile}):
        for ii in {inner}(T.min({tile}, n - io * {tile})):
            C[io * {tile} + ii] = A[io * {tile} + ii]
"""
TWO_LEVELS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 63) // 64):
        for im in range((T.min(64, n - io * 64) + 7) // 8):
            for ii in T.vectorized(T.min(8, T.min(64, n - io * 64) - im * 8)):
                C[io * 64 + im * 8 + ii] = A[io * 64 + im * 8 + ii]
"""
IN_A_BLOCK = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")):
    for io in T.parallel((n + 7) // 8):
        for jo in range((m + 31) // 32):
            for ii in T.unroll(T.min(8, n - io * 8)):
                for ji in T.vectorized(T.min(32, m - jo * 32)):
                    with T.block("b"):
                        vi = T.axis.spatial(n, io * 8 + ii)
                        vj = T.axis.spatial(m, jo * 32 + ji)
                        C[vi, vj] = A[vi, vj]
"""
PRODUCT_OF_SYMBOLS = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n * m",), "float32"), C: T.Buffer(("n * m",), "float32")):
    for io in range((n * m + 31) // 32):
        for ii in T.vectorized(T.min(32, n * m - io * 32)):
            C[io * 32 + ii] = B[io * 32 + ii]
"""
HALO = """
@T.prim_func
def k(A: T.Buffer(("n + 2",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 7) // 8):
        L = T.alloc_buffer((10,), "float32", scope="local")
        for ii in T.vectorized(T.min(10, n + 2 - io * 8)):
            L[ii] = A[io * 8 + ii]
        for ii in T.vectorized(T.min(8, n - io * 8)):
            C[io * 8 + ii] = L[ii] + L[ii + 1] + L[ii + 2]
"""
FUSED = """
@T.prim_func
def k(A: T.Buffer(("n", "m", "l"), "float32"), C: T.Buffer(("n", "m", "l"), "float32")):
    for fo in T.parallel((n * m * l + 7) // 8):
        for fi in T.vectorized(T.min(8, n * m * l - fo * 8)):
            f = fo * 8 + fi
            C[f // (m * l), f // l % m, f % l] = A[f // (m * l), f // l % m, f % l]
"""
PARTS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in T.parallel(5):
        for ii in T.vectorized(T.min((n + 4) // 5, n - io * ((n + 4) // 5))):
            C[io * ((n + 4) // 5) + ii] = A[io * ((n + 4) // 5) + ii]
"""
FUSED_TILES = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")):
    for t in T.parallel((n + 7) // 8 * ((m + 31) // 32)):
        for ii in T.unroll(T.min(8, n - t // ((m + 31) // 32) * 8)):
            for ji in T.vectorized(T.min(32, m - t % ((m + 31) // 32) * 32)):
                C[t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji] = A[
                    t // ((m + 31) // 32) * 8 + ii, t % ((m + 31) // 32) * 32 + ji
                ]
"""
FUSED_BY_A_CONSTANT = """
@T.prim_func
def k(A: T.Buffer(("n", 32), "float32"), C: T.Buffer(("n", 32), "float32")):
    for f in T.parallel(n * 32):
        C[f // 32, f % 32] = A[f // 32, f % 32]
"""
PROVED = {
    **{
        f"tile_{tile}_{outer[2:] or 'range'}": ONE_AXIS.format(tile=tile, outer=outer or "range", inner="T.unroll")
        for tile in (1, 8, 32)
        for outer in ("", "T.parallel")
    },
    "two_levels": TWO_LEVELS,
    "in_a_block": IN_A_BLOCK,
    "product_of_symbols": PRODUCT_OF_SYMBOLS,
    "halo": HALO,
    "fused": FUSED,
    "fused_by_a_constant": FUSED_BY_A_CONSTANT,
    "fused_tiles": FUSED_TILES,
    "parts": PARTS,
}

ONE_BEYOND = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 7) // 8):
        for ii in range(T.min(8, n - io * 8 + 1)):
            C[io * 8 + ii] = A[io * 8 + ii]
"""
WITHOUT_MINIMUM = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for io in range((n + 7) // 8):
        for ii in range(8):
            C[io * 8 + ii] = A[io * 8 + ii]
"""
ANYWHERE = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32"), x: T.int64):
    for io in T.parallel(x):
        for ii in range(T.min(8, n - io * 8)):
            C[io * 8 + ii] = A[io * 8 + ii]
"""
COMPUTED = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32"), x: T.int64):
    y = T.max(0, x)
    for ii in range(T.min(8, n - y * 8)):
        C[y * 8 + ii] = A[y * 8 + ii]
"""
OTHER_LENGTH = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n", "m"), "float32"), x: T.int64):
    for f in range(x):
        C[f // m, 0 * f] = T.float32(0)
    for f in range(n + 1):
        C[0 * f, f % m] = T.float32(0)
"""
MANY_PARTS = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32"), x: T.int64):
    for io in T.parallel(x):
        for ii in range(T.min(n, n - io * n)):
            C[io * n + ii] = A[io * n + ii]
"""
CHECKED = {
    "many_parts": MANY_PARTS,
    "one_beyond": ONE_BEYOND,
    "without": WITHOUT_MINIMUM,
    "anywhere": ANYWHERE,
    "computed": COMPUTED,
    "other_length": OTHER_LENGTH,
}


def needs_checks(source: str) -> bool:
    """True if `check-prim-funcs` marks the prim func."""
    module = parse(source)
    CheckPrimFuncs().apply_(module)
    (prim,) = [op for op in module.body.operations if PRIM_FUNC in op.attributes]
    return UNCHECKED in prim.attributes


@pytest.mark.parametrize("name", PROVED)
def test_split_loops_need_no_checks(name: str) -> None:
    assert not needs_checks(PROVED[name])


@pytest.mark.parametrize("name", CHECKED)
def test_what_may_leave_the_buffers_is_checked(name: str) -> None:
    assert needs_checks(CHECKED[name])


def test_products_that_wrap_around_raise() -> None:
    """Parallel loops begin anywhere, and 8 times such a number may wrap around into the range, or be negative."""
    a, out = np.arange(12, dtype="float32"), np.empty(12, "float32")
    anywhere, computed = rx.build(parse(ANYWHERE))["k"], rx.build(parse(COMPUTED))["k"]
    with pytest.raises(BoundsError, match=r"index -8 is out of range for dimension 0 of size 12"):
        computed(a, out, 2**61 - 1)
    computed(a, out, 1)
    anywhere(a, out, 2)
    np.testing.assert_array_equal(out, a)
