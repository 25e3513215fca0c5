"""Find all nodes of a model without a rule, before conversion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import FunctionProto, ModelProto, NodeProto

from relax_mlir.frontend.onnx.folding import has_folding
from relax_mlir.frontend.onnx.function_bodies import has_function
from relax_mlir.frontend.onnx.node import place_of
from relax_mlir.frontend.onnx.registry import find_rule, normal_domain
from relax_mlir.frontend.onnx.used_names import subgraphs
from relax_mlir.frontend.unsupported import UnsupportedOps

Functions = Mapping[tuple[str, str], FunctionProto]


def check(proto: ModelProto, opsets: Mapping[str, int], functions: Functions) -> None:
    """Raise an `UnsupportedError` that lists each op without a rule, its count and its nodes."""
    found = UnsupportedOps("the model")
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
        found.add(op, "no rule", place_of(node))
    if found:
        raise found.error()


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
