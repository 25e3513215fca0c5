"""Packed functions called from compiled code."""

from __future__ import annotations

import gc

import numpy as np
import psutil
import pytest
import relax_mlir as rx
import tvm_ffi
from lowered import compile_module
from relax_mlir import error
from relax_mlir import op as R

SIGNATURE = """relax.signature = {name = "main",
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 2, type = "Tensor((n, 4), \\"float32\\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 2}], tuple = false}"""


def calling(name: str, hook: str, types: str, body: str) -> str:
    """`main(x)` with a packed function @relax.packed.0 of the type `types`; `body` uses %x, %n and %o."""
    return f"""
func.func private @relax.packed.0{types} attributes {{relax.packed = {{name = "{name}", {hook}}}}}
func.func private @copy(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {{relax.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %o, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {{
    scf.for %j = %c0 to %c4 step %c1 {{
      %v = memref.load %x[%i, %j] : memref<?x4xf32>
      memref.store %v, %o[%i, %j] : memref<?x4xf32>
    }}
  }}
  return
}}
func.func private @main.shapes(%x0: index, %x1: index) -> (index, index) {{
  return %x0, %x1 : index, index
}}
func.func @main(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {{{SIGNATURE}}} {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
{body}
  return
}}
"""


ALLOC = calling(
    "test.alloc",
    'style = "alloc", args = ["tensor", "int", "shape:2", "str:hello \\"you\\"", "float:1.5", "bool:true", "int:-3"]',
    "(memref<?x4xf32>, index, index, index) -> memref<?x4xf32>",
    """  %0 = call @relax.packed.0(%x, %n, %n, %c0)
    : (memref<?x4xf32>, index, index, index) -> memref<?x4xf32> loc("model.py":12:3)
  call @copy(%0, %o) : (memref<?x4xf32>, memref<?x4xf32>) -> ()""",
)
DPS = calling(
    "test.dps",
    'style = "dps", args = ["tensor"]',
    "(memref<?x4xf32>, memref<?x4xf32>) -> ()",
    "  call @relax.packed.0(%x, %o) : (memref<?x4xf32>, memref<?x4xf32>) -> ()",
)
DPS_RESULT = calling(
    "test.dps",
    'style = "dps", args = ["tensor", "tensor"]',
    "(memref<?x4xf32>, memref<?x4xf32>) -> memref<?x4xf32>",
    """  %a = memref.alloc(%n) : memref<?x4xf32>
  %0 = call @relax.packed.0(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> memref<?x4xf32>
  call @copy(%0, %o) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  memref.dealloc %a : memref<?x4xf32>""",
)
TWO = calling(
    "test.two",
    'style = "alloc", args = ["tensor"]',
    "(memref<?x4xf32>) -> (memref<?x4xf32>, index)",
    """  %0:2 = call @relax.packed.0(%x) : (memref<?x4xf32>) -> (memref<?x4xf32>, index)
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %0#1 step %c1 {
    func.call @copy(%0#0, %o) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  }""",
)
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def register(name: str, function: object) -> None:
    tvm_ffi.register_global_func(name, function, override=True)


def test_alloc_gets_every_kind_of_argument() -> None:
    seen = []

    def double(x: object, *rest: object) -> object:
        seen.append((np.from_dlpack(x).copy(), *rest))
        return tvm_ffi.from_dlpack(np.from_dlpack(x) * 2)

    register("test.alloc", double)
    result = compile_module(ALLOC)["main"](X)
    np.testing.assert_array_equal(np.from_dlpack(result), 2 * X)
    ((x, n, shape, text, number, flag, minus),) = seen
    np.testing.assert_array_equal(x, X)
    assert (n, tuple(shape), text, number, flag, minus) == (3, (3, 0), 'hello "you"', 1.5, True, -3)


@pytest.mark.parametrize("module", [DPS, DPS_RESULT])
def test_dps_writes_the_result(module: str) -> None:
    def negate(x: object, out: object) -> None:
        np.negative(np.from_dlpack(x), out=np.from_dlpack(out))

    register("test.dps", negate)
    np.testing.assert_array_equal(np.from_dlpack(compile_module(module)["main"](X)), -X)


def test_results_with_other_strides_are_copied() -> None:
    register("test.alloc", lambda x, *rest: tvm_ffi.from_dlpack(np.asfortranarray(np.from_dlpack(x))))
    np.testing.assert_array_equal(np.from_dlpack(compile_module(ALLOC)["main"](X)), X)


def test_several_results() -> None:
    register("test.two", lambda x: (tvm_ffi.from_dlpack(np.from_dlpack(x) + 1), 2))
    np.testing.assert_array_equal(np.from_dlpack(compile_module(TWO)["main"](X)), X + 1)


class HomemadeError(Exception):
    pass


@pytest.mark.parametrize(
    "raised",
    [
        ValueError("no such thing: 17 %d {0}"),
        IndexError("k"),
        error.ShapeError("a shape"),
        ZeroDivisionError("by zero"),
    ],
)
def test_errors_arrive_unchanged(raised: Exception) -> None:
    def fail(*args: object) -> None:
        raise raised

    register("test.alloc", fail)
    with pytest.raises(type(raised)) as caught:
        compile_module(ALLOC)["main"](X)
    assert str(caught.value) == str(raised)


def test_an_argument_error_of_a_packed_function_does_not_run_the_function_again() -> None:
    calls = []

    def fail(x: object) -> None:
        calls.append(x)
        raise error.ArgumentError("not this one")

    register("test.fail_once", fail)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tuple([rx.Tensor((2,), "float32")]))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.call_packed("test.fail_once", x[0], out=rx.Object())))
    main = rx.build(bb.get())["main"]
    array = np.ones(2, "f4")
    for given in ((array,), [array], (tvm_ffi.from_dlpack(array),)):
        calls.clear()
        with pytest.raises(error.ArgumentError, match=r"^not this one$"):
            main(given)
        assert len(calls) == 1


def test_not_registered() -> None:
    function = compile_module(ALLOC.replace("test.alloc", "test.nobody"))["main"]
    with pytest.raises(error.PackedFunctionError) as caught:
        function(X)
    assert str(caught.value) == (
        "main: packed function 'test.nobody' is not registered (called at model.py:12:3); "
        "tvm_ffi.register_global_func registers it"
    )
    register("test.nobody", lambda x, *rest: tvm_ffi.from_dlpack(np.from_dlpack(x) + 1))
    np.testing.assert_array_equal(np.from_dlpack(function(X)), X + 1)


WRONG = '(result: Tensor((?, 4), "float32"))'


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda x: None, 'is of type None, expected result: Tensor((?, 4), "float32")'),
        (lambda x: 3, 'is of type int, expected result: Tensor((?, 4), "float32")'),
        (lambda x: x.astype("f8"), f"has dtype float64, expected float32 {WRONG}"),
        (lambda x: x[0], f"has rank 1, expected rank 2 {WRONG}"),
        (lambda x: x.T.copy(), f"has dimension 1 of 3, expected 4 {WRONG}"),
    ],
)
def test_wrong_results(given, message) -> None:
    def answer(x: object, *rest: object) -> object:
        value = given(np.from_dlpack(x))
        return tvm_ffi.from_dlpack(value) if isinstance(value, np.ndarray) else value

    register("test.alloc", answer)
    with pytest.raises(error.PackedFunctionError) as caught:
        compile_module(ALLOC)["main"](X)
    expected = f"main: packed function 'test.alloc' (called at model.py:12:3) gave back a value that {message}"
    assert str(caught.value) == expected


def test_many_calls_keep_nothing() -> None:
    def answer(x: object, *rest: object) -> object:
        rows = np.from_dlpack(x)
        if len(rows) % 2:
            raise ValueError("odd")
        return tvm_ffi.from_dlpack(np.asfortranarray(rows) if len(rows) % 4 else rows.copy())

    def call(i: int) -> None:
        x = inputs[i % len(inputs)]
        if len(x) % 2:
            with pytest.raises(ValueError, match="odd"):
                function(x)
        else:
            function(x)

    register("test.alloc", answer)
    function = compile_module(ALLOC)["main"]
    inputs = [np.ones((n, 4), np.float32) for n in (2, 3, 40, 301, 1000)]
    process, before = psutil.Process(), 0
    for i in range(6000):
        call(i)
        if i == 2000:
            gc.collect()
            before = process.memory_info().rss
    gc.collect()
    assert process.memory_info().rss - before < 8 << 20  # a result kept per call would be twice that
