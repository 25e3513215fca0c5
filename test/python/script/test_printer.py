"""The script form reads like the program that was built."""

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.script import parse
from relax_mlir.transform import create_pass

EXPECTED = """@I.ir_module
class Module:
    @R.function(private=True)
    def callee(t: R.Tuple(R.Tensor(("p",), "float32"), R.Shape(["p", 4]))) -> R.Tensor(("p",), "float32"):
        return t[0]

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), u: R.Tensor(None, "float16")) -> R.Object():
        with R.dataflow():
            scaled: R.Tensor(("n", 4), "float32") = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            total: R.Tensor(("n",), "float32") = R.sum(scaled, axis=[1], keepdims=False)
            gv: R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor(("n",), "float32")) = (scaled, total)
            R.output(gv)
        lv: R.Tensor(("n", 4), "float32") = gv[0]
        lv1: R.Tensor(("n",), "float32") = cls.callee((gv[1], R.shape(["n", 4])))
        lv2: R.Tensor((10, 10), "float32") = constants["weights"]
        if c:
            lv3: R.Tensor((10, 10), "float32") = R.add(lv2, R.const(1.0, "float32"))
            gv1 = lv3
        else:
            gv1 = lv2
        lv4: R.Tensor((None, None), "float32") = R.match_shape(gv1, (None, None))
        R.call_packed("log", lv4, 3, "text", True)
        lv5: R.Object() = R.call_packed("make", lv1, out=R.Object())
        return lv5
"""


def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    t = rx.Var("t", rx.Tuple([rx.Tensor(("p",)), rx.Shape(("p", 4))]))
    with bb.function("callee", [t], private=True):
        bb.emit_func_output(t[0])
    x, c = rx.Var("x", rx.Tensor(("n", 4), "float32")), rx.Var("c", rx.Tensor((), "bool"))
    u = rx.Var("u", rx.Tensor(None, "float16"))
    with bb.function("main", [x, c, u]):
        with bb.dataflow():
            scaled = bb.emit(x + np.arange(1, 5, dtype="float32"), "scaled")
            total = bb.emit(R.sum(scaled, axis=1), "total")
            scaled, total = bb.emit_output(scaled), bb.emit_output(total)
        called = bb.call("callee", R.make_tuple(total, R.shape_expr(("n", 4))))
        weights = bb.const(np.ones((10, 10), "float32"))
        chosen = R.if_then_else(c, lambda: weights + 1.0, lambda: weights)
        chosen = bb.match_shape(chosen, ("?", "?"))
        R.call_packed("log", chosen, 3, "text", True)
        made = R.call_packed("make", called, out=rx.Object())
        assert made is not None
        bb.emit_func_output(made)
    return bb.get()


def test_script() -> None:
    import re

    assert re.sub(r"relax_constant_\d+", "weights", module().script()) == EXPECTED


def test_prim_funcs_print_as_mlir() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(x + 1.0)
    mod = bb.get()
    mod.apply_(create_pass("legalize-ops"))
    text = mod.script()
    assert 'R.call_tir(cls.add_f32, (x, R.const(1.0, "float32")), R.Tensor(("n", 4), "float32"))' in text
    assert 'I.mlir("""' in text and "linalg.generic" in text


def test_show_prints_it(capsys) -> None:  # type: ignore[no-untyped-def]  # a pytest fixture
    mod = module()
    mod.show()
    assert capsys.readouterr().out == mod.script() + "\n"


def test_notebooks_show_it_in_colour() -> None:
    html = module()._repr_html_()
    assert "<span style=" in html and "match_shape" in html


def test_prim_func_without_a_body() -> None:
    """It is printed as IR, and read again as that."""
    text = """
    func.func private @add(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> attributes {relax.params = [
        {dtype = "float32", name = "A", shape = ["n"]}, {dtype = "float32", name = "B", shape = ["n"]}],
        relax.prim_func}"""
    printed = rx.IRModule.parse(text).script()
    assert "I.mlir" in printed and parse(printed).script() == printed


CARRIED = """
func.func private @last(%x: memref<?xf32>, %y: memref<1xf32>) attributes {{relax.prim_func, relax.params = [
    {{dtype = "float32", name = "x", shape = ["n"]}}, {{dtype = "float32", name = "y", shape = [1]}}]}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %first = arith.constant 0.0 : f32
  {0}
  return
}}
"""
LOOP = """
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %first) -> (f32) {
    memref.store %s, %y[%zero] : memref<1xf32>
    scf.yield %s : f32
  }"""


@pytest.mark.parametrize("loop", [LOOP, f"scf.for %j = %zero to %n step %one {{{LOOP}\n  }}"], ids=["alone", "inside"])
def test_loops_that_carry_values(loop: str) -> None:
    """There is no form for them in a script: the prim func is printed as IR, and read again as that."""
    printed = rx.IRModule.parse(CARRIED.format(loop)).script()
    assert "I.mlir" in printed and parse(printed).script() == printed
