"""Programs as objects, mutators, and ops by name: what they refuse, and what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Rows
from module_texts import VECTOR, function, run, script_of
from programs import register
from relax_mlir import op
from relax_mlir.expr import Call
from relax_mlir.expr_functor import PyExprMutator
from relax_mlir.op.op_registry import Op, infer_rule
from relax_mlir.rewrite import DataflowMutator, ExprMutator


class _Printed(DataflowMutator):
    """Prints each binding it visits, which is not allowed in dataflow blocks."""

    def visit_exp(self, binding: Any) -> Any:
        op.print(binding.result)
        return op.exp(binding.operands[0])


class _Double(ExprMutator):
    """Returns results of another dtype."""

    def visit_exp(self, binding: Any) -> Any:
        return op.astype(op.exp(binding.operands[0]), "float64")


class _Gone(ExprMutator):
    """Returns a value for an op without a result."""

    given: Any = 1

    def visit_print(self, binding: Any) -> Any:
        return self.given


def _exp(dataflow: bool = False, prints: bool = False) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        if prints:
            op.print(x)
        if dataflow:
            with bb.dataflow():
                y = bb.emit_output(op.exp(x))
        else:
            y = bb.emit(op.exp(x))
        bb.emit_func_output(y)
    return bb.get()


def _rewritten(mutator: Any, **kind: bool) -> rx.IRModule:
    module = _exp(**kind)
    with module.context:
        mutator().visit(module)
    module.verify()
    return module


@register("advice.twice_rows")
def _twice_rows(x: Any) -> Any:
    return np.concatenate([np.from_dlpack(x)] * 2)


LOOP = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    y = x
    for i in R.range(3):
        y = y + 1.0
    return y
"""


def _parts(module: rx.IRModule) -> rx.Function:
    """A copy of the function, built from its parameters and its body."""
    main = module["main"]
    return rx.Function(main.params, main.body)


def _with(function: Any) -> rx.IRModule:
    """A module with this function."""
    bb = rx.BlockBuilder()
    bb.add_func(function, "main")
    return bb.get()


def _call_of(name: str) -> rx.IRModule:
    """A call of a function of the module, by `Call`."""
    bb = rx.BlockBuilder(function(lambda bb, x: x * x, VECTOR))
    x = rx.Var("x", VECTOR)
    with bb.function("caller", [x]):
        made = Call("relax.call", [x if name == "value" else rx.GlobalVar("main"), x])
        bb.emit_func_output(bb.emit(made))
    return bb.get()


def _kept() -> rx.IRModule:
    """The value of the first binding of a function after a pass, in a separate module."""
    module = _exp()
    main = module["main"]
    block = main.body.blocks[0]
    run(module, "canonicalize")
    return _with(rx.Function(main.params, block.bindings[0].value))


class _Squares(PyExprMutator):
    """Squares the argument of exponentials."""

    def visit_call_(self, call: Any) -> Any:
        return Call("relax.multiply", [*call.args, *call.args])


class _Again(PyExprMutator):
    """Visits the same expression again."""

    def visit_call(self, call: Any) -> Any:
        return Call("relax.negative", self.visit_expr(call).args)


def _ruled(*keys: tuple[str, Any], level: int = 10) -> None:
    """Register attributes of the op of this file, which has no others."""
    op.unregister_op("advice.twice_rows")
    for key, value in keys:
        op.register_op_attr("advice.twice_rows", key, value, level)


def _double(x: rx.Tensor, *_: Any) -> Any:
    return (2 * x.shape[0],)


def _by_rule(*keys: tuple[str, Any]) -> rx.IRModule:
    """A call of the op, whose result follows from the rules."""
    _ruled(*keys)
    module = function(lambda bb, x: op.call_pure_packed("advice.twice_rows", x), VECTOR)
    assert "2*n" in str(module)
    return module


SHAPE, DTYPE = ("FInferShape", _double), ("FInferType", lambda x: x.dtype)
BOTH = ("FInferShape", lambda x: rx.Tensor((2 * x.shape[0],), x.dtype))


def _again(level: int) -> rx.IRModule:
    """A second rule for the op, which is valid."""
    _ruled(("FInferShape", lambda x: rx.Tensor((1,), x.dtype)))
    op.register_op_attr("advice.twice_rows", *BOTH, level)
    return function(lambda bb, x: op.call_pure_packed("advice.twice_rows", x), VECTOR)


def _unruled() -> object:
    _ruled()
    return Op.get("advice.twice_rows")


def _ruleless() -> object:
    _ruled(("FPurity", True))
    return infer_rule("advice.twice_rows")


ROWS = {
    "loop": (
        lambda: _parts(script_of(LOOP)),
        "use op.for_loop, op.while_loop, or BlockBuilder.add_func for the whole function",
    ),
    "call_of_value": (lambda: _call_of("value"), "relax.call takes the GlobalVar of a function first"),
    "changed": (_kept, r'take the function again, mod\["main"\]'),
    "new_expression": (
        lambda: Call("relax.add", [rx.Var("x", VECTOR)] * 2).struct_info,
        "is known once it is emitted: `bb.emit` does that",
    ),
    "no_module": (lambda: _Squares().builder_, r"there is no module: give it, _Squares\(mod\)"),
    "own_expression": (
        lambda: _Again().visit_module(_exp()),
        r"super\(\).visit_call_\(…\) visits what is inside",
    ),
    "op_without_attributes": (
        _unruled,
        r"register_op_attr\(name, 'FInferShape', rule\) makes an op of a packed function",
    ),
    "op_without_rule": (_ruleless, r"register_op_attr\(name, 'FInferShape', rule\) sets it"),
    "rule_of_relax": (
        lambda: op.register_op_attr("relax.add", *SHAPE),
        r"infer_rule\('relax.add'\) gives its shape rule",
    ),
    "level": (lambda: _again(10), "level=11 replaces it"),
    "dtype": (lambda: _by_rule(SHAPE), "nothing says the dtype: register FInferType.*or give a Tensor"),
    "effects_in_dataflow": (
        lambda: _rewritten(_Printed, dataflow=True),
        "use an ExprMutator outside of dataflow blocks",
    ),
    "dtype_of_rewrite": (lambda: _rewritten(_Double), "after the rewrite; astype it"),
    "no_result": (lambda: _rewritten(_Gone, prints=True), r"which has no result; \(\) removes it"),
}


TABLE = Rows(ROWS)
