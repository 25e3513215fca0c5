"""Programs as objects, mutators, and ops by name: what they refuse, and what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Row, Rows, same
from module_texts import VECTOR, X, function, gives, run, script_of
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


class _PrintedAnywhere(ExprMutator):
    """The same outside of dataflow blocks."""

    def visit_exp(self, binding: Any) -> Any:
        op.print(binding.operands[0])
        return op.exp(binding.operands[0])


class _Double(ExprMutator):
    """Returns results of another dtype."""

    def visit_exp(self, binding: Any) -> Any:
        return op.astype(op.exp(binding.operands[0]), "float64")


class _DoubleBack(ExprMutator):
    """Returns results of another dtype, converted back."""

    def visit_exp(self, binding: Any) -> Any:
        return op.astype(op.astype(op.exp(binding.operands[0]), "float64"), "float32")


class _Gone(ExprMutator):
    """Returns a value for an op without a result."""

    given: Any = 1

    def visit_print(self, binding: Any) -> Any:
        return self.given


class _Removed(_Gone):
    """Removes an op without a result."""

    given = ()


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


def _called_caller() -> None:
    same(rx.build(_call_of("function"), opt_level=0)["caller"](X), X * X)


def _kept(again: bool) -> rx.IRModule:
    """The value of the first binding of a function after a pass, in a separate module."""
    module = _exp()
    main = module["main"]
    block = main.body.blocks[0]
    run(module, "canonicalize")
    if again:
        block = module["main"].body.blocks[0]
    return _with(rx.Function(main.params, block.bindings[0].value))


class _Squares(PyExprMutator):
    """Squares the argument of exponentials."""

    def visit_call_(self, call: Any) -> Any:
        return Call("relax.multiply", [*call.args, *call.args])


class _Again(PyExprMutator):
    """Visits the same expression again."""

    def visit_call(self, call: Any) -> Any:
        return Call("relax.negative", self.visit_expr(call).args)


class _Inside(PyExprMutator):
    """Visits the nested expressions."""

    def visit_call(self, call: Any) -> Any:
        return Call("relax.negative", super().visit_call_(call).args)


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


def _rule_given() -> None:
    _ruled(BOTH)
    assert str(infer_rule(Op.get("advice.twice_rows").name)(VECTOR)) == 'Tensor((2*n,), "float32")'


def _rule_of_add() -> None:
    assert infer_rule("relax.add")(VECTOR, rx.Tensor((1,), "float32")) == VECTOR


ROWS = {
    "loop": Row(
        lambda: _parts(script_of(LOOP)),
        r"use op.for_loop, op.while_loop, or BlockBuilder.add_func for the whole function",
        gives(lambda: function(lambda bb, x: op.for_loop(0, 3, lambda i, v: v + 1.0, x), VECTOR), X + 3),
    ),
    "while_loop": Row(
        lambda: _parts(script_of(LOOP)),
        "op.while_loop",
        gives(
            lambda: function(
                lambda bb, x: op.while_loop(lambda v: op.max(v) < 4.5, lambda v: v + 1.0, x), VECTOR
            ),
            X + 3,
        ),
    ),
    "whole_function": Row(
        lambda: _parts(script_of(LOOP)),
        "BlockBuilder.add_func for the whole function",
        gives(lambda: _with(script_of(LOOP)["main"]), X + 3),
    ),
    "call_of_value": Row(
        lambda: _call_of("value"), "relax.call takes the GlobalVar of a function first", _called_caller
    ),
    "changed": Row(
        lambda: _kept(False),
        r'take the function again, mod\["main"\]',
        gives(lambda: _kept(True), np.exp(X)),
    ),
    "new_expression": Row(
        lambda: Call("relax.add", [rx.Var("x", VECTOR)] * 2).struct_info,
        "is known once it is emitted: `bb.emit` does that",
        gives(lambda: function(_emitted, VECTOR), 2 * X),
    ),
    "no_module": Row(
        lambda: _Squares().builder_,
        r"there is no module: give it, _Squares\(mod\)",
        gives(lambda: _squared(_Squares(_exp())), X * X),
    ),
    "own_expression": Row(
        lambda: _Again().visit_module(_exp()),
        r"super\(\).visit_call_\(…\) visits what is inside",
        gives(lambda: _Inside().visit_module(_exp()), -X),
    ),
    "op_without_attributes": Row(
        _unruled,
        r"register_op_attr\(name, 'FInferShape', rule\) makes an op of a packed function",
        _rule_given,
    ),
    "op_without_rule": Row(_ruleless, r"register_op_attr\(name, 'FInferShape', rule\) sets it", _rule_given),
    "rule_of_relax": Row(
        lambda: op.register_op_attr("relax.add", *SHAPE),
        r"infer_rule\('relax.add'\) gives its shape rule",
        _rule_of_add,
    ),
    "level": Row(lambda: _again(10), "level=11 replaces it", gives(lambda: _again(11), np.tile(X, 2))),
    "dtype": Row(
        lambda: _by_rule(SHAPE),
        "nothing says the dtype: register FInferType",
        gives(lambda: _by_rule(SHAPE, DTYPE), np.tile(X, 2)),
    ),
    "dtype_of_tensor": Row(
        lambda: _by_rule(SHAPE), "or give a Tensor", gives(lambda: _by_rule(BOTH), np.tile(X, 2))
    ),
    "effects_in_dataflow": Row(
        lambda: _rewritten(_Printed, dataflow=True),
        "use an ExprMutator outside of dataflow blocks",
        gives(lambda: _rewritten(_PrintedAnywhere), np.exp(X)),
    ),
    "dtype_of_rewrite": Row(
        lambda: _rewritten(_Double),
        "after the rewrite; astype it",
        gives(lambda: _rewritten(_DoubleBack), np.exp(X)),
    ),
    "no_result": Row(
        lambda: _rewritten(_Gone, prints=True),
        r"which has no result; \(\) removes it",
        gives(lambda: _rewritten(_Removed, prints=True), np.exp(X)),
    ),
}


def _emitted(bb: rx.BlockBuilder, x: Any) -> Any:
    value = bb.emit(Call("relax.add", [x, x]))
    assert value.struct_info == VECTOR
    return value


def _squared(squares: _Squares) -> rx.IRModule:
    made = squares.visit_expr(squares.builder_.get()["main"])
    squares.builder_.update_func("main", made)
    return squares.builder_.get()


TABLE = Rows(ROWS)
