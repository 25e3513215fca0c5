"""Functions of the model, and functions by which ONNX defines ops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from relax_mlir.frontend.onnx.dtypes import CODES
from relax_mlir.frontend.onnx.items import Item, OptionalItem, SequenceItem
from relax_mlir.frontend.onnx.registry import normal_domain
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.frontend.onnx.node import Node


def function_body(node: Node, functions: Mapping[tuple[str, str], FunctionProto]) -> FunctionProto | None:
    """Return the function that defines a node's op, from the model or from ONNX's schema; None if there is none."""
    local = functions.get((normal_domain(node.proto.domain), node.op))
    return local if local is not None else _schema_body(node)


def _schema_body(node: Node) -> FunctionProto | None:
    schema = find_schema(node.proto.domain, node.op, node.opset)
    if schema is None:
        return None
    version = max(node.opset, schema.since_version)
    if schema.has_function:
        found = schema.get_function_with_opset_version(version)
        if found:
            return _parsed(found)
    if schema.has_context_dependent_function:
        types = [type_proto(item).SerializeToString() for item in node.items]
        found = schema.get_context_dependent_function_with_opset_version(
            version, node.proto.SerializeToString(), types
        )
        if found:
            return _parsed(found)
    return None


def has_function(domain: str, op: str, opset: int) -> bool:
    """True if ONNX defines an op by a function."""
    schema = find_schema(domain, op, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def find_schema(domain: str, op: str, opset: int) -> onnx.defs.OpSchema | None:
    """Return ONNX's definition of an op in an opset."""
    try:
        return onnx.defs.get_schema(op, opset, normal_domain(domain))
    except onnx.defs.SchemaError:
        return None


def _parsed(found: bytes | FunctionProto) -> FunctionProto:
    if isinstance(found, FunctionProto):
        return found
    body = FunctionProto()
    body.ParseFromString(found)
    return body


def type_proto(item: Item | None) -> TypeProto:
    """Return the ONNX type of an item."""
    result = TypeProto()
    if item is None:
        return result
    if isinstance(item, OptionalItem):
        result.optional_type.elem_type.CopyFrom(type_proto(item.item))
    elif isinstance(item, SequenceItem):
        result.sequence_type.elem_type.CopyFrom(type_proto(item.items[0] if item.items else None))
    else:
        result.tensor_type.elem_type = CODES[item.dtype]
        if item.shape is not None:
            result.tensor_type.shape.SetInParent()
            for dim in item.shape:
                entry = result.tensor_type.shape.dim.add()
                if isinstance(dim, Expr):
                    entry.dim_param = str(dim)
                elif dim is not None:
                    entry.dim_value = dim
    return result


def with_attributes(inside: NodeProto, node: Node, body: FunctionProto) -> NodeProto:
    """Return a node of a function with attribute references replaced by the caller's attributes."""
    if not _has_references(inside):
        return inside
    defaults = {attribute.name: attribute for attribute in body.attribute_proto}
    schema = find_schema(node.proto.domain, node.op, node.opset)
    result = NodeProto()
    result.CopyFrom(inside)
    _substitute(result, node, defaults, schema)
    return result


def _has_references(node: NodeProto) -> bool:
    return any(
        attribute.ref_attr_name or any(_has_references(n) for g in _graphs(attribute) for n in g.node)
        for attribute in node.attribute
    )


def _graphs(attribute: AttributeProto) -> list[onnx.GraphProto]:
    return ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)


def _substitute(
    inside: NodeProto,
    node: Node,
    defaults: Mapping[str, AttributeProto],
    schema: onnx.defs.OpSchema | None,
) -> None:
    kept = []
    for attribute in inside.attribute:
        for graph in _graphs(attribute):
            for nested in graph.node:
                _substitute(nested, node, defaults, schema)
        if not attribute.ref_attr_name:
            kept.append(attribute)
            continue
        given = node.attr_proto(attribute.ref_attr_name) or defaults.get(attribute.ref_attr_name)
        if given is None and schema is not None and attribute.ref_attr_name in schema.attributes:
            default = schema.attributes[attribute.ref_attr_name].default_value
            given = default if default.type != AttributeProto.UNDEFINED else None
        if given is not None:
            copy = AttributeProto()
            copy.CopyFrom(given)
            copy.name = attribute.name
            kept.append(copy)
    copies = [AttributeProto() for _ in kept]
    for copy, attribute in zip(copies, kept, strict=True):
        copy.CopyFrom(attribute)
    del inside.attribute[:]
    inside.attribute.extend(copies)
