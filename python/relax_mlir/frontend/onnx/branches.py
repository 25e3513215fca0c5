"""Shared code of conditionals and loops: results of branches, and their common type."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.loops import symbols_in_scope
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import DTypeError, ParseError, UnsupportedError
from relax_mlir.frontend.onnx.items import Item, SequenceItem, TensorItem
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.frontend.onnx.converter import Converter
    from relax_mlir.frontend.onnx.node import Node


def flag(node: Node, index: int) -> Value:
    """Return input `index`, a bool of one element, as a tensor of rank 0."""
    return R.reshape(node.tensor(index), ()) if node.rank(index) else node.tensor(index)


class DifferentRanksError(Exception):
    """The branches of an `If` yield tensors of different ranks, so each must contain the rest of the graph."""


class _Probed(Exception):
    """Leaves a branch that is built only to determine its result types."""


def probed(converter: Converter, emit: Callable[[], Sequence[Item]]) -> list[Tensor | str]:
    """Return the struct infos of the tensors that `emit` yields, or the kinds of other items. No emitted op remains."""
    found: list[Tensor | str] = []

    def branch() -> Value:
        with converter.block():
            for item in emit():
                found.append(
                    converter.value_of(item).tensor_info
                    if isinstance(item, TensorItem)
                    else "a sequence"
                    if isinstance(item, SequenceItem)
                    else "an optional"
                )
        raise _Probed

    with contextlib.suppress(_Probed):
        R.if_then_else(R.const(True), branch, branch)
    return found


def common(one: Any, other: Any) -> Tensor:  # noqa: ANN401 - struct infos of tensors
    """Return the common type of two tensors; dimensions that differ, or that only a branch knows, are unknown."""
    if one.dtype != other.dtype:
        raise DTypeError(f"a value is {one} here and {other} there: the dtypes differ")
    if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
        raise UnsupportedError(f"a value is {one} here and {other} there: different ranks are not supported")
    return Tensor(
        [
            a if a is not None and b is not None and is_outer(a) and symbolic.prove_equal(a, b) else None
            for a, b in zip(one.shape, other.shape, strict=True)
        ],
        one.dtype,
    )


def defined(item: Item | None, name: str) -> Item:
    """Return an output of a subgraph, which must have a value."""
    if item is None:
        raise ParseError(f"the output '{name}' of a subgraph has no value")
    return item


def is_outer(dim: Dim) -> bool:
    """True if a dimension is valid outside of the block; symbols defined in the block are not."""
    return isinstance(dim, int) or all(name in _outer_symbols() for name in symbolic.symbols(dim))


def _outer_symbols() -> set[str]:
    """The symbols in scope at the insertion point."""
    return symbols_in_scope(ir.InsertionPoint.current.block)


def loosened(value: Value, info: Tensor) -> Value:
    """Return the value with the less precise type `info`."""
    assert info.shape is not None
    return value if value.tensor_info.shape == info.shape else R.match_shape(value, list(info.shape))
