"""Spellings of the design documents: shapes as values, annotations that refine, calls with the shape first."""
# ruff: noqa: E501 - programs are quoted verbatim

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import RelaxError
from relax_mlir.script import parse

SAME = {
    "a tuple of symbols is a shape": (
        "s = (n, m)\nreturn s",
        "return R.shape([n, m])",
    ),
    "shapes among the arguments": (
        'R.call_packed("f", (n * 4,), (2, 3))\nreturn x',
        'R.call_packed("f", R.shape([n * 4]), R.shape([2, 3]))\nreturn x',
    ),
    "the shape of a tensor": (
        "s = x.shape\nreturn R.reshape(y, s)",
        "return R.reshape(y, (n, m))",
    ),
    "a shape that is not known": (
        "return u.shape",
        "return R.shape_of(u)",
    ),
    "an opaque value": (
        'gv = R.call_packed("f", x)\nreturn gv',
        'gv = R.call_packed("f", x, out=R.Object())\nreturn gv',
    ),
    "a shape function": (
        'with R.dataflow():\n    s: R.Shape(ndim=1) = R.call_packed("f", x)\n    R.output(s)\nreturn s',
        'with R.dataflow():\n    s = R.call_pure_packed("f", x, out=R.Shape(ndim=1))\n    R.output(s)\nreturn s',
    ),
    "annotated by a shape value": (
        's = R.call_packed("f", x, out=R.Shape(ndim=2))\nz: R.Tensor[s, "f32"] = R.call_tir(s, "g", [x])\nreturn z',
        's = R.call_packed("f", x, out=R.Shape(ndim=2))\nt = R.match_shape(s, ("_s0", "_s1"))\nz = R.call_dps_packed("g", [x], R.Tensor(("_s0", "_s1"), "float32"))\nreturn z',
    ),
    "a result of an opaque shape": (
        's = R.call_packed("f", x, out=R.Shape(ndim=1))\nz = R.call_tir(s, "g", [x])\nreturn z',
        's = R.call_packed("f", x, out=R.Shape(ndim=1))\nz = R.call_dps_packed("g", [x], R.shaped(s, "float32"))\nreturn z',
    ),
    "a tuple of shapes": (
        'return R.call_tir(((n,), (m, 2)), "g", [x])',
        'return R.call_dps_packed("g", [x], [R.Tensor((n,), "float32"), R.Tensor((m, 2), "float32")])',
    ),
    "shapes of a prim func's results": (
        "s = (n, m)\nreturn R.call_tir([s, (n, m)], split, x)",
        'return R.call_tir(cls.split, (x,), [R.Tensor((n, m), "float32"), R.Tensor((n, m), "int32")])',
    ),
    "an annotation without a dtype": (
        "z: R.Tensor[(n, m)] = R.exp(x)\nreturn z",
        "z = R.exp(x)\nreturn z",
    ),
    "an annotation without a shape": (
        'z: R.Tensor["f32"] = R.exp(x)\nw: R.Tensor = R.exp(z)\nreturn w',
        "z = R.exp(x)\nw = R.exp(z)\nreturn w",
    ),
    "an annotation of the kind alone": (
        "s: R.Shape = R.shape_of(x)\nt: R.Tuple = (s, x)\nreturn t",
        "s = R.shape_of(x)\nt = (s, x)\nreturn t",
    ),
    "a tuple's annotation": (
        "t: R.Tuple(R.Tensor, R.Shape) = (x, R.shape_of(x))\nreturn t",
        "t = (x, R.shape_of(x))\nreturn t",
    ),
    "an annotation that narrows": (
        'z: R.Tensor[(k,), "f32"] = R.match_shape(u, (k,))\nreturn z',
        'v = R.match_shape(u, ("k",))\nz = R.match_shape(v, ("k",), "float32")\nreturn z',
    ),
    "what is written as unknown is unknown": (
        'z: R.Tensor((n, None), "float32") = R.exp(x)\nreturn z',
        'z: R.Tensor[(n, _), "f32"] = R.exp(x)\nreturn z',
    ),
    "dot": ("return R.dot(x, R.permute_dims(x))", "return R.matmul(x, R.permute_dims(x))"),
    "numbers of the annotated dtype": (
        'z: R.Tensor((), "int32") = 3\nreturn z',
        'z = R.const(3, "int32")\nreturn z',
    ),
}
HEAD = """@I.ir_module
class Module:
    @T.prim_func
    def split(A: T.Buffer((n, m), "float32"), B: T.Buffer((n, m), "float32"), C: T.Buffer((n, m), "int32")):
        for i, j in T.grid(n, m):
            B[i, j] = A[i, j]
            C[i, j] = 1

    @R.function
    def main(x: R.Tensor[(n, m), "f32"], y: R.Tensor[(m, n), "f32"], u: R.Tensor[_, _]):
{body}
"""


def module(body: str) -> rx.IRModule:
    return parse(HEAD.format(body="\n".join("        " + line for line in body.splitlines())))


@pytest.mark.parametrize("name", SAME)
def test_same_module(name: str) -> None:
    theirs, ours = SAME[name]
    assert_structural_equal(module(theirs), module(ours))


@pytest.mark.parametrize("name", SAME)
def test_round_trip(name: str) -> None:
    made = module(SAME[name][0])
    assert_structural_equal(parse(made.script()), made)


FIRST_PROGRAM = """
@I.ir_module
class MyIRModule:
    @T.prim_func
    def tirexp(a: T.handle, b: T.handle):
        n1, m1 = T.var("n1"), T.var("m1")
        X = T.match_buffer(a, (n1, m1))
        Y = T.match_buffer(b, (n1, m1))
        with T.block({head}:
            Y[i, j] = T.exp(X[i, j])

    @R.function
    def myfunc(x: R.Tensor[(n, m)]):
        with R.dataflow():
            lv0: R.Tensor[(n, m)] = R.call_tir((n, m), tirexp, [x])
            gv0: R.Tensor[(m*n,)] = R.call_tir((m*n,), "documents.flatten", [lv0])
            R.outputs(gv0)
        return gv0
"""


@pytest.mark.parametrize("head", ["n1, m1) as i, j", "[n1, m1]) as [i, j]"])
def test_the_first_program(head: str) -> None:
    """Its tensors have no dtype: that of the prim func is asserted."""

    def flatten(x: tvm_ffi.Tensor, out: tvm_ffi.Tensor) -> None:
        np.from_dlpack(out)[:] = np.from_dlpack(x).reshape(-1)

    tvm_ffi.register_global_func("documents.flatten", flatten, override=True)
    function = rx.build(parse(FIRST_PROGRAM.format(head=head)))["myfunc"]
    for shape in ((2, 3), (0, 1), (1, 17)):
        x = np.random.default_rng(0).standard_normal(shape).astype("float32")
        np.testing.assert_allclose(np.from_dlpack(function(x)), np.exp(x).reshape(-1), rtol=1e-6)
    with pytest.raises(RelaxError, match="dtype"):
        function(np.zeros((2, 3), "float64"))


def test_dot_in_the_builder() -> None:
    builder = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(shape, "float32")) for name, shape in (("x", ("n", 3)), ("y", (3, "m"))))
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(rx.op.dot(x, y)))
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.ones((3, 4), "float32")
    np.testing.assert_allclose(np.from_dlpack(rx.build(builder.get())["main"](a, b)), a @ b)


def test_unknown_dimensions_are_forgotten() -> None:
    assert (
        'z: R.Tensor(("n", None), "float32") = R.exp(x)'
        in module(SAME["what is written as unknown is unknown"][0]).script()
    )


REFUSED = {
    'z: R.Tensor[(m, m), "f32"] = R.exp(x)\nreturn z': "'z' is annotated as Tensor((m, m), \"float32\"), but its value is",
    'z: R.Tensor[(n, m), "i32"] = R.exp(x)\nreturn z': "'z' is annotated as",
    's = R.call_packed("f", x, out=R.Shape())\nz: R.Tensor[s, "f32"] = x\nreturn z': "the rank of 's' is unknown",
    'return R.call_tir((n,), "g", [])': "the dtype of the result of 'g' is not known",
    "return R.call_tir([(n,), (n,), (n,), (n,)], split, x)": "prim func 'split' has 3 buffers for 4 results",
    "s = (n, 'a')\nreturn s": "cannot make a Relax value of 'a'",
    'z: R.Tensor[n, "f32"] = x\nreturn z': "'n' is one integer; a shape of one dimension is (n,)",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str) -> None:
    with pytest.raises(RelaxError) as caught:
        module(body)
    assert REFUSED[body] in str(caught.value)


def test_an_opaque_shape_at_run_time() -> None:
    """A shape function in a dataflow block, whose result is the shape of a call's and of an annotation."""

    def shape(x: tvm_ffi.Tensor) -> tvm_ffi.Shape:
        return tvm_ffi.Shape([x.shape[0] * 2, 3])

    def fill(x: tvm_ffi.Tensor, out: tvm_ffi.Tensor) -> None:
        np.from_dlpack(out)[:] = np.from_dlpack(x).sum()

    tvm_ffi.register_global_func("documents.shape", shape, override=True)
    tvm_ffi.register_global_func("documents.fill", fill, override=True)
    made = parse(
        "@R.function\n"
        'def main(x: R.Tensor[(n,), "f32"]):\n'
        "    with R.dataflow():\n"
        '        s: R.Shape(ndim=2) = R.call_packed("documents.shape", x)\n'
        '        y: R.Tensor[s, "f32"] = R.call_tir(s, "documents.fill", [x])\n'
        "        z = R.exp(y - y)\n"
        "        R.output(y, z)\n"
        "    return (y, z)\n"
    )
    main = rx.build(made)["main"]
    for size in (0, 1, 4):
        y, z = (np.from_dlpack(item) for item in main(np.arange(size, dtype="float32")))
        np.testing.assert_array_equal(y, np.full((2 * size, 3), sum(range(size)), "float32"))
        np.testing.assert_array_equal(z, np.ones((2 * size, 3), "float32"))
