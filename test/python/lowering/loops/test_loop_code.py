"""The instructions of scheduled loops: full tiles keep their accumulators in registers."""

from __future__ import annotations

import re

import pytest
import sweep
from machine_text import Assembly, Code
from relax_mlir.script import parse
from relax_mlir.tools.emit_code import assembly

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
