"""Purity of functions over the call graph, and what may be done with calls of pure ones."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import is_pure
from relax_mlir.error import ArgumentError, VerifyError
from relax_mlir.script import parse

SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def pure(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return cls.leaf(x) + x

    @R.function(private=True)
    def leaf(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.exp(x)

    @R.function
    def prints(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.print(x)
        return x

    @R.function
    def asserts(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.assert_op("n > 1")
        return x

    @R.function
    def packed(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        if c:
            R.call_packed("f", x)
            y = x
        else:
            y = x
        return y

    @R.function
    def pure_packed(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.call_pure_packed("f", x, out=R.Tensor(("n",), "float32"))
        return R.call_dps_packed("f", [y], R.Tensor(("n",), "float32"))

    @R.function
    def outer(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return cls.middle(x)

    @R.function
    def middle(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return cls.prints(x)

    @R.function
    def vouched(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.func_attr({"relax.force_pure": True})
        return cls.middle(x)

    @R.function
    def above(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        with R.dataflow():
            y = cls.vouched(x)
            R.output(y)
        return y

    @R.function
    def even(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return cls.odd(x)

    @R.function
    def odd(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return cls.even(x)

    @R.function
    def loops_and_prints(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = cls.loops_too(x)
        R.print("x")
        return y

    @R.function
    def loops_too(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return cls.loops_and_prints(x)
"""
IMPURE = {"prints", "asserts", "packed", "outer", "middle", "loops_and_prints", "loops_too"}


def test_call_graph() -> None:
    module = parse(SCRIPT)
    assert {f.name.value for f in module.functions() if not is_pure(f)} == IMPURE


def test_argument() -> None:
    with pytest.raises(ArgumentError, match="is_pure: 'function' is 'main'"):
        is_pure("main")  # type: ignore[arg-type]  # the mistake under test


def test_impure_call_in_dataflow() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n",))), rx.Var("y", rx.Tensor(("n",)))
    with bb.function("acts", [x]):
        R.print(x)
        bb.emit_func_output(x)
    with bb.function("main", [y]):
        with bb.dataflow():
            z = bb.emit_output(bb.call("acts", y))
        bb.emit_func_output(z)
    with pytest.raises(VerifyError, match=r"'acts' has effects, but is called in a dataflow block \[invariant 4\]"):
        bb.get()


def test_value_of_a_dataflow_block_outside() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [x]):
        with bb.dataflow():
            inside = x + x
            out = bb.emit_output(inside * x)
        bb.emit_func_output(R.add(inside, out))
    with pytest.raises(VerifyError) as raised:
        bb.get()
    (found,) = raised.value.diagnostics
    assert "relax.add uses a value of the dataflow block at" in found.message
    assert found.message.endswith("outside of it: output it [invariant 11]")
    assert "test_purity.py" in found.location
