"""Running example 3: `match_shape`, three ways; it defines symbols, asserts them, and takes shape values.

The first `match_shape` defines n and m, the second asserts them of another tensor, the third asserts the shape of y.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal, defined_symbols, free_symbols
from relax_mlir.error import ArgumentError, ShapeError, VerifyError
from relax_mlir.script import parse

SCRIPT = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((None, None), "float32"), y: R.Tensor((None, None), "float32")
    ) -> R.Tensor(("n", "m"), "float32"):
        with R.dataflow():
            lv0 = R.match_shape(x, (n, m))
            lv1 = R.match_shape(y, (n, m))
            lv2 = R.match_shape(R.shape_of(y), (n, m))
            lv3 = R.add(lv0, lv1)
            gv0 = R.multiply(lv3, R.full(lv2, R.const(2.0, "float32")))
            R.output(gv0)
        return gv0
"""


def built() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor((None, None), "float32")), rx.Var("y", rx.Tensor(ndim=2, dtype="float32"))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            lv0 = bb.match_shape(x, ("n", "m"))
            lv1 = bb.match_shape(y, ("n", "m"))
            lv2 = bb.match_shape(R.shape_of(y), ("n", "m"))
            lv3 = bb.emit(R.add(lv0, lv1))
            gv0 = bb.emit_output(R.multiply(lv3, R.full(lv2, 2.0)))
        bb.emit_func_output(gv0)
    return bb.get()


@pytest.fixture(scope="module", params=["builder", "script"])
def module(request: pytest.FixtureRequest) -> rx.IRModule:
    return built() if request.param == "builder" else parse(SCRIPT)


def test_both_forms_are_one_module() -> None:
    assert_structural_equal(built(), parse(SCRIPT))


def test_prints_and_reads_back(module: rx.IRModule) -> None:
    module.verify()
    text = module.script()
    assert text.count("R.match_shape(") == 3
    assert 'R.Shape(["n", "m"]) = R.match_shape(' in text
    assert_structural_equal(module, parse(text))
    assert_structural_equal(module, rx.IRModule.parse(str(module)))
    assert str(module).count("relax.match_shape") == 3


def test_symbols(module: rx.IRModule) -> None:
    assert defined_symbols(module["main"]) == ["n", "m"] and free_symbols(module["main"]) == []


SIZES = [(2, 3), (1, 1), (0, 4), (7, 0)]


def test_runs_and_fails(module: rx.IRModule) -> None:
    """One build serves all sizes; each failing check reports the location, the numbers and the symbol."""
    run = rx.build(module)["main"]
    for size in SIZES:
        x, y = np.random.default_rng(1).random((2, *size), dtype="float32")
        np.testing.assert_array_equal(np.from_dlpack(run(x, y)), (x + y) * np.float32(2))
    x = np.zeros((2, 3), "float32")
    with pytest.raises(ShapeError, match=r"match_shape at .*: dimension 0 is 4, but n = 2"):
        run(x, np.zeros((4, 3), "float32"))
    with pytest.raises(ShapeError, match=r"match_shape at .*: dimension 1 is 2, but m = 3"):
        run(x, np.zeros((2, 2), "float32"))
    with pytest.raises((ArgumentError, ShapeError), match="y"):
        run(x, np.zeros((2, 3, 1), "float32"))


def test_asserting_what_nothing_else_uses() -> None:
    """A check whose result is unused is not removed."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("y", rx.Tensor(ndim=1, dtype="float32"))
    with bb.function("main", [x, y]):
        R.match_shape(y, ("2*n",))
        bb.emit_func_output(R.add(x, x))
    run = rx.build(bb.get())["main"]
    assert np.from_dlpack(run(np.ones(2, "float32"), np.ones(4, "float32"))).shape == (2,)
    with pytest.raises(ShapeError, match=r"dimension 0 is 3, but 2\*n = 4, with n = 2"):
        run(np.ones(2, "float32"), np.ones(3, "float32"))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [(("n",), "has 1 dimensions, but the value has 2"), ((3, "m"), "dimension 0 is 2, which is not 3")],
)
def test_what_is_wrong_before_it_runs(pattern: Any, message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((2, None), "float32"))
    with pytest.raises(ShapeError, match=message), bb.function("main", [x]):
        R.match_shape(x, pattern)


def test_a_symbol_that_the_pattern_cannot_define() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(ndim=1, dtype="float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.match_shape(x, ("2*k",)))
    with pytest.raises(VerifyError, match="uses symbol 'k', which is not defined here"):
        bb.get()


def test_the_caller_learns_the_shape_from_the_callee() -> None:
    """W1 across functions: the callee's result in the caller's dimensions; the callee's local ones become unknown."""
    mod = parse(SCRIPT)
    bb = rx.BlockBuilder(mod)
    a = rx.Var("a", rx.Tensor(("2*k", "k + 1"), "float32"))
    with bb.function("widen", [rx.Var("t", rx.Tensor(("p", "q"), "float32"))], private=True):
        bb.emit_func_output(R.full(("p + q", "p*q", "p // 2"), 1.0))
    with bb.function("caller", [a]):
        called = bb.call("widen", a)
        assert str(called.struct_info) == 'Tensor((3*k + 1, 2*k*k + 2*k, k), "float32")'
        bb.emit_func_output(called)
    result = rx.build(bb.get())["caller"](np.zeros((6, 4), "float32"))
    assert np.from_dlpack(result).shape == (10, 24, 3)
