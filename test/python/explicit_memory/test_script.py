"""The script form of explicit memory and of the shape heap: example 5, round trips, builders."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from interpreter import STEPS, assert_same, forms, legalized
from memory_machine import together
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, ScriptError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse, script_constants
from relax_mlir.transform import create_pass

EXAMPLE = '''
@I.ir_module
class Module:
    I.mlir("""
    func.func private @tirexp(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32>
        attributes {relax.prim_func} {
      %0 = linalg.exp ins(%x : tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }
    """)

    @R.function
    def myfunc(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("m*n",), "float32"):
        with R.dataflow():
            lv0 = R.call_tir(cls.tirexp, (x,), R.Tensor(("n", "m"), "float32"))
            gv0 = R.call_dps_packed("test.memory.flatten", [lv0], R.Tensor(("m*n",), "float32"))
            R.output(gv0)
        return gv0
'''

MEMORY = """
    @R.function
    def myfunc(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("m*n",), "float32"):
        storage = R.memory.alloc_storage(R.shape([4 * n * m]), dtype="float32")
        tensor = R.memory.alloc_tensor(storage, R.shape([n, m]), dtype="float32")
        R.call_prim(cls.tirexp, (x, tensor))
        storage1 = R.memory.alloc_storage(R.shape([4 * n * m]), dtype="float32")
        tensor1 = R.memory.alloc_tensor(storage1, R.shape([n * m]), dtype="float32")
        R.call_packed("test.memory.flatten", tensor, tensor1)
        R.memory.kill_tensor(tensor)
        R.memory.kill_storage(storage)
        return tensor1
"""

HEAP = """
    @R.function
    def myfunc(x: R.Tensor((None, None), "float32")) -> R.Tensor((None,), "float32"):
        shape_heap = R.vm.alloc_shape_heap(4)
        sh = R.shape_of(x)
        R.vm.store_shape(sh, shape_heap, indices=[0, 1])
        R.call_prim(cls.myfunc_shape_func, (shape_heap,))
        size = R.vm.load_shape(shape_heap, indices=[2])
        storage = R.vm.alloc_storage(size, dtype="float32")
        shape = R.vm.load_shape(shape_heap, indices=[0, 1])
        tensor = R.vm.alloc_tensor(storage, shape, dtype="float32")
        R.call_prim(cls.tirexp, (x, tensor))
        size1 = R.vm.load_shape(shape_heap, indices=[2])
        storage1 = R.vm.alloc_storage(size1, dtype="float32")
        shape1 = R.vm.load_shape(shape_heap, indices=[3])
        tensor1 = R.vm.alloc_tensor(storage1, shape1, dtype="float32")
        R.call_packed("test.memory.flatten", tensor, tensor1)
        R.vm.kill_object(tensor)
        R.vm.kill_object(storage)
        return tensor1
"""


def with_body(mod: rx.IRModule, body: str) -> rx.IRModule:
    """The prim funcs of `mod`, and the function *myfunc* as written."""
    prims = re.findall(r'    I\.mlir\(""".*?"""\)\n', mod.script(), re.DOTALL)
    return parse("@I.ir_module\nclass Module:\n" + "\n".join(prims) + body)


def after(steps: int) -> rx.IRModule:
    work = legalized(parse(EXAMPLE))
    for step in STEPS[:steps]:
        work.apply_(create_pass(step))
    return work


@pytest.mark.parametrize(("steps", "body"), [(2, MEMORY), (3, MEMORY), (5, HEAP)])
def test_example_5(steps: int, body: str) -> None:
    found = after(steps)
    assert_structural_equal(parse(found.script()), with_body(found, body))


def test_example_5_runs() -> None:
    def flatten(x: Any, out: Any) -> None:
        to_numpy(out)[...] = to_numpy(x).reshape(-1)

    tvm_ffi.register_global_func("test.memory.flatten", flatten, override=True)
    mod = parse(EXAMPLE)
    native = rx.build(mod)["myfunc"]
    for shape in [(3, 5), (0, 2), (1, 1)]:
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(to_numpy(native(x)), np.exp(x).reshape(-1), rtol=1e-6)
        for step, form in forms(mod):
            assert_same(step, form.call("myfunc", x), native(x))


def test_round_trip() -> None:
    work = legalized(together())
    for step in STEPS:
        work.apply_(create_pass(step))
        again = rx.IRModule.parse(str(work.mlir))
        assert_structural_equal(parse(work.script(), script_constants(work.mlir)), again)


def build_one(emit: Any) -> str:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(emit(x))
    return bb.get().script()


def test_builders() -> None:
    def emit(x: rx.Value) -> rx.Value:
        storage = R.memory.alloc_storage(["4*n*m"], device=1, storage_scope="global.texture", dtype="float32")
        y = R.memory.alloc_tensor(storage, ["n", "m"], offset=128)
        R.memory.copy(x, y)
        heap = R.vm.alloc_shape_heap(3)
        R.vm.match_shape(R.shape_of(x), heap, [1, 3], [0, 2], "main: x")
        shape = R.vm.make_shape(heap, [0, 1], [7, 2])
        z = R.vm.reshape(y, shape)
        R.vm.copy(x, y)
        R.vm.load_prim(heap, 1)
        return z

    text = build_one(emit)
    assert (
        'R.memory.alloc_storage(R.shape(["4*m*n"]), device=1, storage_scope="global.texture", dtype="float32")' in text
    )
    assert 'codes=[1, 3], values=[0, 2], where="main: x"' in text
    assert "R.vm.load_prim(" in text


@pytest.mark.parametrize(
    ("emit", "error", "message"),
    [
        (lambda x: R.memory.alloc_storage(["n", 4]), ShapeError, "expected one number of bytes"),
        (lambda x: R.memory.alloc_storage([4], device=-1), ArgumentError, "device -1 is negative"),
        (lambda x: R.memory.alloc_tensor(x, [4]), ArgumentError, "expected a storage"),
        (
            lambda x: R.memory.alloc_tensor(R.memory.alloc_storage([64]), [4], offset=4),
            ArgumentError,
            "offset 4 is no multiple of 64",
        ),
        (lambda x: R.memory.kill_storage(x), ArgumentError, "expected a storage"),
        (
            lambda x: R.call_prim("f", [x], outputs=2),
            ArgumentError,
            "outputs is 2, but there are 1 arguments",
        ),
        (lambda x: R.vm.load_shape(x, [0]), TypeError, "expected a shape heap"),
        (lambda x: R.vm.load_shape(R.vm.alloc_shape_heap(2), [2]), ArgumentError, "slot 2 is out of range"),
        (
            lambda x: R.vm.store_shape(R.shape_of(x), R.vm.alloc_shape_heap(2), [0]),
            ShapeError,
            "the shape has 2 dimensions, but 1 are given",
        ),
        (
            lambda x: R.vm.make_shape(R.vm.alloc_shape_heap(2), [5], [0]),
            ArgumentError,
            "code 5 is none of",
        ),
    ],
)
def test_builder_errors(emit: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build_one(emit)


def test_script_errors() -> None:
    body = "    s = R.memory.alloc_storag(R.shape([4]))\n    return x"
    message = r"unknown op 'R\.memory\.alloc_storag'; did you mean 'R\.memory\.alloc_storage'"
    with pytest.raises(ScriptError, match=message):
        parse(f"@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n{body}")
