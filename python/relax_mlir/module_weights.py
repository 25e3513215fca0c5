"""The weights of ops: find, replace and remove resources, also in arrays and dictionaries of attributes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from relax_mlir.dialects import constants
from relax_mlir.mlir import ir

_WITHOUT_USE_LISTS = 2
"""The version of MLIR's bytecode that does not record the order of uses, which is not part of the program."""


def resources(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The weights among the attributes of all ops in `op`, by resource name."""
    return {constants.resource_name(weight): weight for weight in dict.fromkeys(_in_order(op))}


def replace_resources(op: ir.Operation, made: Mapping[str, ir.Attribute]) -> None:
    """Replace the resources of these names by the attributes `made`."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        attributes = inner.attributes
        for name in _weight_names(inner):
            attributes[name] = _replaced(attributes[name], made)
        return ir.WalkResult.ADVANCE

    with op.context:
        op.walk(visit)


def copied(op: ir.Operation, context: ir.Context) -> ir.Operation:
    """A copy of an op in `context`, with names and locations; weights are shared.

    Raises:
        ir.MLIRError: `op` is not valid. UnsupportedError: the data of a weight is missing; names it.
    """
    if op.context == context:
        clone: ir.Operation = op.clone(ip=False)
        return clone
    weights = _in_order(op)
    constants.require(weights)
    # In local scope, data of resources is not printed.
    text = op.get_asm(print_generic_op_form=True, enable_debug_info=True, use_local_scope=True)
    with context, ir.Location.unknown():
        copy: ir.Operation = ir.Operation.parse(text).operation
        # The parser renames resources whose names exist in the context.
        replace_resources(copy, _shared(_in_order(copy), weights))
    return copy


def attribute_in(attribute: ir.Attribute, context: ir.Context) -> ir.Attribute:
    """An attribute in `context`; its weights are shared.

    Raises UnsupportedError if the data of a weight is missing.
    """
    if attribute.context == context:
        return attribute
    with context, ir.Location.unknown():
        parsed: ir.Attribute = ir.Attribute.parse(str(attribute))
        weights = list(_weights_in(attribute))
        return _replaced(parsed, _shared(list(_weights_in(parsed)), weights)) if weights else parsed


def content(attribute: ir.Attribute) -> str:
    """The text of an attribute, with hashes of the weights' elements in place of their names."""
    weights = dict.fromkeys(_weights_in(attribute))
    if not weights:
        return str(attribute)
    with attribute.context:
        hashes: dict[str, ir.Attribute] = {}
        for weight in weights:
            elements = hashlib.sha256(constants.to_numpy(weight).tobytes()).hexdigest()
            name = constants.resource_name(weight)
            hashes[name] = ir.DictAttr.get({elements: ir.TypeAttr.get(weight.type)})
        return f"{len(weights)} weights in {_replaced(attribute, hashes)}"


def _shared(resources: Sequence[ir.Attribute], weights: Sequence[ir.Attribute]) -> dict[str, ir.Attribute]:
    """Weights in the current context, by the names that the parser gave their resources."""
    made: dict[str, ir.Attribute] = {}
    for name, weight in zip(map(constants.resource_name, resources), weights, strict=True):
        if name not in made:
            made[name] = constants.to_attribute(constants.to_numpy(weight))
    return made


def program_bytes(
    op: ir.Operation, chosen: Callable[[ir.Operation], Iterable[str]] | None = None
) -> tuple[bytes, list[tuple[int, str, ir.Attribute]]]:
    """A canonical encoding of an op and its locations: two ops of a context with equal encodings are the same program.

    Args:
        op: an op; it may be invalid.
        chosen: the names of the attributes of an op to treat as weights; by default, all weights.

    Returns:
        MLIR's bytecode of the op without these weights; each weight with the number of its op and the name of the
        attribute. The bytes are the same in every context and process.
    """
    copy = op.clone(ip=False)
    taken: list[tuple[int, str, ir.Attribute]] = []
    number = 0
    with op.context:
        nothing = ir.UnitAttr.get()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal number
        number += 1
        for name in _weight_names(inner, deep=False) if chosen is None else chosen(inner):
            taken.append((number, name, inner.attributes[name]))
            inner.attributes[name] = nothing
        return ir.WalkResult.ADVANCE

    copy.walk(visit, ir.WalkOrder.PRE_ORDER)
    stream = io.BytesIO()
    copy.write_bytecode(stream, _WITHOUT_USE_LISTS)
    return stream.getvalue(), taken


def has_hidden_resources(op: ir.Operation) -> bool:
    """True if a type or a location in `op` holds a resource, which `resources` does not find."""
    copy = op.clone(ip=False)
    with op.context:
        none = dict.fromkeys(resources(copy), ir.UnitAttr.get())
    replace_resources(copy, none)
    if "dense_resource<" not in copy.get_asm(print_generic_op_form=True, enable_debug_info=True):
        return False
    # MLIR writes no section of resources for an op without resources, whatever its strings contain.
    text: str = copy.get_asm(print_generic_op_form=True, enable_debug_info=True, assume_verified=True)
    return text.rstrip().endswith("#-}")


def _in_order(op: ir.Operation) -> list[ir.Attribute]:
    """The weights of all ops in `op`, in order."""
    found: list[ir.Attribute] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        attributes = inner.attributes
        for name in _weight_names(inner):
            found.extend(_weights_in(attributes[name]))
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _weight_names(op: ir.Operation, *, deep: bool = True) -> list[str]:
    """The names of the attributes of an op that are weights, or (`deep`) contain some."""
    attributes = op.attributes
    return [name for name in attributes if _is_weight(attributes[name], deep)]


def _is_weight(attribute: ir.Attribute, deep: bool) -> bool:
    return any(_weights_in(attribute)) if deep else constants.is_resource(attribute)


def _weights_in(attribute: ir.Attribute) -> Iterator[ir.Attribute]:
    if isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from _weights_in(item)
    elif isinstance(attribute, ir.DictAttr):
        for named in attribute:
            yield from _weights_in(named.attr)
    elif constants.is_resource(attribute):
        yield attribute


def _replaced(attribute: ir.Attribute, made: Mapping[str, ir.Attribute]) -> ir.Attribute:
    """An attribute with its resources replaced by those of `made`; needs a current context."""
    if isinstance(attribute, ir.ArrayAttr):
        return ir.ArrayAttr.get([_replaced(item, made) for item in attribute])
    if isinstance(attribute, ir.DictAttr):
        return ir.DictAttr.get({named.name: _replaced(named.attr, made) for named in attribute})
    return made[constants.resource_name(attribute)] if constants.is_resource(attribute) else attribute
