"""Bool tensors with bytes other than 0 and 1: any nonzero byte is true, as in NumPy, for every op that reads bools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R

Array = np.ndarray[Any, Any]

SIZES = (0, 1, 7, 40, 1003)
UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Any]]] = {
    "where": (lambda x: R.where(x, R.const(1.0), R.const(2.0)), lambda x: np.where(x, 1.0, 2.0)),
    "float32": (lambda x: R.astype(x, "float32"), lambda x: x.astype("f4")),
    "float16": (lambda x: R.astype(x, "float16"), lambda x: x.astype("f2")),
    "int8": (lambda x: R.astype(x, "int8"), lambda x: x.astype("i1")),
    "int64": (lambda x: R.astype(x, "int64"), lambda x: x.astype("i8")),
    "uint16": (lambda x: R.astype(x, "uint16"), lambda x: x.astype("u2")),
    "not": (R.logical_not, np.logical_not),
    "bitwise not": (R.bitwise_not, np.logical_not),
    "copy": (lambda x: R.concat([x, x]), lambda x: np.concatenate([x, x])),
    "taken": (
        lambda x: R.take(R.concat([x, R.const(np.array([True]))]), R.const(np.array([0, -1, 0])), axis=0),
        lambda x: np.concatenate([x, [True]])[[0, -1, 0]],
    ),
    "triangle": (
        lambda x: R.tril(R.broadcast_to(x, (3, "n"))),
        lambda x: np.tril(np.broadcast_to(x, (3, len(x)))),
    ),
    "slice": (lambda x: R.strided_slice(x, [0], [0], ["n"], [2]), lambda x: x[::2]),
    "broadcast": (lambda x: R.broadcast_to(x, (3, "n")), lambda x: np.broadcast_to(x, (3, len(x)))),
    "transposed": (
        lambda x: R.permute_dims(R.broadcast_to(x, (3, "n")), [1, 0]),
        lambda x: np.broadcast_to(x, (3, len(x))).T,
    ),
    "sum": (lambda x: R.sum(R.astype(x, "int32")), lambda x: x.sum()),
    "any row": (
        lambda x: R.max(R.astype(R.broadcast_to(x, (2, "n")), "int32"), axis=0),
        lambda x: x.astype("i4"),
    ),
}
BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Array, Array], Any]]] = {
    "and": (R.logical_and, np.logical_and),
    "or": (R.logical_or, np.logical_or),
    "xor": (R.logical_xor, np.logical_xor),
    "bitwise and": (R.bitwise_and, np.logical_and),
    "bitwise or": (R.bitwise_or, np.logical_or),
    "bitwise xor": (R.bitwise_xor, np.logical_xor),
    "equal": (R.equal, lambda x, y: x.astype("u1") == y.astype("u1")),
    "not equal": (R.not_equal, lambda x, y: x.astype("u1") != y.astype("u1")),
    "select": (
        lambda x, y: R.where(x, y, R.logical_not(y)),
        lambda x, y: np.where(x, y, np.logical_not(y)),
    ),
}


def _build() -> rx.Executable:
    bb = rx.BlockBuilder()
    for name, (apply, _) in UNARY.items():
        x = rx.Var("x", rx.Tensor(("n",), "bool"))
        with bb.function(name.replace(" ", "_"), [x]):
            bb.emit_func_output(apply(x))
    for name, (combine, _) in BINARY.items():
        x, y = rx.Var("x", rx.Tensor(("n",), "bool")), rx.Var("y", rx.Tensor(("n",), "bool"))
        with bb.function(f"two_{name.replace(' ', '_')}", [x, y]):
            bb.emit_func_output(combine(x, y))
    x = rx.Var("x", rx.Tensor((), "bool"))
    with bb.function("branch", [x]):
        bb.emit_func_output(R.if_then_else(x, lambda: R.const(1.0), lambda: R.const(2.0)))
    x = rx.Var("x", rx.Tensor((), "bool"))
    with bb.function("asserted", [x]):
        R.assert_op(x, format="no")
        bb.emit_func_output(R.astype(x, "int32"))
    return rx.build(bb.get())


@pytest.fixture(scope="module")
def built() -> rx.Executable:
    return _build()


def _bytes(size: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    values = rng.choice(np.array([0, 1, 2, 128, 254, 255], "u1"), size)
    return values.view(bool)


def _plain(value: Array) -> Array:
    """Booleans as NumPy reads them."""
    return value.view("u1") != 0 if value.dtype == bool else value


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(built: rx.Executable, name: str) -> None:
    for size in SIZES:
        x = _bytes(size, size)
        expected = np.asarray(UNARY[name][1](_plain(x)))
        actual = np.from_dlpack(built[name.replace(" ", "_")](x))
        np.testing.assert_array_equal(_plain(actual), expected, err_msg=f"{size} elements")


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(built: rx.Executable, name: str) -> None:
    for size in SIZES:
        x, y = _bytes(size, size), _bytes(size, size + 1)
        expected = np.asarray(BINARY[name][1](_plain(x), _plain(y)))
        actual = np.from_dlpack(built[f"two_{name.replace(' ', '_')}"](x, y))
        np.testing.assert_array_equal(_plain(actual), expected, err_msg=f"{size} elements")


def test_conditions(built: rx.Executable) -> None:
    for byte in (1, 2, 128, 255):
        flag = np.array(byte, "u1").view(bool)
        assert np.from_dlpack(built["branch"](flag)) == 1.0
        assert np.from_dlpack(built["asserted"](flag)) == 1
    assert np.from_dlpack(built["branch"](np.array(False))) == 2.0
    with pytest.raises(AssertionError, match="no"):
        built["asserted"](np.array(False))


def test_results_of_packed_functions() -> None:
    """Tensors that a packed function writes or returns are read in the same way."""

    def write(x: tvm_ffi.Tensor, out: tvm_ffi.Tensor) -> None:
        np.from_dlpack(out).view("u1")[:] = np.from_dlpack(x).view("u1") * 2

    tvm_ffi.register_global_func("test.bool_bytes.write", write, override=True)
    tvm_ffi.register_global_func("test.bool_bytes.same", lambda x: x, override=True)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "bool"))
    with bb.function("main", [x]):
        written = R.call_dps_packed("test.bool_bytes.write", [x], out=rx.Tensor(("n",), "bool"))
        returned = R.call_packed("test.bool_bytes.same", written, out=rx.Tensor(("n",), "bool"))
        bb.emit_func_output(R.make_tuple(R.astype(written, "int32"), R.astype(returned, "float64")))
    main = rx.build(bb.get())["main"]
    x = np.array([0, 1, 2, 3, 64, 127] * 9, "u1").view(bool)
    for result in main(x):
        np.testing.assert_array_equal(np.from_dlpack(result), _plain(x))
