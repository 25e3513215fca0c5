"""Finds all nodes of a model that there is no rule for, before anything is converted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import FunctionProto, ModelProto, NodeProto

from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.onnx.folding import has_folding
from relax_mlir.frontend.onnx.function_bodies import has_function
from relax_mlir.frontend.onnx.node import place_of
from relax_mlir.frontend.onnx.registry import find_rule, normal_domain
from relax_mlir.frontend.onnx.used_names import subgraphs

MAX_NODES = 5
"""Nodes of an op that the error names."""

Functions = Mapping[tuple[str, str], FunctionProto]


def check(proto: ModelProto, opsets: Mapping[str, int], functions: Functions) -> None:
    """Raise an `UnsupportedError` that lists each op without a rule, how often it occurs, and where."""
    found: dict[str, list[str]] = {}
    for node, versions in _all_nodes(proto, opsets):
        domain = normal_domain(node.domain)
        if (domain, node.op_type) in functions:
            continue
        opset = versions.get(domain, 0)
        if find_rule(domain, node.op_type, opset) or has_folding(domain, node.op_type):
            continue
        if has_function(domain, node.op_type, opset):
            continue
        op = f"{domain + '.' if domain else ''}{node.op_type} of opset {opset}"
        found.setdefault(op, []).append(place_of(node))
    if not found:
        return
    lines = [f"  {len(places)} × {op}: {_some(places)}" for op, places in sorted(found.items())]
    raise UnsupportedError(
        f"the model has nodes of {len(found)} unsupported op{'s' if len(found) > 1 else ''}:\n"
        + "\n".join(lines)
    )


def _some(places: Sequence[str]) -> str:
    rest = len(places) - MAX_NODES
    return ", ".join(places[:MAX_NODES]) + (f" and {rest} more" if rest > 0 else "")


def _all_nodes(proto: ModelProto, opsets: Mapping[str, int]) -> Iterator[tuple[NodeProto, Mapping[str, int]]]:
    yield from ((node, opsets) for node in _nested(proto.graph.node))
    for function in proto.functions:
        own = dict(opsets) | {normal_domain(o.domain): o.version for o in function.opset_import}
        yield from ((node, own) for node in _nested(function.node))


def _nested(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from _nested(graph.node)
