"""ONNX's element types as dtypes of this project; the lacking ones of 8, 4 and 2 bits are stored as int8 or uint8."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer
from relax_mlir.te.tensors import LoopOp, Tensor

# Reinterpret the bits of elements as another dtype.


def bit_cast(x: Tensor, dtype: str) -> Tensor:
    """Reinterpret the bits of `x` as elements of `dtype`, which has the same width."""

    def body(b: LoopBuilder, given: Buffer, out: Buffer) -> None:
        with b.grid(x.shape) as at:
            out[at] = given[at].bits(dtype)

    return LoopOp([x], [x.shape], [dtype], body, "T_bit_cast").outputs[0]


# Dtypes of 8, 4 and 2 bits that this project lacks, stored as int8 or uint8.
#
# Integers of 4 and 2 bits are stored as values, floats as bits. Casts and conversions of quantised values convert them;
# ops that only move elements move the stored form.


Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Narrow:
    """A dtype without a counterpart in this project."""

    name: str
    bits: int
    is_float: bool
    storage: str

    @property
    def numpy(self) -> np.dtype[Any]:
        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, self.name))
        return found

    def stored(self, array: Array) -> Array:
        """Return the stored form of an array of this dtype."""
        return array.view(np.uint8) if self.is_float else array.astype(self.storage)

    def loaded(self, array: Array) -> Array:
        """Convert a stored array to this dtype."""
        return array.view(self.numpy) if self.is_float else array.astype(self.numpy)


_TABLE = {
    TensorProto.INT4: Narrow("int4", 4, False, "int8"),
    TensorProto.UINT4: Narrow("uint4", 4, False, "uint8"),
    TensorProto.FLOAT8E4M3FN: Narrow("float8_e4m3fn", 8, True, "uint8"),
    TensorProto.FLOAT8E4M3FNUZ: Narrow("float8_e4m3fnuz", 8, True, "uint8"),
    TensorProto.FLOAT8E5M2: Narrow("float8_e5m2", 8, True, "uint8"),
    TensorProto.FLOAT8E5M2FNUZ: Narrow("float8_e5m2fnuz", 8, True, "uint8"),
}
for _code, _narrow in (
    ("FLOAT4E2M1", Narrow("float4_e2m1fn", 4, True, "uint8")),
    ("FLOAT8E8M0", Narrow("float8_e8m0fnu", 8, True, "uint8")),
    ("INT2", Narrow("int2", 2, False, "int8")),
    ("UINT2", Narrow("uint2", 2, False, "uint8")),
):
    if hasattr(TensorProto, _code) and hasattr(ml_dtypes, _narrow.name):  # only in newer versions of onnx
        _TABLE[getattr(TensorProto, _code)] = _narrow

NARROW = {narrow.name: narrow for narrow in _TABLE.values()}
"""Narrow dtypes by name."""
NARROW_NAMES = {int(number): narrow.name for number, narrow in _TABLE.items()}
"""Names of narrow dtypes by ONNX's type number."""


def storage_of(dtype: str) -> str:
    """Return the dtype in which `dtype` is stored."""
    return NARROW[dtype].storage if dtype in NARROW else dtype


@cache
def _numbers(name: str) -> Array:
    """Return the value of each bit pattern."""
    narrow = NARROW[name]
    return np.arange(2**narrow.bits, dtype=np.uint8).view(narrow.numpy).astype(np.float32)


def widened(value: Value, name: str, dtype: str) -> Value:
    """Convert the stored form of `name` to `dtype`."""
    if not NARROW[name].is_float:
        return R.astype(value, dtype)
    found = R.take(R.const(_numbers(name)), R.astype(value, "int64"), 0)
    return R.astype(found, dtype)


def narrowed(bb: BlockBuilder, value: Value, dtype: str, name: str, saturate: bool, rounding: str = "up") -> Value:
    """Convert values of `dtype` to the stored form of `name`."""
    narrow = NARROW[name]
    if name == "float8_e8m0fnu":
        return _exponents(bb, R.astype(value, "float32"), saturate, rounding)
    if narrow.is_float:
        wide = R.astype(value, "float64" if dtype == "float64" else "float32")
        return _bits(bb, wide, name, "float64" if dtype == "float64" else "float32", saturate)
    number = R.astype(value, "int32")
    low = R.bitwise_and(number, R.const((1 << narrow.bits) - 1, "int32"))
    if narrow.storage == "int8":
        sign = R.const(1 << (narrow.bits - 1), "int32")
        low = R.subtract(R.bitwise_xor(low, sign), sign)
    return R.astype(low, narrow.storage)


def _bits(bb: BlockBuilder, x: Value, name: str, dtype: str, saturate: bool) -> Value:
    """Return the bits of the nearest representable values, ties to even."""
    table = _numbers(name)
    half = len(table) // 2
    positive = table[:half]
    count = int(np.isfinite(positive).sum())
    largest = float(positive[count - 1])
    step = largest - float(positive[count - 2])
    grid = np.append(positive[:count].astype(np.float64), largest + step)
    middles = R.const(((grid[1:] + grid[:-1]) / 2).astype(dtype))
    size = R.abs(x)
    below: Value = bb.emit_te(topi.searchsorted, middles, R.flatten(size), False, "int32")
    up_to: Value = bb.emit_te(topi.searchsorted, middles, R.flatten(size), True, "int32")
    shape = x.tensor_info.known_shape
    assert shape is not None
    below, up_to = R.reshape(below, list(shape)), R.reshape(up_to, list(shape))
    is_odd = R.equal(R.bitwise_and(below, R.const(1, "int32")), R.const(1, "int32"))
    code = R.where(is_odd, up_to, below)
    has_nan, has_infinity = bool(np.isnan(table).any()), bool(np.isinf(table).any())
    nan = int(np.where(np.isnan(table))[0][-1 if "uz" in name else 0]) if has_nan else half
    if has_infinity:
        nan = 0x7E
    over = count - 1 if saturate or not has_nan else int(np.isinf(table).argmax()) if has_infinity else nan
    over_sign = over >= half  # NaN is negative in formats without a negative zero
    is_over = R.greater_equal(code, R.const(count, "int32"))
    code = R.where(is_over, R.const(over, "int32"), code)
    negative = R.less(x, R.const(0.0, dtype))
    if "uz" not in name:
        negative = _has_sign(bb, x, dtype)
    else:
        negative = R.logical_and(negative, R.greater(code, R.const(0, "int32")))
    if over_sign:
        negative = R.logical_and(negative, R.logical_not(is_over))
    signed = R.where(negative, R.add(code, R.const(half, "int32")), code)
    nan_code: Value = R.const(nan, "int32")
    if has_nan and "uz" not in name:
        nan_code = R.where(_has_sign(bb, x, dtype), R.const(nan + half, "int32"), nan_code)
    return R.astype(R.where(R.isnan(x), nan_code, signed), "uint8")


def _has_sign(bb: BlockBuilder, x: Value, dtype: str) -> Value:
    """Return a mask of the elements whose sign bit is set."""
    bits = "int64" if dtype == "float64" else "int32"
    return R.less(bb.emit_te(bit_cast, x, bits), R.const(0, bits))


def _exponents(bb: BlockBuilder, x: Value, saturate: bool, rounding: str) -> Value:
    """Return exponents rounded as ONNX specifies for float8e8m0; NaN and infinity give 255."""
    bits = bb.emit_te(bit_cast, x, "uint32")
    exponent = R.bitwise_and(R.right_shift(bits, R.const(23, "uint32")), R.const(0xFF, "uint32"))
    zero, one = R.const(0, "uint32"), R.const(1, "uint32")

    def has(mask: int) -> Value:
        return R.not_equal(R.bitwise_and(bits, R.const(mask, "uint32")), zero)

    if rounding == "up":
        grows = has(0x7FFFFF)
    elif rounding == "nearest":
        rest = R.logical_or(has(0x3FFFFF), R.greater(exponent, zero))
        grows = R.logical_and(has(0x400000), rest)
    elif rounding == "down":
        grows = R.less(exponent, zero)
    else:
        raise ArgumentError(f"round_mode is {rounding!r}, expected up, down or nearest")
    special = R.equal(exponent, R.const(0xFF, "uint32"))
    kept = R.logical_or(special, R.equal(exponent, R.const(0xFE, "uint32"))) if saturate else special
    return R.astype(R.where(R.logical_and(grows, R.logical_not(kept)), R.add(exponent, one), exponent), "uint8")


def refuse(name: str, op: str) -> UnsupportedError:
    """Return the error of an op that does not support a narrow dtype."""
    return UnsupportedError(f"{op} of {name} is not supported: cast it to float32 or int8 first")


# ONNX's element types and the dtypes of this project.


NAMES: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.INT8: "int8",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.BOOL: "bool",
    **NARROW_NAMES,
}
"""dtype names by ONNX's type number; other types are not supported."""
CODES = {name: code for code, name in NAMES.items()}
FLOATS = ("float16", "bfloat16", "float32", "float64")


def dtype_name(code: int, what: str) -> str:
    """Return the dtype of ONNX's element type `code`; `what` names the value in the error."""
    if code in NAMES:
        return NAMES[code]
    known = {number: name for name, number in TensorProto.DataType.items()}
    if code not in known or code == TensorProto.UNDEFINED:
        raise UnsupportedError(f"{what} has the element type {code}, which this version of onnx does not know")
    raise UnsupportedError(
        f"{what} has elements of type {known[code].lower()}, which is not supported; expected one of "
        f"{', '.join(NAMES.values())}"
    )


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a dtype of this project."""
    if name in NARROW:
        return NARROW[name].numpy
    found: np.dtype[Any] = np.dtype(helper.tensor_dtype_to_np_dtype(CODES[name]))
    return found
