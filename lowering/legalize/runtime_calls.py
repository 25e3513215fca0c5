"""Legalisation of ops that the runtime computes: packed functions, print, and ops on values of unknown types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects.base import RelaxOp, ir_fields
from relax_mlir.dialects.calls import CallPackedOp, CallPurePackedOp
from relax_mlir.dialects.effects import PRINT
from relax_mlir.dialects.structure import ShapeExprOp, pack, unpack
from relax_mlir.dialects.traits import IsView, SizedByData, has_trait, ops_with
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, dims_attr, struct_info
from relax_mlir.mlir import ir

# Legalisation of ops that the runtime computes: calls of registered packed functions (level R0 to R1).


RUNTIME_PREFIX = "relax_mlir.run."
"""Name prefix of functions of this project's runtime, which need Python."""

UNIQUE = f"{RUNTIME_PREFIX}unique"
NONZERO = f"{RUNTIME_PREFIX}nonzero"


def call_runtime(
    function: str,
    operands: Sequence[ir.Value],
    literals: Sequence[ir.Attribute],
    result: ir.Type,
    *,
    literals_first: bool = False,
) -> ir.Value:
    """Call `function` of the runtime on `operands`, then `literals`, at the current insertion point and location."""
    location = ir.Location.current
    units: list[ir.Attribute] = [ir.UnitAttr.get()] * len(operands)
    spec = [*literals, *units] if literals_first else [*units, *literals]
    return ir.Operation.create(
        CallPurePackedOp.OPERATION_NAME,
        results=[result],
        operands=[pack(list(operands), location)],
        attributes={"func": ir.StringAttr.get(function), "arg_spec": ir.ArrayAttr.get(spec)},
        loc=location,
    ).results[0]


# Legalisation of print: a call of a function of the runtime.


def legalize_print(op: ir.Operation) -> None:
    """Replace a `relax.print` by a `relax.call_packed`, whose side effects later passes keep in order."""
    spec = ir.ArrayAttr.get([op.attributes["format"], *ir.ArrayAttr(op.attributes["arg_spec"])])
    with ir.InsertionPoint(op), op.location:
        ir.Operation.create(
            CallPackedOp.OPERATION_NAME,
            results=[ir.TupleType.get_tuple([])],
            operands=list(op.operands),
            attributes={"func": ir.StringAttr.get(PRINT), "arg_spec": spec},
        )
    op.erase()


# Ops on values that are not known well enough for native code: calls of the runtime, which inspects the
# values.
#
# ``relax_mlir.run.op`` takes the op's name, its attributes as text, its operands' grouping, the symbols in
# its attributes, its source location, then the operands one by one, and last the values of the symbols as a
# shape.


RUN_OP = "relax_mlir.run.op"
RUN_SHAPE_TO_TENSOR = "relax_mlir.run.shape_to_tensor"
RUN_TENSOR_TO_SHAPE = "relax_mlir.run.tensor_to_shape"


def run_unknown(op: ir.Operation, cls: type[RelaxOp]) -> ir.Value | None:
    """Call the runtime for the result of `op`; None if native code can compute it.

    The call is emitted at the current insertion point and location.
    """
    infos = [struct_info(value.type) for value in op.operands]
    if not len(op.results):
        return None  # ops on memory have no such form
    result = struct_info(op.results[0].type)
    function = _OWN_FUNCTIONS.get(op.name)
    if function is not None:
        known = _structure_known(infos[0])
        place = [ir.StringAttr.get(where(op))]
        return None if known else call_runtime(function, list(op.operands), place, op.results[0].type)
    is_view = has_trait(op, IsView)
    needed = infos if has_trait(op, SizedByData) else [*infos, result]
    known = _is_view(infos[0], result) if is_view else all(map(_is_known, needed))
    return None if known else _run(op, cls, infos)


_OWN_FUNCTIONS = {
    "relax.shape_to_tensor": RUN_SHAPE_TO_TENSOR,
    "relax.tensor_to_shape": RUN_TENSOR_TO_SHAPE,
}
GENERAL_STRUCTURE = ops_with(IsView) | _OWN_FUNCTIONS.keys()
"""Ops that level R1 keeps if enough is known about their operands."""


def _structure_known(info: StructInfo) -> bool:
    """True if native code has the length that `shape_to_tensor` or `tensor_to_shape` needs."""
    if isinstance(info, Shape):
        return info.values is not None
    shape = info.shape if isinstance(info, Tensor) and info.dtype is not None else None
    return shape is not None and len(shape) > 0 and isinstance(shape[0], int)


def _is_view(source: StructInfo, target: StructInfo) -> bool:
    """True if native code can view `source` as `target`."""
    assert isinstance(source, Tensor) and isinstance(target, Tensor)
    return source.shape is not None and source.dtype is not None and target.known_shape is not None


def _is_known(info: StructInfo) -> bool:
    if isinstance(info, Tuple):
        return all(map(_is_known, info.fields))
    if isinstance(info, Shape):
        return info.values is not None and None not in info.values
    return not isinstance(info, Tensor) or (info.known_shape is not None and info.dtype is not None)


def _run(op: ir.Operation, cls: type[RelaxOp], infos: list[StructInfo]) -> ir.Value:
    operands: list[ir.Value] = []
    grouping = []
    for value, info in zip(op.operands, infos, strict=True):
        if isinstance(info, Tuple):
            operands += unpack(value, [field.to_type() for field in info.fields])
            grouping.append(str(len(info.fields)))
        else:
            operands.append(value)
            grouping.append(".")
    attributes = {name: op.attributes[name] for name in ir_fields(cls)[1]}
    held = [attributes[name] for name in cls.dim_attributes()]
    names = list(dict.fromkeys(symbol for attribute in held for symbol in _symbols(attribute)))
    if names:
        values = dims_attr([symbolic.symbol(name) for name in names])
        operands.append(
            ir.Operation.create(
                ShapeExprOp.OPERATION_NAME,
                results=[Shape(names).to_type()],
                attributes={"values": values},
            ).results[0]
        )
    texts = [op.name, str(ir.DictAttr.get(attributes)), ",".join(grouping), ",".join(names), where(op)]
    literals = [ir.StringAttr.get(text) for text in texts]
    return call_runtime(RUN_OP, operands, literals, op.results[0].type, literals_first=True)


def _symbols(attribute: ir.Attribute) -> Iterator[str]:
    for item in attribute if isinstance(attribute, ir.ArrayAttr) else [attribute]:
        if isinstance(item, ir.StringAttr):
            yield from symbolic.symbols(symbolic.to_dim(item.value))
