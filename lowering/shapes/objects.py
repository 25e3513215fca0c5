"""Handles at level T: unpack values from them, with checks, and box values into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple, dim_text
from relax_mlir.lowering.abi.ffi_dtypes import dtype_named
from relax_mlir.lowering.abi.unpack import ARRAY, INT, LIST, SHAPE, TENSOR
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Lowered,
    ShapeValue,
    cast,
    is_handle,
    object_sizes,
)
from relax_mlir.lowering.shapes.buffers import memref_type
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, ir, memref, tensor
from relax_mlir.symbolic import Dim

_CPU = 1


@dataclass(frozen=True)
class Origin:
    """The source of a value, for messages: ``main: match_shape at f.py:1:2: the value``, ``expected …``.

    `kind`, if set, replaces the kinds of errors. `joint` is inserted between the value and the rest of the message.
    """

    text: str
    expected: str
    kind: str = ""
    joint: str = ""

    def part(self, number: int) -> Origin:
        """Field `number` of the value, which is a tuple."""
        return replace(self, text=f"{self.text}[{number}]")


@dataclass(frozen=True)
class _Reader:
    body: BodyLowering
    origin: Origin

    def check(self, ok: ir.Value, kind: str, message: str, values: Sequence[ir.Value]) -> None:
        text = f"{self.origin.text}{self.origin.joint} {message} ({self.origin.expected})"
        self.body.declarations.check(ok, self.origin.kind or kind, text, values)

    def is_one_of(self, value: ir.Value, *wanted: int) -> ir.Value:
        flags = [arith.cmpi(arith.CmpIPredicate.eq, value, index_constant(w)) for w in wanted]
        result = flags[0]
        for flag in flags[1:]:
            result = arith.ori(result, flag)
        return result

    def number(self, name: str, operand: ir.Value) -> ir.Value:
        return self.body.declarations.object(name, [operand], [ir.IndexType.get()])[0]

    def require_kind(self, handle: Handle, what: str, *wanted: int) -> None:
        kind = type_index(handle)
        self.check(
            self.is_one_of(kind, *wanted), "ArgumentError", f"is of type {{0:type}}, expected {what}", [kind]
        )

    def require_tensor(self, handle: Handle) -> None:
        self.require_kind(handle, "a tensor", TENSOR)
        device = self.number("device", handle.payload)
        self.check(self.is_one_of(device, _CPU), "DeviceError", "is on {0:device}, expected cpu", [device])

    def refine(self, handle: Handle, known: Tensor, info: Tensor) -> None:
        if info.dtype is not None and known.dtype is None:
            dtype = self.number("dtype", handle.payload)
            wanted = dtype_named(str(info.dtype))
            self.check(
                self.is_one_of(dtype, wanted.packed),
                "DTypeError",
                f"has dtype {{0:dtype}}, expected {wanted.name}",
                [dtype],
            )
        if info.shape is not None and known.shape is None:
            rank = self.number("rank", handle.payload)
            self.check(
                self.is_one_of(rank, len(info.shape)),
                "ShapeError",
                f"has rank {{0}}, expected rank {len(info.shape)}",
                [rank],
            )

    def shape(self, handle: Handle, info: Shape) -> Lowered:
        word = ir.IntegerType.get_signless(64)
        (payload,) = self.body.declarations.object("as_shape", [handle.kind, handle.payload], [word])
        self.check(
            arith.cmpi(arith.CmpIPredicate.ne, payload, _word(0)),
            "ArgumentError",
            "is of type {0:type}, expected a shape, or ints",
            [type_index(handle)],
        )
        whole = Handle(_word(SHAPE), payload)
        return whole if info.values is None else ShapeValue(tuple(self.entries(whole, len(info.values))))

    def entries(self, handle: Handle, count: int) -> list[ir.Value]:
        """The entries of a Shape, which must have `count` of them, all non-negative."""
        rank = self.number("shape_rank", handle.payload)
        self.check(self.is_one_of(rank, count), "ShapeError", f"has {{0}} entries, expected {count}", [rank])
        index = ir.IndexType.get()
        entries = [
            self.body.declarations.object("shape_entry", [handle.payload, index_constant(i)], [index])[0]
            for i in range(count)
        ]
        for number, entry in enumerate(entries):
            natural = arith.cmpi(arith.CmpIPredicate.sge, entry, index_constant(0))
            message = f"has an entry {number} of {{0}}, expected zero or more"
            self.check(natural, "ShapeError", message, [entry])
        return entries

    def any(self, handle: Handle, info: StructInfo) -> Lowered:
        if isinstance(info, Tensor):
            self.require_tensor(handle)
            self.refine(handle, Tensor(None, None), info)
            if info.shape is not None:
                self.dims(object_sizes(self.body.declarations, handle, len(info.shape)), info.shape)
            return view(self.body, handle, info)
        if isinstance(info, Shape):
            shape = self.shape(handle, info)
            if isinstance(shape, ShapeValue):
                self.dims(shape.dims, info.values or ())
            return shape
        if isinstance(info, Prim):
            self.require_kind(handle, "an int", INT)
            return arith.index_cast(ir.IndexType.get(), handle.payload)
        if isinstance(info, Tuple):
            return self.fields(handle, info)
        assert isinstance(info, Object)
        return handle

    def dims(self, sizes: Sequence[ir.Value], dims: Sequence[Dim | None]) -> None:
        """Check dimensions, or entries of a shape, against their known expressions."""
        for axis, (size, dim) in enumerate(zip(sizes, dims, strict=True)):
            if dim is None:
                continue
            expected = self.body.symbols.value(dim)
            is_equal = arith.cmpi(arith.CmpIPredicate.eq, size, expected)
            name = "{1}" if isinstance(dim, int) else f"{dim_text(dim)} = {{1}}"
            self.check(
                is_equal, "ShapeError", f"has dimension {axis} of {{0}}, expected {name}", [size, expected]
            )

    def fields(self, handle: Handle, info: Tuple) -> Lowered:
        count = len(info.fields)
        self.require_kind(handle, f"{count} values", ARRAY, LIST)
        length = self.number("shape_rank", handle.payload)
        self.check(
            self.is_one_of(length, count), "ArgumentError", f"has {{0}} elements, expected {count}", [length]
        )
        word = ir.IntegerType.get_signless(64)
        items = []
        for number, field in enumerate(info.fields):
            words = self.body.declarations.object(
                "item", [handle.payload, index_constant(number)], [word, word]
            )
            items.append(_Reader(self.body, self.origin.part(number)).any(Handle(*words), field))
        return tuple(items)


def unpack(body: BodyLowering, handle: Handle, info: StructInfo, origin: Origin) -> Lowered:
    """Unpack a handle of which nothing is known, after checking everything in `info`."""
    return _Reader(body, origin).any(handle, info)


def refine(body: BodyLowering, handle: Handle, known: Tensor, info: Tensor, origin: Origin) -> None:
    """Check the rank and dtype of a tensor that `info` has and `known` lacks."""
    _Reader(body, origin).refine(handle, known, info)


def require_tensor(body: BodyLowering, handle: Handle, origin: Origin) -> None:
    """Check that a value is a tensor on the CPU."""
    _Reader(body, origin).require_tensor(handle)


def shape_entries(body: BodyLowering, handle: Handle, count: int, origin: Origin) -> list[ir.Value]:
    """The entries of a Shape given by its handle, after a check of their number."""
    return _Reader(body, origin).entries(handle, count)


def type_index(handle: Handle) -> ir.Value:
    """The FFI type index of a value, the low half of its first word."""
    return arith.index_cast(ir.IndexType.get(), arith.andi(handle.kind, _word(0xFFFFFFFF)))


def _word(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)


def view(body: BodyLowering, handle: Handle, info: Tensor) -> Lowered:
    """Convert the handle of a tensor whose rank, dtype and static dimensions have been checked.

    Returns the handle itself, or, if `info` has enough, a tensor over its memory (copied if it is not row-major).
    """
    if is_handle(info):
        return handle
    buffer = _memory(body, handle, info)
    return bufferization.to_tensor(info.storage_type(), buffer, restrict=True)


def _memory(body: BodyLowering, handle: Handle, info: Tensor) -> ir.Value:
    """The memory of a tensor, whose static dimensions have been checked, as a contiguous memref."""
    assert info.shape is not None
    sizes = object_sizes(body.declarations, handle, len(info.shape))
    dynamic = [size for size, dim in zip(sizes, info.shape, strict=True) if not isinstance(dim, int)]
    bytes_type = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], ir.IntegerType.get_signless(8))
    (data,) = body.declarations.object("bytes", [handle.payload], [bytes_type])
    return memref.view(memref_type(info.storage_type()), data, index_constant(0), dynamic)


def box(body: BodyLowering, value: Lowered, info: StructInfo) -> Handle:
    """Box a value described by `info` into a handle: creates objects, owned by the frame, and copies elements."""
    if isinstance(value, Handle):
        return value
    if isinstance(info, Tensor):
        assert isinstance(value, ir.Value)
        return box_tensor(body, value, info)[0]
    if isinstance(value, ShapeValue):
        word = ir.IntegerType.get_signless(64)
        (payload,) = body.declarations.object(f"shape.{len(value.dims)}", value.dims, [word])
        return Handle(_word(SHAPE), payload)
    if isinstance(info, Tuple):
        assert isinstance(value, tuple)
        return box_tuple(
            body, [box(body, item, field) for item, field in zip(value, info.fields, strict=True)]
        )
    assert isinstance(value, ir.Value)
    return Handle(_word(INT), arith.index_cast(ir.IntegerType.get_signless(64), value))


def box_tuple(body: BodyLowering, items: Sequence[Handle]) -> Handle:
    """An Array of the given values."""
    words = [word for item in items for word in (item.kind, item.payload)]
    (payload,) = body.declarations.object(f"array.{len(items)}", words, [ir.IntegerType.get_signless(64)])
    return Handle(_word(ARRAY), payload)


def box_tensor(body: BodyLowering, value: ir.Value, info: Tensor) -> tuple[Handle, ir.Value]:
    """A new tensor object with the elements of a tensor, and its memory as a memref."""
    sizes = [tensor.dim(value, index_constant(axis)) for axis in range(len(info.shape or ()))]
    handle, buffer = new_tensor(body, sizes, info)
    write(cast(value, info.storage_type()), buffer)
    return handle, buffer


def new_tensor(body: BodyLowering, sizes: Sequence[ir.Value], info: Tensor) -> tuple[Handle, ir.Value]:
    """A new tensor object, and its memory as a memref."""
    dtype = _word(dtype_named(str(info.dtype)).packed)
    word = ir.IntegerType.get_signless(64)
    (payload,) = body.declarations.object(f"tensor.{len(sizes)}", [dtype, *sizes], [word])
    handle = Handle(_word(TENSOR), payload)
    return handle, _memory(body, handle, info)


def write(value: ir.Value, buffer: ir.Value) -> None:
    """Copy the elements of a tensor into a buffer, unless they have been computed there."""
    bufferization.materialize_in_destination(None, value, buffer, restrict=True, writable=True)


def copy_tensor(body: BodyLowering, handle: Handle) -> Handle:
    """A new tensor object with the elements of the tensor of a handle."""
    (payload,) = body.declarations.object("copy", [handle.payload], [ir.IntegerType.get_signless(64)])
    return Handle(_word(TENSOR), payload)


def tensor_shape(body: BodyLowering, handle: Handle) -> Handle:
    """The shape of a tensor of unknown rank, as an object."""
    (payload,) = body.declarations.object("shape_of", [handle.payload], [ir.IntegerType.get_signless(64)])
    return Handle(_word(SHAPE), payload)


def own(body: BodyLowering, handle: Handle) -> None:
    """Move to the frame the reference that a function returned."""
    body.declarations.object("own", [handle.kind, handle.payload], [])


def retain(body: BodyLowering, handle: Handle) -> None:
    """Add a reference for the caller, to which the handle is returned."""
    body.declarations.object("retain", [handle.kind, handle.payload], [])
