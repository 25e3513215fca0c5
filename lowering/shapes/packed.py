"""Calls of packed functions, and what they may have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.diagnostics import where
from relax_mlir.dialects.structure import TUPLE, maker_of
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, dim_text, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, ShapeValue, cast, flatten, handles, place
from relax_mlir.lowering.shapes.buffers import fresh_buffer, memref_type, owned_tensor, read_buffer
from relax_mlir.lowering.shapes.calls import call_result, destination_infos
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, ir, memref
from relax_mlir.symbolic import Dim


@handles("relax.call_dps_packed")
def _call_dps_packed(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    kinds, operands, dtype_names = _packed_arguments(body, op, read_buffer)
    infos = destination_infos(op)
    outs = [fresh_buffer(body, info) for info in infos]
    kinds += ["tensor"] * len(outs)
    dtype_names += [str(info.dtype) for info in infos]
    name = ir.StringAttr(op.attributes["func"]).value
    body.hooks.packed(name, "dps", kinds, [*operands, *outs], [], [], dtype_names)
    return call_result(
        op, [owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)]
    )


@handles("relax.call_packed")
def _call_packed(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """The callee may change its tensors in place: `relax.updated` reads them from the same buffers."""
    touched: dict[ir.Value, ir.Value] = {}

    owned = _owned_arguments(body, op)

    def buffer(value: ir.Value) -> ir.Value:
        if value not in touched:  # a tensor given twice is one buffer
            own = value if value in owned else bufferization.alloc_tensor(value.type, [], copy=value)
            touched[value] = bufferization.to_buffer(memref_type(value.type), own)
        return touched[value]

    received = _allocating_call(body, op, buffer)
    body.updates.update(touched)
    return received


@handles("relax.call_pure_packed")
def _call_pure_packed(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    return _allocating_call(body, op, read_buffer)


def _allocating_call(
    body: BodyLowering, op: ir.Operation, as_buffer: Callable[[ir.Value], ir.Value]
) -> Sequence[Lowered]:
    """Call a packed function that allocates its results; `as_buffer`: the memory that it gets of a tensor."""
    kinds, operands, dtype_names = _packed_arguments(body, op, as_buffer)
    may_return_argument = any(kind == "tensor" for kind in kinds)
    name = ir.StringAttr(op.attributes["func"]).value
    result = struct_info(op.results[0].type)
    infos = result.fields if isinstance(result, Tuple) else [result]
    types, result_kinds = [], []
    for info in infos:
        kind, result_types = _packed_result(op, info)
        types += result_types
        result_kinds.append(kind)
        if isinstance(info, Tensor):
            dtype_names.append(str(info.dtype))
    results = body.hooks.packed(name, "alloc", kinds, operands, types, result_kinds, dtype_names)
    received = [_received(body, op, info, results, may_return_argument) for info in infos]
    return [tuple(received)] if isinstance(result, Tuple) else received


def _owned_arguments(body: BodyLowering, call: ir.Operation) -> set[ir.Value]:
    """Tensors of which nothing but `call` needs the old elements: it may have their memory."""
    maker = maker_of(call.operands[0])
    if maker is None or maker.name != TUPLE:
        return set()
    owned = set()
    for value in maker.operands:
        made_by = maker_of(value)
        users = [use.owner.operation for use in value.uses if use.owner.name != "relax.updated"]
        fresh = made_by is not None and made_by.name in ("relax.call_tir", "relax.updated")
        if fresh and users == [maker] and [use.owner.operation for use in maker.results[0].uses] == [call]:
            owned.add(body.tensor(value))
    return owned


@handles("relax.updated")
def _updated(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    old = body.tensor(op.operands[0])
    if old not in body.updates:
        raise UnsupportedError(f"{where(op)}: {op.name}: no call_packed in front of it takes its operand")
    return [body.mark(owned_tensor(old.type, body.updates[old]), checked=False, source=old)]


def _received(
    body: BodyLowering, op: ir.Operation, info: StructInfo, results: list[ir.Value], shared: bool
) -> Lowered:
    """What a packed function returned, once its dimensions have been checked against `info`.

    `shared`: a tensor may be the memory of an argument, which ends with the argument's last use.
    """
    if isinstance(info, Prim):
        return results.pop(0)
    dims: Sequence[Dim | None]
    if isinstance(info, Shape):
        dims = info.values or ()
        sizes = [results.pop(0) for _ in dims]
        value: Lowered = ShapeValue(tuple(sizes))
    else:
        assert isinstance(info, Tensor)
        dims, buffer = info.shape or (), results.pop(0)
        sizes = [memref.dim(buffer, index_constant(axis)) for axis in range(len(dims))]
        raw = ir.RankedTensorType.get(
            ir.MemRefType(buffer.type).shape, ir.MemRefType(buffer.type).element_type
        )
        given = owned_tensor(raw, buffer)
        if shared:
            given = bufferization.alloc_tensor(raw, [], copy=given)
        value = cast(given, info.storage_type())
    call = f"{op.name.removeprefix('relax.')} of '{ir.StringAttr(op.attributes['func']).value}'"
    for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        if dim is None:
            continue
        message = (
            f"{body.symbols.function}: {call} at {place(op)} returned dimension {axis} of {{0}}, "
            f"but {dim_text(dim)} = {{1}} (expected {info!s})"
        )
        expected = body.symbols.value(dim)
        body.hooks.check(
            arith.cmpi(arith.CmpIPredicate.eq, size, expected), "ShapeError", message, [size, expected]
        )
    return value


def _packed_result(op: ir.Operation, info: StructInfo) -> tuple[str, list[ir.Type]]:
    if isinstance(info, Tensor) and info.shape is not None and info.dtype is not None:
        dynamic = [ir.ShapedType.get_dynamic_size()] * len(info.shape)
        return "tensor", [ir.MemRefType.get(dynamic, info.dtype.storage_type())]
    if isinstance(info, Shape) and info.values is not None:
        return f"shape:{len(info.values)}", [ir.IndexType.get()] * len(info.values)
    if isinstance(info, Prim):
        return "int", [ir.IndexType.get()]
    raise UnsupportedError(
        f"{where(op)}: {op.name.removeprefix('relax.')}: its result is {info}; native code takes tensors of known "
        "rank and dtype, shapes of known rank and integers"
    )


def _packed_arguments(
    body: BodyLowering, op: ir.Operation, as_buffer: Callable[[ir.Value], ir.Value]
) -> tuple[list[str], list[ir.Value], list[str]]:
    kinds: list[str] = []
    operands: list[ir.Value] = []
    dtype_names: list[str] = []
    arguments = struct_info(op.operands[0].type)
    assert isinstance(arguments, Tuple)
    fields = body.values[op.operands[0]]
    assert isinstance(fields, tuple)
    remaining = list(zip(fields, arguments.fields, strict=True))
    for item in ir.ArrayAttr(op.attributes["arg_spec"]):
        if not isinstance(item, ir.UnitAttr):
            kinds.append(_literal(item))
            continue
        value, info = remaining.pop(0)
        if isinstance(info, Tensor):
            assert isinstance(value, ir.Value)
            kinds.append("tensor")
            operands.append(as_buffer(value))
            dtype_names.append(str(info.dtype))
        elif isinstance(info, Shape):
            kinds.append(f"shape:{len(info.values or ())}")
            operands += flatten(value)
        elif isinstance(info, Prim):
            kinds.append("int")
            operands += flatten(value)
        else:
            raise UnsupportedError(f"{where(op)}: {op.name}: argument {info} cannot be passed by native code")
    return kinds, operands, dtype_names


def _literal(item: ir.Attribute) -> str:
    if isinstance(item, ir.BoolAttr):
        return f"bool:{int(item.value)}"
    if isinstance(item, ir.IntegerAttr):
        return f"int:{item.value}"
    if isinstance(item, ir.FloatAttr):
        return f"float:{item.value!r}"
    return f"str:{ir.StringAttr(item).value}"
