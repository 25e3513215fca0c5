"""Layout of the tables that describe an entry point's tensor parameters, and of records of tensors that were read.

A table is a constant of a module: one row per tensor, then the strings of error messages. A row is {rank: i32, packed
dtype: i32, bytes of an element: i64, and four offsets from the start of the row, as i32: of the role
("main: parameter 'x'"), of the role without the function's name, of the expected type ("x: Tensor((n,), "float32")"),
and of the kind of errors, 0 to choose the fitting kind}.

A record of a tensor that was read is {address of its elements, address of its DLTensor, end address of its elements (if
they are dense), i8: row-major order, i8: elements aligned to their size}. `support_arguments` fills it in.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_ROW = struct.Struct("<iiqiiii")
ROW_BYTES = _ROW.size
RECORD_BYTES = 32

LAYOUT = {
    "ROW_BYTES": ROW_BYTES,
    "DTYPE": 4,
    "ELEMENT": 8,
    "ROLE": 16,
    "NAME": 20,
    "EXPECTED": 24,
    "KIND": 28,
    "RECORD_BYTES": RECORD_BYTES,
    "RECORD_TENSOR": 8,
    "RECORD_END": 16,
    "RECORD_CONTIGUOUS": 24,
    "RECORD_ALIGNED": 25,
}
"""Offsets and sizes in bytes, by the names in the code."""


@dataclass(frozen=True)
class Row:
    """A tensor: its rank, packed dtype (see `DType`), element size in bytes, and the strings of its errors.

    `prefix`: the start of the role ("main: "), which is not part of the name; `kind`: the kind of all errors, or "".
    """

    rank: int
    dtype: int
    element: int
    prefix: str
    name: str
    expected: str
    kind: str = ""


def table_of(rows: Sequence[Row]) -> bytes:
    """The contents of a table; equal strings are stored once."""
    texts = b""
    places: dict[bytes, int] = {}
    packed = []

    def place(text: str) -> int:
        nonlocal texts
        data = text.encode() + b"\0"
        if data not in places:
            places[data] = ROW_BYTES * len(rows) + len(texts)
            texts += data
        return places[data]

    for number, row in enumerate(rows):
        start = ROW_BYTES * number
        role = place(row.prefix + row.name) - start
        name = role + len(row.prefix.encode())
        expected = place(row.expected) - start
        kind = place(row.kind) - start if row.kind else 0
        packed.append(_ROW.pack(row.rank, row.dtype, row.element, role, name, expected, kind))
    return b"".join(packed) + texts


def table_name(table: bytes) -> str:
    """The name of the constant that holds a table, the same in all modules."""
    return f"relax.table.{hashlib.sha256(table).hexdigest()[:16]}"
