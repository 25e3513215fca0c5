"""The two spellings of the language: both produce the same module."""

from __future__ import annotations

import pytest
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.script import parse

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def scale(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), s: T.int64):
        for i in range(n):
            B[i] = A[i] * T.float32(s)

    @R.function
    def main(x: {tensor}, w: {unknown}):
        with R.dataflow():
            y = R.{match}(w, (n,))
            z = R.{call_tir}(cls.scale, (x,), {tensor}, tir_vars=[n])
            gv = R.{extern}("extern", (y,), {tensor})
            R.{output}(z, gv)
        return (z, gv)
"""
FIRST = {
    "tensor": 'R.Tensor[(n,), "f32"]',
    "unknown": 'R.Tensor[_, "f32"]',
    "match": "match_shape",
    "call_tir": "call_tir_dyn",
    "extern": "call_tir",
    "output": "outputs",
}
LATER = {
    "tensor": 'R.Tensor(("n",), "float32")',
    "unknown": 'R.Tensor(dtype="float32")',
    "match": "match_cast",
    "call_tir": "call_tir",
    "extern": "call_dps_packed",
    "output": "output",
}


@pytest.mark.parametrize("which", FIRST)
def test_both_spellings(which: str) -> None:
    mixed = LATER | {which: FIRST[which]}
    assert_structural_equal(parse(PROGRAM.format(**mixed)), parse(PROGRAM.format(**LATER)))


def test_all_at_once() -> None:
    assert_structural_equal(parse(PROGRAM.format(**FIRST)), parse(PROGRAM.format(**LATER)))
