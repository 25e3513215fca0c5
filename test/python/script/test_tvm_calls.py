"""Spellings of TVM's programs that differ from this project's: calls, results, and the order of functions."""
# ruff: noqa: E501 - programs are quoted verbatim

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import RelaxError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

HEAD = """@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")):
        for i, j in T.grid(n, 4):
            B[i, j] = A[i, j] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), k: R.Prim("int64"), t: R.Tuple(R.Tensor(("m",), "float32"), R.Tensor)):
{body}
"""


def module(body: str) -> rx.IRModule:
    return parse(HEAD.format(body="\n".join("        " + line for line in body.splitlines())))


SAME = {
    "call with a gradient": (
        'return R.call_tir_with_grad(cls.twice, (x,), R.Tensor((n, 4), "float32"), te_grad_name="g", te_grad_kwargs={"a": 1})',
        'return R.call_tir(cls.twice, (x,), R.Tensor((n, 4), "float32"))',
    ),
    "parameters and marks": (
        "a = R.wrap_param(x)\nreturn R.exp(R.builtin.stop_lift_params(a))",
        "return R.exp(x)",
    ),
    "packed function that changes its argument": (
        'return R.call_inplace_packed("f", x, 3, inplace_indices=[0], sinfo_args=(R.Tensor((n, 4), "float32"),))',
        'return R.call_packed("f", x, 3, out=R.Tensor((n, 4), "float32"))',
    ),
    "Python function": (
        'return R.call_py_func("f", (x, 3), out_ty=R.Tensor((n, 4), "float32"))',
        'return R.call_packed("f", x, 3, out=R.Tensor((n, 4), "float32"))',
    ),
    "layout": (
        "return R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=None, axis_separators=[], input_axis_separators=[])",
        'return R.layout_transform(x, "lambda i, j: (j, i)")',
    ),
    "layout with a dtype of the indices": (
        'return R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i), index_dtype="int32"))',
        'return R.layout_transform(x, "lambda i, j: (j, i)")',
    ),
    "conversion of a parameter": (
        'return R.wrap_param(x, dtype="float64")',
        'return R.astype(x, "float64")',
    ),
    "method of a value": ('return x.astype("float64")', 'return R.astype(x, "float64")'),
    "builder of an op": ("return R.op.nn.relu(x)", "return R.nn.relu(x)"),
    "name of a Python function": (
        'return R.call_py_func(R.str("f"), (x,), out_ty=R.Tensor((n, 4), "float32"))',
        'return R.call_packed("f", x, out=R.Tensor((n, 4), "float32"))',
    ),
    "list of one result": (
        'return R.call_tir(cls.twice, (x,), [R.Tensor((n, 4), "float32")])',
        'return R.call_tir(cls.twice, (x,), R.Tensor((n, 4), "float32"))',
    ),
    "type of a value": (
        'return R.call_pure_packed("f", x, ty_args=[x.ty])',
        'return R.call_pure_packed("f", x, out=R.Tensor((n, 4), "float32"))',
    ),
    "struct info of a value": (
        "return R.call_tir(cls.twice, (x,), out_sinfo=x.struct_info)",
        'return R.call_tir(cls.twice, (x,), R.Tensor((n, 4), "float32"))',
    ),
    "extern function": (
        'return R.ExternFunc("f", R.Callable((R.Any,), R.Tensor((n,), "int8"), purity=True))(x)',
        'return R.call_pure_packed("f", x, out=R.Tensor((n,), "int8"))',
    ),
    "extern function of no type": (
        'return R.ExternFunc("f")(x)',
        'return R.call_packed("f", x, out=R.Object())',
    ),
    "name of an extern function": (
        'f = R.ExternFunc("f")\nreturn R.call_dps_packed(f, x, R.Tensor((n,), "int8"))',
        'return R.call_dps_packed("f", [x], R.Tensor((n,), "int8"))',
    ),
    "view after LegalizeOps": (
        '_ = R.null_value()\nreturn R.ExternFunc("runtime.TVMTensorCreateView", R.Callable(derive_func="tvm.relax.type.infer_view_ty", purity=True))(x, R.shape([n]), R.dtype("float32"), R.prim_value(0))',
        'return R.memory.view(x, R.shape([n]), "float32", 0)',
    ),
    "view with nothing given": (
        "return R.memory.view(x, R.tuple(), R.tuple(), R.tuple())",
        "return R.memory.view(x)",
    ),
    "cast to anything": ("y = R.match_cast(x, R.Any)\nreturn y", "return x"),
    "cast of a tuple": (
        's = R.match_cast(t, R.Tuple(R.Tensor((8,), "float32"), R.Tensor((p, q))))\nreturn R.exp(s[0])',
        'a = R.match_shape(t[0], (8,), "float32")\nb = R.match_shape(t[1], (p, q))\ns = (a, b)\nreturn R.exp(s[0])',
    ),
    "integer of take": ("return R.take(x, k, axis=0)", "return R.take(x, R.prim_to_tensor(k), axis=0)"),
    "bounds of clip": ("return R.clip(x, R.prim_value(0), R.prim_value(4))", "return R.clip(x, 0, 4)"),
    "numbers with a dtype": (
        'a = I.meta_var(T.FloatImm("float32", 0.5))\nreturn R.clip(x, a, T.IntImm("int64", 2))',
        "return R.clip(x, 0.5, 2)",
    ),
    "shape": ("return R.zeros(R.ShapeExpr([n, 2]))", "return R.zeros(R.shape([n, 2]))"),
    "fill of another dtype": (
        'return R.full(R.shape([n]), R.const(3.5, "float32"), dtype="int32")',
        'return R.full(R.shape([n]), R.astype(R.const(3.5, "float32"), "int32"))',
    ),
    "fill like a tensor": (
        'return R.full_like(x, R.const(3, "int32"), "float32")',
        'return R.full_like(x, R.astype(R.const(3, "int32"), "float32"))',
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_same_module(name: str) -> None:
    theirs, ours = (module(body) for body in SAME[name])
    clean = rx.transform.DeadCodeElimination()
    assert_structural_equal(clean(theirs), clean(ours))
    again = parse(theirs.script())
    assert_structural_equal(again, theirs)


REFUSED = {
    "return R.grad.start_checkpoint(t)": "grad_start_checkpoint: operand 'input' is",
    "return R.null_value(x)": "takes ()",
    'return R.call_builtin_with_ctx("f", (x,))': "R.call_builtin_with_ctx is no op here: the virtual machine",
    'return R.call_inplace_packed("f", x, inplace_indices=[0])': "argument 'out' is missing",
    'return R.call_inplace_packed("f", x, inplace_indices=[1], out=R.Tensor((n, 4)))': "result 0 is argument 1, but there are 1 arguments",
    'return R.call_inplace_packed("f", x, inplace_indices=[0], out=R.Tensor((n, 5)))': "but argument 0 is",
    "return R.match_cast(x, R.Tuple(R.Tensor((n, 4))))": "which is no tuple of 1 fields",
    'return R.call_packed("f", x, ty_args=[k.shape])': "expected an annotation",
    "y = 3\nreturn R.call_tir(cls.twice, (x,), y.ty)": "only values have a `.ty`",
    'return R.clip(x, T.FloatImm("int8", 1), None)': "the first argument of T.FloatImm",
    "return R.clip(x, k, None)": "a value of the program",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str) -> None:
    with pytest.raises(RelaxError) as caught:
        module(body)
    assert REFUSED[body] in str(caught.value)


ORDER = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return cls.one(x)

    @R.function
    def one(x: R.Tensor((4,), "float32")):
        return cls.two(x) + x

    @R.function(private=True)
    def two(x: R.Tensor((4,), "float32")) -> R.Tuple:
        return R.split(x, 2)
"""


def test_functions_may_stand_before_those_that_they_call() -> None:
    text = ORDER.replace("cls.two(x) + x", "cls.two(x)[0]")
    mod = parse(text)
    assert mod.functions() and [f.name.value for f in mod.functions()] == ["main", "one", "two"]
    executable = rx.build(mod)
    x = np.arange(4, dtype="float32")
    for name in ("main", "one"):
        assert to_numpy(executable[name](x)).tolist() == [0, 1]
    assert_structural_equal(parse(mod.script()), mod)


def test_functions_in_a_circle_need_a_result() -> None:
    circle = ORDER.replace("R.split(x, 2)", "cls.main(x)").replace(" -> R.Tuple", "")
    with pytest.raises(RelaxError, match="is not known here: annotate it"):
        parse(circle)


def test_a_tuple_of_any_kind_is_a_tuple() -> None:
    with pytest.raises(RelaxError, match="'two' is annotated to return a tuple, but returns Tensor"):
        parse(ORDER.replace("R.split(x, 2)", "x"))


ALONE = """@R.function
def before(x: R.Tensor((4,), "float32")):
    R.func_attr({"global_symbol": "main"})
    return cls.other(x)

@R.function
def other(x: R.Tensor((4,), "float32")):
    return R.exp(x)
"""


def test_functions_alone_are_called_as_they_are_exported() -> None:
    mod = parse(ALONE)
    assert [f.name.value for f in mod.functions()] == ["main", "other"]
    assert_structural_equal(parse(mod.script()), mod)
    again = parse(ALONE.replace("cls.other(x)", "x").replace("R.exp(x)", "cls.before(x)"))
    assert "cls.main(x)" in again.script()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other", "function 'other' is defined already"),
        ("no name", "'global_symbol' is 'no name', but the function is exported as 'before'"),
    ],
)
def test_exported_names_that_no_function_can_have(name: str, message: str) -> None:
    text = ALONE.replace('"main"', f'"{name}"')
    if name == "other":
        text = text.replace("cls.other(x)", "x")
    with pytest.raises(RelaxError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [("n", [5.0, 0.0]), ("3", [3.0, 0.0]), ("n, 4", [5.0, 4.0]), ("2, n", [2.0, 5.0])],
)
def test_numbers_and_symbols_are_arguments_of_functions(arguments: str, wanted: list[float]) -> None:
    """They are not a shape if all arguments of a call are numbers or symbols."""
    module = parse(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return cls.{"both" if "," in arguments else "one"}({arguments})

    @R.function(private=True)
    def one(a: R.Prim(value="a")) -> R.Tensor((2,), "float32"):
        return cls.both(a, 0)

    @R.function(private=True)
    def both(a: R.Prim(value="a"), b: R.Prim(value="b")) -> R.Tensor((2,), "float32"):
        return R.astype(R.shape_to_tensor(R.shape([a, b])), "float32")
""")
    result = rx.build(module)["main"](np.zeros(5, "f4"))
    np.testing.assert_array_equal(np.from_dlpack(result), wanted)
