"""Errors of builtins, with the builtin (or the given context) and both numbers in the message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm_ffi
from builtin_calls import ADD, BIG, MOST, STATE, A, P, X, call, dtype, heap, shape
from raw_calls import INT, RawError, dltensor, raw_call
from relax_mlir.error import (
    ArgumentError,
    DeviceError,
    DTypeError,
    OutOfMemoryError,
    RecursionLimitError,
    ShapeError,
)
from relax_mlir.vm.builtins import builtin_functions, builtin_names

BYTES, U8 = np.zeros(8, "uint8"), dtype("uint8")

WRONG: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    (f"{P}alloc_storage", (STATE, shape(-1), 0, U8), ShapeError, "'shape' has dimension 0 of -1"),
    (f"{P}alloc_storage", (STATE, shape(BIG), 0, U8), OutOfMemoryError, f"{BIG} bytes.*140737488355327"),
    (f"{P}alloc_storage", (STATE, shape(2**31, 2**32 - 1), 0, U8), OutOfMemoryError, "asked for.*140737488355327"),
    (f"{P}alloc_storage", (STATE, shape(2**40, 2**40), 0, U8), OutOfMemoryError, "asked for.*140737488355327"),
    (f"{P}alloc_storage", (STATE, shape(1), 3, U8), DeviceError, "device 3"),
    (f"{P}alloc_storage", (STATE, shape(1), 0, "x"), ArgumentError, "'dtype' is of type ffi.SmallStr"),
    (f"{P}alloc_storage", (STATE, shape(1), 0, dtype("int4")), DTypeError, "int4"),
    (f"{P}alloc_storage", (STATE, shape(*[1] * 1025), 0, U8), ShapeError, "1025 dimensions.*1024"),
    (f"{P}alloc_storage", (STATE, 5, 0, U8), ArgumentError, "'shape' is of type int"),
    (f"{P}alloc_storage", (STATE, (1, "a"), 0, U8), ArgumentError, "'shape'"),
    (f"{P}alloc_tensor", (BYTES, 4, shape(2), dtype("float32")), ArgumentError, "8 bytes.*8 bytes from byte 4"),
    (f"{P}alloc_tensor", (BYTES, -1, shape(1), U8), ArgumentError, "from byte -1"),
    (f"{P}alloc_tensor", (BYTES, 9, shape(0), U8), ArgumentError, "0 bytes.*8 bytes from byte 9"),
    (f"{P}alloc_tensor", (BYTES, MOST, shape(1), U8), ArgumentError, f"from byte {MOST}"),
    (f"{P}alloc_tensor", (BYTES, 0, shape(BIG), dtype("float32")), ArgumentError, "-1"),
    (f"{P}alloc_tensor", (BYTES, 0, shape(2**31, 2**32 - 1), dtype("float64")), ArgumentError, "-1"),
    (f"{P}alloc_tensor", (BYTES, 0, shape(2, -3), U8), ShapeError, "dimension 1 of -3"),
    (f"{P}alloc_tensor", (np.zeros(8, "int8"), 0, shape(1), U8), DTypeError, "rank 1 of int8"),
    (f"{P}alloc_tensor", (np.zeros((8, 1), "uint8"), 0, shape(1), U8), DTypeError, "rank 2 of uint8"),
    (f"{P}alloc_tensor", (BYTES[::2], 0, shape(1), U8), ArgumentError, "not contiguous"),
    (f"{P}alloc_tensor", ("s", 0, shape(1), U8), ArgumentError, "'storage' is of type ffi.SmallStr"),
    (f"{P}reshape", (X, shape(5)), ShapeError, "6 elements.*5"),
    (f"{P}reshape", (X, shape(-1)), ShapeError, "dimension 0 of -1"),
    (f"{P}reshape", (X, shape(BIG, 8)), ShapeError, "6 elements"),
    (f"{P}reshape", (3, shape(1)), ArgumentError, "'x' is of type int, expected a tensor"),
    (f"{P}copy_tensor", ("a",), ArgumentError, "'x' is of type ffi.SmallStr"),
    (f"{P}copy_into", (X, X.astype("int32")), DTypeError, "float32.*int32"),
    (f"{P}copy_into", (X, X[0]), ShapeError, "rank 2.*1"),
    (f"{P}copy_into", (X, X[:, :2]), ShapeError, "dimension 1 of the source is 3, of the destination 2"),
    (f"{P}copy_into", (X, np.zeros((3, 2), "float32").T), ArgumentError, "destination is not contiguous"),
    (f"{P}alloc_shape_heap", (STATE, -1), ArgumentError, "'size' is -1"),
    (f"{P}alloc_shape_heap", (STATE, BIG), OutOfMemoryError, "asked for.*140737488355327"),
    (f"{P}alloc_shape_heap", (), ArgumentError, "takes 2 arguments .*got 0"),
    (f"{P}alloc_shape_heap", (STATE, 1, 2), ArgumentError, "takes 2 arguments .*got 3"),
    (f"{P}alloc_shape_heap", (shape(2, 3),), ArgumentError, "a shape of 2 entries, expected one"),
    (f"{P}alloc_shape_heap", (shape(-2),), ArgumentError, "'size' is -2"),
    (f"{P}alloc_shape_heap", ("a",), ArgumentError, "'size' is of type ffi.SmallStr"),
    (f"{P}shape_of", ((1, 2),), ArgumentError, "'x' is of type ffi.Array"),
    (f"{P}store_shape", (shape(1, 2), heap(0, 0), 0), ShapeError, "2 dimensions.*1 slots"),
    (f"{P}store_shape", (shape(1), heap(0, 0), 2), ArgumentError, "slot 2.*2 slots"),
    (f"{P}store_shape", (shape(1), heap(0, 0), -1), ArgumentError, "slot -1.*2 slots"),
    (f"{P}store_shape", (shape(1), heap(0, 0), "a"), ArgumentError, "a slot is of type ffi.SmallStr"),
    (f"{P}store_shape", (shape(1), X, 0), DTypeError, "'heap' is a tensor of rank 2 of float32"),
    (f"{P}store_shape", (shape(1), heap(0, 0, 0)[::2], 0), ArgumentError, "'heap' is not contiguous"),
    (f"{P}store_shape", (shape(1), heap(0, 0), shape(2)), ArgumentError, "slot 2.*2 slots"),
    (f"{P}store_shape", (shape(1), heap(0, 0), shape(0, 1)), ShapeError, "1 dimensions.*2 slots"),
    (f"{P}store_shape", (shape(1, 2), heap(0, 0), shape(0, 1), 1), ArgumentError, "a slot is of type ffi.Shape"),
    (f"{P}load_shape", (heap(0), 1), ArgumentError, "slot 1.*1 slots"),
    (f"{P}load_shape", (heap(0), shape(-1)), ArgumentError, "slot -1.*1 slots"),
    (f"{P}load_shape", (heap(0), shape(0), 0), ArgumentError, "a slot is of type ffi.Shape"),
    (f"{P}load_shape", (heap(0), ("a",)), ArgumentError, "a slot is of type ffi.Array"),
    (f"{P}load_shape", (heap(0), shape(*[0] * 1025)), ShapeError, "1025 dimensions.*1024"),
    (f"{P}load_shape", (None, 0), ArgumentError, "'heap' is of type None"),
    (f"{P}load_shape", (heap(0), *[0] * 1025), ShapeError, "1025 dimensions.*1024"),
    (f"{P}make_shape", (heap(0), 2, 0, 1), ArgumentError, "got 4 for 2 dimensions"),
    (f"{P}make_shape", (heap(0), -1, 0, 1), ArgumentError, "got 4 for -1 dimensions"),
    (f"{P}make_shape", (heap(0), 2**63 - 1, 0, 1), ArgumentError, f"got 4 for {2**63 - 1} dimensions"),
    (f"{P}make_shape", (heap(0), 1, 1, 5), ArgumentError, "slot 5.*1 slots"),
    (f"{P}tensor_to_shape", (heap(1, -2),), ShapeError, "element 1 of the tensor is -2"),
    (f"{P}tensor_to_shape", (X,), DTypeError, "rank 2 of float32"),
    (f"{P}shape_to_tensor", (X,), ArgumentError, "'shape' is of type ffi.Tensor"),
    (f"{P}shape_equal", (X, shape(1)), ArgumentError, "'a' is of type ffi.Tensor"),
    (f"{P}read_if_cond", (1.0,), ArgumentError, "'condition' is of type float"),
    (f"{P}read_if_cond", (np.array([True]),), DTypeError, "rank 1 of bool"),
    (f"{P}read_if_cond", (np.array(1),), DTypeError, "rank 0 of int64"),
    (f"{P}tuple_getitem", ((1, 2), 2), ArgumentError, "index 2.*2 fields"),
    (f"{P}tuple_getitem", ((1, 2), -1), ArgumentError, "index -1.*2 fields"),
    (f"{P}tuple_getitem", (X, 0), ArgumentError, "'tuple' is of type ffi.Tensor"),
    (f"{P}make_closure", (X, 0), ArgumentError, "'function' is of type ffi.Tensor"),
    (f"{P}invoke_closure", (STATE, 4), ArgumentError, "'closure' is of type int"),
    (f"{P}call_tir_dyn", (ADD, 4), ArgumentError, "'shape' is of type int"),
    (f"{P}call_tir_dyn", (4, shape(1)), ArgumentError, "'function' is of type int"),
    (f"{P}call_tir_dyn", (ADD, shape(*[1] * 1025)), ShapeError, "1025.*1024"),
    (f"{A}select", ("c", 1, 2), ArgumentError, "'condition' is of type ffi.SmallStr"),
    (f"{A}addi", (1.0, 2), ArgumentError, "'a' is of type float"),
    (f"{A}addi", (1, None), ArgumentError, "'b' is of type None"),
    (f"{P}extract", (X, 1), ArgumentError, "rank 2 takes 2 indices; got 1"),
    (f"{P}extract", (X, 0, 3), ArgumentError, "index 3.*dimension 1 of 3"),
    (f"{P}extract", (X, -1, 0), ArgumentError, "index -1.*dimension 0 of 2"),
    (f"{P}extract", (X[:0], 0, 0), ArgumentError, "index 0.*dimension 0 of 0"),
    (f"{P}extract", (np.zeros(1, "float16"), 0), DTypeError, "float16"),
    (f"{P}from_elements", (dtype("int8"), shape(2), 1), ArgumentError, "2 elements.*got 1"),
    (f"{P}from_elements", (dtype("float32"), shape(1), 1), ArgumentError, "of type int, expected a float"),
    (f"{P}from_elements", (dtype("int8"), shape(1), 1.0), ArgumentError, "of type float, expected an integer"),
    (f"{P}from_elements", (dtype("float16"), shape(1), 1.0), DTypeError, "float16"),
    (f"{P}from_elements", (dtype("int8"), shape(2**32, 2**32)), ArgumentError, "got 0"),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    """The builtins are compiled where a test runs, not where it is collected."""
    builtin_functions()


@pytest.mark.parametrize("name", sorted({name for name, *_ in WRONG}))
def test_refusals(name: str) -> None:
    for args, error, text in (rest for known, *rest in WRONG if known == name):
        with pytest.raises(error, match=text) as caught:
            call(name, *args)
        assert name in str(caught.value), args


def test_counts() -> None:
    open_ended = {f"{P}make_tuple"}
    for name in sorted(set(builtin_names()) - open_ended):
        function = tvm_ffi.get_global_func(name)
        counts = (1,) if name == f"{P}null_value" else (0, 1000) if "takes 2 arguments" in name else (0,)
        for count in counts:
            with pytest.raises(ArgumentError, match=rf"{name}: takes \d+ arguments.*got {count}"):
                function(*[None] * count)
    with pytest.raises(ArgumentError, match=r"takes 2 arguments \(a, b\); got 3"):
        call(f"{A}addi", 1, 2, 3)


CONTEXT = "main: argument 'x' %s%n {0}"
IN_CONTEXT: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    (f"{P}check_tensor_info", (3, 2, None), ArgumentError, "is of type int, expected a tensor"),
    (f"{P}check_tensor_info", (X, 3, None), ShapeError, "has rank 2, expected rank 3"),
    (f"{P}check_tensor_info", (X, -1, dtype("int8")), DTypeError, "has dtype float32, expected int8"),
    (f"{P}check_shape_info", (X, 2), ArgumentError, "is of type ffi.Tensor, expected a shape"),
    (f"{P}check_shape_info", (shape(1), 2), ShapeError, "has 1 elements, expected 2"),
    (f"{P}check_shape_info", (shape(1, -4), 2), ShapeError, "has an element 1 of -4"),
    (f"{P}check_prim_value_info", (1.0, dtype("int64")), ArgumentError, "is of type float, expected an int"),
    (f"{P}check_prim_value_info", (1, dtype("float64")), ArgumentError, "is of type int, expected a float"),
    (f"{P}check_prim_value_info", ("a", dtype("bool")), ArgumentError, "ffi.SmallStr, expected a truth value"),
    (f"{P}check_tuple_info", (3, 1), ArgumentError, "is of type int, expected a tuple"),
    (f"{P}check_tuple_info", ((1, 2), 1), ArgumentError, "has 2 elements, expected 1"),
    (f"{P}check_func_info", (3,), ArgumentError, "is of type int, expected a function"),
    (f"{P}match_shape", (shape(3), heap(0), 1, 0, 4), ShapeError, ": dimension 0 is 3, expected 4"),
    (f"{P}match_shape", (shape(3), heap(9), 1, 3, 0), ShapeError, ": dimension 0 is 3, expected 9"),
    (f"{P}match_shape", (shape(3, 4), heap(9), 1, 2, 0), ShapeError, " has rank 2, expected rank 1"),
    (f"{P}match_shape", (shape(-3), heap(9), 1, 2, 0), ShapeError, ": dimension 0 is -3, expected zero or more"),
    (f"{P}match_prim_value", (3, heap(9), 3, 0), ShapeError, ": the value is 3, expected 9"),
]  # fmt: skip


def test_messages_begin_with_the_context() -> None:
    for name, args, error, text in IN_CONTEXT:
        for context in (CONTEXT, "x", ""):
            with pytest.raises(error) as caught:
                call(name, *args, context)
            assert str(caught.value).startswith(context)
            assert text in str(caught.value)
    with pytest.raises(ArgumentError, match=rf"{P}match_shape: code 7 is none of 0 to 3"):
        call(f"{P}match_shape", shape(3), heap(0), 1, 7, 0, "x")
    with pytest.raises(ArgumentError, match=rf"{P}match_shape: slot 4 is out of range for a heap of 1 slots"):
        call(f"{P}match_shape", shape(3), heap(0), 1, 1, 4, "x")
    with pytest.raises(ArgumentError, match=r"'context' is of type int"):
        call(f"{P}check_func_info", ADD, 3)


def test_bare_dltensors() -> None:
    def global_function(name: str) -> tvm_ffi.Function:
        return tvm_ffi.get_global_func(f"{P}{name}")

    with dltensor(X) as view:
        assert raw_call(global_function("copy_tensor"), view)[0] >= 64
        for has_strides in (True, False):
            with dltensor(X, has_strides=has_strides) as same_view:
                one_two = raw_call(global_function("extract"), same_view, (INT, 1), (INT, 2))
                assert np.int64(one_two[1]).view(np.float64) == 5.0
        for name in ("copy", "make_tuple"):
            with pytest.raises(RawError, match=rf"{P}{name}: value 0 is a DLTensor, which ends with the call"):
                raw_call(global_function(name), view)
        with pytest.raises(RawError, match=r"select: value 0 is a DLTensor"):
            raw_call(tvm_ffi.get_global_func(f"{A}select"), (INT, 1), view, (INT, 2))


def test_tensors_without_memory_and_with_negative_dimensions() -> None:
    x = np.zeros(4, "int64")
    with (
        dltensor(x, null=True) as hollow,
        dltensor(x, (-4,)) as negative,
        dltensor(x, (0,), null=True) as empty,
    ):
        for name, rest in (("copy_tensor", ()), ("extract", ((INT, 0),)), ("tensor_to_shape", ())):
            function = tvm_ffi.get_global_func(f"{P}{name}")
            with pytest.raises(RawError, match=rf"{name}: argument 'x' has elements, but no memory"):
                raw_call(function, hollow, *rest)
            with pytest.raises(RawError, match=rf"{name}: argument 'x' has a negative dimension"):
                raw_call(function, negative, *rest)
        assert raw_call(tvm_ffi.get_global_func(f"{P}copy_tensor"), empty)[0] >= 64
        load = tvm_ffi.get_global_func(f"{P}load_shape")
        for heap_argument in (hollow, negative):
            with pytest.raises(RawError, match=r"argument 'heap' has"):
                raw_call(load, heap_argument, (INT, 0))
        with pytest.raises(RawError, match=r"'x' has a negative dimension"):
            raw_call(tvm_ffi.get_global_func(f"{P}shape_of"), negative)
        assert raw_call(tvm_ffi.get_global_func(f"{P}shape_of"), hollow)[0] >= 64


def test_endless_nesting() -> None:
    invoke, dynamic = (tvm_ffi.get_global_func(f"{P}{name}") for name in ("invoke_closure", "call_tir_dyn"))
    with pytest.raises(RecursionLimitError, match=r"call_tir_dyn: the C stack"):
        dynamic(*[dynamic] * 3000, *[shape()] * 3000)
    with pytest.raises(RecursionLimitError, match=r"invoke_closure: the C stack"):
        invoke(*[None, invoke] * 300_000)
    closure, nested = tvm_ffi.convert(lambda: 1), ()
    make, tuple_of = (tvm_ffi.get_global_func(f"{P}{name}") for name in ("make_closure", "make_tuple"))
    for _ in range(200_000):
        closure, nested = make(closure), tuple_of(nested, closure)
    with pytest.raises(RecursionLimitError, match=r"call of a closure: the C stack"):
        closure()
    del closure, nested
