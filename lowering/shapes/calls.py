"""Calls of prim funcs and of Relax functions, in destination-passing style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relax_mlir.analysis.call_inference import needs_checks
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import DESTINATIONS, PRIM_FUNC
from relax_mlir.dialects.calls import destinations
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.abi.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Lowered,
    ShapeValue,
    cast,
    flatten,
    handles,
    is_handle,
    place,
)
from relax_mlir.lowering.shapes.buffers import fresh_buffer, owned_tensor, read_buffer
from relax_mlir.lowering.shapes.entry import leaf_sizes
from relax_mlir.lowering.shapes.headers import Header
from relax_mlir.lowering.shapes.objects import Origin, box, refine, shape_entries, view
from relax_mlir.lowering.shapes.results import leaf_infos, receive
from relax_mlir.mlir import arith, func, ir, memref, tensor


@handles("relax.call_tir")
def _call_tir(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = callee_of(op)
    callee = prim_callee(body, op, name)
    outs = [body.empty(info) for info in destination_infos(op)]
    require_known(body, op, name)
    arguments = body.flat(op.operands[0])
    extra = [body.symbols.value(d) for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
    inputs = list(callee.type.inputs)
    given = [*arguments, *outs, *extra]
    if len(given) != len(inputs):
        raise UnsupportedError(
            f"{where(op)}: call_tir of '{name}': {len(given)} arguments (outputs and tir_vars included), "
            f"the prim func takes {len(inputs)}"
        )
    note_destinations(callee, range(len(arguments), len(arguments) + len(outs)))
    if any(isinstance(t, ir.MemRefType) for t in inputs):
        return _call_memref_prim(body, op, name, callee, arguments, extra)
    cast_args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v for v, t in zip(given, inputs, strict=True)
    ]
    results = func.CallOp(list(callee.type.results), name, cast_args).results
    return call_result(op, [cast(r, out.type) for r, out in zip(results, outs, strict=True)])


def note_destinations(callee: func.FuncOp, numbers: Iterable[int]) -> None:
    """Record on a prim func that a call uses the arguments with these indices as destinations."""
    known = callee.attributes.get(DESTINATIONS, ())
    callee.attributes[DESTINATIONS] = ir.DenseI64ArrayAttr.get(sorted({*known, *numbers}))


def require_known(body: BodyLowering, op: ir.Operation, name: str) -> None:
    """Raise `UnsupportedError` for an argument of a prim func whose rank or dtype is not known."""
    arguments, given = struct_info(op.operands[0].type), body.values[op.operands[0]]
    assert isinstance(arguments, Tuple) and isinstance(given, tuple)
    for index, (value, info) in enumerate(zip(given, arguments.fields, strict=True)):
        if isinstance(value, Handle):
            raise UnsupportedError(
                f"{where(op)}: {op.name.removeprefix('relax.')} of '{name}': argument {index} is {info}; prim funcs "
                "take tensors of known rank and dtype: match_shape it first"
            )


def _call_memref_prim(
    body: BodyLowering,
    op: ir.Operation,
    name: str,
    callee: func.FuncOp,
    arguments: Sequence[ir.Value],
    extra: Sequence[ir.Value],
) -> Sequence[Lowered]:
    """Call a user's prim func on memrefs: it reads its inputs in place and fills fresh buffers."""
    ins = [read_buffer(a) if isinstance(a.type, ir.RankedTensorType) else a for a in arguments]
    infos = destination_infos(op)
    outs = [fresh_buffer(body, info) for info in infos]
    given = [*ins, *outs, *extra]
    args = [
        memref.cast(t, v) if isinstance(t, ir.MemRefType) and v.type != t else v
        for v, t in zip(given, callee.type.inputs, strict=True)
    ]
    func.CallOp([], name, args)
    return call_result(
        op, [owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)]
    )


def destination_infos(op: ir.Operation) -> list[Tensor]:
    """The destinations of a destination-passing call."""
    return [info for info in destinations(struct_info(op.results[0].type)) if isinstance(info, Tensor)]


def call_result(op: ir.Operation, tensors: Sequence[ir.Value]) -> Sequence[Lowered]:
    """The result of a call: its tensor, or a tuple of its tensors."""
    return [tuple(tensors)] if isinstance(op.results[0].type, ir.TupleType) else list(tensors)


def prim_callee(body: BodyLowering, op: ir.Operation, name: str) -> func.FuncOp:
    """Return the prim func that `op` calls; raise `UnsupportedError` if there is none of this name."""
    callee = _callee(body, op, name)
    if name in body.headers:
        raise UnsupportedError(
            f"{where(op)}: {op.name}: '{name}' is a Relax function, not a prim func (it has no attribute "
            f"{PRIM_FUNC}); relax.call calls it"
        )
    return callee


def _callee(body: BodyLowering, op: ir.Operation, name: str) -> func.FuncOp:
    if name not in body.callees:
        raise UnsupportedError(f"{where(op)}: {op.name}: the module has no function '{name}'")
    return body.callees[name]


@handles("relax.call")
def _call(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = callee_of(op)
    _callee(body, op, name)
    if name not in body.headers:
        raise UnsupportedError(
            f"{where(op)}: {op.name}: '{name}' is no Relax function; relax.call_tir calls prim funcs"
        )
    header = body.headers[name]
    arguments, given = struct_info(op.operands[0].type), body.values[op.operands[0]]
    assert isinstance(arguments, Tuple) and isinstance(given, tuple)
    parameters = Tuple([wanted for _, wanted in header.param_infos])
    site = f"{body.symbols.function}: call of '{verbatim(name)}' at {place(op)}: argument"
    passed = [
        leaf
        for index, triple in enumerate(zip(given, arguments.fields, parameters.fields, strict=True))
        for leaf in flatten(_passed(body, *triple, f"{site} {index}"))
    ]
    info = struct_info(op.results[0].type)
    if needs_checks(parameters, arguments):
        outs = _checked_outs(body, header, passed)
    else:
        outs = [body.empty(leaf) for leaf in _destinations(info, header)]
    hidden = _stack_base(body) if header.recursive else []
    inputs = list(header.new.type.inputs)
    args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v
        for v, t in zip([*passed, *outs, *hidden], inputs, strict=True)
    ]
    results: list[ir.Value] = list(func.CallOp(list(header.new.type.results), name, args).results)
    types = iter([leaf.storage_type() for leaf in _destinations(info, header)])
    results = [cast(r, next(types)) if isinstance(r.type, ir.RankedTensorType) else r for r in results]
    return [receive(body, header, info, results)]


def _passed(body: BodyLowering, value: Lowered, info: StructInfo, wanted: StructInfo, site: str) -> Lowered:
    """Convert an argument to the form that the callee takes.

    It becomes a handle if the callee's type is less specific than the caller's. A handle is unpacked to a tensor or to
    integers if the callee's type is more specific; its dimensions are checked later.
    """
    if isinstance(wanted, Tuple) and isinstance(info, Tuple) and isinstance(value, tuple):
        fields = zip(value, info.fields, wanted.fields, strict=True)
        return tuple(_passed(body, *field, f"{site}[{index}]") for index, field in enumerate(fields))
    if is_handle(wanted):
        if isinstance(value, Handle) and isinstance(info, Tensor) and isinstance(wanted, Tensor):
            refine(body, value, info, wanted, Origin(site, f"expected {wanted}"))
        return box(body, value, info)
    if not isinstance(value, Handle):
        return value
    origin = Origin(site, f"expected {wanted}")
    if isinstance(wanted, Shape):
        return ShapeValue(tuple(shape_entries(body, value, wanted.ndim or 0, origin)))
    assert isinstance(info, Tensor) and isinstance(wanted, Tensor)
    refine(body, value, info, wanted, origin)
    return view(body, value, Tensor(None, wanted.dtype, ndim=wanted.ndim))


def _checked_outs(body: BodyLowering, header: Header, passed: Sequence[ir.Value]) -> list[ir.Value]:
    """Call the callee's shape function, which checks the arguments; return destinations of the sizes it returns."""
    body.entry_checks.add(header.name)
    sizes = [size for leaf in leaf_sizes(body.declarations, header.params, passed) for size in leaf]
    index = ir.IndexType.get()
    types: list[ir.Type] = [index] * sum(leaf.rank for leaf in header.destinations)
    found = list(func.CallOp(types, header.name + SHAPES_SUFFIX, sizes).results)
    outs = []
    for leaf in header.destinations:
        assert isinstance(leaf.info, Tensor) and leaf.info.dtype is not None
        dims = [found.pop(0) for _ in range(leaf.rank)]
        static = [
            dim if isinstance(dim, int) else size
            for dim, size in zip(leaf.info.shape or (), dims, strict=True)
        ]
        outs.append(tensor.empty(static, leaf.info.dtype.storage_type(), loc=body.location))
    return outs


def _destinations(info: StructInfo, header: Header) -> list[Tensor]:
    """The results that the callee writes into tensors of the caller, with the caller's types."""
    infos = leaf_infos(info)
    return [
        leaf
        for leaf, result in zip(infos, header.results, strict=True)
        if not result.returned and isinstance(leaf, Tensor)
    ]


def _stack_base(body: BodyLowering) -> list[ir.Value]:
    word = ir.IntegerType.get_signless(64)
    return [arith.constant(word, 0) if body.stack is None else body.stack]
