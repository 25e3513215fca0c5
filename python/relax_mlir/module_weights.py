"""The weights of ops: resources, by name, found and replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_mlir.dialects import constants
from relax_mlir.mlir import ir


def resources(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The weights among the attributes of all ops in `op`, by the names of their resources."""
    found: dict[str, ir.Attribute] = {}

    for attribute in _in_order(op):
        found.setdefault(constants.resource_name(attribute), attribute)
    return found


def replace_resources(op: ir.Operation, made: Mapping[str, ir.Attribute]) -> None:
    """Put the attributes `made` in the place of the resources of these names."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for key, attribute in _weights_of(inner):
            inner.attributes[key] = made[constants.resource_name(attribute)]
        return ir.WalkResult.ADVANCE

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
    text = op.get_asm(
        print_generic_op_form=True,
        enable_debug_info=True,
        large_resource_limit=0,
        use_local_scope=bool(weights),
    )
    with context, ir.Location.unknown():
        copy: ir.Operation = ir.Operation.parse(text.partition("{-#")[0]).operation
        # The parser gives new names to resources whose names the context has already.
        made: dict[str, ir.Attribute] = {}
        for name, weight in zip(map(constants.resource_name, _in_order(copy)), weights, strict=True):
            if name not in made:
                made[name] = constants.to_attribute(constants.to_numpy(weight))
        replace_resources(copy, made)
    return copy


def _in_order(op: ir.Operation) -> list[ir.Attribute]:
    """The weights of all ops in `op`, one by one."""
    found: list[ir.Attribute] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.extend(attribute for _, attribute in _weights_of(inner))
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _weights_of(op: ir.Operation) -> Iterator[tuple[str, ir.Attribute]]:
    attributes = op.attributes
    for name in [attributes[index].name for index in range(len(attributes))]:
        if constants.is_resource(attributes[name]):
            yield name, attributes[name]
