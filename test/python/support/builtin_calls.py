"""Calls of builtins in the form of bytecode and of Python, with arguments."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import tvm_ffi
from relax_mlir.ffi import to_ffi

P = "vm.builtin."
A = f"{P}arith."
BIG = 2**62
LEAST, MOST = -(2**63), 2**63 - 1
STATE = None
"""The argument in place of bytecode's ``%vm``: no builtin reads it."""

DTYPES = [
    np.dtype(name) for name in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
] + [np.dtype(t) for t in ("float16", "float32", "float64", ml_dtypes.bfloat16)]


def call(name: str, *args: object) -> Any:
    return tvm_ffi.get_global_func(name)(*(to_ffi(arg) for arg in args))


def dtype(name: str) -> tvm_ffi.dtype:
    return tvm_ffi.dtype(name)


def shape(*sizes: int) -> tvm_ffi.Shape:
    return tvm_ffi.Shape(sizes)


def heap(*slots: int) -> np.ndarray:
    return np.array(slots, np.int64)


def add(*numbers: int) -> int:
    return sum(numbers)


ADD = tvm_ffi.convert(add)
X = np.arange(6, dtype="float32").reshape(2, 3)
