"""ONNX's element types and the dtypes of this project."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.onnx.narrow import NARROW, NARROW_NAMES

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
        raise UnsupportedError(
            f"{what} has the element type {code}, which this version of onnx does not know"
        )
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
