"""Visitors and mutators with a method per construct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import expr, te
from relax_mlir import op as R
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.location import name_of
from relax_mlir.error import ArgumentError, RelaxError, ShapeError, UnknownNameError
from relax_mlir.expr import Call
from relax_mlir.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from relax_mlir.ir_queries import ops_of
from relax_mlir.runtime import to_ffi, to_numpy
from relax_mlir.script import parse

TEXT = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(None, "float32"):
    with R.dataflow():
        a = R.add(x, R.const(1.0))
        b = R.add(a, x)
        R.output(b)
    w = R.match_cast(b, R.Tensor(("m", 4), "float32"))
    if c:
        d = R.add(w, w)
        e = R.exp(d)
    else:
        e = R.negative(w)
    def inner(p: R.Tensor(("q", 4), "float32")):
        g = R.add(p, p)
        return g
    f = inner(e)
    for i in R.range(2):
        f = R.add(f, e)
    t = (f, e)
    return R.add(t[0], e)
"""
X = rx.Tensor(("n", 4), "float32")


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape, dtype="f4")


def run(module: rx.IRModule, *arguments: Any) -> Any:
    return to_numpy(rx.build(module)["main"](*arguments))


def test_the_order_of_visits() -> None:
    seen: list[str] = []

    @visitor
    class Order(PyExprVisitor):
        def visit_function_(self, function: rx.Function) -> None:
            seen.append("function")
            super().visit_function_(function)

        def visit_var_def_(self, var: rx.Var) -> None:
            seen.append(f"def {var.name}")

        def visit_dataflow_var_def_(self, var: rx.DataflowVar) -> None:
            seen.append(f"dataflow def {var.name}")

        def visit_dataflow_block_(self, block: rx.DataflowBlock) -> None:
            seen.append("dataflow")
            super().visit_dataflow_block_(block)

        def visit_call_(self, call: Call) -> None:
            seen.append(f"call {call.op if isinstance(call.op, rx.Op) else call.op.name}")
            super().visit_call_(call)

        def visit_constant_(self, constant: rx.Constant) -> None:
            seen.append(f"constant {float(constant.data)}")

        def visit_match_cast_(self, binding: rx.MatchCast) -> None:
            seen.append("match")
            super().visit_match_cast_(binding)

        def visit_if_(self, conditional: rx.If) -> None:
            seen.append("if")
            super().visit_if_(conditional)

        def visit_loop_(self, loop: rx.Loop) -> None:
            seen.append("loop")
            super().visit_loop_(loop)

        def visit_tuple_(self, value: expr.Tuple) -> None:
            seen.append("tuple")
            super().visit_tuple_(value)

    Order().visit(parse(TEXT))
    assert seen == [
        *("function", "def x", "def c", "dataflow", "call relax.add", "constant 1.0", "dataflow def a"),
        *(
            "call relax.add",
            "def b",
            "match",
            "def w",
            "if",
            "call relax.add",
            "def d",
            "call relax.exp",
            "def e",
        ),
        *(
            "call relax.negative",
            "def e",
            "def gv",
            "function",
            "def p",
            "call relax.add",
            "def g",
            "def inner",
        ),
        *(
            "call inner",
            "def f",
            "loop",
            "def i",
            "def f",
            "match",
            "def gv",
            "call relax.add",
            "def f",
            "def gv",
        ),
        *("tuple", "def t", "call relax.add", "def gv"),
    ]


@pytest.mark.parametrize("base", [PyExprVisitor, PyExprMutator])
def test_mistakes_of_authors(base: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"'visit_calls_'; did you mean 'visit_call_'"):

        class Wrong(base):  # type: ignore[misc]  # one of two classes
            def visit_calls_(self, call: Call) -> None: ...

    class Endless(base):  # type: ignore[misc]  # one of two classes
        def visit_call_(self, call: Call) -> Any:
            return self.visit_expr(call)

    module = parse(TEXT)
    with pytest.raises(ArgumentError, match=r"Endless.visit_call visits its own expression <Call of relax.add"):
        Endless().visit_expr(module["main"])

    class Deeper(base):  # type: ignore[misc]  # one of two classes
        def visit_if(self, conditional: rx.If) -> Any:
            return super().visit_if(conditional)

        def visit_seq(self, seq: rx.SeqExpr) -> Any:
            return (
                self.visit_expr(module["main"].body) if seq.block == module["main"].body.block else self.visit_expr(seq)
            )

    with pytest.raises(ArgumentError, match="which never ends"):
        Deeper().visit_expr(module["main"])
    with pytest.raises(ArgumentError, match=r"is no expression|visit a function of a module"):
        base().visit_expr(3)
    decorate = visitor if base is PyExprVisitor else mutator
    with pytest.raises(ArgumentError, match=f"derived from {base.__name__}"):
        decorate(int)


# -- mutators


@mutator
class AddToMultiply(PyExprMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        return Call("relax.multiply", call.args) if call.op == rx.Op.get("relax.add") else call


def test_add_becomes_multiply() -> None:
    module = parse(TEXT)
    text = str(module)
    made = AddToMultiply().visit_module(module)
    assert str(module) == text
    assert "relax.add" not in str(made)
    x = sample(3, 4)
    b = x * 1 * x
    for flag in (True, False):
        e = np.exp(b * b) if flag else -b
        f = e * e * e * e
        np.testing.assert_allclose(run(made, x, np.array(flag)), f * e, rtol=1e-4)


def test_names_and_locations_survive() -> None:
    module = parse(TEXT)
    made = AddToMultiply().visit_module(module)

    def places(given: rx.IRModule) -> list[tuple[str | None, str]]:
        names = ("relax.add", "relax.multiply")
        return [
            (name_of(op.location), location_text(op.location))
            for op in ops_of(given["main"].operation)
            if op.name in names
        ]

    assert places(made) == places(module)
    assert [name for name, _ in places(made)][:3] == ["a", "b", "d"]


def test_as_tvm_writes_it() -> None:
    """The fused multiply-add of TVM's documentation."""

    @mutator
    class FuseMultiplyAdd(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            call = self.visit_expr_post_order(call)
            if call.op != rx.Op.get("relax.add"):
                return call
            value = self.lookup_binding(call.args[0])
            if not isinstance(value, Call) or value.op != rx.Op.get("relax.multiply"):
                return call
            return Call(rx.Op.get("relax.ewise_fma"), [value.args[0], value.args[1], call.args[1]], None, None)

        def transform(self) -> rx.IRModule:
            for gv, function in self.builder_.get().functions_items():
                if isinstance(function, rx.Function):
                    self.builder_.update_func(gv, self.visit_expr(function))
            return self.builder_.get()

    module = parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")):
    with R.dataflow():
        p = R.multiply(x, y)
        s = R.add(p, y)
        R.output(s)
    return s
""")
    made = FuseMultiplyAdd(module).transform()
    (binding,) = made["main"].body.blocks[0].bindings
    assert isinstance(binding.value, Call)
    assert binding.value.op.name == "relax.ewise_fma"
    assert binding.var.name == "s"
    np.testing.assert_allclose(run(made, sample(2, 4), sample(2, 4)), sample(2, 4) ** 2 + sample(2, 4), rtol=1e-5)
    assert "relax.multiply" in str(module)


def test_every_kind_of_replacement() -> None:
    class Kinds(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            call = super().visit_call_(call)
            name = call.op.name if isinstance(call.op, rx.Op) else ""
            x = call.args[0] if call.args else None
            if name == "relax.exp":
                return R.negative(x) * 2.0  # from builders
            if name == "relax.abs":
                return x  # a variable
            if name == "relax.sqrt":
                return 0.5  # a number, in the shape of the result
            if name == "relax.sin":
                return np.full(4, 3, "f4")  # an array
            if name == "relax.cos":
                return None  # None keeps it
            if name == "relax.tanh":
                return self.builder_.emit_te(lambda a: te.compute(a.shape, lambda i: a[i] + 1, "inc"), x)
            return call

        def visit_constant_(self, constant: rx.Constant) -> Any:
            return rx.Constant(constant.data + 1)

        def visit_tuple_(self, value: expr.Tuple) -> Any:
            value = super().visit_tuple_(value)
            return expr.Tuple(list(reversed(value.fields)))

    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    a = R.exp(R.abs(x))
    b = R.sqrt(x)
    c = R.sin(x)
    d = R.cos(x)
    e = R.tanh(x)
    f = R.add(x, R.const(1.0))
    return (a, b, c, d, e, f)
""")
    made = Kinds().visit_module(module)
    x = sample(4)
    f, e, d, c, b, a = (to_numpy(item) for item in rx.build(made)["main"](x))
    for found, wanted in (
        (a, -x * 2),
        (b, np.full(4, 0.5)),
        (c, np.full(4, 3)),
        (d, np.cos(x)),
        (e, x + 1),
        (f, x + 2),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_variables_are_replaced_where_they_are_used() -> None:
    class Swap(PyExprMutator):
        def visit_function_(self, function: rx.Function) -> Any:
            self.params = function.params
            return super().visit_function_(function)

        def visit_var_(self, var: rx.Var) -> Any:
            first, second = self.params
            if var.same_as(first):
                return second
            return first if var.same_as(second) else var

    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
    d = R.subtract(x, y)
    return (d, x)
""")
    difference, other = rx.build(Swap().visit_module(module))["main"](sample(4), sample(4) * 3)
    np.testing.assert_allclose(to_numpy(difference), sample(4) * 2, rtol=1e-5)
    np.testing.assert_array_equal(to_numpy(other), sample(4) * 3)


def test_conditions_and_effects() -> None:
    tvm_ffi.register_global_func(
        "constructs.bump", lambda x: np.copyto(np.from_dlpack(x), to_numpy(x) + 1), override=True
    )
    tvm_ffi.register_global_func("constructs.twice", lambda x: to_ffi(to_numpy(x) * 2), override=True)

    class Change(PyExprMutator):
        def visit_if_(self, conditional: rx.If) -> Any:
            result = super().visit_if_(conditional)
            return result

        def visit_var_(self, var: rx.Var) -> Any:
            return R.logical_not(var) if var.name == "c" else var

        def visit_call_(self, call: Call) -> Any:
            call = super().visit_call_(call)
            if isinstance(call.op, rx.ExternFunc) and call.op.global_symbol == "constructs.nothing":
                return ()
            return call

        def visit_extern_func_(self, function: rx.ExternFunc) -> Any:
            return rx.ExternFunc("constructs.twice") if function.global_symbol == "constructs.once" else function

    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    y = R.exp(x)
    R.call_packed("constructs.bump", y)
    R.call_packed("constructs.nothing", y)
    if c:
        z = R.call_packed("constructs.once", y, out=R.Tensor((4,), "float32"))
    else:
        z = y
    return z
""")
    made = Change().visit_module(module)
    np.testing.assert_allclose(run(made, sample(4), np.array(True)), np.exp(sample(4)) + 1, rtol=1e-5)
    np.testing.assert_allclose(run(made, sample(4), np.array(False)), 2 * np.exp(sample(4)) + 2, rtol=1e-5)


def test_types_are_deduced_again() -> None:
    class Widen(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            call = super().visit_call_(call)
            return Call("relax.concat", [expr.Tuple([call.args[0]] * 2)]) if call.op == rx.Op.get("exp") else call

    module = parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(None, "float32"):
    y = R.exp(x)
    return R.negative(y)
""")
    made = Widen().visit_module(module)
    assert str(made["main"].body.blocks[0].bindings[1].var.struct_info) == 'Tensor((2*n, 4), "float32")'
    strict = parse("""
@R.function
def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
    return R.exp(x)
""")
    with pytest.raises(ShapeError, match=r"result of function 'main' is declared as"):
        Widen().visit_module(strict)


def test_errors_name_the_binding() -> None:
    class Wrong(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            return Call("relax.reshape", [call.args[0], rx.ShapeExpr([7])])

    module = parse("@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y = R.exp(x)\n    return y\n")
    with pytest.raises(RelaxError, match=r"while <Binding y = exp at .*> of function 'main' was visited"):
        Wrong().visit_module(module)

    class NoValue(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            return "x"

    with pytest.raises(ArgumentError, match=r"returns 'x' \(str\)"):
        NoValue().visit_module(module)

    class Effect(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            R.call_packed("log", call.args[0])
            return call

    block = parse("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        R.output(y)
    return y
""")
    with pytest.raises(ArgumentError, match="call_packed is emitted in a dataflow block"):
        Effect().visit_module(block)
    assert "call_packed" in str(Effect().visit_module(module))
    with pytest.raises(ArgumentError, match="there is no module"):
        _ = PyExprMutator().builder_
    with pytest.raises(ArgumentError, match="visit a function of a module"):
        PyExprMutator(module).visit_expr(module["main"].body)


def test_functions_in_a_module_of_their_own() -> None:
    """Functions built from parts can be visited, and a new function inserted into another module."""
    x = rx.Var("x", X)
    function = rx.Function([x], Call("relax.add", [x, x]))
    made = AddToMultiply().visit_expr(function)
    assert isinstance(made, rx.Function)
    module = rx.IRModule({"main": made})
    np.testing.assert_allclose(run(module, sample(3, 4)), sample(3, 4) ** 2, rtol=1e-5)


def test_effects_are_made_anew_and_removed() -> None:
    """Ops without a result: a new call replaces the old one; () removes it."""

    class Texts(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            if call.op == rx.Op.get("relax.print"):
                return Call(call.op, [*call.args, *call.args], call.attrs)
            return () if call.op == rx.Op.get("relax.assert_op") else call

    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    R.assert_op(c)
    R.print(x)
    return x
""")
    made = Texts().visit_module(module)
    assert "assert_op" not in str(made)
    assert "R.print(x, x)" in made.script()
    assert "R.print(x)" in module.script()


def test_integers_are_made_anew() -> None:
    """Upstream ops, too: here every addition of integers becomes a multiplication."""

    class Products(PyExprMutator):
        def visit_call_(self, call: Call) -> Any:
            call = super().visit_call_(call)
            return Call(rx.Op("arith.muli"), call.args, call.attrs) if str(call.op) == "arith.addi" else call

    module = parse("""
@R.function
def main(n: R.Prim("int64"), x: R.Tensor((4,), "float32")):
    k = n + 3
    if k > 8:
        y = R.exp(x)
    else:
        y = x
    return y
""")
    made = Products().visit_module(module)
    np.testing.assert_array_equal(run(module, 3, sample(4)), sample(4))
    np.testing.assert_allclose(run(made, 3, sample(4)), np.exp(sample(4)), rtol=1e-6)
