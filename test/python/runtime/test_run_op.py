"""Ops compiled at run time: which sizes stay symbols, what is cached, and several threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.dialects.types import Shape, Tensor
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.runtime import to_ffi, to_numpy
from relax_mlir.runtime.cache_store import LRU
from relax_mlir.runtime.run_op import CompiledOps, run_op

Array = np.ndarray[Any, Any]


def ones(*shape: int, dtype: Any = np.float32) -> Array:
    return np.ones(shape, dtype)


def compiled(ops: CompiledOps, name: str, *arrays: Array, attributes: str = "{}") -> object:
    grouping = ",".join("." for _ in arrays)
    return ops.function(name, attributes, grouping, "", [to_ffi(a) for a in arrays])


def test_sizes_stay_symbols_where_the_rule_allows_it() -> None:
    ops = CompiledOps()
    unary = {id(compiled(ops, "relax.exp", ones(*shape))) for shape in ((2, 3), (1, 4), (0, 1), (5, 5))}
    assert len(unary) == 1
    assert compiled(ops, "relax.exp", ones(3)) not in unary
    equal = [((2, 3), (2, 3)), ((4, 5), (4, 5))]
    rows = [((2, 3), (1, 3)), ((4, 5), (1, 5))]
    vectors = [((2, 3), (3,)), ((4, 5), (5,))]
    for pairs in (equal, rows, vectors):
        assert len({id(compiled(ops, "relax.add", ones(*a), ones(*b))) for a, b in pairs}) == 1
    assert len(ops.programs) == 5
    squeezed = [compiled(ops, "relax.squeeze", ones(*s), attributes="{axes}") for s in ((1, 3), (3, 1), (1, 4))]
    assert squeezed[0] is squeezed[2] and squeezed[0] is not squeezed[1]


def test_the_least_recently_used_make_room() -> None:
    ops = CompiledOps(programs=2, requests=3)
    first = compiled(ops, "relax.exp", ones(1))
    compiled(ops, "relax.exp", ones(1, 1))
    assert compiled(ops, "relax.exp", ones(1)) is first
    compiled(ops, "relax.exp", ones(1, 1, 1))
    assert compiled(ops, "relax.exp", ones(1)) is first
    assert len(ops.programs) == 2 and len(ops.requests) == 3
    cache: LRU[str, int] = LRU(1)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") is None and cache.get("b") == 2


def test_threads_share_the_compiled_op() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(None, None))
    with bb.function("main", [x]):
        bb.emit_func_output(R.add(R.multiply(x, x), R.permute_dims(x)))
    function, wrong = rx.build(bb.get())["main"], []

    def work(size: int) -> None:
        for n in range(20):
            array = np.full((size, size), n, np.float32)
            if not np.array_equal(to_numpy(function(array)), array * array + array):
                wrong.append((size, n))

    threads = [threading.Thread(target=work, args=(size,)) for size in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(DTYPES[dtype].numpy)
    found = to_numpy(run_op("relax.add", "{}", ".,.", "", "here", to_ffi(array), to_ffi(array)))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found.astype(float), (array + array).astype(float))


def unknown_rank() -> rx.Executable:
    bb = rx.BlockBuilder()
    x, s, n = rx.Var("x", Tensor(None, None)), rx.Var("s", Shape()), rx.Var("n", Shape(("n",)))
    with bb.function("reshape", [x, s]):
        bb.emit_func_output(R.reshape(x, s))
    x, s = rx.Var("x", Tensor(None, None)), rx.Var("s", Shape())
    with bb.function("broadcast_to", [x, s]):
        bb.emit_func_output(R.broadcast_to(x, s))
    s = rx.Var("s", Shape())
    with bb.function("full", [s]):
        bb.emit_func_output((R.full(s, 1.5), R.zeros(s, "int8"), R.shape_to_tensor(s)))
    x = rx.Var("x", Tensor(None, None))
    with bb.function("slice", [x, n]):
        bb.emit_func_output(R.strided_slice(x, [0], ["n"], ["2*n"]))
    return rx.build(bb.get())


def test_shapes_of_unknown_rank_and_symbols() -> None:
    executable = unknown_rank()
    x = np.arange(6, dtype=np.float32)
    for shape in ((6,), (2, 3), (1, 3, 1, 2)):
        found = to_numpy(executable["reshape"](x, tvm_ffi.Shape(shape)))
        np.testing.assert_array_equal(found, x.reshape(shape))
    for shape in ((6,), (2, 6), (0, 1, 6)):
        found = to_numpy(executable["broadcast_to"](x, tvm_ffi.Shape(shape)))
        np.testing.assert_array_equal(found, np.broadcast_to(x, shape))
    for shape in ((), (2, 0), (2, 3)):
        filled, zeros, sizes = map(to_numpy, executable["full"](tvm_ffi.Shape(shape)))
        np.testing.assert_array_equal(filled, np.full(shape, np.float32(1.5)))
        np.testing.assert_array_equal(zeros, np.zeros(shape, np.int8))
        np.testing.assert_array_equal(sizes, np.array(shape, np.int64))
    for n in (0, 1, 2, 4, 9):
        np.testing.assert_array_equal(to_numpy(executable["slice"](x, tvm_ffi.Shape((n,)))), x[n : 2 * n])
    with pytest.raises(ShapeError, match=r"reshape: shape \(6,\) has 6 elements, \(4,\) has 4"):
        executable["reshape"](x, tvm_ffi.Shape((4,)))
    with pytest.raises(ShapeError, match=r"reshape: the shape \(-2, -3\) has a negative dimension \(at .*:\d+:0\)"):
        executable["reshape"](x, tvm_ffi.Shape((-2, -3)))


def test_what_is_no_tensor_of_a_known_dtype() -> None:
    with pytest.raises(ArgumentError, match=r"exp: an operand is 3 \(int\), expected a tensor \(at here\)"):
        run_op("relax.exp", "{}", ".", "", "here", 3)
    complex_tensor = tvm_ffi.from_dlpack(np.ones(2, np.complex64))
    with pytest.raises(DTypeError, match=r"exp: an operand has dtype .*, expected one of .* \(at here\)"):
        run_op("relax.exp", "{}", ".", "", "here", complex_tensor)


def test_errors_at_run_time_name_the_place() -> None:
    with pytest.raises(AssertionError, match=r"max: no elements to reduce.* \(at here\)"):
        run_op("relax.max", "{axis, keepdims = false}", ".", "", "here", to_ffi(ones(0)))
