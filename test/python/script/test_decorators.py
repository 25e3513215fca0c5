"""Scripts in Python files: decorators, both spellings of annotations, captured constants, locations."""
# ruff: noqa: UP037, SIM108 - both are what a script may say

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ScriptError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir

HIDDEN = 4


def reference(weights: np.ndarray[Any, Any]) -> rx.IRModule:
    bb = rx.BlockBuilder()
    m = rx.Var("x", rx.Tensor(("m", 4), "float32"))
    with bb.function("double", [m], private=True):
        bb.emit_func_output(m * 2.0)
    x, c = rx.Var("x", rx.Tensor(("n", 4), "float32")), rx.Var("c", rx.Tensor((), "bool"))
    with bb.function("main", [x, c]):
        with bb.dataflow():
            h = bb.emit_output(op.nn.softmax(x @ weights + 1.0))
        y = op.if_then_else(c, lambda: bb.call("double", h), lambda: h)
        bb.emit_func_output(y)
    return bb.get()


def test_a_module_from_a_class() -> None:
    weights = np.ones((HIDDEN, HIDDEN), "float32")

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor[(n, HIDDEN), "f32"], c: R.Tensor[(), "bool"]) -> R.Tensor[(n, 4), "f32"]:  # noqa: F821
            with R.dataflow():
                h = R.nn.softmax(x @ weights + 1.0, axis=-1)
                R.output(h)
            if c:
                y = cls.double(h)  # noqa: F821
            else:
                y = h
            return y

        @R.function(private=True)
        def double(x: R.Tensor(("m", 4), "float32")) -> R.Tensor(("m", 4), "float32"):
            return x * 2.0

    assert_structural_equal(Module, reference(weights))
    assert 'test_decorators.py":' in Module.asm(locations=True)


def test_a_module_from_a_function() -> None:
    @R.function
    def main(x: R.Tensor((_, "n"), _)):  # noqa: F821
        y: R.Tensor(("m", "n")) = R.match_cast(x, (m, n))  # noqa: F821
        s = R.shape([m * n])  # noqa: F821
        a, b = (y, s)
        return R.reshape(a, b)

    assert str(main["main"].type.results[0]) == 'tensor<?x!relax.any, #relax.shape<["m*n"]>>'


def test_mistakes_point_into_this_file() -> None:
    with pytest.raises(ScriptError, match=r"test_decorators.py:\d+:20: UnknownNameError: unknown op 'R.exq'"):

        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            return R.exq(x)


def test_a_prim_func_without_buffers() -> None:
    with pytest.raises(ScriptError, match="prim func 'f' has no buffer to write its result to"):

        @tir.prim_func
        def f() -> None: ...
