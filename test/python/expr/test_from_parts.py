"""Functions built from parts, and parts emitted into a function under construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import expr
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, ShapeError, UnknownNameError
from relax_mlir.expr import Call, If, SeqExpr, VarBinding
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

X = rx.Tensor(("n", 4), "float32")


def run(function: rx.Function, *arguments: Any) -> Any:
    bb = rx.BlockBuilder()
    name = bb.add_func(function, "main")
    return to_numpy(rx.build(bb.get())[name](*arguments))


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape, dtype="f4")


def test_as_the_document_builds_it() -> None:
    x = rx.Var("x", X)
    lv, gv = rx.DataflowVar("doubled"), rx.Var("gv")
    block = rx.DataflowBlock(
        [
            VarBinding(lv, Call(rx.Op.get("relax.add"), [x, x])),
            VarBinding(gv, Call("relax.multiply", [lv, rx.Constant(np.float32(3.0))])),
        ]
    )
    function = rx.Function([x], SeqExpr([block], gv), X)
    expected = parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    with R.dataflow():
        doubled = R.add(x, x)
        gv = R.multiply(doubled, R.const(3.0))
        R.output(gv)
    return gv
""")
    assert_structural_equal(function, expected["main"])
    assert [b.var.name for b in function.body.blocks[0].bindings] == ["doubled", "gv"]
    np.testing.assert_allclose(run(function, sample(3, 4)), sample(3, 4) * 6, rtol=1e-6)


def test_every_kind_of_expression() -> None:
    """The oracle is the equivalent script."""
    tvm_ffi.register_global_func("from_parts.log", lambda *args: None, override=True)
    x, c = rx.Var("x", X), rx.Var("c", rx.Tensor((), "bool"))
    flat, chosen, pair, first, total = (rx.Var(name) for name in ("flat", "chosen", "pair", "first", "total"))
    a, f, y = rx.Var("a", rx.Tensor(("k",), "float32")), rx.Var("f"), rx.Var("y")
    bindings: list[rx.Binding] = [
        VarBinding(flat, Call("relax.reshape", [x, rx.ShapeExpr(["4*n"])])),
        VarBinding(rx.Var("_"), Call(rx.ExternFunc("from_parts.log"), [flat, 3, "text"], None, [rx.Tuple()])),
        VarBinding(chosen, If(c, Call("relax.exp", [flat]), SeqExpr([], flat))),
        VarBinding(pair, Call("relax.split", [chosen, 2], {"axis": 0})),
        VarBinding(first, rx.TupleGetItem(pair, 0)),
        rx.MatchCast(total, first, rx.Tensor(("m",), "float32")),
        VarBinding(f, expr.LocalFunction([a], Call("relax.negative", [a]))),
        VarBinding(y, Call(f, [total])),
    ]
    result = rx.Tuple([y, rx.PrimValue("n + 1"), rx.ShapeExpr(["n", 4])])
    function = rx.Function([x, c], SeqExpr([rx.BindingBlock(bindings)], result), attrs={"answer": 42})
    expected = parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
    R.func_attr({"answer": 42})
    flat = R.reshape(x, R.shape(["4*n"]))
    R.call_packed("from_parts.log", flat, 3, "text")
    if c:
        chosen = R.exp(flat)
    else:
        chosen = flat
    pair = R.split(chosen, 2, axis=0)
    first = pair[0]
    total = R.match_shape(first, ("m",))
    def f(a: R.Tensor(("k",), "float32")):
        return R.negative(a)
    y = f(total)
    return (y, R.prim_value(n + 1), R.shape(["n", 4]))
""")
    assert_structural_equal(function, expected["main"])
    bb = rx.BlockBuilder()
    bb.add_func(function, "main")
    outputs = rx.build(bb.get())["main"](sample(3, 4), np.array(True))
    np.testing.assert_allclose(to_numpy(outputs[0]), -np.exp(sample(3, 4).reshape(-1)[:6]), rtol=1e-5)
    assert (int(outputs[1]), tuple(outputs[2])) == (4, (3, 4))


def test_parts_in_a_builder() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", X)
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(Call("relax.add", [x, rx.Constant(np.ones(4, "f4"))]), "y")
            z = R.exp(Call("nn.relu", [y]))
            out = bb.emit_output(rx.Tuple([z, rx.TupleGetItem(expr.Tuple([y, x]), 1)]))
        bb.emit_func_output(out)
    module = bb.get()
    first, second = rx.build(module)["main"](sample(2, 4))
    np.testing.assert_allclose(to_numpy(first), np.exp(np.maximum(sample(2, 4) + 1, 0)), rtol=1e-5)
    np.testing.assert_array_equal(to_numpy(second), sample(2, 4))
    assert 'y: R.Tensor(("n", 4), "float32") = R.add' in module.script()


def test_calls_of_the_module() -> None:
    module = parse("""
@R.function(private=True)
def half(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    return x * 0.5

@T.prim_func
def double(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")):
    for i, j in T.grid(n, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
""")
    bb = rx.BlockBuilder(module)
    x = rx.Var("x", X)
    with bb.function("main", [x]):
        y = bb.emit(Call(rx.GlobalVar("half"), [x]))
        z = bb.emit(Call("relax.call_tir", [rx.GlobalVar("double"), expr.Tuple([y])], None, [X]))
        bb.emit_func_output(Call("relax.call_tir", [rx.GlobalVar("double"), expr.Tuple([z])], None, [X]))
    np.testing.assert_allclose(to_numpy(rx.build(bb.get())["main"](sample(3, 4))), sample(3, 4) * 2, rtol=1e-6)
    with pytest.raises(UnknownNameError, match="unknown function 'half'"):
        rx.Function([x], Call(rx.GlobalVar("half"), [x]))
    function = rx.Function([x], Call(rx.GlobalVar("half"), [x], None, [X]))
    assert function.body.blocks[0].bindings[0].value.op == rx.GlobalVar("half")


def test_parts_of_another_function() -> None:
    """A new body of old bindings: the parts are rebuilt, in any context."""
    main = parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    y = R.sum(x, axis=[1], keepdims=True)
    return R.exp(y)
""")["main"]
    (binding, _) = main.body.blocks[0].bindings
    called = binding.value
    gv = rx.Var("gv")
    body = SeqExpr([rx.BindingBlock([binding, VarBinding(gv, Call(called.op, [binding.var], called.attrs))])], gv)
    function = rx.Function(main.params, body)
    np.testing.assert_allclose(run(function, sample(3, 4)), sample(3, 4).sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda x: rx.Function([x], rx.Var("y", X)),
            ArgumentError,
            "<Var y.*> is used, but no parameter",
        ),
        (
            lambda x: rx.Function([x], x, rx.Tensor((3,))),
            ShapeError,
            r"its result is .*declared is Tensor\(\(3,\)",
        ),
        (lambda x: rx.Function([x], "x"), ArgumentError, "Function: 'body'"),
        (lambda x: rx.Function(x, x), ArgumentError, "Function: 'params'"),
        (lambda x: rx.Function([rx.Var("z")], x), ArgumentError, "nothing is known of <Var z>"),
        (lambda x: rx.Function([x], Call("relax.ad", [x, x])), UnknownNameError, "did you mean 'relax.add'"),
        (lambda x: Call(3, [x]), ArgumentError, "Call: 'op'"),
        (lambda x: Call("relax.add", [x, x], None, ["x"]), ArgumentError, "an entry of 'sinfo_args'"),
        (lambda x: Call("relax.add", [x, x]).struct_info, ArgumentError, "is known once it is emitted"),
        (lambda x: Call("relax.add", [x, x]).ssa, ArgumentError, "no function is being built"),
        (
            lambda x: rx.Function([x], Call("relax.call_tir", [rx.GlobalVar("f"), x])),
            ArgumentError,
            "needs sinfo_args",
        ),
        (lambda x: rx.ShapeExpr([None]), ShapeError, "an unknown dimension has no value"),
        (lambda x: rx.PrimValue(None), ShapeError, "an unknown integer has no value"),
        (lambda x: rx.MatchCast(x, ["n"], x), ArgumentError, "the order is var, value, struct_info"),
        (lambda x: rx.MatchShape(x, x, rx.Tensor()), ArgumentError, "no shape of known rank"),
        (lambda x: rx.TupleGetItem(x, 0).struct_info, ArgumentError, "has no field 0"),
        (lambda x: rx.Tuple([x, x.struct_info]), ArgumentError, r"'fields' has values, and Tensor\("),
        (lambda x: rx.Tuple([3, x]), ArgumentError, r"and 3 \(int\); give values alone .*rx\.PrimValue\(3\)"),
        (lambda x: rx.Loop(), ArgumentError, "op.for_loop"),
        (lambda x: rx.DataflowBlock([x]), ArgumentError, "DataflowBlock: a binding"),
        (lambda x: SeqExpr([x], x), ArgumentError, "SeqExpr: a block"),
        (lambda x: rx.ExternFunc(""), ArgumentError, "'global_symbol' is empty"),
    ],
)
def test_mistakes(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(rx.Var("x", X))


def test_effects_where_none_are_said() -> None:
    x = rx.Var("x", X)
    with pytest.raises(ArgumentError, match="has effects, but is_pure=True"):
        rx.Function([x], Call(rx.ExternFunc("f"), [x]), is_pure=True)


def test_a_failed_function_leaves_nothing() -> None:
    """After an error, parts can be used again, in other functions, in any order."""
    x, y = rx.Var("x", X), rx.Var("y")
    call = Call("relax.exp", [x])
    good = SeqExpr([rx.BindingBlock([VarBinding(y, call)])], y)
    for _ in range(3):
        with pytest.raises(ArgumentError):
            rx.Function([], good)
        function = rx.Function([x], good)
        np.testing.assert_allclose(run(function, sample(1, 4)), np.exp(sample(1, 4)), rtol=1e-5)


def test_a_call_of_a_function_by_its_name() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("y", rx.Tensor(("n",), "float32"))
    with bb.function("square", [x]):
        bb.emit_func_output(x * x)
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(Call("relax.call", [rx.GlobalVar("square"), y])))
    found = rx.build(bb.get(), opt_level=0)["main"](np.float32([1, 2, 3]))
    np.testing.assert_array_equal(found, [1, 4, 9])
