"""Conditionals, whose branches may use names of enclosing graphs."""

from __future__ import annotations

from functools import partial
from typing import Any

from onnx import GraphProto

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.onnx.branches import DifferentRanksError, common, flag, loosened, probed
from relax_mlir.frontend.onnx.items import Item, of_value
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule


@rule("If")
def _if(node: Node) -> list[Item]:
    branches: tuple[GraphProto, GraphProto] = (node.required("then_branch"), node.required("else_branch"))
    known = node.known(0)
    if known is not None:
        taken = branches[0] if bool(known.reshape(-1)[0]) else branches[1]
        return node.converter.subgraph(taken, node.scope, node.opsets)
    node.converter.leave_open()
    drawn: set[bool] = set()
    found = [probed(node.converter, partial(_results, node, graph, drawn)) for graph in branches]
    if any(isinstance(info, str) for infos in found for info in infos):
        raise node.needs_value(0, "a branch gives a sequence or an optional, so that the value")
    if len(found[0]) != len(found[1]):
        raise ArgumentError(f"the branches have {len(found[0])} and {len(found[1])} outputs")
    if any(_rank(one) != _rank(other) for one, other in zip(*found, strict=True)):
        raise DifferentRanksError
    infos = [common(one, other) for one, other in zip(*found, strict=True)]

    def emit(graph: GraphProto) -> Value:
        with node.converter.block():
            values = [
                loosened(node.converter.value_of(item), info)
                for item, info in zip(_results(node, graph, drawn), infos, strict=True)
            ]
            return R.make_tuple(*values, *node.converter.states(any(drawn)))

    whole = R.if_then_else(flag(node, 0), lambda: emit(branches[0]), lambda: emit(branches[1]))
    if any(drawn):
        node.converter.random.now = R.tuple_get_item(whole, len(infos))
    return [_item(node, R.tuple_get_item(whole, number)) for number in range(len(infos))]


def _rank(info: Any) -> int | None:  # noqa: ANN401 - the struct info of a tensor
    return None if info.shape is None else len(info.shape)


def _results(node: Node, graph: GraphProto, drawn: set[bool]) -> list[Any]:
    """Convert a branch and return its results; `drawn` records random draws."""
    with node.converter.noting_draws(drawn):
        return node.converter.subgraph(graph, node.scope, node.opsets)


def _item(node: Node, value: Value) -> Item:
    return of_value(node.converter.with_symbols(value))
