"""Document 000, "Architecture": the programs of the overview, and its statements on shapes, verbatim."""
# ruff: noqa: E501 - programs are quoted verbatim

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

MODES = ("native", "bytecode")
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, scope="module")
def _functions() -> None:
    """`myshape_func` adds two elements; `custom_func` repeats its input to fill its output."""

    def update(x: tvm_ffi.Tensor) -> None:
        np.from_dlpack(x)[...] += 1

    def custom(x: tvm_ffi.Tensor, out: tvm_ffi.Tensor) -> None:
        given, result = np.from_dlpack(x), np.from_dlpack(out)
        result[...] = np.resize(given, result.shape) if given.size else 0

    tvm_ffi.register_global_func("custom_inplace_update", update, override=True)
    tvm_ffi.register_global_func("myshape_func", lambda s: tvm_ffi.Shape((s[0] + 2,)), override=True)
    tvm_ffi.register_global_func("myshape_func2", lambda s: tvm_ffi.Shape((s[0], 2)), override=True)
    tvm_ffi.register_global_func("custom_func", custom, override=True)


def functions(mod: rx.IRModule, name: str) -> Iterator[Any]:
    """The function `name` in each mode."""
    for mode in MODES:
        yield rx.build(mod, exec_mode=mode)[name]  # type: ignore[call-overload]  # a mode of two


# -- example 1, MyIRModule

EXAMPLE_1 = """
@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def tir_exp_func(x: T.handle, y: T.handle): ## <= D2
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        with T.grid(n) as i:
            Y[i] = T.exp(X[i])

    @R.function
    def relax_func(x: R.Tensor[(n, k), "f32"], w: R.Tensor[_, "f32"]):
        # n, k above are implicitly defined by the signature
        # so we will be able to refer to n, k in the later part of the program
        with R.dataflow(): ### <= D0
            lv0 = R.match_shape(w, (k, m)) ## <= D1
            lv1: R.Tensor[(n, m), "f32"] = R.dot(x, lv0)
            lv2: R.Tensor[(n * m,), "f32"] = R.flatten(lv1) ## <= D1
            lv3: R.Shape = (n * m,)  ## <= D1
            gv0: R.Tensor[lv3, "f32"] = R.call_tir(lv3, tir_exp_func, [lv2])   ## <= D2
            R.outputs(gv0)

        R.call_packed("custom_inplace_update", gv0)  ## <= D0, D2
        return gv0
"""
"""As in the document, except for lv2 and lv3, which are swapped in one of its lines."""


def check_example_1(mod: rx.IRModule) -> None:
    for main in functions(mod, "relax_func"):
        for n, k, m in ((3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 0, 3), (17, 3, 9)):
            rng = np.random.default_rng(n)
            x, w = rng.random((n, k), dtype=np.float32), rng.random((k, m), dtype=np.float32)
            np.testing.assert_allclose(to_numpy(main(x, w)), np.exp(x @ w).reshape(-1) + 1, rtol=1e-5)
        with pytest.raises(ShapeError, match="dimension 0 is 3"):
            main(np.zeros((1, 2), "float32"), np.zeros((3, 1), "float32"))


def test_my_ir_module() -> None:
    check_example_1(parse(EXAMPLE_1))


def test_my_ir_module_with_its_misprint() -> None:
    """With lv2 and lv3 swapped as in the document, the error shows the shape of lv2."""
    misprint = EXAMPLE_1.replace("Tensor[lv3", "Tensor[lv2").replace(
        "call_tir(lv3, tir_exp_func, [lv2])", "call_tir(lv2, tir_exp_func, [lv3])"
    )
    with pytest.raises(RelaxError, match=r"'lv2' is Tensor\(\(m\*n,\), \"float32\"\); its shape is lv2.shape"):
        parse(misprint)


@pytest.mark.parametrize(
    "loop",
    [
        "with T.grid(n) as i:\n            Y[i] = T.exp(X[i])",
        "with T.block([n]) as [i]:\n            Y[i] = T.exp(X[i])",
        'for i in T.grid(n):\n            with T.block("exp"):\n                vi = T.axis.spatial(n, i)\n                Y[vi] = T.exp(X[vi])',
    ],
)
def test_loops_of_the_prim_func(loop: str) -> None:
    written = "with T.grid(n) as i:\n            Y[i] = T.exp(X[i])"
    check_example_1(parse(EXAMPLE_1.replace(written, loop)))


def test_block_of_two_axes() -> None:
    """``with T.block(n, m) as i, j:``"""
    mod = parse("""
@T.prim_func
def add(A: T.Buffer((n, m), "float32"), B: T.Buffer((n, m), "float32")):
    with T.block(n, m) as i, j:
        B[i, j] = A[i, j] + 1
@R.function
def main(x: R.Tensor[(n, m), "f32"]):
    return R.call_tir((n, m), add, [x])
""")
    for main in functions(mod, "main"):
        for shape in ((2, 3), (0, 4), (1, 1), (5, 17)):
            np.testing.assert_array_equal(to_numpy(main(np.ones(shape, "f4"))), np.full(shape, 2, "f4"))


LATER = """
@I.ir_module
class Module:
    @T.prim_func
    def tir_exp_func(X: T.Buffer(("n",), "float32"), Y: T.Buffer(("n",), "float32")):
        n = T.int64()
        for i in range(n):
            Y[i] = T.exp(X[i])

    @R.function
    def relax_func(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor("float32", ndim=2)) -> R.Tensor(("n * m",), "float32"):
        n = T.int64()
        k = T.int64()
        m = T.int64()
        cls = Module
        with R.dataflow():
            lv0 = R.match_cast(w, R.Tensor((k, m), "float32"))
            lv1 = R.matmul(x, lv0)
            lv2 = R.flatten(lv1)
            gv0 = R.call_tir(cls.tir_exp_func, (lv2,), out_sinfo=R.Tensor((n * m,), "float32"))
            R.output(gv0)
        _ = R.call_packed("custom_inplace_update", gv0, sinfo_args=(R.Tuple,))
        return gv0
"""


def test_my_ir_module_in_the_later_spelling() -> None:
    """`out_sinfo`, `sinfo_args`, ``n = T.int64()`` in a Relax function, ``cls = Module``."""
    mod = parse(LATER.replace(' -> R.Tensor(("n * m",), "float32")', ""))
    check_example_1(mod)


def test_shape_and_dtype_behind_the_arguments() -> None:
    """The order of the RFC, ``call_tir(f, [x], shape, dtype=)``."""
    between = EXAMPLE_1.replace(
        "R.call_tir(lv3, tir_exp_func, [lv2])", 'R.call_tir(tir_exp_func, [lv2], lv3, dtype="float32")'
    )
    mod = parse(between)
    assert_structural_equal(mod, parse(EXAMPLE_1))
    with pytest.raises(RelaxError, match="'Y' of prim func 'tir_exp_func' is float32, not float64"):
        parse(between.replace('dtype="float32"', 'dtype="float64"'))


def test_dot_in_the_builder() -> None:
    bb = rx.BlockBuilder()
    x, w = rx.var("x", shape=["n", "k"]), rx.var("w", shape=["k", "m"])
    with bb.function("main", [x, w]):
        bb.emit_func_output(bb.emit(op.dot(x, w)))
    for main in functions(bb.get(), "main"):
        for n, k, m in ((2, 3, 4), (1, 1, 1), (0, 2, 1), (3, 0, 2)):
            a, b = np.random.default_rng(n).random((n, k)), np.random.default_rng(m).random((k, m))
            a, b = a.astype("f4"), b.astype("f4")
            np.testing.assert_allclose(to_numpy(main(a, b)), a @ b, rtol=1e-5)


# -- any tuple of symbolic integers is a shape value


def test_a_tuple_of_symbols_is_a_shape() -> None:
    mod = parse("""
@R.function
def main(x: R.Tensor[(n, m), "f32"]):
    s = (n, m)
    t = R.call_packed("myshape_func2", (n*4,))
    return (s, t, (m, 2*n + 1))
""")
    assert str(rx.Shape(("n", "m"))) in mod.script() or 'R.Shape(["n", "m"])' in mod.script()
    for main in functions(mod, "main"):
        for n, m in ((2, 3), (0, 1), (1, 0)):
            s, t, u = main(np.zeros((n, m), "f4"))
            assert (tuple(s), tuple(t), tuple(u)) == ((n, m), (4 * n, 2), (m, 2 * n + 1))


# -- call_tir with the shape first, in the builder


EXP = """
@T.prim_func
def exp1(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in T.grid(n):
        B[i] = T.exp(A[i])
@T.prim_func
def squares(A: T.Buffer((n,), "float32"), B: T.Buffer((k,), "float32")):
    for i in T.grid(k):
        B[i] = T.cast(i * i, "float32")
@T.prim_func
def both(A: T.Buffer((n, m), "float32"), B: T.Buffer((m, n), "float32"), C: T.Buffer((n,), "int32")):
    for i, j in T.grid(n, m):
        B[j, i] = A[i, j] * 2
    for i in T.grid(n):
        C[i] = T.cast(i, "int32")
"""


def test_shape_first_in_the_builder() -> None:
    """Written out, as a shape value, several, of a prim func and of a registered function."""
    bb = rx.BlockBuilder(parse(EXP))
    x = rx.var("x", shape=["n", "m"])
    with bb.function("main", [x]):
        with bb.dataflow():
            flat = bb.emit(op.flatten(x))
            written = bb.emit_output(op.call_tir(("n*m",), "exp1", [flat]))
            value = bb.emit_output(op.call_tir(op.shape_of(flat), "exp1", flat))
            several = bb.emit_output(op.call_tir([("m", "n"), ("n",)], "both", [x]))
            packed = bb.emit_output(bb.call_tir(("m", 3), "custom_func", [x]))
        bb.emit_func_output([written, value, several, packed])
    for main in functions(bb.get(), "main"):
        for shape in ((2, 3), (0, 2), (1, 1), (4, 0)):
            x_ = np.random.default_rng(1).random(shape, dtype=np.float32)
            exp, again, (turned, numbers), repeated = main(x_)
            np.testing.assert_allclose(to_numpy(exp), np.exp(x_).reshape(-1), rtol=1e-6)
            np.testing.assert_array_equal(to_numpy(exp), to_numpy(again))
            np.testing.assert_array_equal(to_numpy(turned), x_.T * 2)
            np.testing.assert_array_equal(to_numpy(numbers), np.arange(shape[0], dtype=np.int32))
            wanted = np.resize(x_, (shape[1], 3)) if x_.size else np.zeros((shape[1], 3), "f4")
            np.testing.assert_array_equal(to_numpy(repeated), wanted)


@pytest.mark.parametrize("rank", [1, None])
def test_an_opaque_shape_first_in_the_builder(rank: int | None) -> None:
    """Unknown entries of the shape get symbols; its rank is that of the prim func, or is checked at run time."""
    bb = rx.BlockBuilder(parse(EXP))
    x = rx.var("x", shape=["n"])
    with bb.function("main", [x]):
        with bb.dataflow():
            shape = bb.emit(op.call_pure_packed("myshape_func", op.shape_of(x), out=rx.Shape(ndim=rank)))
            filled = bb.emit_output(op.call_tir(shape, "custom_func", [x]))
            result = bb.emit_output(op.call_tir(shape, "squares", [x]))
        bb.emit_func_output([filled, result])
    mod = bb.get()
    assert_structural_equal(parse(mod.script()), mod)
    for main in functions(mod, "main"):
        for n in (0, 1, 5):
            given = np.arange(n, dtype=np.float32)
            wanted = np.resize(given, n + 2) if n else np.zeros(2, np.float32)
            found, squares = main(given)
            np.testing.assert_array_equal(to_numpy(found), wanted)
            np.testing.assert_array_equal(to_numpy(squares), np.arange(n + 2, dtype=np.float32) ** 2)


def test_mistakes_of_shape_first() -> None:
    bb = rx.BlockBuilder(parse(EXP))
    x, u = rx.var("x", shape=["n"]), rx.var("u", shape=["n"], dtype=None)
    with bb.function("main", [x, u]):
        for wrong, error, message in (
            (lambda: op.call_tir(3, "exp1", [x]), ArgumentError, "the shape of the result is 3"),
            (lambda: op.call_tir(x, "exp1", [x]), ArgumentError, "op.shape_of gives that of a tensor"),
            (
                lambda: op.call_tir(("n",), "exp2", [x]),
                ArgumentError,
                "'exp2' is neither a function of the module nor",
            ),
            (lambda: op.call_tir([("n",)] * 3, "exp1", [x]), ArgumentError, "has 2 buffers for 3 results"),
            (
                lambda: op.call_tir(("n",), "custom_func", [u]),
                ArgumentError,
                "the dtype of the result of 'custom_func'",
            ),
            (lambda: op.call_tir(("n",), "exp1", 3), ArgumentError, "the arguments are 3, expected a list"),
            (
                lambda: op.call_tir(("n",), "exp1", ["x"]),
                ArgumentError,
                "argument 0 is 'x', expected a Relax value",
            ),
            (lambda: op.call_tir(("n",), "custom_func", [x], ["n"]), ArgumentError, "takes no tir_vars"),
        ):
            with pytest.raises(error, match=message):
                wrong()
        bb.emit_func_output(x)


# -- D1: shape deduction as first-class computation

EXAMPLE_2 = """
@R.function
def shape_example(x: R.Tensor[(n, 2, 2), "f32"]):
    with R.dataflow():
        # symbolic and static shape deduction
        lv0: R.Tensor[(n, 4), "f32"] = R.reshape(x, (n, 4))
        lv1: R.Tensor[(n * 4,), "f32"] = R.flatten(lv0)
        lv2: R.Shape = (n * 4,)
        # external opaque shape function
        lv3: R.Shape = R.call_packed("myshape_func", lv2)
        lv4: R.Tensor[lv3, "f32"] = R.call_tir(lv3, "custom_func", [lv1])
        # data dependent case
        lv5: R.Tensor[_, "f32"] = R.unique(lv4)
        # re-match shape
        lv6: R.Tensor[(m,), "f32"] = R.match_shape(lv5, (m,))
        gv0: R.Tensor[(m,), "f32"] = R.exp(lv6)
        R.outputs(gv0)
    return gv0
"""

VARIANTS = {
    "as written": EXAMPLE_2,
    "of known rank": EXAMPLE_2.replace("lv3: R.Shape =", "lv3: R.Shape(ndim=1) ="),
    "of the RFC": EXAMPLE_2.replace(
        'lv4: R.Tensor[lv3, "f32"] = R.call_tir(lv3, "custom_func", [lv1])',
        'lv4 = R.call_tir("custom_func", (lv1,), lv3, dtype="float32")',
    ).replace("gv0: R", "lv7: R.Shape(ndim=1) = R.match_shape(lv3, (k,))\n        gv0: R"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_shape_example(name: str) -> None:
    """Opaque values, a shape function in a dataflow block, a result of its shape, an annotation by a shape value."""
    mod = parse(VARIANTS[name])
    assert_structural_equal(parse(mod.script()), mod)
    for main in functions(mod, "shape_example"):
        for x in (np.arange(12, dtype=np.float32) % 3, np.zeros(4, np.float32), np.zeros(0, np.float32)):
            repeated = np.resize(x, x.size + 2) if x.size else np.zeros(2, np.float32)
            found = to_numpy(main(x.reshape(-1, 2, 2)))
            np.testing.assert_allclose(found, np.exp(np.unique(repeated)), rtol=1e-6)


def test_a_shape_of_any_rank() -> None:
    """The rank of the result is that of the run-time shape; an invalid shape is an error of the call."""
    mod = parse("""
@R.function
def main(x: R.Tensor[(n,), "f32"], s: R.Shape):
    y: R.Tensor[s, "f32"] = R.call_tir(s, "custom_func", [x])
    z: R.Tensor((), "int32") = R.call_tir((), "custom_func", [R.const([3], "int32")])
    return (y, R.call_tir([s, (n, 1)], "fill_two", [x]), z)
""")

    def fill_two(x: tvm_ffi.Tensor, one: tvm_ffi.Tensor, two: tvm_ffi.Tensor) -> None:
        np.from_dlpack(one)[...], np.from_dlpack(two)[...] = 1, 2

    tvm_ffi.register_global_func("fill_two", fill_two, override=True)
    x = np.arange(3, dtype=np.float32)
    for main in functions(mod, "main"):
        for shape in ((), (4,), (2, 3), (0, 5), (1, 1, 2, 2)):
            y, (one, two), z = main(x, tvm_ffi.Shape(shape))
            np.testing.assert_array_equal(to_numpy(y), np.resize(x, shape))
            np.testing.assert_array_equal(to_numpy(one), np.ones(shape, np.float32))
            np.testing.assert_array_equal(to_numpy(two), np.full((3, 1), 2, np.float32))
            assert to_numpy(z) == 3
        with pytest.raises(ShapeError, match=r"negative dimension|expected zero or more"):
            main(x, tvm_ffi.Shape((2, -1)))


def test_a_function_that_nobody_registered() -> None:
    mod = parse(EXAMPLE_2.replace("custom_func", "documents.nobody"))
    for main in functions(mod, "shape_example"):
        with pytest.raises(RelaxError, match=r"no packed function is registered as 'documents\.nobody'"):
            main(np.zeros((1, 2, 2), "f4"))


def test_an_annotation_that_does_not_hold() -> None:
    """``R.Tensor[s, "f32"]`` gives no information beyond what was asserted."""
    wrong = EXAMPLE_2.replace("lv5: R.Tensor[_,", "lv5: R.Tensor[lv3,")
    with pytest.raises(RelaxError, match="the rank of 'lv3' is unknown"):
        parse(wrong)


def test_call_packed_without_out() -> None:
    """It returns an opaque value, which forwards the result of the function."""
    mod = parse("""
@R.function
def main(x: R.Tensor[(n,), "f32"]):
    state = R.call_packed("documents.state", x)
    y: R.Tensor[(n,), "f32"] = R.call_packed("documents.read", state)
    return y
""")
    kept: list[Array] = []

    def state(x: tvm_ffi.Tensor) -> tvm_ffi.Function:
        kept.append(to_numpy(x).copy())
        return tvm_ffi.convert(lambda: tvm_ffi.from_dlpack(kept[-1] * 2))

    tvm_ffi.register_global_func("documents.state", state, override=True)
    tvm_ffi.register_global_func("documents.read", lambda f: f(), override=True)
    assert "R.Object()" in mod.script()
    for main in functions(mod, "main"):
        np.testing.assert_array_equal(to_numpy(main(np.arange(3.0, dtype="f4"))), [0, 2, 4])


def test_the_shape_is_a_field_beside_the_type() -> None:
    """`checked_type` is rank and dtype, `shape_` the dimensions; one struct info holds both."""
    bb = rx.BlockBuilder()
    x = rx.var("x", shape=["n", 2, 2])
    with bb.function("main", [x]):
        lv0 = bb.emit(op.reshape(x, ("n", 4)))
        assert (lv0.ndim, lv0.dtype, [str(d) for d in lv0.shape]) == (2, "float32", ["n", "4"])
        assert lv0.checked_type == bb.emit(op.reshape(x, (4, "n"))).checked_type
        assert (lv0.checked_type.ndim, lv0.checked_type.dtype) == (2, "float32")
        assert [str(d) for d in lv0.shape_.values] == ["n", "4"]
        bb.emit_func_output(lv0)


# -- example 3: match_shape, three ways

EXAMPLE_3 = """
@R.function
def shape_example(x: R.Tensor[_, "f32"], y: R.Tensor[_, "f32"]):
    with R.dataflow():
        # the match shape defines n, m because it appears for the first time
        lv0: R.Tensor[(n, m)] = R.match_shape(x, (n, m))
        # the second occurance of n, m will translate into an assertion
        # that y's shape equals (n, m)
        lv1: R.Tensor[(n, m)] = R.match_shape(y, (n, m))
        # we can also call match_shape on shape expressions
        lv2: R.Shape = R.match_shape(R.shape_of(y), (n, m))
        gv0 = R.add(lv0, lv1)
        R.outputs(gv0, lv2)
    return (gv0, lv2)
"""


@pytest.mark.parametrize("shape_annotation", ["R.Shape", "Shape"])
def test_match_shape_three_ways(shape_annotation: str) -> None:
    """The annotations refine: lv0 keeps the dtype, lv2 rank and values."""
    mod = parse(EXAMPLE_3.replace("lv2: R.Shape", f"lv2: {shape_annotation}"))
    text = mod.script()
    assert 'lv0: R.Tensor(("n", "m"), "float32") = R.match_shape' in text
    assert 'lv2: R.Shape(["n", "m"]) = R.match_shape' in text
    for main in functions(mod, "shape_example"):
        for shape in ((2, 3), (1, 1), (0, 4), (7, 0)):
            x, y = np.random.default_rng(0).random((2, *shape), dtype=np.float32)
            total, found = main(x, y)
            np.testing.assert_array_equal(to_numpy(total), x + y)
            assert tuple(found) == shape
        with pytest.raises(ShapeError, match="dimension 0 is 4"):
            main(np.zeros((2, 3), "f4"), np.zeros((4, 3), "f4"))
        with pytest.raises((ShapeError, ArgumentError), match="rank"):
            main(np.zeros((2, 3), "f4"), np.zeros(3, "f4"))
        with pytest.raises((DTypeError, ArgumentError), match="float32"):
            main(np.zeros((2, 3), "f8"), np.zeros((2, 3), "f4"))


def test_the_fragment_of_the_document() -> None:
    """The fragment has no end: the errors name the missing parts."""
    fragment = EXAMPLE_3.partition("        gv0")[0]
    with pytest.raises(RelaxError, match=r"the dataflow block has no R\.output"):
        parse(fragment)
    with pytest.raises(RelaxError, match="function 'shape_example' has no `return`"):
        parse(fragment + "        R.outputs(lv0)\n")


def test_the_shape_of_a_tensor_in_a_script() -> None:
    """``x.shape`` is a shape value."""
    mod = parse("""
@R.function
def main(x: R.Tensor[(n, m), "f32"], y: R.Tensor[(m, n), "f32"], u: R.Tensor[_, "f32"]):
    with R.dataflow():
        s = x.shape
        a = R.reshape(y, s)
        b = R.reshape(y, x.shape)
        t = u.shape
        R.outputs(a, b, s, t)
    return (a, b, s, t)
""")
    for main in functions(mod, "main"):
        for n, m in ((2, 3), (0, 1), (1, 1)):
            x, y = np.zeros((n, m), "f4"), np.arange(n * m, dtype="f4").reshape(m, n)
            a, b, s, t = main(x, y, np.zeros((4, n, 2), "f4"))
            np.testing.assert_array_equal(to_numpy(a), y.reshape(n, m))
            np.testing.assert_array_equal(to_numpy(b), y.reshape(n, m))
            assert (tuple(s), tuple(t)) == ((n, m), (4, n, 2))
