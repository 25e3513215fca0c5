"""Every builtin computes the same as NumPy and Python's integers, including edge cases."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import tvm_ffi
from builtin_calls import ADD, BIG, DTYPES, LEAST, MOST, STATE, A, P, X, call, dtype, heap, shape
from relax_mlir.lowering.runtime_lib.vm_builtins import BUILTINS
from relax_mlir.runtime import to_numpy
from relax_mlir.vm.builtins import builtin_functions, builtin_names

FLAG, UNSET = np.array(True), np.array(False)
SCALAR = X[:1, :1].reshape(())

GOOD: list[tuple[str, tuple[Any, ...], Any]] = [
    (f"{P}reshape", (X, shape(3, 2)), X.reshape(3, 2)),
    (f"{P}reshape", (X, (6,)), X.reshape(6)),
    (f"{P}reshape", (X.T, shape(2, 3)), X.T.reshape(2, 3)),
    (f"{P}reshape", (X[:, ::-1], shape(6)), X[:, ::-1].reshape(6)),
    (f"{P}reshape", (X[:0], shape(5, 0, 7)), np.zeros((5, 0, 7), "float32")),
    (f"{P}reshape", (SCALAR, shape(1, 1)), X[:1, :1]),
    (f"{P}reshape", (X[:1, :1], shape()), SCALAR),
    (f"{P}reshape", (X[:1, :1], shape(*[1] * 64)), X[:1, :1].reshape([1] * 64)),
    (f"{P}copy", (7,), 7),
    (f"{P}copy", ("a longer text than fits inline",), "a longer text than fits inline"),
    (f"{P}copy", (X,), X),
    (f"{P}copy", (None,), None),
    (f"{P}copy_tensor", (X.T,), X.T),
    (f"{P}copy_tensor", (X[::-1, ::2],), X[::-1, ::2]),
    (f"{P}copy_tensor", (np.broadcast_to(X[:1], (4, 3)),), np.broadcast_to(X[:1], (4, 3))),
    (f"{P}copy_tensor", (X[:, :0],), X[:, :0]),
    (f"{P}null_value", (), None),
    (f"{P}alloc_shape_heap", (STATE, 3), heap(0, 0, 0)),
    (f"{P}alloc_shape_heap", (STATE, 0), heap()),
    (f"{P}alloc_shape_heap", (shape(2),), heap(0, 0)),
    (f"{P}alloc_shape_heap", ((2,),), heap(0, 0)),
    (f"{P}alloc_shape_heap", (3,), heap(0, 0, 0)),
    (f"{P}alloc_shape_heap", (STATE, shape(0)), heap()),
    (f"{P}shape_of", (X.T,), (3, 2)),
    (f"{P}shape_of", (SCALAR,), ()),
    (f"{P}shape_of", (np.zeros([1] * 64, "int8"),), (1,) * 64),
    (f"{P}load_shape", (heap(4, BIG, 0), 1, 0, 1), (BIG, 4, BIG)),
    (f"{P}load_shape", (heap(4),), ()),
    (f"{P}load_shape", (heap(4, BIG, 0), shape(1, 0, 1)), (BIG, 4, BIG)),
    (f"{P}load_shape", (heap(4, 5), (1,)), (5,)),
    (f"{P}load_shape", (heap(4), shape()), ()),
    (f"{P}make_shape", (heap(4, 5), 3, 0, 7, 1, 1, 1, 0), (7, 5, 4)),
    (f"{P}make_shape", (None, 1, 0, 7), (7,)),
    (f"{P}make_shape", (None, 0), ()),
    (f"{P}make_prim_value", (heap(4, -5), 1, 1), -5),
    (f"{P}make_prim_value", (None, 0, -9), -9),
    (f"{P}tensor_to_shape", (heap(4, 0, BIG),), (4, 0, BIG)),
    (f"{P}tensor_to_shape", (heap(1, 2, 3, 4)[::-2],), (4, 2)),
    (f"{P}tensor_to_shape", (heap(),), ()),
    (f"{P}shape_to_tensor", (shape(4, BIG),), heap(4, BIG)),
    (f"{P}shape_to_tensor", ((),), heap()),
    (f"{P}shape_equal", (shape(2, BIG), (2, BIG)), True),
    (f"{P}shape_equal", (shape(2, 3), shape(2, 4)), False),
    (f"{P}shape_equal", (shape(2, 3), shape(2, 3, 1)), False),
    (f"{P}shape_equal", ((), shape()), True),
    (f"{P}check_tensor_info", (X, 2, dtype("float32"), "x"), None),
    (f"{P}check_tensor_info", (X[:0], -1, None, "x"), None),
    (f"{P}check_shape_info", (shape(2, 0), 2, "s"), None),
    (f"{P}check_shape_info", ((2, 0), -1, "s"), None),
    (f"{P}check_prim_value_info", (3, dtype("int64"), "n"), None),
    (f"{P}check_prim_value_info", (3.0, dtype("float32"), "n"), None),
    (f"{P}check_prim_value_info", (True, dtype("bool"), "n"), None),
    (f"{P}check_tuple_info", ((X, 1), 2, "t"), None),
    (f"{P}check_tuple_info", (tvm_ffi.List([1, 2, 3]), 3, "t"), None),
    (f"{P}check_func_info", (ADD, "f"), None),
    *((f"{P}read_if_cond", (value,), bool(value)) for value in (0, 1, -1, BIG, True, False, FLAG, UNSET)),
    (f"{P}read_if_cond", (np.frombuffer(b"\x02", bool)[0:1].reshape(()),), True),
    (f"{P}make_tuple", (), ()),
    (f"{P}make_tuple", (1, "two", None, 2.5), (1, "two", None, 2.5)),
    (f"{P}tuple_getitem", ((1, "two", X), 2), X),
    (f"{P}tuple_getitem", (tvm_ffi.List([1, "a longer text than fits inline"]), 1), "a longer text than fits inline"),
    (f"{P}invoke_closure", (STATE, ADD, 1, 2), 3),
    (f"{P}call_tir_dyn", (ADD, 1, shape(20, 300)), 321),
    (f"{P}call_tir_dyn", (ADD, (20, 300)), 320),
    (f"{P}call_tir_dyn", (ADD, 5, shape()), 5),
    (f"{A}select", (2, "a", X), "a"),
    (f"{A}select", (False, "a", X), X),
    *(
        (f"{P}extract", (np.array([[0, -1]], d.name if d.kind != "b" else bool), 0, 1), value)
        for d in DTYPES
        if d.kind in "ib" or d.name in ("float32", "float64")
        for value in [True if d.kind == "b" else -1.0 if d.kind == "f" else -1]
    ),
    *((f"{P}extract", (np.array(-1).astype(f"uint{n}"),), 2**n - 1 if n < 64 else -1) for n in (8, 16, 32, 64)),
    (f"{P}extract", (X[::-1, ::2], 0, 1), 5.0),
    (f"{P}extract", (np.frombuffer(b"\x00\x07", bool), 1), True),
    (f"{P}from_elements", (dtype("int8"), shape(2, 2), 1, -1, 300, True), np.array([[1, -1], [44, 1]], "int8")),
    (f"{P}from_elements", (dtype("bool"), shape(3), 0, 256, True), np.array([0, 1, 1], bool)),
    (f"{P}from_elements", (dtype("uint64"), shape(), -1), np.array(2**64 - 1, "uint64")),
    (f"{P}from_elements", (dtype("float32"), shape(2), 0.1, math.inf), np.array([0.1, math.inf], "float32")),
    (f"{P}from_elements", (dtype("float64"), shape(0)), np.zeros(0)),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    """The builtins are compiled where a test runs, not where it is collected."""
    builtin_functions()


def wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def unsigned(number: int) -> int:
    return number % 2**64


def divide(rounding: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: 0 if b == 0 else rounding(a, b)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def of_unsigned(op: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    return lambda a, b: op(unsigned(a), unsigned(b))


BINARY: dict[str, Callable[[int, int], Any]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "minsi": min,
    "maxsi": max,
    "minui": of_unsigned(min),
    "maxui": of_unsigned(max),
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "divsi": divide(truncated),
    "floordivsi": divide(operator.floordiv),
    "ceildivsi": divide(lambda a, b: -(-a // b)),
    "remsi": divide(lambda a, b: a - b * truncated(a, b)),
    "shli": lambda a, b: 0 if unsigned(b) > 63 else a << b,
    "shrsi": lambda a, b: a >> min(unsigned(b), 63),
    "shrui": lambda a, b: 0 if unsigned(b) > 63 else unsigned(a) >> b,
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    **{f"s{name}": getattr(operator, name) for name in ("lt", "le", "gt", "ge")},
    **{f"u{name}": of_unsigned(getattr(operator, name)) for name in ("lt", "le", "gt", "ge")},
}
NUMBERS = (0, 1, -1, 2, 3, -7, 63, 64, 2**31, 2**32 - 1, BIG, LEAST, MOST)


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray | np.generic):
        array = to_numpy(found)
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        assert array.tobytes() == np.ascontiguousarray(expected).tobytes()
    elif isinstance(expected, tuple):
        assert tuple(found) == expected
    else:
        assert type(found) is type(expected) or isinstance(expected, str)
        assert found == expected


@pytest.mark.parametrize("name", sorted({name for name, _, _ in GOOD}))
def test_results(name: str) -> None:
    for args, expected in ((args, expected) for known, args, expected in GOOD if known == name):
        same(call(name, *args), expected)


def test_arithmetic() -> None:
    for name, op in BINARY.items():
        function = tvm_ffi.get_global_func(f"{A}{name}")
        for a in NUMBERS:
            for b in NUMBERS:
                assert function(a, b) == wrap(op(a, b)), (name, a, b)
    for name, compare in COMPARE.items():
        function = tvm_ffi.get_global_func(f"{A}cmpi_{name}")
        for a in NUMBERS:
            for b in NUMBERS:
                assert function(a, b) is compare(a, b), (name, a, b)
    assert call(f"{A}addi", True, 1) == 2


OWN_TESTS = {
    *(f"{P}{name}" for name in ["alloc_storage", "alloc_tensor", "copy_into", "store_shape", "match_shape"]),
    *(f"{P}{name}" for name in ["match_prim_value", "make_closure"]),
}


def test_all_are_here() -> None:
    tested = {name for name, _, _ in GOOD} | OWN_TESTS
    tested |= {f"{A}{name}" for name in BINARY} | {f"{A}cmpi_{name}" for name in COMPARE}
    assert tested == set(builtin_names())
    for name in builtin_names():
        assert tvm_ffi.get_global_func(name, allow_missing=True) is not None


def test_the_table_of_the_docs() -> None:
    """It lists each builtin once, with the arguments and the semantics in its writer's docstring."""
    page = (Path(__file__).parents[3] / "docs" / "vm.md").read_text(encoding="utf-8")
    table = page.partition("| `vm.builtin.` |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table]
    named = [name.strip("`") for row in cells for name in row[0].split(", ")]
    assert sorted(f"{P}{name}" for name in named) == sorted(builtin_names())
    rows = {row[0].strip("`"): row[1:] for row in cells}
    for name, write in BUILTINS.items():
        if write.__doc__ is not None:
            args, _, meaning = write.__doc__.partition("): ")
            given = args.lstrip("(").replace("...", " …")
            assert rows[name.removeprefix(P)] == [given, meaning.strip().rstrip(".")], name


@pytest.mark.parametrize("dt", DTYPES, ids=str)
def test_memory_of_every_dtype(dt: np.dtype) -> None:
    bits = np.arange(48, dtype="uint8").reshape(6, 8)
    source = np.ascontiguousarray(bits[:, : dt.itemsize] % (2 if dt.kind == "b" else 255)).view(dt)[:, 0].reshape(2, 3)
    storage = call(f"{P}alloc_storage", STATE, shape(1000), 0, dtype("uint8"))
    assert (tuple(storage.shape), str(storage.dtype)) == ((1000,), "uint8")
    assert storage.data_ptr() % 64 == 0
    tensor = call(f"{P}alloc_tensor", storage, 64, shape(2, 3), dtype(dt.name))
    assert tensor.data_ptr() == storage.data_ptr() + 64
    assert call(f"{P}copy_into", source, tensor) is None
    same(tensor, source)
    same(call(f"{P}copy_tensor", source.T), source.T)
    same(call(f"{P}reshape", source.T, shape(6)), source.T.reshape(6))
    view = call(f"{P}reshape", tensor, shape(3, 2))
    assert view.data_ptr() == tensor.data_ptr()
    del storage, tensor  # the view keeps the memory alive
    same(view, source.reshape(3, 2))


def test_sizes_of_storages() -> None:
    end = call(f"{P}alloc_storage", STATE, shape(16), 0, dtype("uint8"), "global")
    same(call(f"{P}alloc_tensor", end, 16, shape(0, 5), dtype("float32")), np.zeros((0, 5), "float32"))
    assert call(f"{P}alloc_tensor", end, 0, shape(4), dtype("float32")).shape == (4,)
    assert call(f"{P}alloc_storage", STATE, shape(3, 5), 0, dtype("float32")).shape == (15,)
    assert call(f"{P}alloc_storage", STATE, shape(0), 0, dtype("uint8")).shape == (0,)
    assert call(f"{P}alloc_storage", STATE, shape(), 0, dtype("uint8")).shape == (1,)


def test_copy_into_overlapping_and_strided() -> None:
    array = np.arange(8, dtype="int32")
    call(f"{P}copy_into", array[:6], array[2:])
    assert array.tolist() == [0, 1, 0, 1, 2, 3, 4, 5]
    target = np.zeros((3, 2), "float32")
    call(f"{P}copy_into", X.T, target)
    assert np.array_equal(target, X.T)


def test_heap() -> None:
    slots = heap(0, 0, 0)
    listed = heap(0, 0, 0)
    assert call(f"{P}store_shape", shape(5, 6), listed, shape(2, 0)) is None
    assert call(f"{P}store_shape", shape(), listed, shape()) is None
    assert listed.tolist() == [6, 0, 5]
    assert call(f"{P}store_shape", shape(7, 8), slots, 2, 0) is None
    assert slots.tolist() == [8, 0, 7]
    call(f"{P}store_shape", X, slots, 1, 1)
    assert slots.tolist() == [8, 3, 7]
    call(f"{P}match_shape", X, slots, 2, 1, 0, 3, 1, "x")
    assert slots.tolist() == [2, 3, 7]
    call(f"{P}match_shape", (2, 9, 5), slots, 3, 0, 2, 2, 0, 1, 2, "x")
    assert slots.tolist() == [2, 3, 5]
    call(f"{P}match_prim_value", -4, slots, 1, 1, "n")
    call(f"{P}match_prim_value", -4, slots, 3, 1, "n")
    call(f"{P}match_prim_value", -4, slots, 0, -4, "n")
    call(f"{P}match_prim_value", 5, None, 2, 0, "n")
    assert slots.tolist() == [2, -4, 5]


def test_closures() -> None:
    text = "a longer text than fits inline"
    seen: list[tuple[object, ...]] = []
    closure = call(f"{P}make_closure", tvm_ffi.convert(lambda *args: seen.append(args)), text, 3, (4, 5))
    closure(1, 2)
    call(f"{P}invoke_closure", STATE, closure)
    call(f"{P}invoke_closure", STATE, call(f"{P}make_closure", closure, 9), 8)
    assert [tuple(map(str, args)) for args in seen] == [
        ("1", "2", text, "3", "(4, 5)"),
        (text, "3", "(4, 5)"),
        ("8", "9", text, "3", "(4, 5)"),
    ]


@tvm_ffi.register_error
class OwnError(Exception):
    """An error that the FFI knows."""


def test_errors_of_callees_come_unchanged() -> None:
    def fail(*args: object) -> None:
        raise OwnError("mine")

    function = tvm_ffi.convert(fail)
    for name, args in (("invoke_closure", (STATE, function)), ("call_tir_dyn", (function, shape(1)))):
        with pytest.raises(OwnError, match=r"^mine$"):
            call(f"{P}{name}", *args)
    with pytest.raises(OwnError, match=r"^mine$"):
        call(f"{P}make_closure", function, 1)()


def test_torch_tensors() -> None:
    x = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    function = tvm_ffi.get_global_func
    assert tuple(function(f"{P}shape_of")(x.t())) == (3, 2)
    assert torch.equal(function(f"{P}copy_tensor")(x.t()), x.t())
    assert torch.equal(function(f"{P}reshape")(x, shape(6)), x.reshape(6))
    made = function(f"{P}make_tuple")(x, x.t())
    del x
    assert torch.equal(torch.from_dlpack(made[1]), torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t())
