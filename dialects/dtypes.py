"""The dtypes of Relax: names, MLIR element types and NumPy dtypes, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
from relax_mlir.error import DTypeError, UnknownNameError
from relax_mlir.mlir import ir

Kind = Literal["float", "int", "uint", "bool"]


@dataclass(frozen=True)
class DType:
    """One dtype: its Relax name, its MLIR element type (as text), its kind and its width in bits."""

    name: str
    mlir: str
    kind: Kind
    bits: int

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the same layout (bfloat16 comes from ml_dtypes)."""
        return np.dtype(ml_dtypes.bfloat16 if self.name == "bfloat16" else self.name)

    @property
    def itemsize(self) -> int:
        """Size of an element in memory, in bytes."""
        return max(self.bits // 8, 1)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self.kind in ("int", "uint")

    @property
    def bounds(self) -> tuple[int, int]:
        """The minimum and the maximum of an integer dtype."""
        info = np.iinfo(self.numpy)
        return int(info.min), int(info.max)

    def element_type(self) -> ir.Type:
        """Element type at level R0: integers keep their signedness (``ui8``); needs a current context."""
        return ir.Type.parse(self.mlir)

    def storage_type(self) -> ir.Type:
        """Element type from level T on: ``arith`` and ``linalg`` want signless integers."""
        return ir.Type.parse(self.mlir.removeprefix("u"))

    def __str__(self) -> str:
        return self.name


_TABLE = (
    DType("float16", "f16", "float", 16),
    DType("bfloat16", "bf16", "float", 16),
    DType("float32", "f32", "float", 32),
    DType("float64", "f64", "float", 64),
    *(DType(f"int{bits}", f"i{bits}", "int", bits) for bits in (8, 16, 32, 64)),
    *(DType(f"uint{bits}", f"ui{bits}", "uint", bits) for bits in (8, 16, 32, 64)),
    DType("bool", "i1", "bool", 1),
)
DTYPES: dict[str, DType] = {d.name: d for d in _TABLE}
_BY_MLIR = {d.mlir: d for d in _TABLE}
_ALIASES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"} | {
    f"{short}{bits}": f"{long}{bits}"
    for short, long in (("i", "int"), ("u", "uint"), ("ui", "uint"))
    for bits in (8, 16, 32, 64)
}


def dtype(spec: str | DType | np.dtype[Any] | type) -> DType:
    """The dtype named by `spec`: a Relax name ("float32"), a short one ("f32"), or a NumPy dtype.

    Raises `UnknownNameError` for an unknown name, `DTypeError` for an object of another kind.
    """
    if isinstance(spec, DType):
        return spec
    name = spec if isinstance(spec, str) else _numpy_name(spec)
    name = _ALIASES.get(name, name)
    if name not in DTYPES:
        raise UnknownNameError("dtype", name, DTYPES)
    return DTYPES[name]


def _numpy_name(spec: np.dtype[Any] | type) -> str:
    try:
        return str(np.dtype(spec).name)
    except (TypeError, ValueError) as error:
        raise DTypeError(f"{spec!r} is not a dtype: {error}") from None


def from_element_type(element_type: ir.Type) -> DType:
    """The dtype of an MLIR element type; raises `DTypeError` for one that Relax does not have."""
    found = _BY_MLIR.get(str(element_type))
    if found is None:
        raise DTypeError(f"element type {element_type} is none of Relax's: {', '.join(_BY_MLIR)}")
    return found


def require_held(what: str, number: object, dtype: DType) -> None:
    """Raise `DTypeError` for a number out of range of an integer dtype, or NaN; `what` is the function and parameter.

    This applies to numbers that users give; casts of tensors wrap around. Fractions are not checked here, nor are
    objects that are not numbers of Python or NumPy.
    """
    if not dtype.is_integer or not isinstance(number, bool | int | float | np.integer | np.floating):
        return
    least, greatest = dtype.bounds
    # NumPy rounds the bounds to its own types, Python compares exactly.
    if not least - 1 < (number.item() if isinstance(number, np.generic) else number) < greatest + 1:
        raise DTypeError(f"{what} is {number}, which does not fit dtype {dtype} ({least} to {greatest})")


def promote(a: DType, b: DType, what: str) -> DType:
    """The common dtype of the operands of `what`; Relax has no implicit promotion."""
    if a != b:
        raise DTypeError(f"{what}: operands have dtypes {a} and {b}; convert one of them with astype")
    return a
