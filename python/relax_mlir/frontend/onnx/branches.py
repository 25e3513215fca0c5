"""Results of branches of conditionals and loops, and their common type."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from onnx import GraphProto, NodeProto

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.control import symbols_in_scope
from relax_mlir.dialects.effects import literal_format
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import DTypeError, ParseError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.frontend.onnx.items import Item, Scope, SequenceItem, TensorItem, of_value
from relax_mlir.frontend.onnx.registry import Node, place_of
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.frontend.onnx.converter import Converter
    from relax_mlir.frontend.onnx.registry import Node


# Shared code of conditionals and loops: results of branches, and their common type.


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


# Conditionals whose branches yield tensors of different ranks: the rest of the graph is converted in both branches.
#
# PyTorch's exporter emits ``squeeze`` as such an `If`. Often one of the ranks is invalid for the rest of the graph. The
# rest is then converted once, and each call checks the condition.


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
