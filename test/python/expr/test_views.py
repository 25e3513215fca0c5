"""Functions of a program as the classes of TVM and as the older ones: their views."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import expr
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, UnknownAttributeError, UnknownNameError
from relax_mlir.mlir import ir
from relax_mlir.script import parse
from relax_mlir.transform import ModulePass, PassContext, create_pass

TEXT = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), k: R.Prim("int64")) -> R.Tensor(None, "float32"):
    with R.dataflow():
        lv = R.add(x, R.const(1.0))
        t = R.call_tir(cls.scale, (lv,), R.Tensor((n, 4), "float32"))
        j = R.concat((t, x), axis=0)
        s = R.sum(j, axis=[1])
        r = R.reshape(t, R.shape([n * 4]))
        R.output(s, r)
    w = R.match_cast(s, R.Tensor(("m",), "float32"))
    R.call_packed("log", w, 3, "text")
    o: R.Tensor(None, "float32") = R.call_packed("make", r)
    d = R.call_dps_packed("fill", [w], R.Tensor((m,), "float32"))
    if c:
        q = cls.helper(d)
    else:
        q = d
    if k > 2:
        z = R.exp(q)
    else:
        z = q

    def inner(a: R.Tensor(("p",), "float32")):
        return R.exp(a)

    y = inner(z)
    for i in R.range(3):
        y = R.add(y, z)
    return o

@R.function(private=True)
def helper(a: R.Tensor(("p",), "float32")) -> R.Tensor(("p",), "float32"):
    return R.negative(a)

@T.prim_func
def scale(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")):
    for i, j in T.grid(n, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""


@pytest.fixture(scope="module")
def module() -> rx.IRModule:
    return parse(TEXT)


@pytest.fixture(scope="module")
def main(module: rx.IRModule) -> rx.Function:
    found = module["main"]
    assert isinstance(found, rx.Function)
    return found


def bindings(main: rx.Function) -> dict[str, rx.Binding]:
    return {b.var.name: b for block in main.body.blocks for b in block.bindings}


def test_a_function(module: rx.IRModule, main: rx.Function) -> None:
    assert [p.name for p in main.params] == ["x", "c", "k"]
    assert all(isinstance(p, rx.Var) and not isinstance(p, rx.DataflowVar) for p in main.params)
    assert main.params[0].struct_info == rx.Tensor(("n", 4), "float32")
    assert main.ret_struct_info == main.ret_type == rx.Tensor(None, "float32")
    assert isinstance(main.struct_info, rx.Callable)
    assert not main.is_pure
    assert not main.is_private
    helper = module["helper"]
    assert isinstance(helper, rx.Function) and helper.is_pure and helper.is_private
    assert not isinstance(module["scale"], rx.Function)
    assert [type(f) for f in module.functions()] == [rx.Function, rx.Function]
    assert dict(main.attrs) == {}


def test_blocks(main: rx.Function) -> None:
    body = main.body
    assert isinstance(body, rx.SeqExpr)
    first, second = body.blocks
    assert isinstance(first, rx.DataflowBlock) and isinstance(first, rx.BindingBlock)
    assert isinstance(second, rx.BindingBlock) and not isinstance(second, rx.DataflowBlock)
    assert [b.var.name for b in first.bindings] == ["lv", "t", "j", "s", "r"]
    kinds = [isinstance(b.var, rx.DataflowVar) for b in first.bindings]
    assert kinds == [True, True, True, False, False]
    assert all(isinstance(b, rx.VarBinding) for b in first.bindings)
    assert isinstance(second.bindings[0], rx.MatchCast)
    assert isinstance(body.body, rx.Var)
    assert body.body == bindings(main)["o"].var


def test_variables_are_equal_by_what_they_are(main: rx.Function) -> None:
    found = bindings(main)
    total = found["s"].var
    match = found["w"]
    assert isinstance(match, rx.MatchCast)
    assert match.value == total
    assert match.value.same_as(total)
    assert hash(match.value) == hash(total)
    assert match.value != found["r"].var
    assert len({main.params[0], main.params[0], total}) == 2
    add = found["lv"].value
    assert isinstance(add, rx.Call)
    assert add.args[0] == main.params[0]


def test_calls_of_ops(main: rx.Function) -> None:
    found = bindings(main)
    add = found["lv"].value
    assert isinstance(add, rx.Call)
    assert add.op == rx.Op.get("relax.add")
    assert isinstance(add.args[1], rx.Constant)
    np.testing.assert_array_equal(add.args[1].data, np.array(1, "f4"))
    assert add.struct_info == found["lv"].var.struct_info
    total = found["s"].value
    assert isinstance(total, rx.Call)
    assert total.op.name == "relax.sum"
    assert (total.attrs.axis, total.attrs["keepdims"]) == ([1], False)  # type: ignore[attr-defined]  # Attrs
    assert set(total.attrs) == {"axis", "keepdims"}
    assert "axis" in total.attrs and "axes" not in total.attrs
    assert (total.attrs.get("axis"), total.attrs.get("axes"), total.attrs.get("axes", 7)) == ([1], None, 7)
    assert total.args[0] == found["j"].var
    joined = found["j"].value
    assert isinstance(joined, rx.Call)
    assert isinstance(joined.args[0], expr.Tuple)
    assert joined.args[0].fields == (found["t"].var, main.params[0])
    reshaped = found["r"].value
    assert isinstance(reshaped, rx.Call)
    shape = reshaped.args[1]
    assert isinstance(shape, rx.ShapeExpr)
    assert [str(v) for v in shape.values] == ["4*n"]
    with pytest.raises(UnknownAttributeError, match="'axes'; did you mean 'axis'"):
        _ = total.attrs.axes  # type: ignore[attr-defined]  # a mistake
    with pytest.raises(UnknownNameError, match="'axes'"):
        _ = total.attrs["axes"]


def test_calls_of_functions(main: rx.Function) -> None:
    found = bindings(main)
    prim = found["t"].value
    assert isinstance(prim, rx.Call)
    assert prim.op == rx.Op.get("relax.call_tir")
    assert isinstance(prim.args[0], rx.GlobalVar)
    assert prim.args[0].name_hint == "scale"
    assert isinstance(prim.args[1], expr.Tuple)
    assert prim.args[1].fields == (found["lv"].var,)
    assert prim.sinfo_args == (rx.Tensor(("n", 4), "float32"),)
    made = found["o"].value
    assert isinstance(made, rx.Call)
    assert isinstance(made.op, rx.ExternFunc)
    assert made.op.global_symbol == "make"
    assert made.args == (found["r"].var,)
    assert made.sinfo_args == (rx.Tensor(None, "float32"),)
    fill = found["d"].value
    assert isinstance(fill, rx.Call)
    assert fill.op.name == "relax.call_dps_packed"
    assert fill.args[0].global_symbol == "fill"
    assert fill.args[1].fields == (found["w"].var,)
    block = main.body.blocks[1]
    (log,) = [
        b
        for b in block.bindings
        if b.var.name == "gv" and isinstance(b.value, rx.Call) and b.value.args[1:] == (3, "text")
    ]
    assert log.value.op.global_symbol == "log"
    assert log.var.struct_info == rx.Tuple()


def test_conditionals_loops_and_functions_inside(main: rx.Function) -> None:
    values = [b.value for b in main.body.blocks[1].bindings]
    first, second = [v for v in values if isinstance(v, rx.If)]
    assert first.cond == main.params[1]
    assert isinstance(first.true_branch, rx.SeqExpr) and isinstance(first.false_branch, rx.SeqExpr)
    (call,) = first.true_branch.blocks[0].bindings
    assert isinstance(call.value, rx.Call)
    assert call.value.op == rx.GlobalVar("helper")
    assert first.true_branch.body == call.var
    assert first.false_branch.blocks == []
    assert isinstance(second.cond, rx.Call)
    assert second.cond.args[0] == main.params[2]
    assert isinstance(second.cond.args[1], rx.PrimValue)
    assert second.cond.args[1].value == 2
    assert second.cond.struct_info == rx.Tensor((), "bool")
    (inner,) = [v for v in values if isinstance(v, rx.LocalFunction)]
    assert [p.name for p in inner.params] == ["a"]
    assert inner.is_pure
    assert isinstance(inner.body, rx.SeqExpr)
    (called,) = [v for v in values if isinstance(v, rx.Call) and isinstance(v.op, rx.Var)]
    assert called.op.name == "inner"
    (loop,) = [v for v in values if isinstance(v, rx.Loop)]
    assert [type(bound) for bound in loop.operands[:3]] == [rx.PrimValue] * 3
    assert loop.params[0].name == "i"
    assert len(loop.bodies) == 1


def test_one_output_and_none() -> None:
    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.exp(x)
        R.output(y)
    with R.dataflow():
        z = R.exp(y)
        t = (z, y)
        R.output(t)
    return t
""")
    first, second = module["main"].body.blocks
    assert [type(b.var) for b in first.bindings] == [rx.Var]
    assert second.bindings[0].value.args == (first.bindings[0].var,)
    assert [type(b.var) for b in second.bindings] == [rx.DataflowVar, rx.Var]
    assert isinstance(second.bindings[1].value, expr.Tuple)
    assert module["main"].body.body == second.bindings[1].var


def test_views_keep_the_program() -> None:
    """Any view keeps the module alive."""
    blocks = parse(TEXT)["main"].body.blocks
    value = blocks[0].bindings[3].value
    del blocks
    assert isinstance(value, rx.Call)
    assert value.args[0].struct_info == rx.Tensor(("2*n", 4), "float32")
    params = parse(TEXT)["main"].params
    assert str(params[0].ssa.type).startswith("tensor<?x4xf32")


def test_types_and_shapes(main: rx.Function) -> None:
    """``checked_type`` is rank and dtype, ``shape_`` the dimensions, any of which may be unknown."""
    from relax_mlir.dialects.value import DynTensorType, FuncType, ObjectType, PrimType, ShapeType, TupleType

    x, _, k = main.params
    assert x.checked_type == x.checked_type_ == DynTensorType(2, "float32")
    assert isinstance(x.shape_, rx.ShapeExpr)
    assert [str(v) for v in x.shape_.values] == ["n", "4"]
    assert x.shape == x.shape_.values
    assert main.body.body.checked_type == DynTensorType(-1, "float32")
    assert main.body.body.shape_ is None
    assert k.checked_type == PrimType("int64")
    assert k.shape_ is None
    assert isinstance(main.checked_type, FuncType)
    both = rx.Var("t", rx.Tuple([rx.Tensor((2, "n"), None), rx.Shape(ndim=2), rx.Object()]))
    assert both.checked_type == TupleType((DynTensorType(2, None), ShapeType(2), ObjectType()))
    assert both.shape_ is None
    pair = rx.Var("t", rx.Tuple([rx.Tensor((2, "n")), rx.Tensor((3,))]))
    assert isinstance(pair.shape_, expr.Tuple)
    assert [len(f.values) for f in pair.shape_.fields] == [2, 1]
    assert rx.Var("u", rx.Tensor((2, None))).shape_ is None
    assert rx.Var("s", rx.Shape()).checked_type == ShapeType(-1)


def test_a_shape_that_a_call_gives() -> None:
    """V1: the shape is computed at run time by a call; a `match_shape` of its result defines the symbols."""
    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        s: R.Shape(ndim=2) = R.call_pure_packed("my_shape", x)
        y: R.Tensor[s, "float32"] = R.call_tir(s, "custom", [x])
        R.output(y)
    return y
""")
    found = bindings(module["main"])
    shape = found["y"].var.shape_
    (match,) = [b for b in module["main"].body.blocks[0].bindings if isinstance(b, rx.MatchCast)]
    assert isinstance(shape, rx.ShapeExpr)
    assert shape.values == match.pattern
    assert match.value == found["s"].var
    assert found["s"].value.op.name == "relax.call_pure_packed"


def test_what_is_unknown_before_it_is_bound() -> None:
    var = rx.Var("y")
    assert repr(var) == "<Var y>"
    with pytest.raises(ArgumentError, match="nothing is known of <Var y> before it is bound"):
        _ = var.struct_info
    assert var.same_as(var)
    assert not var.same_as(rx.Var("y"))


def test_builders_values_compare_as_before() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((4,), "float32"))
    with bb.function("main", [x]):
        same = x == x * 1.0
        assert isinstance(same, rx.Value)
        bb.emit_func_output(R.where(same, x, x))
    main = bb.get()["main"]
    assert main.params[0] == main.params[0]
    assert (main.params[0] == "x") is False


def test_views_are_refused_after_a_pass() -> None:
    """A pass may have freed their ops; the function returns new views."""
    module = parse(TEXT)
    main = module["main"]
    blocks = main.body.blocks
    found = [binding for block in blocks for binding in block.bindings]
    values, names = [binding.value for binding in found], [binding.var for binding in found]
    for name in ("canonicalize", "cse", "legalize-ops"):
        create_pass(name).apply_(module)
    for part in (*values, *names, *found, *blocks):
        for attribute in ("args", "op", "ssa", "bindings", "value", "cond", "operation", "body"):
            if not hasattr(type(part), attribute):
                continue
            with pytest.raises(ArgumentError, match="part of a program that has been changed since"):
                getattr(part, attribute)
        assert "changed" in repr(part) or isinstance(part, rx.Var)
    assert names[0].name == "lv"
    assert str(names[0].struct_info) == 'Tensor((n, 4), "float32")'
    assert [p.name for p in module["main"].params] == [p.name for p in main.params] == ["x", "c", "k"]


def test_views_are_refused_after_a_change_of_module_attributes() -> None:
    class Mark(ModulePass):
        name = "mark"

        def run(self, module: ir.Module, ctx: PassContext) -> None:
            module.operation.attributes["relax.module_attrs"] = ir.DictAttr.get({"mark": ir.UnitAttr.get()})

    module = parse(TEXT)
    kept = module["main"].body.blocks[0].bindings[0]
    module.apply_(Mark())
    with pytest.raises(ArgumentError, match="part of a program that has been changed since"):
        _ = kept.value


def test_views_are_refused_after_a_mutator() -> None:
    seen: list[rx.Binding] = []

    class Change(rx.PyExprMutator):
        def visit_var_binding_(self, binding: rx.Binding) -> None:
            seen.append(binding)
            super().visit_var_binding_(binding)

        def visit_constant_(self, constant: rx.Constant) -> rx.Constant:
            return rx.Constant(constant.data * 2)

    module = parse(TEXT)
    kept = module["main"].body.blocks[0].bindings[0]
    assert Change().visit_expr(module["main"]) is not module["main"]
    with pytest.raises(ArgumentError, match="part of a program that has been changed since"):
        _ = seen[0].value
    assert isinstance(kept.value, rx.Call)  # the input of the mutator is unchanged
