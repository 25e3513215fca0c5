"""Sequences, whose lengths are known at import, and optionals."""

from __future__ import annotations

import numpy as np

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import BoundsError
from relax_mlir.frontend.onnx.items import Item, OptionalItem, SequenceItem, TensorItem, of_array
from relax_mlir.frontend.onnx.registry import Node, rule
from relax_mlir.frontend.onnx.rules.manipulate import concatenated


@rule("SequenceConstruct")
def _construct(node: Node) -> SequenceItem:
    return SequenceItem(tuple(node.item(i) for i in range(len(node.items))))


@rule("SequenceEmpty")
def _empty(node: Node) -> SequenceItem:
    return SequenceItem(())


@rule("SequenceLength")
def _length(node: Node) -> TensorItem:
    return of_array(np.asarray(len(node.sequence(0).items), np.int64))


def _position(node: Node, index: int, length: int, default: int) -> int:
    """Return input `index`, a position in a sequence, as a non-negative integer."""
    if not node.has(index):
        return default
    place = int(node.scalar(index))
    found = place + length if place < 0 else place
    if not 0 <= found <= length:
        raise BoundsError(f"the sequence has {length} elements, but none at place {place}")
    return found


@rule("SequenceAt")
def _at(node: Node) -> Item:
    items = node.sequence(0).items
    place = _position(node, 1, len(items), 0)
    if place >= len(items):
        raise BoundsError(f"the sequence has {len(items)} elements, but none at place {place}")
    return items[place]


@rule("SequenceInsert")
def _insert(node: Node) -> SequenceItem:
    items = node.sequence(0).items
    place = _position(node, 2, len(items), len(items))
    return SequenceItem((*items[:place], node.item(1), *items[place:]))


@rule("SequenceErase")
def _erase(node: Node) -> SequenceItem:
    items = node.sequence(0).items
    place = _position(node, 1, len(items), len(items) - 1)
    return SequenceItem((*items[:place], *items[place + 1 :]))


@rule("ConcatFromSequence")
def _concat(node: Node) -> Value:
    values = [node.converter.value_of(item) for item in node.sequence(0).items if isinstance(item, TensorItem)]
    axis = node.required("axis")
    rank = values[0].ndim or 0
    if node.attr("new_axis", 0):
        axis = axis + rank + 1 if axis < 0 else axis
        return concatenated([R.expand_dims(value, axis) for value in values], axis)
    return concatenated(values, axis + rank if axis < 0 else axis)


@rule("SplitToSequence")
def _split(node: Node) -> SequenceItem:
    axis = node.axis()
    size = node.shape()[axis]
    keeps = bool(node.attr("keepdims", 1)) or node.has(1)
    if not isinstance(size, int):
        raise node.unsupported("a split of a dimension of symbolic size into a sequence")
    if not node.has(1):
        parts = [1] * size
    elif node.rank(1) == 0:
        part = int(node.scalar(1))
        parts = [min(part, size - start) for start in range(0, size, part)]
    else:
        parts = node.integers(1)
    items: list[Item] = []
    start = 0
    for part in parts:
        value = R.strided_slice(node.tensor(0), [axis], [start], [start + part])
        value = value if keeps else R.squeeze(value, [axis])
        dtype = node.dtype()
        items.append(TensorItem(dtype, value))
        start += part
    return SequenceItem(tuple(items))


@rule("Optional")
def _optional(node: Node) -> OptionalItem:
    return OptionalItem(node.item(0) if node.has(0) else None)


@rule("OptionalHasElement")
def _has_element(node: Node) -> TensorItem:
    item = node.items[0] if node.items else None
    return of_array(np.asarray(item is not None and not (isinstance(item, OptionalItem) and item.item is None)))


@rule("OptionalGetElement")
def _get_element(node: Node) -> Item:
    item = node.item(0)
    if not isinstance(item, OptionalItem):
        return item
    if item.item is None:
        raise BoundsError("the optional holds nothing")
    return item.item
