"""Functions of a module: public and private ones, and calls that are merged or dropped."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from programs import numpy
from relax_mlir.error import UnknownNameError
from relax_mlir.script import parse
from relax_mlir.transform import create_pass

X = np.arange(4, dtype="float32")

CALLS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def double(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x * 2.0

    @R.function(private=True)
    def count(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = x * 1.0
        R.call_packed("functions.count", y)
        return y

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        a = cls.double(x)
        b = cls.double(x)
        unused = cls.double(a)
        c = cls.count(x)
        d = cls.count(x)
        return (a + b, c, d)
"""


def test_private_functions_are_not_callable_from_outside() -> None:
    executable = rx.build(parse(CALLS))
    for name in ("double", "count"):
        with pytest.raises(UnknownNameError, match=name):
            executable[name]


def test_equal_calls_of_pure_functions_are_merged_and_others_stay() -> None:
    calls: list[float] = []

    def count(x: object) -> None:
        np.from_dlpack(x)[...] += 1
        calls.append(float(np.from_dlpack(x)[0]))

    tvm_ffi.register_global_func("functions.count", count, override=True)
    before, after = parse(CALLS), parse(CALLS)
    after.apply_(create_pass("canonicalize-calls"))
    after.verify()
    text = str(after["main"])
    assert text.count("callee = @double") == 1 and text.count("callee = @count") == 2
    for module in (before, after):
        calls.clear()
        total, c, d = numpy(rx.build(module)["main"](X))
        np.testing.assert_array_equal(total, 4 * X)
        np.testing.assert_array_equal([c, d], [X + 1, X + 1])
        assert calls == [1.0, 1.0]


def test_loops_of_a_prim_func_in_the_memory_of_an_argument() -> None:
    """The old value keeps its elements if it is used again."""
    module = parse("""
@I.ir_module
class Module:
    @T.prim_func
    def cumulate(A: T.Buffer(("n",), "float32")):
        for i in range(1, n):
            A[i] = A[i] + A[i - 1]

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = x + 1.0
        z = R.call_tir_inplace(cls.cumulate, (y,), [0], R.Tensor((n,), "float32"))
        return (y, z)
""")
    for n in (0, 1, 5):
        x = np.arange(n, dtype="float32")
        y, z = numpy(rx.build(module)["main"](x))
        np.testing.assert_array_equal(y, x + 1)
        np.testing.assert_array_equal(z, np.cumsum(x + 1))
