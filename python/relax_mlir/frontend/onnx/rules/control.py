"""Conditionals and loops, whose bodies see the names of the graphs around them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from onnx import GraphProto

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.loops import symbols_in_scope
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, UnsupportedError
from relax_mlir.frontend.onnx.items import Item, SequenceItem, TensorItem, of_value
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim


@rule("If")
def _if(node: Node) -> list[Item]:
    branches: tuple[GraphProto, GraphProto] = (node.required("then_branch"), node.required("else_branch"))
    known = node.known(0)
    if known is not None:
        taken = branches[0] if bool(known.reshape(-1)[0]) else branches[1]
        return node.converter.subgraph(taken, node.scope, node.opsets)
    node.converter.leave_open()
    found = [probed(node, partial(_results, node, graph)) for graph in branches]
    if any(isinstance(info, str) for infos in found for info in infos):
        raise node.needs_value(0, "a branch gives a sequence or an optional, so that the value")
    if len(found[0]) != len(found[1]):
        raise ArgumentError(f"the branches have {len(found[0])} and {len(found[1])} outputs")
    infos = [common(one, other) for one, other in zip(*found, strict=True)]

    def emit(graph: GraphProto) -> Value:
        with node.converter.block():
            values = [
                loosened(node.converter.value_of(item), info)
                for item, info in zip(_results(node, graph), infos, strict=True)
            ]
            return R.make_tuple(*values)

    whole = R.if_then_else(flag(node, 0), lambda: emit(branches[0]), lambda: emit(branches[1]))
    return [_item(node, R.tuple_get_item(whole, number)) for number in range(len(infos))]


def flag(node: Node, index: int) -> Value:
    """Input `index`, a bool of one element, as a tensor of rank 0."""
    return R.reshape(node.tensor(index), ()) if node.rank(index) else node.tensor(index)


def _results(node: Node, graph: GraphProto, inputs: Sequence[Item | None] = ()) -> list[Any]:
    return node.converter.subgraph(graph, node.scope, node.opsets, inputs)


class _Probed(Exception):
    """Leaves a branch that is built only to see what it gives."""


def probed(node: Node, emit: Callable[[], Sequence[Item]]) -> list[Tensor | str]:
    """What the items that `emit` gives are: struct infos of tensors, or the kinds of others. Nothing stays of it."""
    found: list[Tensor | str] = []

    def branch() -> Value:
        with node.converter.block():
            for item in emit():
                found.append(
                    node.converter.value_of(item).tensor_info
                    if isinstance(item, TensorItem)
                    else "a sequence"
                    if isinstance(item, SequenceItem)
                    else "an optional"
                )
        raise _Probed

    with contextlib.suppress(_Probed):
        R.if_then_else(R.const(True), branch, branch)
    return found


def _item(node: Node, value: Value) -> Item:
    return of_value(node.converter.with_symbols(value))


def common(one: Any, other: Any) -> Tensor:  # noqa: ANN401 - struct infos of tensors
    """What is true of two tensors; dimensions that differ, or that only a branch knows, are unknown."""
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


def is_outer(dim: Dim) -> bool:
    """Whether a dimension means the same outside of a block; symbols that are made in it do not."""
    return isinstance(dim, int) or all(name in _outer_symbols() for name in symbolic.symbols(dim))


def _outer_symbols() -> set[str]:
    """The symbols that may be used at the insertion point."""
    return symbols_in_scope(ir.InsertionPoint.current.block)


def loosened(value: Value, info: Tensor) -> Value:
    """The value, of which no more is known than `info` says."""
    assert info.shape is not None
    return value if value.tensor_info.shape == info.shape else R.match_shape(value, list(info.shape))
