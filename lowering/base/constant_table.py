"""The constant table of compiled code: plain arrays, and matrices packed as panels of columns.

All packed matrices are in one block of memory, on huge pages if the system has them and the block is large enough: a
GEMM reads every panel in every call, and the hardware prefetcher stops at page boundaries.
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
"""Bytes of a cache line, and of an AVX-512 vector; an unaligned vector load touches two cache lines."""

_MAX_COPIED = 1 << 20
"""Bytes of the largest constant that is copied for its alignment."""


@dataclass(frozen=True)
class Layout:
    """The layout in which compiled code reads a constant: panels of `columns` columns (0: not packed).

    With `transposed`, the panels are of its transpose. In groups of `group` rows (padded with zeros) the elements of a
    column are adjacent.
    """

    columns: int = 0
    transposed: bool = False
    group: int = 1


@dataclass(frozen=True)
class TableEntry:
    """An entry of the constant table: a constant, and the layout in which compiled code reads it."""

    value: ir.Attribute
    layout: Layout = Layout()


def table_entries(module: ir.Module) -> list[TableEntry]:
    """The table entries of the module's constant declarations, by index; packed as set by `pack-constants`."""
    found: dict[int, TableEntry] = {}
    for op in module.body.operations:
        if CONSTANT in op.attributes:
            layout = Layout()
            if CONSTANT_PANELS in op.attributes:
                words = op.attributes[CONSTANT_PANELS]
                columns, transposed, group = (
                    ir.IntegerAttr(words[key]).value for key in ("columns", "transposed", "group")
                )
                layout = Layout(columns, bool(transposed), group)
            number = int(ir.IntegerAttr(op.attributes[CONSTANT]).value)
            found[number] = TableEntry(op.attributes[CONSTANT_VALUE], layout)
    return [found[index] for index in range(len(found))]


def constant_table(entries: Sequence[TableEntry]) -> list[Array]:
    """The arrays that compiled code reads, by index."""
    return in_layout([(to_numpy(entry.value), entry.layout) for entry in entries])


def in_layout(constants: Sequence[tuple[Array, Layout]]) -> list[Array]:
    """The arrays that compiled code reads for some constants.

    Equal matrices are packed once per layout: models share weights, sometimes as copies under other names. Constants
    that are not packed are copied only if they are small and not aligned to a cache line.
    """
    first = _first_equals(constants)
    matrices = {
        index: constants[index][0].T if constants[index][1].transposed else constants[index][0]
        for index in dict.fromkeys(first)
        if constants[index][1].columns
    }
    sizes = {index: _packed_bytes(matrix, constants[index][1]) for index, matrix in matrices.items()}
    memory, start = _zeroed(sum(sizes.values())), 0
    packed: dict[int, Array] = {}
    for index, matrix in matrices.items():
        packed[index] = _pack(matrix, constants[index][1], memory[start : start + sizes[index]])
        start += sizes[index]
    return [
        packed[index] if layout.columns else _aligned(array)
        for index, (array, layout) in zip(first, constants, strict=True)
    ]


def _first_equals(constants: Sequence[tuple[Array, Layout]]) -> list[int]:
    """For each constant, the position of the first one with the same bytes in the same layout.

    A constant that is not packed maps to itself: it takes little or no memory of the table.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    first = []
    for index, (array, layout) in enumerate(constants):
        if not layout.columns:
            first.append(index)
            continue
        # Compare whole matrices only if their first and last rows agree.
        key = (layout, array.shape, array.dtype, array[:1].tobytes(), array[-1:].tobytes())
        others = alike.setdefault(key, [])
        found = next((other for other in others if _same_bytes(constants[other][0], array)), index)
        if found == index:
            others.append(index)
        first.append(found)
    return first


def _same_bytes(left: Array, right: Array) -> bool:
    if left.ctypes.data == right.ctypes.data and left.strides == right.strides:
        return True
    words = f"u{left.itemsize}"  # NaNs and signed zeros compare by their bits
    return bool(np.array_equal(left.view(words), right.view(words)))


def column_panels(matrix: Array, columns: int) -> Array:
    """A matrix as panels of `columns` columns, each row-major, the last padded with zeros; aligned to 64 bytes."""
    return in_layout([(matrix, Layout(columns))])[0]


def _aligned(array: Array) -> Array:
    """The array, or a copy aligned to a cache line if it is small; empty arrays are returned unchanged."""
    if not 0 < array.nbytes <= _MAX_COPIED or array.ctypes.data % _ALIGNMENT == 0:
        return array
    memory = _zeroed(array.nbytes)
    copy: Array = memory.view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _shape(matrix: Array, layout: Layout) -> tuple[int, int, int, int]:
    """The numbers of panels, row groups, columns, and rows per group."""
    depth, width = matrix.shape
    return -(-width // layout.columns), -(-depth // layout.group), layout.columns, layout.group


def _packed_bytes(matrix: Array, layout: Layout) -> int:
    """The size of the panels in bytes, with the padding before the next constant."""
    size = int(np.prod(_shape(matrix, layout))) * matrix.itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _pack(matrix: Array, layout: Layout, memory: Array) -> Array:
    shape = _shape(matrix, layout)
    packed: Array = memory.view(matrix.dtype)[: int(np.prod(shape))]
    view = packed.reshape(shape)
    for p in range(shape[0]):
        for row in range(layout.group):
            part = matrix[row :: layout.group, p * layout.columns : (p + 1) * layout.columns]
            view[p, : part.shape[0], : part.shape[1], row] = part
    return packed


def _zeroed(size: int) -> Array:
    """Zeroed memory aligned to a cache line; a large block is on huge pages, except for its end."""
    large = size // HUGE_PAGE * HUGE_PAGE
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if not large or advice is None:
        memory = np.zeros(size + _ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % _ALIGNMENT
        return memory[start : start + size]
    pages = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory = np.frombuffer(pages, np.uint8)
    start = -memory.ctypes.data % HUGE_PAGE
    with contextlib.suppress(OSError):  # a kernel without huge pages is only slower
        pages.madvise(advice, start, large)
    return memory[start : start + size]
