"""The constant table of compiled code: arrays as they are, and matrices packed as panels of columns.

Packed matrices lie together in one block of memory, on huge pages where the system has them and the block is large
enough: a product reads every panel in every call, and the hardware fetches ahead within a page only.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from relax_mlir.dialects.attributes import CONSTANT, CONSTANT_PANELS, CONSTANT_VALUE
from relax_mlir.dialects.constants import to_numpy
from relax_mlir.mlir import ir

Array: TypeAlias = np.ndarray[Any, Any]

HUGE_PAGE = 1 << 21
"""Bytes of a huge page, on x86-64 and mostly on AArch64."""

_ALIGNMENT = 64


@dataclass(frozen=True)
class Layout:
    """How compiled code reads a constant: as panels of so many columns (0: as it is), of its transpose or itself."""

    columns: int = 0
    transposed: bool = False


@dataclass(frozen=True)
class TableEntry:
    """An entry of the constant table: a constant, and the layout in which compiled code reads it."""

    value: ir.Attribute
    layout: Layout = Layout()


def table_entries(module: ir.Module) -> list[TableEntry]:
    """The entries behind the module's constant hooks, by index; packed where `pack-constants` says so."""
    found: dict[int, TableEntry] = {}
    for op in module.body.operations:
        if CONSTANT in op.attributes:
            layout = Layout()
            if CONSTANT_PANELS in op.attributes:
                words = op.attributes[CONSTANT_PANELS]
                columns, turned = (ir.IntegerAttr(words[key]).value for key in ("columns", "transposed"))
                layout = Layout(columns, bool(turned))
            number = int(ir.IntegerAttr(op.attributes[CONSTANT]).value)
            found[number] = TableEntry(op.attributes[CONSTANT_VALUE], layout)
    return [found[index] for index in range(len(found))]


def constant_table(entries: Sequence[TableEntry]) -> list[Array]:
    """The arrays that compiled code reads, by index."""
    return in_layout([(to_numpy(entry.value), entry.layout) for entry in entries])


def in_layout(constants: Sequence[tuple[Array, Layout]]) -> list[Array]:
    """The arrays that compiled code reads for some constants; those that are not packed are not copied."""
    matrices = [
        (array.T if layout.transposed else array, layout.columns)
        for array, layout in constants
        if layout.columns
    ]
    sizes = [_packed_bytes(matrix, columns) for matrix, columns in matrices]
    memory, start = _zeroed(sum(sizes)), 0
    packed = []
    for (matrix, columns), size in zip(matrices, sizes, strict=True):
        packed.append(_pack(matrix, columns, memory[start : start + size]))
        start += size
    left = iter(packed)
    return [next(left) if layout.columns else array for array, layout in constants]


def column_panels(matrix: Array, columns: int) -> Array:
    """A matrix as panels of `columns` columns, each row by row, the last filled up with zeros; aligned to 64 bytes."""
    return in_layout([(matrix, Layout(columns))])[0]


def _shape(matrix: Array, columns: int) -> tuple[int, int, int]:
    """Panels, rows, columns."""
    depth, width = matrix.shape
    return -(-width // columns), depth, columns


def _packed_bytes(matrix: Array, columns: int) -> int:
    """Bytes of the panels, and of what is between them and the next constant."""
    size = int(np.prod(_shape(matrix, columns))) * matrix.itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _pack(matrix: Array, columns: int, memory: Array) -> Array:
    shape = _shape(matrix, columns)
    packed: Array = memory.view(matrix.dtype)[: int(np.prod(shape))]
    view = packed.reshape(shape)
    for p in range(shape[0]):
        part = matrix[:, p * columns : (p + 1) * columns]
        view[p, :, : part.shape[1]] = part
    return packed


def _zeroed(size: int) -> Array:
    """Bytes of zeros that begin on a cache line; a large block on huge pages, but for its end."""
    large = size // HUGE_PAGE * HUGE_PAGE
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if not large or advice is None:
        memory = np.zeros(size + _ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % _ALIGNMENT
        return memory[start : start + size]
    pages = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory = np.frombuffer(pages, np.uint8)
    start = -memory.ctypes.data % HUGE_PAGE
    with contextlib.suppress(OSError):  # a kernel without huge pages: only slower
        pages.madvise(advice, start, large)
    return memory[start : start + size]
