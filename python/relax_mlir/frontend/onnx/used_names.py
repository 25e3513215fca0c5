"""The names that nodes and their subgraphs read, and the nodes that outputs need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnx import GraphProto, NodeProto


def needed_nodes(nodes: Sequence[NodeProto], outputs: Sequence[str]) -> list[NodeProto]:
    """Return the nodes that `outputs` depend on, in order. Nodes have no side effects, so the others may be dropped."""
    wanted = set(outputs)
    needed = []
    for node in reversed(nodes):
        if any(name in wanted for name in node.output if name):
            needed.append(node)
            wanted.update(name for name in node.input if name)
            wanted.update(outer_names(node))
    return needed[::-1]


def outer_names(node: NodeProto) -> list[str]:
    """Return the names of enclosing graphs that subgraphs of `node` read."""
    found: list[str] = []
    for graph in subgraphs(node):
        inner = {info.name for info in graph.input}
        inner.update(tensor.name for tensor in graph.initializer)
        inner.update(tensor.values.name for tensor in graph.sparse_initializer)
        for inside in graph.node:
            read = [*inside.input, *outer_names(inside)]
            found += [name for name in read if name and name not in inner]
            inner.update(inside.output)
        found += [info.name for info in graph.output if info.name not in inner]
    return list(dict.fromkeys(found))


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
