"""Bodies of Relax functions at level T: one handler per op that level R1 keeps, and how values are passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Union

from relax_mlir.diagnostics import locate, where
from relax_mlir.dialects.location import name_value, unnamed
from relax_mlir.dialects.traits import IsView, has_trait
from relax_mlir.dialects.types import (
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dim_text,
    struct_info,
)
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.ir_queries import defining_op
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.base.runtime_declarations import RuntimeDeclarations
from relax_mlir.lowering.base.signature import dtype_named
from relax_mlir.lowering.base.unpack import ARRAY, INT, LIST, SHAPE, TENSOR
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import arith, bufferization, func, ir, memref, tensor
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.lowering.shapes.functions import Header


# Body of a Relax function at level T: one handler per op that level R1 keeps.


Lowered = Union[ir.Value, tuple["Lowered", ...], "ShapeValue", "Handle"]
"""A tensor or integer is one SSA value, a shape its index values, a tuple its fields; other values are handles."""


@dataclass(frozen=True)
class ShapeValue:
    """A shape value at level T."""

    dims: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Handle:
    """A value only known at run time: the two words (i64) of a TVMFFIAny, borrowed from the frame."""

    kind: ir.Value
    payload: ir.Value


def is_handle(info: StructInfo) -> bool:
    """True if a value described by `info` is a handle at level T: an object, or of unknown rank or dtype."""
    if isinstance(info, Tensor):
        return info.shape is None or info.dtype is None
    return isinstance(info, Object) or (isinstance(info, Shape) and info.values is None)


@dataclass(frozen=True)
class Update:
    """A buffer or handle that a packed function may have changed. `kept`: it may have other users."""

    value: ir.Value | Handle
    kept: bool = False


@dataclass
class BodyLowering:
    """Lowers the ops of one function (or region), in order, at the current insertion point."""

    declarations: RuntimeDeclarations
    symbols: SymbolTable
    values: dict[ir.Value, Lowered]
    callees: dict[str, func.FuncOp]
    headers: dict[str, Header]
    stack: ir.Value | None = None
    """In a recursive function, the address that stack depth is measured from; it is passed to recursive callees."""

    received: dict[ir.Value, Handle] = field(default_factory=dict)
    """Tensors that called functions returned, with their objects, which have no other owner."""

    entry_checks: set[str] = field(default_factory=set)
    """Functions whose arguments a caller checks at run time."""

    checked: set[ir.Value] = field(default_factory=set)
    """Tensors that must not be computed in a destination of the function.

    The size of some is only correct if a run-time check passes, but the destination is allocated with the expected
    size. Others are results of conditionals, whose branches may yield a tensor that has other uses.
    """

    updates: dict[ir.Value, Update] = field(default_factory=dict)
    """Where `relax.updated` reads the tensors (for handles: the payloads) that packed functions may have changed."""

    location: ir.Location | None = None
    """The location of the op that is being lowered, with its name; the memory of its result gets it."""

    def nested(self) -> BodyLowering:
        """The lowering of a region; its definitions are local to it."""
        return replace(self, symbols=self.symbols.nested(), values=dict(self.values), received={})

    def mark(self, value: ir.Value, checked: bool, source: ir.Value) -> ir.Value:
        """Return `value`, a view of `source`; it is checked if `checked` is set or `source` is."""
        if checked or source in self.checked:
            self.checked.add(value)
        return value

    def lower_block(self, block: ir.Block) -> list[Lowered]:
        """Lower all ops of `block`; return the lowered operands of its terminator."""
        operations = [view.operation for view in block.operations]
        for op in operations[:-1]:
            self.location = op.location
            with unnamed(op.location):
                self.lower_op(op)
        return [self.values[operand] for operand in operations[-1].operands]

    def lower_op(self, op: ir.Operation) -> None:
        """Lower one op; raise `UnsupportedError` for an op that level R1 does not allow."""
        handler = _HANDLERS.get(op.name)
        if handler is None:
            raise UnsupportedError(
                f"{where(op)}: {op.name} is left over after legalisation; lower-symbolic-shapes cannot lower it"
            )
        try:
            results = handler(self, op)
        except RelaxError as error:
            locate(error, op)
            raise
        for old, new in zip(op.results, results, strict=True):
            self.values[old] = new
            if isinstance(new, ir.Value):
                name_value(new, op.location)

    # -- values

    def tensor(self, value: ir.Value) -> ir.Value:
        """The level-T tensor of a Relax value; raise `UnsupportedError` if its rank or dtype is unknown."""
        lowered = self.values[value]
        if isinstance(lowered, Handle):
            raise UnsupportedError(
                f"{self.symbols.function}: a value is {struct_info(value.type)} where a tensor of known rank and dtype "
                "is needed: match_shape it first"
            )
        assert isinstance(lowered, ir.Value)
        return lowered

    def flat(self, value: ir.Value) -> list[ir.Value]:
        """The SSA values that pass a Relax value as an argument."""
        return flatten(self.values[value])

    def dims(self, value: ir.Value, info: Tensor) -> list[ir.Value]:
        """The sizes of a tensor: computed from the symbols if they are known, otherwise read from the tensor."""
        lowered = self.values[value]
        if isinstance(lowered, Handle):
            return object_sizes(self.declarations, lowered, len(info.shape or ()))
        lowered = self.tensor(value)
        return [self._dim(lowered, axis, dim) for axis, dim in enumerate(info.shape or ())]

    def _dim(self, lowered: ir.Value, axis: int, dim: Dim | None) -> ir.Value:
        if dim is not None and not self.symbols.undefined(dim):
            return self.symbols.value(dim)
        return tensor.dim(lowered, index_constant(axis))

    def empty(self, info: Tensor) -> ir.Value:
        """An uninitialised tensor for a result."""
        assert info.known_shape is not None and info.dtype is not None
        sizes = [d if isinstance(d, int) else self.symbols.size(d) for d in info.known_shape]
        return tensor.empty(sizes, info.dtype.storage_type(), loc=self.location)


def object_sizes(declarations: RuntimeDeclarations, tensor_handle: Handle, rank: int) -> list[ir.Value]:
    """The sizes of a tensor object of known rank, given by its handle."""
    index = ir.IndexType.get()
    return [
        declarations.object("size", [tensor_handle.payload, index_constant(axis)], [index])[0] for axis in range(rank)
    ]


def flatten(value: Lowered) -> list[ir.Value]:
    """The SSA values of a lowered value, in order."""
    if isinstance(value, ShapeValue):
        return list(value.dims)
    if isinstance(value, Handle):
        return [value.kind, value.payload]
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def unflatten(info: StructInfo, values: list[ir.Value]) -> Lowered:
    """Take the SSA values of a value described by `info` off the front of `values`."""
    if isinstance(info, Tuple):
        return tuple(unflatten(item, values) for item in info.fields)
    if is_handle(info):
        return Handle(values.pop(0), values.pop(0))
    if isinstance(info, Shape):
        return ShapeValue(tuple(values.pop(0) for _ in info.values or ()))
    return values.pop(0)


def cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Cast `value` to a type with other static and dynamic sizes."""
    return value if value.type == type_ else tensor.cast(type_, value)


Handler = Callable[[BodyLowering, ir.Operation], Sequence[Lowered]]
_HANDLERS: dict[str, Handler] = {}


def memory_of(value: ir.Value) -> ir.Value:
    """The level-T tensor that `value` is a view of."""
    while not isinstance(value, ir.BlockArgument) and has_trait(value.owner.operation, IsView):
        value = value.owner.operation.operands[0]
    return value


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register the lowering of the ops called `names`."""

    def register(handler: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = handler
        return handler

    return register


def place(op: ir.Operation) -> str:
    """``file:line:column`` of an op, for the message of a run-time check."""
    return verbatim(where(op))


# Leaves: parameters and results with their tuples flattened, as level T passes them.


@dataclass(frozen=True)
class Leaf:
    """A parameter, or a field of one. `name` is the name shown to users: ``x``, or ``t[0]`` for a field of a tuple."""

    name: str
    info: Tensor | Shape | Prim | Object

    @property
    def rank(self) -> int:
        """The number of ``index`` values that describe the leaf at entry: its dimensions, or 1 for an integer."""
        if isinstance(self.info, Prim):
            return 1
        if isinstance(self.info, Object):
            return 0
        return len((self.info.shape if isinstance(self.info, Tensor) else self.info.values) or ())

    @property
    def types(self) -> list[ir.Type]:
        """The types of the arguments that pass the leaf at level T."""
        if is_handle(self.info):
            return handle_types()
        if isinstance(self.info, Tensor):
            return [self.info.storage_type()]
        return [ir.IndexType.get()] * self.rank


def handle_types() -> list[ir.Type]:
    """The types of the two words of a handle."""
    return [ir.IntegerType.get_signless(64)] * 2


def leaves(name: str, info: StructInfo) -> Iterator[Leaf]:
    """Yield the leaves of `info`."""
    if isinstance(info, Tuple):
        for index, item in enumerate(info.fields):
            yield from leaves(f"{name}[{index}]", item)
        return
    assert isinstance(info, Tensor | Shape | Prim | Object)
    yield Leaf(name, info)


# Conversions between tensors and buffers, for callees that work on memrefs.


def memref_type(tensor_type: ir.Type) -> ir.Type:
    ranked = ir.RankedTensorType(tensor_type)
    return ir.MemRefType.get(ranked.shape, ranked.element_type)


def read_buffer(value: ir.Value) -> ir.Value:
    return bufferization.to_buffer(memref_type(value.type), value, read_only=True)


def fresh_buffer(body: BodyLowering, info: Tensor) -> ir.Value:
    sizes = [body.symbols.size(d) for d in info.known_shape or () if not isinstance(d, int)]
    return memref.alloc(memref_type(info.storage_type()), sizes, [])


def owned_tensor(type_: ir.Type, buffer: ir.Value) -> ir.Value:
    return bufferization.to_tensor(type_, buffer, restrict=True, writable=True)


def memory_of_its_own(value: ir.Value) -> bool:
    """Ensure that the producer of `value` fills memory that nothing else fills; return False if that is impossible.

    The results of equal calls in destination-passing style start from equal ``tensor.empty`` ops, which CSE merges. A
    write to that memory that MLIR cannot see would then change both results.
    """
    defining = defining_op(value)
    while defining is not None and defining.name == "tensor.cast":
        defining = defining_op(defining.operands[0])
    if defining is None:
        return False
    if defining.name == "bufferization.to_tensor":
        return True
    if defining.name != "func.call":
        return False
    outs = [i for i, operand in enumerate(defining.operands) if _is_uninitialised(operand)]
    with defining.location, ir.InsertionPoint(defining):
        for index in outs:
            empty = defining_op(defining.operands[index])
            if empty is not None and empty.name == "tensor.empty":
                sizes = list(empty.operands)
                defining.operands[index] = bufferization.alloc_tensor(empty.results[0].type, sizes)
    return len(outs) == len(defining.results)


def _is_uninitialised(value: ir.Value) -> bool:
    defining = defining_op(value)
    return defining is not None and defining.name in ("tensor.empty", "bufferization.alloc_tensor")


# Handles at level T: unpack values from them, with checks, and box values into them.


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
        self.check(self.is_one_of(kind, *wanted), "ArgumentError", f"is of type {{0:type}}, expected {what}", [kind])

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
            self.check(is_equal, "ShapeError", f"has dimension {axis} of {{0}}, expected {name}", [size, expected])

    def fields(self, handle: Handle, info: Tuple) -> Lowered:
        count = len(info.fields)
        self.require_kind(handle, f"{count} values", ARRAY, LIST)
        length = self.number("shape_rank", handle.payload)
        self.check(self.is_one_of(length, count), "ArgumentError", f"has {{0}} elements, expected {count}", [length])
        word = ir.IntegerType.get_signless(64)
        items = []
        for number, item in enumerate(info.fields):
            words = self.body.declarations.object("item", [handle.payload, index_constant(number)], [word, word])
            items.append(_Reader(self.body, self.origin.part(number)).any(Handle(*words), item))
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
        return box_tuple(body, [box(body, item, field) for item, field in zip(value, info.fields, strict=True)])
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
