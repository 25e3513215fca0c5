"""Prim funcs print as T.prim_func and read back as the same functions."""

from __future__ import annotations

import pytest
import relax_mlir as rx
import tir_sources as programs
from relax_mlir import tir
from relax_mlir.analysis.structural import find_difference
from relax_mlir.error import UnsupportedError
from relax_mlir.script import parse
from relax_mlir.transform import MLIRPass, Sequential

FIXED = {
    name: getattr(programs, name)
    for name in (
        "SCAN",
        "HISTOGRAM",
        "TRIANGLE",
        "CONV",
        "WHILE",
        "LAZY",
        "INTEGER_PARAMETER",
        "FACTORIAL_LETS",
    )
}
PARAMETRIC = {"ARITHMETIC": programs.DTYPES, "MATH": programs.FLOATS, "BITS": programs.DTYPES[:8]}


@pytest.mark.parametrize("source", FIXED.values(), ids=FIXED)
def test_round_trip(source: str) -> None:
    module = parse(source)
    text = module.script()
    assert "@T.prim_func" in text
    assert "I.mlir" not in text
    assert find_difference(module, parse(text)) is None


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, dtypes in PARAMETRIC.items() for d in dtypes])
def test_round_trip_of_every_dtype(name: str, dtype: str) -> None:
    module = parse(getattr(programs, name).format(dtype))
    text = module.script()
    assert find_difference(module, parse(text)) is None


def test_a_block_reads_as_it_was_written() -> None:
    source = programs.REDUCTION.format("float32", "0.0", "B[vi] + A[vi, vk]")
    assert (
        parse(source).script()
        == """@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n",), "float32")):
        for i, i1 in T.grid(n, m):
            with T.block("sum"):
                v, v1 = T.axis.remap("SR", [i, i1])
                with T.init():
                    B[v] = 0.0
                B[v] = B[v] + A[v, v1]
"""
    )


STATEMENTS = """
        t = T.alloc_buffer((4,), "int32", scope="local")
        for i in range(4):
            t[i] = (A[i] - (A[i] - 1)) * (A[i] + 2) // 3 % 4 - -(A[i] * 5)
            t[i] = A[i] ^ A[i] | A[i] & ~(A[i] + 1)
            if (A[i] < 3) == (A[i] + 1 < 4):
                t[i] += (A[i] | 1) * 2
            if ~(A[i] < t[i]):
                A[i] = t[i]
"""


def test_operators_have_the_parentheses_of_their_precedence() -> None:
    """Allocations keep their memory scope."""
    head = '@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.Buffer((4,), "int32")):'
    expected = head + STATEMENTS.replace("t[", "buffer[").replace("t =", "buffer =")
    assert parse(head + STATEMENTS).script() == expected


def test_loops_read_as_they_were_written() -> None:
    assert (
        parse(programs.HISTOGRAM).script()
        == """@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer(("n",), "int64"), H: T.Buffer((10,), "int32")):
        for i in range(10):
            H[i] = 0
        for i1 in range(n):
            H[A[i1]] += 1
"""
    )


@pytest.mark.parametrize("source", FIXED.values(), ids=FIXED)
def test_what_passes_have_changed_reads_back_too(source: str) -> None:
    module = parse(source)
    module.apply_(Sequential([MLIRPass("canonicalize,cse")]))
    assert find_difference(module, parse(module.script())) is None


def test_buffers_of_other_element_types_are_printed_as_mlir() -> None:
    module = rx.IRModule.parse("""
func.func private @f(%a: memref<?xf32>) attributes {relax.prim_func,
    relax.params = [{name = "A", shape = ["n"], dtype = "float32"}]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %places = memref.alloc(%n) : memref<?xindex>
  return
}
""")
    assert "memref.alloc(%dim) : memref<?xindex>" in module.script()
    assert find_difference(parse(module.script()), module) is None
    with pytest.raises(UnsupportedError, match="prim func 'f' has no form in the T language"):
        tir.Schedule(module).get_block("places", func_name="f")
