"""Document 000, "Compilation MVP": the example, its explicit forms, and the lowering to the virtual machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import transform
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse, ty
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

MODES = ("native", "bytecode")
SHAPES = ((2, 3), (0, 1), (1, 1), (1, 17), (5, 0))


@pytest.fixture(autouse=True, scope="module")
def _functions() -> None:
    def flatten(x: tvm_ffi.Tensor, out: tvm_ffi.Tensor) -> None:
        np.from_dlpack(out)[:] = np.from_dlpack(x).reshape(-1)

    tvm_ffi.register_global_func("flatten", flatten, override=True)


# The loops of the prim func replace {block}.
EXAMPLE = """
@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def tirexp(a: T.handle, b: T.handle):
        n1, m1 = T.var("n1"), T.var("m1")
        X = T.match_buffer(a, (n1, m1))
        Y = T.match_buffer(b, (n1, m1))
        with {block}:
            Y[i, j] = T.exp(X[i, j])

    @R.function
    def myfunc(x: R.Tensor[(n, m)]):
        with R.dataflow():
            lv0: R.Tensor[(n, m)] = R.call_tir((n, m), tirexp, [x])
            gv0: R.Tensor[(m*n,)] = R.call_tir((m*n,), "flatten", [lv0])
            R.outputs(gv0)
        return gv0
"""


def example(block: str = "T.block(n1, m1) as i, j") -> rx.IRModule:
    return parse(EXAMPLE.format(block=block))


def check(main: Any) -> None:
    for shape in SHAPES:
        x = np.random.default_rng(0).standard_normal(shape).astype("float32")
        np.testing.assert_allclose(to_numpy(main(x)), np.exp(x).reshape(-1), rtol=1e-6)
    with pytest.raises(RelaxError, match="dtype"):
        main(np.zeros((2, 3), "float64"))


@pytest.mark.parametrize(
    "block",
    ["T.block(n1, m1) as i, j", "T.block([n1, m1]) as [i, j]", "T.block([n1, m1]) as (i, j)"],
)
def test_the_example(block: str) -> None:
    """Both block forms; its tensors have no dtype, that of the prim func is asserted."""
    mod = example(block)
    assert_structural_equal(parse(mod.script()), mod)
    for mode in MODES:
        check(rx.build(mod, exec_mode=mode)["myfunc"])  # type: ignore[call-overload]  # a mode of two


def test_older_names() -> None:
    """``ty.handle``, ``@T.func`` and ``@R.func``."""
    text = EXAMPLE.format(block="T.block(n1, m1) as i, j").replace("T.handle", "ty.handle")
    text = text.replace("@T.prim_func", "@T.func").replace("@R.function", "@R.func")
    assert_structural_equal(parse(text), example())

    @T.func
    def double(a: ty.handle, b: ty.handle):  # type: ignore[no-untyped-def]  # as the document spells it
        k = T.int64()
        X = T.match_buffer(a, (k,), "float64")
        Y = T.match_buffer(b, (k,), "float64")
        for i in T.serial(k):
            Y[i] = X[i] + X[i]

    @R.func
    def same(x: R.Tensor(("k",), "float64")):  # type: ignore[no-untyped-def,valid-type]  # as the document spells it
        return R.add(x, x)

    x, out = np.arange(5.0), np.empty(5)
    rx.build(double)["double"](x, out)
    np.testing.assert_array_equal(out, 2 * x)
    np.testing.assert_array_equal(to_numpy(rx.build(same)["same"](x)), 2 * x)


def test_mistakes_in_blocks() -> None:
    for block, message in (
        ("T.block([n1, m1]) as [i]", "2"),
        ("T.block([n1, m1])", "unknown name 'i'|as"),
        ("T.block(n1) as i, j", "1"),
    ):
        with pytest.raises(RelaxError, match=message):
            example(block)


def test_a_tuple_of_output_shapes() -> None:
    """Of a prim func with two results, and of a registered function."""

    def both(x: tvm_ffi.Tensor, one: tvm_ffi.Tensor, two: tvm_ffi.Tensor) -> None:
        np.from_dlpack(one)[...] = np.from_dlpack(x).T
        np.from_dlpack(two)[...] = np.from_dlpack(x).sum(1)

    tvm_ffi.register_global_func("documents.both", both, override=True)
    mod = parse("""
@T.prim_func
def split(A: T.Buffer((n, m), "float32"), B: T.Buffer((m, n), "float32"), C: T.Buffer((n,), "int32")):
    for i, j in T.grid(n, m):
        B[j, i] = A[i, j] * 2
    for i in T.grid(n):
        C[i] = T.cast(i, "int32")
@R.function
def main(x: R.Tensor[(n, m), "f32"]):
    with R.dataflow():
        a = R.call_tir(((m, n), (n,)), split, [x])
        s = (m, n)
        b, c = R.call_tir([s, (n,)], split, [x])
        d = R.call_tir((s, (n,)), "documents.both", [x])
        R.outputs(a, b, c, d)
    return (a, b, c, d)
""")
    for mode in MODES:
        main = rx.build(mod, exec_mode=mode)["main"]  # type: ignore[call-overload]  # a mode of two
        for shape in SHAPES:
            x = np.random.default_rng(1).random(shape, dtype=np.float32)
            (a0, a1), b, c, (d0, d1) = main(x)
            numbers = np.arange(shape[0], dtype=np.int32)
            for found, wanted in ((a0, 2 * x.T), (a1, numbers), (b, 2 * x.T), (c, numbers), (d0, x.T)):
                np.testing.assert_array_equal(to_numpy(found), wanted)
            np.testing.assert_allclose(to_numpy(d1), x.sum(1), rtol=1e-6)


def forms() -> Iterator[tuple[str, rx.IRModule]]:
    """The example after each of the passes, which take and give modules."""
    mod = example()
    before = str(mod)
    for made in (
        transform.ToNonDataflow(),
        transform.CallTIRRewrite(),
        transform.VMMemoryLower(),
        transform.VMShapeLower(),
    ):
        lowered = made(mod)
        assert isinstance(lowered, rx.IRModule)
        yield made.name, lowered
        mod = lowered
    assert str(example()) == before


def test_the_four_passes_and_their_forms() -> None:
    """Each form is a module that prints, reads back, verifies, and runs in the virtual machine."""
    names = []
    for name, mod in forms():
        mod.verify()
        assert_structural_equal(parse(mod.script()), mod)
        check(rx.VirtualMachine(rx.vm.build(mod))["myfunc"])
        names.append(name)
    assert names == ["to-non-dataflow", "call-tir-rewrite", "vm-memory-lower", "vm-shape-lower"]


def test_vm_build() -> None:
    """``relax.vm.build(mod, target)`` makes bytecode of a module; the module stays."""
    mod = example()
    before = str(mod)
    ex = rx.vm.build(mod, "cpu")
    check(rx.VirtualMachine(ex)["myfunc"])
    assert str(mod) == before
    text = ex.as_text()
    for builtin in (
        "alloc_shape_heap",
        "store_shape",
        "load_shape",
        "alloc_storage",
        "alloc_tensor",
        "null_value",
    ):
        assert f"vm.builtin.{builtin}" in text
    assert "call  flatten " in text and "ret   %" in text


def test_the_explicit_form_without_annotations() -> None:
    """Annotations may be omitted: they follow from the calls."""
    for _, mod in forms():
        bare = re.sub(r"^(        \w+): .* = (R\.)", r"\1 = \2", mod.script(), flags=re.M)
        assert bare != mod.script()
        assert_structural_equal(parse(bare), mod)


# Explicit memory, written by hand.
BY_HAND = """
@I.ir_module
class MyIRModule:
    @T.prim_func
    def tirexp(a: T.handle, b: T.handle):
        n1, m1 = T.var("n1"), T.var("m1")
        X = T.match_buffer(a, (n1, m1))
        Y = T.match_buffer(b, (n1, m1))
        with T.block(n1, m1) as i, j:
            Y[i, j] = T.exp(X[i, j])

    @R.function
    def myfunc(x: R.Tensor[(n, m), "f32"]):
        {body}
"""
BODIES = {
    "builtin.alloc_tensor": """
        lv0 = R.builtin.alloc_tensor((n, m), "float32", 0)
        tirexp(x, lv0)
        gv0 = R.builtin.alloc_tensor((n*m,), "float32", 0)
        R.call_packed("flatten", lv0, gv0)
        return gv0""",
    "alloc_storage and alloc_tensor": """
        storage0 = R.memory.alloc_storage(R.shape([4*n*m]), dtype="float32")
        lv0 = R.memory.alloc_tensor(storage0, R.shape([n, m]), dtype="float32")
        cls.tirexp(x, lv0)
        storage1 = R.memory.alloc_storage(R.shape([4*n*m]), dtype="float32")
        gv0 = R.memory.alloc_tensor(storage1, R.shape([n*m]), dtype="float32")
        R.call_packed("flatten", lv0, gv0)
        R.memory.kill_tensor(lv0)
        R.memory.kill_storage(storage0)
        return gv0""",
    "builtins as packed functions": """
        storage0 = R.call_packed("vm.builtin.alloc_storage", size=(4*n*m,), dtype="float32")
        lv0 = R.call_packed("vm.builtin.alloc_tensor", storage0, shape=(n, m), offset=0, dtype="float32")
        R.call_packed(tirexp, x, lv0)
        storage1 = R.call_packed("vm.builtin.alloc_storage", size=(4*n*m,), dtype="float32")
        gv0 = R.call_packed("vm.builtin.alloc_tensor", storage1, shape=(n*m,), offset=0, dtype="float32")
        R.call_packed("flatten", lv0, gv0)
        R.call_packed("vm.builtin.free_tensor", lv0)
        R.call_packed("vm.builtin.free_storage", storage0)
        return gv0""",
}


@pytest.mark.parametrize("name", BODIES)
def test_explicit_memory_by_hand(name: str) -> None:
    mod = parse(BY_HAND.format(body=BODIES[name].strip()))
    assert_structural_equal(parse(mod.script()), mod)
    check(rx.VirtualMachine(rx.vm.build(mod))["myfunc"])
    with pytest.raises(UnsupportedError, match=r'explicit memory.*exec_mode="bytecode"'):
        rx.build(mod)


# The shape heap, written by hand: the shape (32, 16) becomes (64, 48).
SHAPE_HEAP = """
@tvm.script.ir_module
class Module:
    @T.prim_func
    def shape_func0(heap: T.handle) -> None:
        T.func_attr({{"global_symbol": "shape_func0"}})
        H = T.match_buffer(heap, [T.int64(4)], dtype="int64", elem_offset=T.int64(0), align=128, offset_factor=1)
        H[T.int64(2)] = H[T.int64(0)] * T.int64(2)
        H[T.int64(3)] = H[T.int64(1)] * T.int64(3)

    @R.function
    def foo(x: R.Tensor[_, "float32"]) -> R.Shape:
        {body}
        return gv3
"""
HEAPS = {
    "shapes": """
        shape_heap: R.Tensor[(4,), "int64"] = R.call_packed("vm.builtin.alloc_shape_heap", (4,))
        gv0 = R.call_packed("vm.builtin.shape_of", x)
        gv1 = R.call_packed("vm.builtin.store_shape", gv0, shape_heap, (0, 1))
        gv2 = shape_func0(shape_heap)
        gv3 = R.call_packed("vm.builtin.load_shape", shape_heap, (2, 3))""",
    "names": """
        shape_heap = R.call_packed("vm.builtin.alloc_shape_heap", size=4)
        R.call_packed("vm.builtin.store_shape", x.shape, shape_heap, indices=[0, 1])
        cls.shape_func0(shape_heap)
        gv3: R.Shape = R.call_packed("vm.builtin.load_shape", shape_heap, indices=[2, 3])
        R.call_packed("vm.builtin.free_shape_heap", shape_heap)""",
    "ops": """
        shape_heap = R.vm.alloc_shape_heap(4)
        R.vm.store_shape(R.shape_of(x), shape_heap, [0, 1])
        R.call_prim(cls.shape_func0, (shape_heap,))
        gv3 = R.vm.load_shape(shape_heap, [2, 3])""",
}


@pytest.mark.parametrize("name", HEAPS)
def test_the_shape_heap_by_hand(name: str) -> None:
    """``call_packed("vm.builtin.alloc_shape_heap", size=k)``: builtins as packed functions."""
    mod = parse(SHAPE_HEAP.format(body=HEAPS[name].strip()))
    assert_structural_equal(parse(mod.script()), mod)
    foo = rx.VirtualMachine(rx.vm.build(mod))["foo"]
    for shape in ((32, 16), (0, 1), (1, 7)):
        assert tuple(foo(np.zeros(shape, "float32"))) == (2 * shape[0], 3 * shape[1])
    with pytest.raises(RelaxError, match="3 dimensions"):
        foo(np.zeros((1, 2, 3), "float32"))


def test_builtins_as_bytecode_calls_them() -> None:
    """Builtins that take the machine or numbers stay packed functions, which native code calls, too."""
    mod = parse("""
@R.function
def main(x: R.Tensor[(n, m), "f32"]):
    heap = R.call_packed("vm.builtin.alloc_shape_heap", 2)
    R.call_packed("vm.builtin.store_shape", R.shape_of(x), heap, 1, 0)
    s: R.Shape(ndim=2) = R.call_packed("vm.builtin.load_shape", heap, 0, 1)
    return s
""")
    rx.vm.builtin("copy")  # native code finds the builtins by name once a machine has been created
    for mode in MODES:
        main = rx.build(mod, exec_mode=mode)["main"]  # type: ignore[call-overload]  # a mode of two
        assert tuple(main(np.zeros((3, 5), "f4"))) == (5, 3)


def test_calls_on_memory_that_are_refused() -> None:
    alloc = 'lv0 = R.builtin.alloc_tensor((n, m), "float32", 0)\n        '
    reads_itself = BY_HAND.format(body=f"{alloc}tirexp(lv0, lv0)\n        return x")
    with pytest.raises(UnsupportedError, match="the call of 'tirexp' fills a tensor that it reads"):
        rx.vm.build(parse(reads_itself))
    mixed = BY_HAND.format(body=f"{alloc}tirexp(x, lv0)\n        return R.exp(lv0)")
    with pytest.raises(RelaxError, match=r"relax\.exp is no call with a destination; run legalize-ops before"):
        rx.vm.build(parse(mixed))
    turned = BY_HAND.replace("a, (n1, m1)", "a, (m1, n1)")
    too_large = turned.format(body=f"{alloc}tirexp(x, lv0)\n        return lv0")
    with pytest.raises(RelaxError, match="'Y' dimension 0 is"):
        rx.vm.build(parse(too_large))
