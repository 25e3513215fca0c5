"""`call_tir_inplace`: results in the memory of arguments, without changing values that are used later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import Program, numpy, register
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, ShapeError, VerifyError

N = rx.Tensor(("n",), "float32")
PRIMS = """
func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @swap(%x: memref<?xf32>, %y: memref<?xf32>, %sum: memref<?xf32>, %scale: index)
    attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %word = arith.index_cast %scale : index to i64
  %factor = arith.sitofp %word : i64 to f32
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %y[%i] : memref<?xf32>
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %factor : f32
    memref.store %b, %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
    memref.store %t, %sum[%i] : memref<?xf32>
  }
  return
}
"""
program = Program(PRIMS)


def twice(x: Any) -> Any:
    return R.call_tir_inplace("twice", [x], 0, N)


def swap(x: Any, y: Any, scale: Any = 1) -> Any:
    return R.call_tir_inplace("swap", [x, y], [-1, 0, 1], [N, N, N], tir_vars=[scale])


@register("inplace.negate")
def negate(x: Any, out: Any) -> None:
    np.negative(np.from_dlpack(x), out=np.from_dlpack(out))


@program.function(N)
def parameter(bb: Any, x: Any) -> Any:
    return twice(x), x


@program.function(N)
def temporary(bb: Any, x: Any) -> Any:
    return twice(twice(x + 1.0))


@program.function(N)
def used_later(bb: Any, x: Any) -> Any:
    y = x + 1.0
    z = twice(y)
    return y * z, z


@program.function(N)
def view(bb: Any, x: Any) -> Any:
    y = R.exp(x)
    flat = R.reshape(y, ("n", 1))
    return twice(y), flat


@program.function()
def constant(bb: Any) -> Any:
    c = R.const(np.arange(100, dtype="float32"))
    return R.call_tir_inplace("twice", [c], 0, rx.Tensor((100,), "float32")), c


@program.function(N, N)
def parameters_on_memrefs(bb: Any, x: Any, y: Any) -> Any:
    return swap(x, y, "n"), x, y


@program.function(N, N)
def temporaries_on_memrefs(bb: Any, x: Any, y: Any) -> Any:
    total, first, second = swap(x * 2.0, y * 3.0)
    return total, first, second


@program.function(N)
def one_argument_twice(bb: Any, x: Any) -> Any:
    y = x + 1.0
    return swap(y, y), y


@program.function(rx.Tensor((), "bool"), N)
def in_branch(bb: Any, c: Any, x: Any) -> Any:
    y = x + 1.0
    return R.if_then_else(c, lambda: twice(y), lambda: y), y


@program.function(N, private=True)
def inner(bb: Any, x: Any) -> Any:
    return twice(x)


@program.function(N)
def across_functions(bb: Any, x: Any) -> Any:
    y = x + 1.0
    return bb.call("inner", y), y


@program.function(N)
def in_dataflow(bb: Any, x: Any) -> Any:
    with bb.dataflow():
        y = bb.emit_output(twice(x + 1.0))
    return y


@program.function(N)
def registered(bb: Any, x: Any) -> Any:
    return R.call_tir("inplace.negate", [x], N)


@program.function(N)
def by_function(bb: Any, x: Any) -> Any:
    return R.call_tir_inplace(bb.lookup("twice"), [x], [0], [N])


compiled = program.compile()


@pytest.mark.parametrize("size", [0, 1, 5])
def test_values(size: int) -> None:
    x = np.arange(size, dtype="float32")
    y = x * x + 1
    kept = x.copy(), y.copy()
    cases: dict[str, tuple[list[Any], Any]] = {
        "parameter": ([x], (2 * x, x)),
        "temporary": ([x], 4 * (x + 1)),
        "used_later": ([x], (2 * (x + 1) ** 2, 2 * (x + 1))),
        "view": ([x], (2 * np.exp(x), np.exp(x).reshape(-1, 1))),
        "parameters_on_memrefs": ([x, y], ((size * (x + y), y, x), x, y)),
        "temporaries_on_memrefs": ([x, y], (2 * x + 3 * y, 3 * y, 2 * x)),
        "one_argument_twice": ([x], ((2 * (x + 1), x + 1, x + 1), x + 1)),
        "across_functions": ([x], (2 * (x + 1), x + 1)),
        "in_dataflow": ([x], 2 * (x + 1)),
        "registered": ([x], -x),
        "by_function": ([x], (2 * x,)),
    }
    for name, (arguments, expected) in cases.items():
        assert_close(name, numpy(compiled[name](*arguments)), expected)
    for flag, factor in ((True, 2), (False, 1)):
        result = numpy(compiled["in_branch"](np.array(flag), x))
        assert_close("in_branch", result, (factor * (x + 1), x + 1))
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])


def assert_close(name: str, found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert len(found) == len(expected), name
        for f, e in zip(found, expected, strict=True):
            assert_close(name, f, e)
        return
    np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=name)


def test_constants_keep_their_elements() -> None:
    for _ in range(2):
        doubled, kept = numpy(compiled["constant"]())
        np.testing.assert_array_equal(doubled, 2 * np.arange(100, dtype="float32"))
        np.testing.assert_array_equal(kept, np.arange(100, dtype="float32"))


def test_no_copy_of_a_temporary() -> None:
    """A value that only the call needs is overwritten: the function at level M copies nothing."""
    source = rx.BlockBuilder(rx.IRModule.parse(PRIMS))
    x = rx.Var("x", N)
    with source.function("main", [x]):
        source.emit_func_output(R.exp(twice(x + 1.0)))
    module = source.get().clone()
    from relax_mlir.lowering.pipeline import pipeline

    module.apply_(pipeline("relax-to-memrefs"))
    assert "memref.copy" not in str(module["main"])


def test_errors() -> None:
    bb = rx.BlockBuilder(rx.IRModule.parse(PRIMS))
    x = rx.Var("x", N)
    with bb.function("main", [x]):
        with pytest.raises(ArgumentError, match="no result is in place; that is a call_tir"):
            R.call_tir_inplace("twice", [x], -1, N)
        with pytest.raises(ShapeError, match=r"result 0 is Tensor\(\(3,\), .* but argument 0 is Tensor\(\(n,\)"):
            R.call_tir_inplace("twice", [x], 0, rx.Tensor((3,), "float32"))
        with pytest.raises(ArgumentError, match=r"'inplace_indices'.0. is 'a'"):
            R.call_tir_inplace("twice", [x], ["a"], N)  # type: ignore[list-item]  # the mistake under test
        with pytest.raises(ArgumentError, match="takes no tir_vars"):
            R.call_tir("inplace.negate", [x], N, tir_vars=["n"])
        y = R.call_tir_inplace("twice", [x, x], [0], N)
        bb.emit_func_output(y)
    with pytest.raises(VerifyError, match=r"call_tir_inplace of 'twice': 2 arguments .* takes 1 \[invariant 7\]"):
        bb.get()
