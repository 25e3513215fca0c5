"""Prim funcs reject buffers of other sizes than they declare, and wrong indices can be errors."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ScriptError, ShapeError
from relax_mlir.script import parse
from relax_mlir.transform import PassContext
from tir_reference import native, native_module

ADD = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")):
    for i in range(n):
        with T.block("add"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi] + B[vi]
"""
MAIN = """
@R.function
def main(x: R.Tensor(({0},), "float32"), y: R.Tensor(({1},), "float32")):
    return R.call_tir(cls.k, (x, y), R.Tensor(({2},), "float32"))
"""


def module(x: object, y: object, out: object) -> rx.IRModule:
    text = ADD + MAIN.format(x, y, out)
    return parse("@I.ir_module\nclass M:\n" + "\n".join("    " + line for line in text.splitlines()))


def test_static_sizes_that_differ() -> None:
    with pytest.raises(ScriptError, match=r"'B' dimension 0 is 5, but it is declared n \(n = 4 by 'A' dimension 0\)"):
        module(4, 5, 4)


def test_symbols_that_may_differ_are_checked_at_run_time() -> None:
    main = rx.build(module('"a"', '"b"', '"a"'))["main"]
    x = np.ones(3, "float32")
    np.testing.assert_array_equal(np.from_dlpack(main(x, x)), x + x)
    with pytest.raises(ShapeError, match="a = 3"):
        main(x, np.ones(4, "float32"))


def test_a_destination_must_be_proved() -> None:
    with pytest.raises(ShapeError, match=r"'C' dimension 0 is b, but it is declared n .*match_shape"):
        rx.build(module('"a"', '"b"', '"b"'))


def test_a_destination_of_another_size() -> None:
    with pytest.raises(ScriptError, match=r"'C' dimension 0 is a \+ 1"):
        module('"a"', '"a"', '"a + 1"')


def test_signs_of_dtypes() -> None:
    text = ADD.replace("float32", "uint8") + MAIN.format(3, 3, 3).replace("float32", "int8")
    with pytest.raises(ScriptError, match="'A' is int8, but it is declared uint8"):
        parse("@I.ir_module\nclass M:\n" + "\n".join("    " + line for line in text.splitlines()))


GATHER = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), I: T.Buffer(("m",), "int64"), B: T.Buffer(("m",), "float32")):
    for i in range(m):
        B[i] = A[I[i]]
"""


def test_every_index_can_be_checked() -> None:
    a, indices, out = np.arange(4, dtype="float32"), np.array([3, 0], "int64"), np.zeros(2, "float32")
    mod = native_module(GATHER, [a, indices], [out])
    with PassContext(config={"tir.bounds_check": "all"}):
        main = rx.build(mod)["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a, indices)), [3.0, 0.0])
    with pytest.raises(
        IndexError, match=r"k: 'A': index 4 is out of range for dimension 0 of size 4, at <script>:7:13"
    ):
        main(a, np.array([3, 4], "int64"))
    with pytest.raises(IndexError, match=r"index -1 is out of range"):
        main(a, np.array([-1, 0], "int64"))


def test_indices_outside_of_loops_are_checked_by_default() -> None:
    source = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), I: T.Buffer((), "int64"), B: T.Buffer((), "float32")):
    B[()] = A[I[()]]
"""
    a, out = np.arange(4, dtype="float32"), np.zeros((), "float32")
    mod = native_module(source, [a, np.array(1, "int64")], [out])
    main = rx.build(mod)["main"]
    assert np.from_dlpack(main(a, np.array(2, "int64"))) == 2.0
    with pytest.raises(IndexError, match=r"'A': index 9 is out of range for dimension 0 of size 4"):
        main(a, np.array(9, "int64"))


def test_assertions_are_errors_of_the_call() -> None:
    source = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        assert A[i] >= 0.0, "negative"
        B[i] = T.sqrt(A[i])
"""
    a = np.array([1.0, 4.0], "float32")
    mod = native_module(source, [a], [a])
    np.testing.assert_array_equal(native(mod, [a])[0], [1.0, 2.0])
    with pytest.raises(AssertionError, match="negative"):
        native(mod, [-a])
