"""What entry points say of the tensors that they take, as data, and what `support_arguments` says of those it has read.

A table is a constant of a module: a row per tensor, then the texts of error messages. A row is {rank: i32, packed
dtype: i32, bytes of an element: i64, and how far behind the beginning of the row there are, as i32: its role
("main: parameter 'x'"), the role without the name of the function, what is expected ("x: Tensor((n,), "float32")"),
and the kind of errors, 0 where it is the one that fits}.

A record of a tensor that has been read is {address of its elements, address of its DLTensor, address behind its
elements (if they lie without gaps), i8: whether they lie in row-major order, i8: whether each is at a multiple of its
size}.
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
"""Offsets and sizes in bytes, by the names that the code has for them."""


@dataclass(frozen=True)
class Row:
    """A tensor: its rank, packed dtype (see `DType`), the bytes of an element, and the texts of its errors.

    `prefix`: what the role begins with ("main: "), which is not a part of the name; `kind`: that of all errors, or "".
    """

    rank: int
    dtype: int
    element: int
    prefix: str
    name: str
    expected: str
    kind: str = ""


def table_of(rows: Sequence[Row]) -> bytes:
    """The contents of a table; equal texts are there once."""
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
