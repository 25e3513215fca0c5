"""Conditionals whose branches yield tensors of different ranks: the rest of the graph is converted in both branches.

PyTorch's exporter emits ``squeeze`` as such an `If`. Often one of the ranks is invalid for the rest of the graph. The
rest is then converted once, and each call checks the condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from onnx import GraphProto, NodeProto

from relax_mlir import op as R
from relax_mlir.dialects.effects import literal_format
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import DTypeError, ParseError, RelaxError, ShapeError
from relax_mlir.frontend.onnx.branches import common, defined, flag, loosened, probed
from relax_mlir.frontend.onnx.items import Item, TensorItem, of_value
from relax_mlir.frontend.onnx.node import Node, place_of
from relax_mlir.frontend.onnx.scope import Scope

if TYPE_CHECKING:
    from relax_mlir.frontend.onnx.converter import Converter


def convert_split(
    converter: Converter,
    proto: NodeProto,
    rest: Sequence[NodeProto],
    outputs: Sequence[str],
    scope: Scope,
    opsets: dict[str, int],
) -> None:
    """Convert the conditional `proto` and the nodes after it, and bind `outputs` in `scope`."""
    node = Node(proto, opsets, scope, converter)
    graphs: tuple[GraphProto, GraphProto] = (node.required("then_branch"), node.required("else_branch"))

    drawn: set[bool] = set()

    def whole(graph: GraphProto) -> list[Item]:
        inner = Scope(scope)
        with converter.noting_draws(drawn):
            converter.bind_outputs(
                Node(proto, opsets, inner, converter), converter.subgraph(graph, inner, opsets)
            )
            converter.convert_nodes(rest, outputs, inner, opsets)
        return [defined(inner.find(name), name) for name in outputs]

    found: list[list[Tensor | str]] = []
    errors: list[RelaxError | None] = []
    for graph in graphs:
        try:
            found.append(probed(converter, partial(whole, graph)))
            errors.append(None)
        except (ParseError, ShapeError, DTypeError) as error:
            errors.append(error)
    if errors[0] is not None and errors[1] is not None:
        raise errors[0]
    for reason, wanted in zip(errors, (False, True), strict=True):
        if reason is not None:
            _check(node, wanted, reason)
            converter.bind_outputs(node, converter.subgraph(graphs[0 if wanted else 1], scope, opsets))
            converter.convert_nodes(rest, outputs, scope, opsets)
            return
    if any(isinstance(info, str) for infos in found for info in infos):
        raise node.needs_value(0, "what follows gives a sequence or an optional, so that the value")
    infos = [common(one, other) for one, other in zip(*found, strict=True)]

    def emit(graph: GraphProto) -> Value:
        with converter.block():
            items = [item for item in whole(graph) if isinstance(item, TensorItem)]
            return R.make_tuple(
                *(loosened(converter.value_of(item), info) for item, info in zip(items, infos, strict=True)),
                *converter.states(any(drawn)),
            )

    together = R.if_then_else(flag(node, 0), lambda: emit(graphs[0]), lambda: emit(graphs[1]))
    if any(drawn):
        converter.random.now = R.tuple_get_item(together, len(outputs))
    for number, name in enumerate(outputs):
        scope.bind(name, of_value(converter.with_symbols(R.tuple_get_item(together, number))))


def _check(node: Node, wanted: bool, error: RelaxError) -> None:
    """Emit a check that the condition is `wanted`, since the other branch leads to an error."""
    condition = flag(node, 0) if wanted else R.logical_not(flag(node, 0))
    found = "false" if wanted else "true"
    message = f"{place_of(node.proto)}: the condition is {found}, and then {error}"
    R.assert_op(condition, format=literal_format(message))
