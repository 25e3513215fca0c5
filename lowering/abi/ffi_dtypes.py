"""Element types on both sides of the boundary: the project's dtype names, DLPack codes, MLIR types."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.error import DTypeError
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class DType:
    """A dtype in DLPack: `code` and `bits` of DLDataType, `size` in bytes in memory, `mlir` its type at level M."""

    name: str
    code: int
    bits: int
    mlir: str

    @property
    def size(self) -> int:
        return self.bits // 8

    @property
    def packed(self) -> int:
        """The DLDataType (one lane) as a little-endian 32-bit integer."""
        return self.code | self.bits << 8 | 1 << 16


_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6

DTYPES = {
    d.name: d
    for d in (
        *(DType(f"int{b}", _INT, b, f"i{b}") for b in (8, 16, 32, 64)),
        *(DType(f"uint{b}", _UINT, b, f"i{b}") for b in (8, 16, 32, 64)),
        *(DType(f"float{b}", _FLOAT, b, f"f{b}") for b in (16, 32, 64)),
        DType("bfloat16", _BFLOAT, 16, "bf16"),
        DType("bool", _BOOL, 8, "i1"),
    )
}

# Signless integers are signed unless the signature gives a dtype.
_OF_MLIR = {d.mlir: d for d in DTYPES.values() if d.code != _UINT}
_OF_MLIR |= {f"si{b}": DTYPES[f"int{b}"] for b in (8, 16, 32, 64)}
_OF_MLIR |= {f"ui{b}": DTYPES[f"uint{b}"] for b in (8, 16, 32, 64)}


def dtype_named(name: str) -> DType:
    """Return the dtype called `name`; raise DTypeError if compiled functions cannot take it."""
    if name not in DTYPES:
        raise DTypeError(f"no dtype {name!r} at the boundary of compiled code; known: {', '.join(DTYPES)}")
    return DTYPES[name]


def dtype_of_element(element: ir.Type) -> DType:
    """Return the dtype of a memref's element type; raise DTypeError if it has none."""
    text = str(element)
    if text not in _OF_MLIR:
        raise DTypeError(f"no dtype stands for the element type {text}")
    return _OF_MLIR[text]


def element_bytes(element: ir.Type) -> int:
    """The size in bytes of an element in a memref (one for i1, eight for index)."""
    if str(element) == "index":
        return 8
    return dtype_of_element(element).size
