"""Document 000, "Shape computation": run-time shapes of values, the safety net, shape rules by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, UnknownNameError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

MODES = ("native", "bytecode")


def functions(mod: rx.IRModule, name: str = "main") -> Iterator[Any]:
    """The function `name` in each mode."""
    for mode in MODES:
        yield rx.build(mod, exec_mode=mode)[name]  # type: ignore[call-overload]  # a mode of two


@pytest.fixture(autouse=True, scope="module")
def _functions() -> None:
    def fill(x: tvm_ffi.Tensor, out: tvm_ffi.Tensor) -> None:
        np.from_dlpack(out)[...] = np.from_dlpack(x).sum()

    tvm_ffi.register_global_func("documents.fill", fill, override=True)
    tvm_ffi.register_global_func("documents.shape", lambda x: tvm_ffi.Shape([2 * x.shape[0], 3]), override=True)


# -- the shape of a value: V0 symbolic, V1 computed at run time, V2 unknown

SHAPES = """
@R.function
def main(x: R.Tensor[(n,), "f32"]):
    with R.dataflow():
        v0: R.Tensor[(n * 2,), "f32"] = R.concat([x, x], 0)
        s: R.Shape{rank} = R.call_packed("documents.shape", x)
        v1: R.Tensor[s, "f32"] = R.call_tir(s, "documents.fill", [x])
        w1 = R.exp(v1 - v1)
        v2: R.Tensor[_, "f32"] = R.unique(x)
        R.outputs(v0, v1, w1, v2)
    return (v0, v1, w1, v2)
"""


@pytest.mark.parametrize("rank", ["(ndim=2)", ""])
def test_a_shape_that_is_computed(rank: str) -> None:
    """V1: the shape of v1 is the result of a call. If its rank is known, its entries get symbols."""
    mod = parse(SHAPES.format(rank=rank))
    assert_structural_equal(parse(mod.script()), mod)
    known = 'v1: R.Tensor(("_s0", "_s1"), "float32") =' if rank else 'v1: R.Tensor(None, "float32") ='
    assert known in mod.script()
    for main in functions(mod):
        for size in (0, 1, 4):
            x = np.arange(size, dtype="float32")
            v0, v1, w1, v2 = map(to_numpy, main(x))
            np.testing.assert_array_equal(v0, np.concatenate([x, x]))
            np.testing.assert_array_equal(v1, np.full((2 * size, 3), x.sum()))
            np.testing.assert_array_equal(w1, np.ones((2 * size, 3)))
            np.testing.assert_array_equal(v2, x)


# -- the safety net

D0 = """
@R.function
def main(x: R.Tensor[_, _]):
    with R.dataflow():
        lv0: R.Tensor[_, _] = R.log(x)
        lv1: R.Tensor[_, _] = R.flatten(lv0)
        lv2: R.Tensor[(m,), "f32"] = R.match_shape(lv1, (m,))
        gv0: R.Tensor[(m,), "f32"] = R.exp(lv2)
        R.outputs(gv0)
    return gv0
"""


def test_the_safety_net() -> None:
    """The annotation of a `match_shape` narrows: the dtype is asserted at run time, and known afterwards."""
    mod = parse(D0)
    assert 'gv0: R.Tensor(("m",), "float32") = R.exp(lv2)' in mod.script()
    for main in functions(mod):
        for shape in ((12,), (3, 4), (2, 1, 6), (0, 3), ()):
            x = np.random.default_rng(1).uniform(0.5, 2, shape).astype("float32")
            np.testing.assert_allclose(to_numpy(main(x)), x.reshape(-1), rtol=1e-5)
        with pytest.raises(DTypeError, match="float64"):
            main(np.ones(3))


def test_annotations_never_forget() -> None:
    """Omitted parts of an annotation stay known; its stated parts must follow from what is known."""
    mod = parse("""
@R.function
def main(x: R.Tensor[(n, m), "f32"]):
    a: R.Tensor[(n, m)] = R.exp(x)
    b: R.Tensor["f32"] = R.exp(a)
    c: R.Tensor = R.exp(b)
    d: R.Tensor(ndim=2) = R.exp(c)
    s: R.Shape = d.shape
    t: R.Shape(ndim=2) = R.shape_of(d)
    u: R.Object = R.full(s, R.const(1.0, "float32"))
    return (d, t, u)
""")
    for name in "abcdu":
        assert f'{name}: R.Tensor(("n", "m"), "float32") =' in mod.script()
    assert 't: R.Shape(["n", "m"]) =' in mod.script()
    for wrong, message in (
        ('R.Tensor[(m, n), "f32"]', r"annotated as Tensor\(\(m, n\)"),
        ('R.Tensor[(n, m), "f64"]', "float64"),
        ("R.Tensor(ndim=3)", "annotated as"),
        ("R.Shape", "annotated as"),
    ):
        with pytest.raises(RelaxError, match=message):
            parse(f'@R.function\ndef main(x: R.Tensor[(n, m), "f32"]):\n    y: {wrong} = R.exp(x)\n    return y\n')


# -- FInferShape


def test_the_rule_of_any_op_by_name() -> None:
    def rule(name: str) -> Any:
        return op.Op.get(name).get_attr("FInferShape")

    x = rx.Tensor(("n", 2, 2), "float32")
    assert rule("relax.reshape")(x, ("n", 4)) == rx.Tensor(("n", 4), "float32")
    assert rule("relax.add")(rx.Tensor(("n", 4)), rx.Tensor((4,))) == rx.Tensor(("n", 4))
    assert rule("relax.nn.softmax")(x, axis=1) == x
    assert rule("relax.concat")([rx.Tensor(("n",)), rx.Tensor(("m",))], 0) == rx.Tensor(("n + m",))
    assert rule("relax.split")(rx.Tensor(("n", 4)), 2, axis=1) == rx.Tuple([rx.Tensor(("n", 2))] * 2)
    assert op.infer_rule("relax.exp")(x) == x
    with pytest.raises(ShapeError, match="do not broadcast"):
        rule("relax.add")(rx.Tensor((3,)), rx.Tensor((4,)))


def test_the_rule_of_an_op_of_the_user() -> None:
    """`register_op_attr` as a decorator; calls are inferred by the rule, and the verifier checks them against it."""
    try:

        @op.register_op_attr("documents.pad", "FInferShape")
        def pad(x: rx.Tensor, amount: int) -> rx.Tensor:
            assert x.shape is not None and x.shape[0] is not None
            return rx.Tensor((x.shape[0] + 2 * amount,), x.dtype)

        def packed(x: tvm_ffi.Tensor, amount: int, out: tvm_ffi.Tensor) -> None:
            np.from_dlpack(out)[:] = np.pad(np.from_dlpack(x), amount)

        tvm_ffi.register_global_func("documents.pad", packed, override=True)
        assert op.infer_rule("documents.pad")(rx.Tensor(("n",)), 3) == rx.Tensor(("n + 6",))
        bb = rx.BlockBuilder()
        x = rx.var("x", shape=["n"])
        with bb.function("main", [x]):
            y = bb.emit(op.call_dps_packed("documents.pad", [x, 2]))
            assert y.struct_info == rx.Tensor(("n + 4",))
            bb.emit_func_output(op.exp(y))
        for main in functions(bb.get()):
            for size in (0, 1, 5):
                given = np.ones(size, "f4")
                np.testing.assert_allclose(to_numpy(main(given)), np.exp(np.pad(given, 2)), rtol=1e-6)
    finally:
        op.unregister_op("documents.pad")


def test_mistakes_of_op_attributes() -> None:
    with pytest.raises(ArgumentError, match=r"'relax\.exp' is an op of Relax, whose rules do not change"):
        op.register_op_attr("relax.exp", "FInferShape", lambda x: x)
    with pytest.raises(UnknownNameError, match="FInferShapes"):
        op.register_op_attr("documents.other", "FInferShapes", lambda x: x)
    with pytest.raises(UnknownNameError, match=r"'relax\.foo'"):
        op.Op.get("relax.foo")
