"""Calls of prim funcs, of Relax functions, and of packed functions, in destination-passing style or in place."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from relax_mlir.analysis.type_inference import needs_checks
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import DESTINATIONS, DONATED, PRIM_FUNC
from relax_mlir.dialects.calls import FRESH, destinations, inplace_indices
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.traits import TakesOwnership, has_trait
from relax_mlir.dialects.types import (
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dim_text,
    dims_from_attr,
    struct_info,
)
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, defining_op
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.base.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Lowered,
    Origin,
    ShapeValue,
    Update,
    box,
    box_tensor,
    box_tuple,
    cast,
    copy_tensor,
    flatten,
    fresh_buffer,
    handles,
    is_handle,
    memory_of_its_own,
    memref_type,
    owned_tensor,
    place,
    read_buffer,
    refine,
    shape_entries,
    unpack,
    view,
)
from relax_mlir.lowering.shapes.functions import Header, leaf_infos, leaf_sizes, receive
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, func, ir, memref, tensor
from relax_mlir.rewrite.effects import is_needless_copy
from relax_mlir.symbolic import Dim

# Calls of prim funcs and of Relax functions, in destination-passing style.


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
    cast_args = [cast(v, t) if isinstance(t, ir.RankedTensorType) else v for v, t in zip(given, inputs, strict=True)]
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
    return call_result(op, [owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)])


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
        static = [dim if isinstance(dim, int) else size for dim, size in zip(leaf.info.shape or (), dims, strict=True)]
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


# Calls of packed functions, and the tensors that they may have changed.


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
    return call_result(op, [owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)])


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
    return [_own_tensors(unpack(body, Handle(*results), result, origin), result, shares="tensor" in given.kinds)]


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
        if fresh and users == [defining] and [use.owner.operation for use in defining.results[0].uses] == [call]:
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


def _received(body: BodyLowering, op: ir.Operation, info: StructInfo, results: list[ir.Value], shares: bool) -> Lowered:
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
        raw = ir.RankedTensorType.get(ir.MemRefType(buffer.type).shape, ir.MemRefType(buffer.type).element_type)
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


# Calls of prim funcs that write results into the memory of their arguments.


@handles("relax.call_tir_inplace")
def _call_tir_inplace(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = callee_of(op)
    callee = prim_callee(body, op, name)
    indices = inplace_indices(op)
    require_known(body, op, name)
    infos = [info for info in destinations(struct_info(op.results[0].type)) if isinstance(info, Tensor)]
    fields = body.values[op.operands[0]]
    assert isinstance(fields, tuple)
    extra = [body.symbols.value(d) for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
    lower = _on_memrefs if any(isinstance(t, ir.MemRefType) for t in callee.type.inputs) else _on_tensors
    return call_result(op, lower(body, op, callee, fields, indices, infos, extra))


def _on_tensors(
    body: BodyLowering,
    op: ir.Operation,
    callee: func.FuncOp,
    fields: Sequence[Lowered],
    indices: Sequence[int],
    infos: Sequence[Tensor],
    extra: Sequence[ir.Value],
) -> list[ir.Value]:
    """Call a prim func on tensors. Bufferisation copies arguments that are read later or are not writable."""
    arguments = [leaf for item in fields for leaf in flatten(item)]
    outs = [body.empty(info) for info, index in zip(infos, indices, strict=True) if index == FRESH]
    given = _fitting(op, callee, [*arguments, *outs, *extra])
    _note_destinations(callee, fields, indices, len(arguments), len(outs))
    args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v for v, t in zip(given, callee.type.inputs, strict=True)
    ]
    results = func.CallOp(list(callee.type.results), callee.name.value, args).results
    return [cast(r, info.storage_type()) for r, info in zip(results, infos, strict=True)]


def _on_memrefs(
    body: BodyLowering,
    op: ir.Operation,
    callee: func.FuncOp,
    fields: Sequence[Lowered],
    indices: Sequence[int],
    infos: Sequence[Tensor],
    extra: Sequence[ir.Value],
) -> list[ir.Value]:
    arguments: list[ir.Value] = []
    written: dict[int, ir.Value] = {}
    owned, donated = _owned(op), _donated(op)
    for number, item in enumerate(fields):
        if number in indices:
            assert isinstance(item, ir.Value)
            is_own = number in donated or (number in owned and memory_of_its_own(item))
            own = item if is_own else bufferization.alloc_tensor(item.type, [], copy=item)
            written[number] = bufferization.to_buffer(memref_type(item.type), own)
            arguments.append(written[number])
        else:
            arguments += [
                read_buffer(leaf) if isinstance(leaf.type, ir.RankedTensorType) else leaf for leaf in flatten(item)
            ]
    buffers = [
        fresh_buffer(body, info) if index == FRESH else written[index]
        for info, index in zip(infos, indices, strict=True)
    ]
    outs = [buffer for buffer, index in zip(buffers, indices, strict=True) if index == FRESH]
    given = _fitting(op, callee, [*arguments, *outs, *extra])
    _note_destinations(callee, fields, indices, len(arguments), len(outs))
    args = [
        memref.cast(t, v) if isinstance(t, ir.MemRefType) and v.type != t else v
        for v, t in zip(given, callee.type.inputs, strict=True)
    ]
    func.CallOp([], callee.name.value, args)
    return [owned_tensor(info.storage_type(), buffer) for info, buffer in zip(infos, buffers, strict=True)]


def _note_destinations(
    callee: func.FuncOp, fields: Sequence[Lowered], indices: Sequence[int], arguments: int, outs: int
) -> None:
    """Record as destinations the arguments whose memory results take, and the outputs after all arguments."""
    ends = list(itertools.accumulate(len(flatten(item)) for item in fields))
    taken = [ends[index] - 1 for index in indices if index != FRESH]
    note_destinations(callee, [*taken, *range(arguments, arguments + outs)])


def _fitting(op: ir.Operation, callee: func.FuncOp, given: list[ir.Value]) -> list[ir.Value]:
    """Return `given` if its length matches the prim func; otherwise raise `UnsupportedError`."""
    wanted = len(callee.type.inputs)
    if len(given) != wanted:
        raise UnsupportedError(
            f"{where(op)}: call_tir_inplace of '{callee.name.value}': {len(given)} arguments (outputs of their own "
            f"and tir_vars included), the prim func takes {wanted}"
        )
    return given


def _owned(call: ir.Operation) -> set[int]:
    """Indices of the arguments whose old elements only `call` uses, so that it may take their memory."""
    defining = defining_op(call.operands[0])
    if (
        defining is None
        or defining.name != TUPLE
        or [use.owner.operation for use in defining.results[0].uses] != [call]
    ):
        return set()
    owned = set()
    for number, value in enumerate(defining.operands):
        producer = defining_op(value)
        if producer is None or not has_trait(producer, TakesOwnership) or producer.block != call.block:
            continue
        if [use.owner.operation for use in value.uses] == [defining]:
            owned.add(number)
    return owned


def _donated(call: ir.Operation) -> set[int]:
    """Indices of the arguments that are donated parameters whose old elements only `call` uses."""
    defining, function = defining_op(call.operands[0]), call.block.owner
    if not isinstance(function.opview, func.FuncOp) or DONATED not in function.attributes:
        return set()
    if defining is None or defining.name != TUPLE:
        return set()
    taken = {item.value for item in function.attributes[DONATED]}
    names = parameter_names(function.opview)
    return {
        number
        for number, value in enumerate(defining.operands)
        if isinstance(value.owner, ir.Block)
        and value.owner == call.block
        and names[ir.BlockArgument(value).arg_number] in taken
        and [use.owner.operation for use in value.uses] == [defining]
        and [use.owner.operation for use in defining.results[0].uses] == [call]
    }
