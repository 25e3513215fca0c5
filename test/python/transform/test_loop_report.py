"""`explain_loops`: decisions about annotated loops."""

from __future__ import annotations

import relax_mlir as rx
from relax_mlir.script import parse
from relax_mlir.transform import LoopDecision, LoopReport, explain_loops

SCRIPT = """
@T.prim_func
def sums(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer((4,), "float32")):
    for i in T.vectorized(n - 1):
        B[i + 1] = B[i] + A[i]
    for i in T.unroll(4):
        C[i] = T.float32(1)
"""


def test_decisions_have_the_loop_its_line_and_the_reason() -> None:
    with explain_loops() as report:
        rx.build(parse(SCRIPT), cache=False)
    assert report.decisions == [
        LoopDecision("sums", "<script>:4:5", "vectorized", False, "'B' is stored where other iterations may access it"),
        LoopDecision("sums", "<script>:6:5", "unroll", True, "4 iterations"),
    ]
    assert report.render() == (
        "serial     sums: T.vectorized, but 'B' is stored where other iterations may access it, at <script>:4:5\n"
        "unroll     sums: 4 iterations, at <script>:6:5\n"
        "1 as their kind says, 1 serial"
    )


def test_the_innermost_report_has_what_is_built_inside() -> None:
    with explain_loops() as outer:
        with explain_loops() as inner:
            rx.build(parse(SCRIPT), cache=False)
        assert len(inner.decisions) == 2
    rx.build(parse(SCRIPT), cache=False)
    assert outer == LoopReport()
    assert outer.render() == "0 as their kind says, 0 serial"
