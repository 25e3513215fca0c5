"""Body of a Relax function at level T: one handler per op that level R1 keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Union

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.calls import destinations
from relax_mlir.dialects.structure import TUPLE, maker_of
from relax_mlir.dialects.types import (
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dim_text,
    dims_from_attr,
    shape_text,
    struct_info,
)
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.hooks import Hooks
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import arith, bufferization, func, ir, memref, scf, tensor
from relax_mlir.symbolic import Dim

Lowered = Union[ir.Value, tuple["Lowered", ...], "ShapeValue"]
"""A tensor or integer is one SSA value, a shape its index values, a tuple its fields."""


@dataclass(frozen=True)
class ShapeValue:
    """A shape value at level T."""

    dims: tuple[ir.Value, ...]


@dataclass
class BodyLowering:
    """Lowers the ops of one function (or region), in order, at the current insertion point."""

    hooks: Hooks
    symbols: SymbolTable
    values: dict[ir.Value, Lowered]
    callees: dict[str, func.FuncOp]
    checked: set[ir.Value] = field(default_factory=set)
    """Tensors that must not be computed in a destination of the function: those whose size is right only if a
    run-time check passes, as the destination has the size that the check has yet to confirm; and those of
    conditionals, as a branch may yield a tensor that has other uses."""

    updates: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """Buffers of tensors that packed functions may have changed: where `relax.updated` reads them."""

    def mark(self, value: ir.Value, checked: bool, source: ir.Value) -> ir.Value:
        """`value`, which is `source` seen differently, with what is known of the size of its memory."""
        if checked or source in self.checked:
            self.checked.add(value)
        return value

    def lower_block(self, block: ir.Block) -> list[Lowered]:
        """Lower all ops of `block`; returns the operands of its terminator."""
        operations = [view.operation for view in block.operations]
        for op in operations[:-1]:
            with op.location:
                self.lower_op(op)
        return [self.values[operand] for operand in operations[-1].operands]

    def lower_op(self, op: ir.Operation) -> None:
        """Lower one op; raises `UnsupportedError` for one that level R1 does not have."""
        handler = _HANDLERS.get(op.name)
        if handler is None:
            raise UnsupportedError(
                f"{op.location}: {op.name} is left over after legalisation; lower-symbolic-shapes cannot lower it"
            )
        results = handler(self, op)
        for old, new in zip(op.results, results, strict=True):
            self.values[old] = new

    # -- values

    def tensor(self, value: ir.Value) -> ir.Value:
        """The level-T tensor of a Relax value."""
        lowered = self.values[value]
        assert isinstance(lowered, ir.Value)
        return lowered

    def flat(self, value: ir.Value) -> list[ir.Value]:
        """A Relax value as the arguments that pass it."""
        return flatten(self.values[value])

    def dims(self, value: ir.Value, info: Tensor) -> list[ir.Value]:
        """Sizes of a tensor: from the symbols where they are known, else read off the tensor."""
        lowered = self.tensor(value)
        return [self._dim(lowered, axis, dim) for axis, dim in enumerate(info.shape or ())]

    def _dim(self, lowered: ir.Value, axis: int, dim: Dim | None) -> ir.Value:
        if dim is not None and not self.symbols.undefined(dim):
            return self.symbols.value(dim)
        return tensor.dim(lowered, index_constant(axis))

    def empty(self, info: Tensor) -> ir.Value:
        """An uninitialised tensor for a result."""
        assert info.known_shape is not None and info.dtype is not None
        sizes = [d if isinstance(d, int) else self.symbols.value(d) for d in info.known_shape]
        return tensor.empty(sizes, info.dtype.storage_type())


def flatten(value: Lowered) -> list[ir.Value]:
    """The SSA values of a lowered value, in order."""
    if isinstance(value, ShapeValue):
        return list(value.dims)
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def unflatten(info: StructInfo, values: list[ir.Value]) -> Lowered:
    """Take the SSA values of a value described by `info` off the front of `values`."""
    if isinstance(info, Tuple):
        return tuple(unflatten(item, values) for item in info.fields)
    if isinstance(info, Shape):
        return ShapeValue(tuple(values.pop(0) for _ in info.values or ()))
    return values.pop(0)


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """`value` with another mix of static and dynamic sizes."""
    return value if value.type == type_ else tensor.cast(type_, value)


Handler = Callable[[BodyLowering, ir.Operation], Sequence[Lowered]]
_HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register the lowering of the ops called `names`."""

    def register(handler: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = handler
        return handler

    return register


@handles("relax.constant")
def _constant(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    value = op.attributes["value"]
    tensor_type = ir.RankedTensorType(value.type)
    if isinstance(value, ir.DenseElementsAttr):
        return [_dense_constant(value, tensor_type)]
    table_entry = body.hooks.constant(value)
    storage = struct_info(op.results[0].type)
    assert isinstance(storage, Tensor)
    return [bufferization.to_tensor(storage.storage_type(), table_entry, restrict=True)]


@handles("relax.shape_expr")
def _shape_expr(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    dims = [d for d in dims_from_attr(op.attributes["values"]) if d is not None]
    return [ShapeValue(tuple(body.symbols.all_values(dims)))]


@handles("relax.prim_value")
def _prim_value(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    (dim,) = dims_from_attr(ir.ArrayAttr.get([op.attributes["value"]]))
    assert dim is not None
    return [body.symbols.value(dim)]


@handles("relax.shape_of")
def _shape_of(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.operands[0].type)
    assert isinstance(info, Tensor)
    return [ShapeValue(tuple(body.dims(op.operands[0], info)))]


@handles("relax.match_shape")
def _match_shape(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.operands[0].type)
    pattern = dims_from_attr(op.attributes["pattern"])
    if isinstance(info, Tensor):
        if info.shape is None or info.dtype is None:
            raise UnsupportedError(
                f"{op.location}: match_shape: the tensor is {info}; native code needs its rank and dtype"
            )
        lowered = body.tensor(op.operands[0])
        sizes = [tensor.dim(lowered, index_constant(axis)) for axis in range(len(pattern))]
        known: Sequence[Dim | None] = info.shape
    else:
        shape = body.values[op.operands[0]]
        assert isinstance(shape, ShapeValue) and isinstance(info, Shape)
        sizes, known = list(shape.dims), info.values or ()
    where = _place(op)
    for axis, (dim, size) in enumerate(zip(pattern, sizes, strict=True)):
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None and name not in body.symbols.values:
            body.symbols.define(name, size, f"dimension {axis} of match_shape at {where}")
    proved = True
    for axis, (dim, have, size) in enumerate(zip(pattern, known, sizes, strict=True)):
        if dim is not None and not (have is not None and symbolic.prove_equal(dim, have)):
            proved = False
            _check_dim(body, where, axis, dim, size, pattern, sizes)
    result = struct_info(op.results[0].type)
    if isinstance(result, Tensor):
        return [body.mark(cast(lowered, result.storage_type()), checked=not proved, source=lowered)]
    return [ShapeValue(tuple(sizes))]


def _check_dim(
    body: BodyLowering,
    where: str,
    axis: int,
    dim: Dim,
    size: ir.Value,
    pattern: Sequence[Dim | None],
    sizes: Sequence[ir.Value],
) -> None:
    expected = body.symbols.value(dim)
    if expected == size:
        return
    text, values = ("expected " + str(dim), []) if isinstance(dim, int) else body.symbols.explain(dim, 1)
    text = text if isinstance(dim, int) else f"but {text}"
    first = 1 + len(values)
    got = ", ".join(f"{{{first + i}}}" for i in range(len(sizes)))
    message = (
        f"{body.symbols.function}: match_shape at {where}: dimension {axis} is {{0}}, {text} "
        f"(expected {shape_text(tuple(pattern))}, got ({got}))"
    )
    body.hooks.check(
        arith.cmpi(arith.CmpIPredicate.eq, size, expected), "ShapeError", message, [size, *values, *sizes]
    )


def _place(op: ir.Operation) -> str:
    """Source location of an op as messages print it: ``model.py:12`` where it is a file's line."""
    return (
        str(op.location)
        .removeprefix("loc(")
        .removesuffix(")")
        .replace('"', "")
        .replace("{", "(")
        .replace("}", ")")
    )


@handles(TUPLE)
def _tuple(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    return [tuple(body.values[operand] for operand in op.operands)]


@handles("relax.tuple_get_item")
def _tuple_get_item(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    fields = body.values[op.operands[0]]
    assert isinstance(fields, tuple)
    return [fields[int(ir.IntegerAttr(op.attributes["index"]).value)]]


@handles("relax.reshape", "relax.flatten", "relax.expand_dims", "relax.squeeze")
def _view(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    source, target = struct_info(op.operands[0].type), struct_info(op.results[0].type)
    assert isinstance(source, Tensor) and isinstance(target, Tensor)
    if source.shape is None or target.known_shape is None:
        raise UnsupportedError(
            f"{op.location}: {op.name}: from {source} to {target}; native code needs the shapes: match_shape first"
        )
    lowered = body.tensor(op.operands[0])
    if source.shape == target.shape:
        return [lowered]
    if source.known_shape is None or not symbolic.prove_equal(
        symbolic.product(source.known_shape), symbolic.product(target.known_shape)
    ):
        _check_size(body, op, source, target)
        return [body.mark(reshape(body, lowered, target), checked=True, source=lowered)]
    return [body.mark(reshape(body, lowered, target), checked=False, source=lowered)]


def _check_size(body: BodyLowering, op: ir.Operation, source: Tensor, target: Tensor) -> None:
    have, want = body.dims(op.operands[0], source), body.symbols.all_values(target.known_shape or ())
    size, wanted = product(have), product(want)
    old = ", ".join(f"{{{2 + i}}}" for i in range(len(have)))
    new = ", ".join(f"{{{2 + len(have) + i}}}" for i in range(len(want)))
    message = (
        f"{body.symbols.function}: {op.name.removeprefix('relax.')} at {_place(op)}: cannot make shape ({new}) = "
        f"{shape_text(target.shape)} of ({old}) = {shape_text(source.shape)}: {{0}} elements are not {{1}}"
    )
    equal = arith.cmpi(arith.CmpIPredicate.eq, size, wanted)
    body.hooks.check(equal, "ShapeError", message, [size, wanted, *have, *want])


def product(values: Sequence[ir.Value]) -> ir.Value:
    """Product of index values; 1 for none."""
    total = index_constant(1)
    for value in values:
        total = arith.muli(total, value)
    return total


def reshape(body: BodyLowering, source: ir.Value, target: Tensor) -> ir.Value:
    """A contiguous tensor seen with another shape: collapsed to one dimension, then expanded."""
    target_type = target.storage_type()
    flat = _collapse(source)
    shape = target.known_shape
    assert shape is not None and target.dtype is not None
    if not shape:
        one = ir.RankedTensorType.get([1], target.dtype.storage_type())
        return tensor.collapse_shape(target_type, cast(flat, one), [])
    dynamic = [body.symbols.value(d) for d in shape if not isinstance(d, int)]
    size = [d if isinstance(d, int) else ir.ShapedType.get_dynamic_size() for d in shape]
    if len(shape) == 1:
        return cast(flat, target_type)
    total = 1
    for item in size:
        total = ir.ShapedType.get_dynamic_size() if dynamic else total * item
    flat = cast(flat, ir.RankedTensorType.get([total], target.dtype.storage_type()))
    return tensor.expand_shape(target_type, flat, [list(range(len(shape)))], dynamic, size)


def _collapse(source: ir.Value) -> ir.Value:
    source_type = ir.RankedTensorType(source.type)
    if source_type.rank == 1:
        return source
    static = [
        source_type.get_dim_size(i) for i in range(source_type.rank) if not source_type.is_dynamic_dim(i)
    ]
    total = 1
    for item in static:
        total *= item
    if len(static) < source_type.rank:
        total = ir.ShapedType.get_dynamic_size()
    flat_type = ir.RankedTensorType.get([total], source_type.element_type)
    if source_type.rank == 0:
        return tensor.expand_shape(flat_type, source, [], [], [1])
    return tensor.collapse_shape(flat_type, source, [list(range(source_type.rank))])


@handles("relax.call_tir")
def _call_tir(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    callee = _callee(body, op, name)
    outs = [body.empty(info) for info in _destinations(op)]
    arguments = body.flat(op.operands[0])
    extra = [body.symbols.value(d) for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
    inputs = list(callee.type.inputs)
    given = [*arguments, *outs, *extra]
    if len(given) != len(inputs):
        raise UnsupportedError(
            f"{op.location}: call_tir of '{name}': {len(given)} arguments (outputs and tir_vars included), "
            f"the prim func takes {len(inputs)}"
        )
    if any(isinstance(t, ir.MemRefType) for t in inputs):
        return _call_memref_prim(body, op, name, callee, arguments, extra)
    cast_args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v for v, t in zip(given, inputs, strict=True)
    ]
    results = func.CallOp(list(callee.type.results), name, cast_args).results
    return _result(op, [cast(r, out.type) for r, out in zip(results, outs, strict=True)])


def _call_memref_prim(
    body: BodyLowering,
    op: ir.Operation,
    name: str,
    callee: func.FuncOp,
    arguments: Sequence[ir.Value],
    extra: Sequence[ir.Value],
) -> Sequence[Lowered]:
    """Call of a user's prim func on memrefs: reads its inputs in place, fills fresh buffers."""
    ins = [_read_buffer(a) if isinstance(a.type, ir.RankedTensorType) else a for a in arguments]
    infos = _destinations(op)
    outs = [_fresh_buffer(body, info) for info in infos]
    given = [*ins, *outs, *extra]
    args = [
        memref.cast(t, v) if isinstance(t, ir.MemRefType) and v.type != t else v
        for v, t in zip(given, callee.type.inputs, strict=True)
    ]
    func.CallOp([], name, args)
    return _result(
        op, [_owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)]
    )


def _memref_type(tensor_type: ir.Type) -> ir.Type:
    ranked = ir.RankedTensorType(tensor_type)
    return ir.MemRefType.get(ranked.shape, ranked.element_type)


def _read_buffer(value: ir.Value) -> ir.Value:
    return bufferization.to_buffer(_memref_type(value.type), value, read_only=True)


def _fresh_buffer(body: BodyLowering, info: Tensor) -> ir.Value:
    sizes = [body.symbols.value(d) for d in info.known_shape or () if not isinstance(d, int)]
    return memref.alloc(_memref_type(info.storage_type()), sizes, [])


def _owned_tensor(type_: ir.Type, buffer: ir.Value) -> ir.Value:
    return bufferization.to_tensor(type_, buffer, restrict=True, writable=True)


def _destinations(op: ir.Operation) -> list[Tensor]:
    """The tensors that a destination-passing call fills."""
    return [info for info in destinations(struct_info(op.results[0].type)) if isinstance(info, Tensor)]


def _result(op: ir.Operation, tensors: Sequence[ir.Value]) -> Sequence[Lowered]:
    """The result of a call: its tensor, or the tuple of them."""
    return [tuple(tensors)] if isinstance(op.results[0].type, ir.TupleType) else list(tensors)


def _callee(body: BodyLowering, op: ir.Operation, name: str) -> func.FuncOp:
    if name not in body.callees:
        raise UnsupportedError(f"{op.location}: {op.name}: the module has no function '{name}'")
    return body.callees[name]


@handles("relax.call")
def _call(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    callee = _callee(body, op, name)
    info = struct_info(op.results[0].type)
    arguments = body.flat(op.operands[0])
    outs = [body.empty(leaf) for leaf in _result_tensors(op, info)]
    given = [*arguments, *outs]
    inputs = list(callee.type.inputs)
    args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v for v, t in zip(given, inputs, strict=True)
    ]
    results = func.CallOp(list(callee.type.results), name, args).results
    return [unflatten(info, [cast(r, out.type) for r, out in zip(results, outs, strict=True)])]


def _result_tensors(op: ir.Operation, info: StructInfo) -> list[Tensor]:
    if isinstance(info, Tuple):
        return [leaf for item in info.fields for leaf in _result_tensors(op, item)]
    if not isinstance(info, Tensor) or info.known_shape is None:
        raise UnsupportedError(
            f"{op.location}: {op.name}: its result is {info}; native code returns tensors of known shape"
        )
    return [info]


@handles("relax.call_dps_packed")
def _call_dps_packed(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    kinds, operands, dtype_names = _packed_arguments(body, op, _read_buffer)
    infos = _destinations(op)
    outs = [_fresh_buffer(body, info) for info in infos]
    kinds += ["tensor"] * len(outs)
    dtype_names += [str(info.dtype) for info in infos]
    name = ir.StringAttr(op.attributes["func"]).value
    body.hooks.packed(name, "dps", kinds, [*operands, *outs], [], [], dtype_names)
    return _result(
        op, [_owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)]
    )


@handles("relax.call_packed")
def _call_packed(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """The callee may change its tensors in place: `relax.updated` reads them from the same buffers."""
    touched: dict[ir.Value, ir.Value] = {}

    owned = _owned_arguments(body, op)

    def buffer(value: ir.Value) -> ir.Value:
        if value not in touched:  # a tensor given twice is one buffer
            own = value if value in owned else bufferization.alloc_tensor(value.type, [], copy=value)
            touched[value] = bufferization.to_buffer(_memref_type(value.type), own)
        return touched[value]

    kinds, operands, dtype_names = _packed_arguments(body, op, buffer)
    name = ir.StringAttr(op.attributes["func"]).value
    result = struct_info(op.results[0].type)
    infos = result.fields if isinstance(result, Tuple) else [result]
    if len(infos) > 1:
        raise UnsupportedError(
            f"{op.location}: call_packed of '{name}': native code takes one value, not a tuple"
        )
    types, result_kinds = [], []
    for info in infos:
        kind, result_types = _packed_result(op, info)
        types += result_types
        result_kinds.append(kind)
        if isinstance(info, Tensor):
            dtype_names.append(str(info.dtype))
    results = body.hooks.packed(name, "alloc", kinds, operands, types, result_kinds, dtype_names)
    body.updates.update(touched)
    received = [_received(body, op, info, results) for info in infos]
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
        raise UnsupportedError(f"{op.location}: {op.name}: no call_packed in front of it takes its operand")
    return [body.mark(_owned_tensor(old.type, body.updates[old]), checked=False, source=old)]


def _received(body: BodyLowering, op: ir.Operation, info: StructInfo, results: list[ir.Value]) -> Lowered:
    """What a packed function returned, once its dimensions have been checked against `info`."""
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
        given = _owned_tensor(raw, buffer)
        if body.updates:  # it may be the memory of an argument, which ends with the argument's last use
            given = bufferization.alloc_tensor(raw, [], copy=given)
        value = cast(given, info.storage_type())
    name = ir.StringAttr(op.attributes["func"]).value
    for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        if dim is None:
            continue
        message = (
            f"{body.symbols.function}: call_packed of '{name}' at {_place(op)} returned dimension {axis} of {{0}}, "
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
        f"{op.location}: call_packed: its result is {info}; native code takes tensors of known rank and dtype, "
        "shapes of known rank and integers"
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
            raise UnsupportedError(
                f"{op.location}: {op.name}: argument {info} cannot be passed by native code"
            )
    return kinds, operands, dtype_names


def _literal(item: ir.Attribute) -> str:
    if isinstance(item, ir.BoolAttr):
        return f"bool:{int(item.value)}"
    if isinstance(item, ir.IntegerAttr):
        return f"int:{item.value}"
    if isinstance(item, ir.FloatAttr):
        return f"float:{item.value!r}"
    return f"str:{ir.StringAttr(item).value}"


@handles("scf.if")
def _if(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    infos = [struct_info(result.type) for result in op.results]
    condition = body.tensor(op.operands[0])
    probe = [t for info in infos for t in _branch_types(op, info)]
    new = scf.IfOp(condition, probe, has_else=True)
    for old_region, block in zip(op.regions, (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            inner = BodyLowering(
                body.hooks, body.symbols.nested(), dict(body.values), body.callees, body.checked, body.updates
            )
            blocks = list(old_region.blocks)
            yielded = [
                leaf for item in (inner.lower_block(blocks[0]) if blocks else []) for leaf in flatten(item)
            ]
            values = [
                cast(v, t) if isinstance(t, ir.RankedTensorType) else v
                for v, t in zip(yielded, probe, strict=True)
            ]
            scf.YieldOp(values)
    body.checked.update(new.results)
    flat = list(new.results)
    return [unflatten(info, flat) for info in infos]


@handles("arith.select")
def _select(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """What canonicalisation makes of a conditional whose branches are empty."""
    info = struct_info(op.results[0].type)
    new = scf.IfOp(body.tensor(op.operands[0]), _branch_types(op, info), has_else=True)
    for value, block in zip(list(op.operands)[1:], (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            scf.YieldOp(body.flat(value))
    body.checked.update(new.results)
    flat = list(new.results)
    return [unflatten(info, flat)]


def _branch_types(op: ir.Operation, info: StructInfo) -> list[ir.Type]:
    if isinstance(info, Tuple):
        return [t for item in info.fields for t in _branch_types(op, item)]
    if isinstance(info, Tensor):
        return [info.storage_type()]
    if isinstance(info, Shape) and info.values is not None:
        return [ir.IndexType.get()] * len(info.values)
    if isinstance(info, Prim):
        return [ir.IndexType.get()]
    raise UnsupportedError(
        f"{op.location}: scf.if: its result is {info}; native code needs its rank and dtype"
    )


@handles(
    "arith.constant",
    "index.constant",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "tensor.extract",
    "tensor.from_elements",
)
def _copy(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    clone = op.clone()
    for index, operand in enumerate(op.operands):
        lowered = body.values[operand]
        assert isinstance(lowered, ir.Value)
        clone.operands[index] = lowered
    return list(clone.results)


def _dense_constant(value: ir.DenseElementsAttr, tensor_type: ir.RankedTensorType) -> ir.Value:
    element = dtypes.from_element_type(tensor_type.element_type)
    if element.kind == "uint":
        storage = ir.RankedTensorType.get(tensor_type.shape, element.storage_type())
        value = ir.Attribute.parse(str(value).rsplit(":", 1)[0].strip() + f" : {storage}")
    return arith.constant(value.type, value)
