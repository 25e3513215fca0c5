"""Calls of packed functions, and the tensors that they may have changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.diagnostics import where
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, dim_text, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import defining_op
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Lowered,
    ShapeValue,
    Update,
    cast,
    flatten,
    handles,
    is_handle,
    place,
)
from relax_mlir.lowering.shapes.buffers import (
    fresh_buffer,
    memory_of_its_own,
    memref_type,
    owned_tensor,
    read_buffer,
)
from relax_mlir.lowering.shapes.calls import call_result, destination_infos
from relax_mlir.lowering.shapes.objects import Origin, box, box_tensor, box_tuple, copy_tensor, unpack
from relax_mlir.lowering.shapes.results import leaf_infos
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, ir, memref
from relax_mlir.passes.explicit_effects import is_needless_copy
from relax_mlir.symbolic import Dim


@dataclass
class _Arguments:
    """Collects the arguments of a packed call.

    `changes`: the callee may change tensors that it receives. `keeps`: its result may share memory with its arguments,
    so they are tensor objects, not views of memory that ends with the call.
    """

    body: BodyLowering
    changes: bool
    keeps: bool
    owned: set[ir.Value] = field(default_factory=set)
    """Tensors whose old elements are not used later."""
    kinds: list[str] = field(default_factory=list)
    operands: list[ir.Value] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    touched: dict[ir.Value, Update] = field(default_factory=dict)
    """Updates from the callee, by tensor (for handles, by payload). A tensor passed twice has one buffer."""
    boxes: dict[ir.Value, Handle] = field(default_factory=dict)

    def collect(self, op: ir.Operation) -> None:
        """Collect all arguments of a call."""
        arguments, fields = struct_info(op.operands[0].type), self.body.values[op.operands[0]]
        assert isinstance(arguments, Tuple) and isinstance(fields, tuple)
        remaining = list(zip(fields, arguments.fields, strict=True))
        for item in ir.ArrayAttr(op.attributes["arg_spec"]):
            if isinstance(item, ir.UnitAttr):
                self.add(*remaining.pop(0))
            else:
                self.kinds.append(_literal(item))

    def add(self, value: Lowered, info: StructInfo) -> None:
        if isinstance(value, ir.Value) and isinstance(info, Tensor) and not self.keeps:
            self.kinds.append("tensor")
            self.dtypes.append(str(info.dtype))
            self.operands.append(self.buffer(value))
        elif isinstance(value, ShapeValue):
            self.kinds.append(f"shape:{len(value.dims)}")
            self.operands += value.dims
        elif isinstance(info, Prim):
            self.kinds.append("int")
            self.operands += flatten(value)
        else:
            handle = self.handle(value, info)
            self.kinds.append("any")
            self.operands += [handle.kind, handle.payload]

    def buffer(self, value: ir.Value) -> ir.Value:
        """The memory of a tensor, for the callee to access during the call."""
        if not self.changes:
            return read_buffer(value)
        if value not in self.touched:
            is_own = value in self.owned and memory_of_its_own(value)
            own = value if is_own else bufferization.alloc_tensor(value.type, [], copy=value)
            self.touched[value] = Update(bufferization.to_buffer(memref_type(value.type), own))
        buffer = self.touched[value].value
        assert isinstance(buffer, ir.Value)
        return buffer

    def handle(self, value: Lowered, info: StructInfo) -> Handle:
        """An argument as an object; changes to tensors in tuples are not visible, because these are copies."""
        if isinstance(info, Tuple):
            assert isinstance(value, tuple)
            inner = _Arguments(self.body, self.changes, keeps=True)
            return box_tuple(self.body, [inner.handle(v, i) for v, i in zip(value, info.fields, strict=True)])
        key = value.payload if isinstance(value, Handle) else value
        if not isinstance(info, Tensor) or not isinstance(key, ir.Value):
            return box(self.body, value, info)
        if key not in self.boxes:
            self.boxes[key] = self._tensor_object(key, value, info)
        return self.boxes[key]

    def _tensor_object(self, key: ir.Value, value: Lowered, info: Tensor) -> Handle:
        if isinstance(value, Handle):
            made = copy_tensor(self.body, value) if self.changes else value
            update = Update(made, kept=True)
        else:
            assert isinstance(value, ir.Value)
            made, buffer = box_tensor(self.body, value, info)
            update = Update(buffer, kept=True)
        if self.changes:
            self.touched[key] = update
        return made


@handles("relax.call_dps_packed")
def _call_dps_packed(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    given = _Arguments(body, changes=False, keeps=False)
    given.collect(op)
    infos = destination_infos(op)
    outs = [fresh_buffer(body, info) for info in infos]
    kinds = [*given.kinds, *["tensor"] * len(outs)]
    dtype_names = [*given.dtypes, *(str(info.dtype) for info in infos)]
    name = ir.StringAttr(op.attributes["func"]).value
    body.declarations.packed(name, "dps", kinds, [*given.operands, *outs], [], [], dtype_names)
    return call_result(
        op, [owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)]
    )


@handles("relax.call_packed", "relax.call_pure_packed")
def _call_packed(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """Lower a packed call. If the callee has effects, `relax.updated` reads its tensors from the same buffers."""
    result = struct_info(op.results[0].type)
    is_plain = not isinstance(result, Tuple) and not is_handle(result)
    keeps = any(is_handle(leaf) for leaf in leaf_infos(result))
    given = _Arguments(body, op.name == "relax.call_packed", keeps, _owned_arguments(body, op))
    given.collect(op)
    name = ir.StringAttr(op.attributes["func"]).value
    dtype_names = list(given.dtypes)
    types: list[ir.Type] = []
    kinds: list[str] = []
    if is_plain:
        kind, types = _packed_result(result)
        kinds.append(kind)
        dtype_names += [str(result.dtype)] if isinstance(result, Tensor) else []
    elif leaf_infos(result):
        kinds, types = ["any"], [ir.IntegerType.get_signless(64)] * 2
    results = body.declarations.packed(name, "alloc", given.kinds, given.operands, types, kinds, dtype_names)
    body.updates.update(given.touched)
    if is_plain:
        return [_received(body, op, result, results, shares="tensor" in given.kinds)]
    if not results:
        return [()]
    text = f"{body.symbols.function}: packed function '{verbatim(name)}' (called at {place(op)}) gave back a value"
    origin = Origin(text, f"result: {result}", kind="PackedFunctionError", joint=" that")
    return [
        _own_tensors(unpack(body, Handle(*results), result, origin), result, shares="tensor" in given.kinds)
    ]


def _own_tensors(value: Lowered, info: StructInfo, shares: bool) -> Lowered:
    """Copy the known tensors of a result if they may share memory with an argument."""
    if isinstance(info, Tuple) and isinstance(value, tuple):
        return tuple(_own_tensors(v, i, shares) for v, i in zip(value, info.fields, strict=True))
    if shares and isinstance(info, Tensor) and isinstance(value, ir.Value):
        return bufferization.alloc_tensor(value.type, [], copy=value)
    return value


def _owned_arguments(body: BodyLowering, call: ir.Operation) -> set[ir.Value]:
    """Tensors whose old elements only `call` uses, so that it may take their memory."""
    defining = defining_op(call.operands[0])
    if defining is None or defining.name != TUPLE:
        return set()
    owned = set()
    for value in defining.operands:
        producer = defining_op(value)
        users = [use.owner.operation for use in value.uses if use.owner.name != "relax.updated"]
        fresh = producer is not None and producer.name in (
            "relax.call_tir",
            "relax.distinct",
            "relax.updated",
        )
        if (
            fresh
            and users == [defining]
            and [use.owner.operation for use in defining.results[0].uses] == [call]
        ):
            lowered = body.values[value]
            if isinstance(lowered, ir.Value):
                owned.add(lowered)
    return owned


@handles("relax.distinct")
def _distinct(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    value = body.values[op.operands[0]]
    if isinstance(value, Handle):
        return [copy_tensor(body, value)]
    assert isinstance(value, ir.Value)
    if is_needless_copy(op):
        return [value]
    copy = bufferization.alloc_tensor(value.type, [], copy=value)
    return [body.mark(copy, checked=False, source=value)]


@handles("relax.updated")
def _updated(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    old = body.values[op.operands[0]]
    key = old.payload if isinstance(old, Handle) else old
    if not isinstance(key, ir.Value) or key not in body.updates:
        raise UnsupportedError(f"{where(op)}: {op.name}: no call_packed in front of it takes its operand")
    update = body.updates[key]
    if isinstance(update.value, Handle):
        return [update.value]
    assert isinstance(old, ir.Value)
    new = owned_tensor(old.type, _cast_buffer(update.value, memref_type(old.type)))
    if update.kept:
        new = bufferization.alloc_tensor(new.type, [], copy=new)
    return [body.mark(new, checked=False, source=old)]


def _cast_buffer(buffer: ir.Value, type_: ir.Type) -> ir.Value:
    return buffer if buffer.type == type_ else memref.cast(type_, buffer)


def _received(
    body: BodyLowering, op: ir.Operation, info: StructInfo, results: list[ir.Value], shares: bool
) -> Lowered:
    """Convert the result of a packed function, after checking its dimensions against `info`.

    `shares`: it may share memory with an argument, which ends with the argument's last use.
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
        if shares:
            given = bufferization.alloc_tensor(raw, [], copy=given)
        value = cast(given, info.storage_type())
    call = f"{op.name.removeprefix('relax.')} of '{verbatim(ir.StringAttr(op.attributes['func']).value)}'"
    for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        if dim is None:
            continue
        message = (
            f"{body.symbols.function}: {call} at {place(op)} returned dimension {axis} of {{0}}, "
            f"but {dim_text(dim)} = {{1}} (expected {info!s})"
        )
        expected = body.symbols.value(dim)
        body.declarations.check(
            arith.cmpi(arith.CmpIPredicate.eq, size, expected), "ShapeError", message, [size, expected]
        )
    return value


def _packed_result(info: StructInfo) -> tuple[str, list[ir.Type]]:
    """Kind and types of a result of known rank and dtype."""
    if isinstance(info, Tensor):
        assert info.shape is not None and info.dtype is not None
        dynamic = [ir.ShapedType.get_dynamic_size()] * len(info.shape)
        return "tensor", [ir.MemRefType.get(dynamic, info.dtype.storage_type())]
    if isinstance(info, Shape):
        count = len(info.values or ())
        return f"shape:{count}", [ir.IndexType.get()] * count
    assert isinstance(info, Prim)
    return "int", [ir.IndexType.get()]


def _literal(item: ir.Attribute) -> str:
    if isinstance(item, ir.BoolAttr):
        return f"bool:{int(item.value)}"
    if isinstance(item, ir.IntegerAttr):
        return f"int:{item.value}"
    if isinstance(item, ir.FloatAttr):
        return f"float:{item.value!r}"
    return f"str:{ir.StringAttr(item).value}"
