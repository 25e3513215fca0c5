"""Arguments of builtins, and builtins for memory and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.base.unpack import (
    ANY_BYTES,
    DL,
    DLTENSOR,
    INT,
    NONE,
    OBJECT_BYTES,
    RAW_STR,
    SHAPE,
    TENSOR,
)
from relax_mlir.lowering.entry.lower_objects import ObjectWriter, define_object_function
from relax_mlir.mlir_text import Fragment

# Reading the arguments of a builtin and returning its result: code that all builtins share.


BOOL, FLOAT, DTYPE, SMALL_STR, STR, FUNCTION = 2, 3, 5, 11, 65, 68
MAX_RANK = 1024
"""Maximum rank of tensors that builtins create: shape and strides are temporarily on the stack."""

MAX_BYTES = (1 << 47) - 1
"""Maximum number of bytes in the address space of a process."""

INT64 = 0 | 64 << 8 | 1 << 16
UINT8 = 1 | 8 << 8 | 1 << 16
BOOL8 = 6 | 8 << 8 | 1 << 16


class BuiltinWriter(ObjectWriter):
    """Emits one builtin with the FFI calling convention: %n arguments at %args, the result in %ret."""

    def __init__(self, name: str, fragment: Fragment) -> None:
        super().__init__(name, f"{name}: ", fragment)

    def check_as(self, ok: str, kind: str, message: str, *values: str) -> None:
        """Like `check`, for a message that does not begin with the name of the builtin."""
        prefix, self.prefix = self.prefix, ""
        self.check(ok, kind, message, *values)
        self.prefix = prefix

    def check_equal(
        self, a: str, b: str, kind: str, message: str, *before: str, type: str = "i64", context: str = ""
    ) -> None:
        """Check that two integers are equal, which are the last values of the message (see `_check_about`)."""
        ok = self.code.let(f"arith.cmpi eq, {a}, {b} : {type}")
        self._check_about(ok, kind, message, before, (a, b), type, context)

    def check_natural(self, value: str, kind: str, message: str, *before: str, context: str = "") -> None:
        """Check that an integer (i64) is not negative; it is the last value of the message."""
        ok = self.code.let(f"arith.cmpi sge, {value}, {self.code.constant(0)} : i64")
        self._check_about(ok, kind, message, before, (value,), "i64", context)

    def _check_about(
        self,
        ok: str,
        kind: str,
        message: str,
        before: Sequence[str],
        values: Sequence[str],
        type: str,
        context: str,
    ) -> None:
        """A check whose message has the values `before`, and then integers; or begins with the string `context`."""
        shown = [*before, *(self.code.index(value, type) for value in values)]
        if context:
            self.check_as(ok, kind, message, context, *shown)
        else:
            self.check(ok, kind, message, *shown)

    # -- arguments

    def slot(self, i: int) -> str:
        """The address of argument `i`."""
        return self.code.at("%args", ANY_BYTES * i)

    def take(self, exactly: int, *names: str) -> None:
        """Check for exactly `exactly` arguments."""
        listed = f" ({', '.join(names)})" if names else ""
        self.check(
            self.equal("%n", exactly, "i32"),
            "ArgumentError",
            f"takes {exactly} arguments{listed}; got {{0}}",
            self.code.index("%n", "i32"),
        )

    def take_from(self, least: int, *names: str) -> None:
        """Check for `least` or more arguments."""
        listed = f" ({', '.join(names)})" if names else ""
        enough = self.code.let(f"arith.cmpi sge, %n, {self.code.constant(least, 'i32')} : i32")
        self.check(
            enough,
            "ArgumentError",
            f"takes {least} arguments or more{listed}; got {{0}}",
            self.code.index("%n", "i32"),
        )

    def count(self) -> str:
        """The number of arguments, as i64."""
        return self.code.let("arith.extsi %n : i32 to i64")

    def kind_of(self, slot: str) -> str:
        """The type index of a value (i32)."""
        return self.code.load(slot, 0, "i32")

    def payload(self, slot: str) -> str:
        return self.code.load(slot, 8, "i64")

    def require_kind(self, slot: str, kinds: tuple[int, ...], role: str, expected: str) -> str:
        """Check the type index of a value; return it (i32)."""
        kind = self.kind_of(slot)
        self.check(
            self.any_of(*(self.equal(kind, k, "i32") for k in kinds)),
            "ArgumentError",
            f"{role} is of type {{0:type}}, expected {expected}",
            self.code.index(kind, "i32"),
        )
        return kind

    def number(self, slot: str, role: str) -> str:
        """An integer or a boolean, as i64."""
        self.require_kind(slot, (INT, BOOL), role, "an integer")
        return self.payload(slot)

    def dtype(self, slot: str, role: str) -> str:
        """A dtype of whole bytes, as the 32 bits of a DLDataType."""
        self.require_kind(slot, (DTYPE,), role, 'a dtype, as tvm_ffi.dtype("float32")')
        word = self.code.load(slot, 8, "i32")
        shifted = self.code.let(f"arith.shrui {word}, {self.code.constant(8, 'i32')} : i32")
        bits = self.code.let(f"arith.andi {shifted}, {self.code.constant(255, 'i32')} : i32")
        rest = self.code.let(f"arith.andi {bits}, {self.code.constant(7, 'i32')} : i32")
        some = self.code.let(f"arith.cmpi ne, {bits}, {self.code.constant(0, 'i32')} : i32")
        self.check(
            self.all_of(self.equal(rest, 0, "i32"), some),
            "DTypeError",
            f"{role} is {{0:dtype}}, whose elements are no whole bytes",
            self.code.index(word, "i32"),
        )
        return word

    def dl_tensor(self, slot: str, role: str, is_read: bool = True) -> str:
        """The address of the DLTensor of a CPU tensor; with `is_read`, its memory must not be null."""
        kind = self.require_kind(slot, (TENSOR, DLTENSOR), role, "a tensor")
        pointer, device = self._inside(slot, kind)
        self.check(
            self.equal(device, 1, "i32"),
            "DeviceError",
            f"{role} is on {{0:device}}, expected cpu",
            self.code.index(device, "i32"),
        )
        flaw = self.call("relax.vm.flaw", [pointer], ["!llvm.ptr"], "i64")
        self.check(
            self.code.let(f"arith.cmpi ne, {flaw}, {self.code.constant(1)} : i64"),
            "ShapeError",
            f"{role} has a negative dimension",
        )
        if is_read:
            self.check(
                self.code.let(f"arith.cmpi ne, {flaw}, {self.code.constant(2)} : i64"),
                "ArgumentError",
                f"{role} has elements, but no memory: its data pointer is null, as that of fake and meta tensors is",
            )
        return pointer

    def keepable(self, values: str, count: str) -> None:
        """Check that `count` (i64) values may be kept after the call: none is a bare DLTensor."""
        i = self.loop(count)
        self._keepable(self.element(values, i, ANY_BYTES), i)
        self.code.do("}")

    def _keepable(self, slot: str, number: str) -> None:
        code = self.code
        self.check(
            code.let(f"arith.cmpi ne, {self.kind_of(slot)}, {code.constant(DLTENSOR, 'i32')} : i32"),
            "ArgumentError",
            "value {0} is a DLTensor, which ends with the call; give a tensor",
            code.index(number),
        )

    def tensor_of(self, slot: str, context: str) -> str:
        """Like `dl_tensor`; messages begin with a string that is an argument of the builtin."""
        kind = self.kind_of(slot)
        self.check_as(
            self.any_of(self.equal(kind, TENSOR, "i32"), self.equal(kind, DLTENSOR, "i32")),
            "ArgumentError",
            "{0:text} is of type {1:type}, expected a tensor",
            context,
            self.code.index(kind, "i32"),
        )
        pointer, device = self._inside(slot, kind)
        self.check_as(
            self.equal(device, 1, "i32"),
            "DeviceError",
            "{0:text} is on {1:device}, expected cpu",
            context,
            self.code.index(device, "i32"),
        )
        return pointer

    def _inside(self, slot: str, kind: str) -> tuple[str, str]:
        """The address of the DLTensor of a value of that kind (i32), and its device (i32)."""
        code = self.code
        handle = code.load(slot, 8, "!llvm.ptr")
        inside = code.at(handle, OBJECT_BYTES)
        pointer = code.let(f"llvm.select {self.equal(kind, TENSOR, 'i32')}, {inside}, {handle} : i1, !llvm.ptr")
        return pointer, code.load(pointer, DL.DEVICE, "i32")

    def elements(self, tensor: str) -> str:
        """The address of the first element of a DLTensor."""
        data, offset = (
            self.code.load(tensor, DL.DATA, "!llvm.ptr"),
            self.code.load(tensor, DL.BYTE_OFFSET, "i64"),
        )
        return self.code.let(f"llvm.getelementptr {data}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")

    def rank(self, tensor: str) -> str:
        """The rank of a DLTensor, as i64."""
        return self.code.let(f"arith.extsi {self.code.load(tensor, DL.NDIM, 'i32')} : i32 to i64")

    def dims(self, slot: str, role: str) -> tuple[str, str]:
        """The number of dimensions of a shape (i64), and their address; an array of integers is also accepted."""
        code = self.code
        kind, payload = code.load(slot, 0, "i64"), self.payload(slot)
        self.define("as_shape", ["i64", "i64"], ["i64"])

        def converted() -> list[str]:
            operands = f"{code.frame(self.fragment)}, {kind}, {payload}"
            types = "(!llvm.ptr, i64, i64) -> i64"
            return [code.let(f'func.call @"relax.object.as_shape"({operands}) : {types}')]

        (found,) = code.choose(self.is_kind(kind, SHAPE), ["i64"], lambda: [payload], converted)
        self.check(
            code.let(f"arith.cmpi ne, {found}, {code.constant(0)} : i64"),
            "ArgumentError",
            f"{role} is of type {{0:type}}, expected a shape (integers)",
            code.index(self.kind_of(slot), "i32"),
        )
        shape = self.pointer(found)
        return code.load(shape, OBJECT_BYTES + 8, "i64"), code.load(shape, OBJECT_BYTES, "!llvm.ptr")

    def natural_shape(self, slot: str, role: str) -> tuple[str, str, str]:
        """A shape of non-negative integers: its rank (i64), their address, and its number of elements.

        The number of elements is -1 beyond 64 bits.
        """
        code = self.code
        rank, numbers = self.dims(slot, role)
        self.check(
            code.let(f"arith.cmpi sle, {rank}, {code.constant(MAX_RANK)} : i64"),
            "ShapeError",
            f"{role} has {{0}} dimensions, more than {MAX_RANK}",
            code.index(rank),
        )
        total, fits, i = code.fresh(), code.fresh(), code.fresh()
        one, true = code.constant(1), code.constant(1, "i1")
        zero, step = code.constant(0, "index"), code.constant(1, "index")
        before, good = code.fresh(), code.fresh()
        code.do(
            f"{total}, {fits} = scf.for {i} = {zero} to {code.index(rank)} step {step} "
            f"iter_args({before} = {one}, {good} = {true}) -> (i64, i1) {{"
        )
        position = code.let(f"arith.index_cast {i} : index to i64")
        size = code.load(self.element(numbers, position, 8), 0, "i64")
        self.check_natural(size, "ShapeError", f"{role} has dimension {{0}} of {{1}}, expected zero or more", i)
        low, high = code.fresh(), code.fresh()
        code.do(f"{low}, {high} = arith.mului_extended {before}, {size} : i64")
        single = self.equal(high, 0, "i64")
        signed = code.let(f"arith.cmpi sge, {low}, {code.constant(0)} : i64")
        code.do(f"scf.yield {low}, {self.all_of(good, single, signed)} : i64, i1")
        code.do("}")
        elements = code.let(f"arith.select {fits}, {total}, {code.constant(-1)} : i64")
        return rank, numbers, elements

    def bytes_of(self, elements: str, dtype: str) -> str:
        """The size in bytes of elements of a dtype; -1 beyond 64 bits, or if `elements` is -1."""
        code = self.code
        low, high = code.fresh(), code.fresh()
        code.do(f"{low}, {high} = arith.mulsi_extended {elements}, {self.element_bytes(dtype)} : i64")
        fits = self.equal(high, 0, "i64")
        signed = code.let(f"arith.cmpi sge, {low}, {code.constant(0)} : i64")
        return code.let(f"arith.select {self.all_of(fits, signed)}, {low}, {code.constant(-1)} : i64")

    def text(self, slot: str, role: str) -> str:
        """A string as the address of its characters (index), for messages."""
        code = self.code
        kind = self.require_kind(slot, (STR, SMALL_STR, RAW_STR), role, "a string")
        inside, pointer = code.at(slot, 8), ["!llvm.ptr"]

        def outside() -> list[str]:
            handle = code.load(slot, 8, "!llvm.ptr")
            is_object = self.equal(kind, STR, "i32")
            return code.choose(
                is_object, pointer, lambda: [code.load(handle, OBJECT_BYTES, "!llvm.ptr")], lambda: [handle]
            )

        (result,) = code.choose(self.equal(kind, SMALL_STR, "i32"), pointer, lambda: [inside], outside)
        return code.index(code.let(f"llvm.ptrtoint {result} : !llvm.ptr to i64"))

    def heap(self, slot: str) -> tuple[str, str]:
        """The number of slots of a shape heap (i64), and their address."""
        code = self.code
        tensor = self.dl_tensor(slot, "argument 'heap'")
        dtype, rank = code.load(tensor, DL.DTYPE, "i32"), code.load(tensor, DL.NDIM, "i32")
        self.check(
            self.all_of(self.equal(dtype, INT64, "i32"), self.equal(rank, 1, "i32")),
            "DTypeError",
            "argument 'heap' is a tensor of rank {1} of {0:dtype}, expected rank 1 of int64",
            code.index(dtype, "i32"),
            code.index(rank, "i32"),
        )
        contiguous = self.call("relax.rt.contiguous", [tensor], ["!llvm.ptr"], "i1")
        self.check(contiguous, "ArgumentError", "argument 'heap' is not contiguous")
        return code.load(code.load(tensor, DL.SHAPE, "!llvm.ptr"), 0, "i64"), self.elements(tensor)

    def heap_slot(self, heap: tuple[str, str], index: str) -> str:
        """The address of a slot of a heap; its index (i64) is checked."""
        code, (size, data) = self.code, heap
        inside = code.let(f"arith.cmpi ult, {index}, {size} : i64")
        self.check(
            inside,
            "ArgumentError",
            "slot {0} is out of range for a heap of {1} slots",
            code.index(index),
            code.index(size),
        )
        return self.element(data, index, 8)

    def argument(self, position: str) -> str:
        """The address of the argument at a position (i64) that is only known at run time."""
        return self.element("%args", position, ANY_BYTES)

    # -- results

    def define(self, stem: str, inputs: list[str], results: list[str]) -> None:
        """Define the function `relax.object.<stem>` in the module."""
        define_object_function(self.fragment, f"relax.object.{stem}", inputs, results)

    def result(self, kind: int, payload: str) -> None:
        """Return a result and pass on the reference, if it has one."""
        self.store_any("%ret", 0, kind, payload)
        self.code.do("func.return")

    def nothing(self) -> None:
        """Return None."""
        self.result(NONE, self.code.constant(0))

    def any_result(self, slot: str) -> None:
        """Return a value that has another owner; adds a reference."""
        self._keepable(slot, self.code.constant(0))
        kind, payload = self.code.load(slot, 0, "i64"), self.payload(slot)
        self.retain(kind, payload)
        self.code.store(kind, "i64", "%ret", 0)
        self.code.store(payload, "i64", "%ret", 8)
        self.code.do("func.return")

    def held(self, kind: int, handle: str) -> None:
        """Return an object that the frame also holds; adds a reference."""
        self.fragment.external("@TVMFFIObjectIncRef(!llvm.ptr) -> i32")
        self.code.let(f"llvm.call @TVMFFIObjectIncRef({handle}) : (!llvm.ptr) -> i32")
        self.result(kind, handle)

    def view(self, source: str, data: str, rank: str, shape: str, dtype: str) -> str:
        """A new tensor over memory that the tensor object `source` holds; `rank` is i64, `dtype` i32."""
        types = ["!llvm.ptr", "!llvm.ptr", "i64", "!llvm.ptr", "i32"]
        return self.call("relax.vm.view", [source, data, rank, shape, dtype], types, "!llvm.ptr")

    def owned_tensor(self, shape: str, rank: str, dtype: str, bytes: str) -> str:
        """A new tensor with separate memory: `bytes` of it (i64; -1: beyond 64 bits); `rank` is i64."""
        self.check(
            self.code.let(f"arith.cmpi ule, {bytes}, {self.code.constant(MAX_BYTES)} : i64"),
            "OutOfMemoryError",
            f"{{0}} bytes are asked for (-1: beyond 64 bits), {MAX_BYTES} are the most",
            self.code.index(bytes),
        )
        types = ["!llvm.ptr", "i64", "i32", "i64"]
        return self.call("relax.vm.tensor", [shape, rank, dtype, bytes], types, "!llvm.ptr")

    def shape_result(self, count: str, numbers: str) -> None:
        """Return a new shape of `count` (i64) integers."""
        self.result(SHAPE, self.call("relax.vm.shape", [count, numbers], ["i64", "!llvm.ptr"], "!llvm.ptr"))


Writer = Callable[[BuiltinWriter], None]
"""Emits the body of a builtin."""

Builtins = dict[str, Writer]
"""Maps a name in the FFI's registry to its emitter."""


# Builtins for memory and shapes: storages and tensors, the shape heap, shapes.


# Builtins of the shape heap and of shapes.


# Codes of `dialects.vm.MakeCode` and `MatchCode`.
SLOT = 1
ASSERT_IMMEDIATE, STORE, IGNORE, ASSERT_SLOT = 0, 1, 2, 3


def _alloc_shape_heap(c: BuiltinWriter) -> None:
    """(vm, size): a heap of `size` slots."""
    code = c.code
    # The first calling convention has no machine argument, and its sizes and slots are shapes.
    c.check(
        c.any_of(c.equal("%n", 1, "i32"), c.equal("%n", 2, "i32")),
        "ArgumentError",
        "takes 2 arguments (vm, size); got {0}",
        code.index("%n", "i32"),
    )
    size = _size(c, c.argument(code.let(f"arith.subi {c.count()}, {code.constant(1)} : i64")))
    c.check_natural(size, "ArgumentError", "argument 'size' is {0}, expected zero or more")
    room = code.stack(8)
    code.store(size, "i64", room)
    code_of_dtype = code.constant(INT64, "i32")
    bytes = c.bytes_of(size, code_of_dtype)
    tensor = c.owned_tensor(room, code.constant(1), code_of_dtype, bytes)
    data = code.load(tensor, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
    zero = code.constant(0, "i8")
    code.do(f'"llvm.intr.memset"({data}, {zero}, {bytes}) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()')
    c.result(TENSOR, tensor)


def _is_number(c: BuiltinWriter, slot: str) -> str:
    kind = c.kind_of(slot)
    return c.any_of(c.equal(kind, INT, "i32"), c.equal(kind, BOOL, "i32"))


def _size(c: BuiltinWriter, slot: str) -> str:
    """An integer (i64), which may be the only entry of a shape."""

    def entry() -> list[str]:
        rank, numbers = c.dims(slot, "argument 'size'")
        c.check(
            c.equal(rank, 1, "i64"),
            "ArgumentError",
            "argument 'size' is a shape of {0} entries, expected one",
            c.code.index(rank),
        )
        return [c.code.load(numbers, 0, "i64")]

    (size,) = c.code.choose(_is_number(c, slot), ["i64"], lambda: [c.payload(slot)], entry)
    return size


@dataclass(frozen=True)
class _Slots:
    """Slot indices: the last arguments of a call, or a shape that is the last argument."""

    c: BuiltinWriter
    first: int
    """The index of the first such argument."""
    count: str
    """The number of slots (i64)."""
    numbers: str
    """The address of the entries if they are a shape; otherwise null."""

    @staticmethod
    def of(c: BuiltinWriter, first: int) -> _Slots:
        code = c.code
        given = code.let(f"arith.subi {c.count()}, {code.constant(first)} : i64")
        types = ["i64", "!llvm.ptr"]

        def listed() -> list[str]:
            return [given, code.null()]

        def only() -> list[str]:
            slot = c.slot(first)
            return code.choose(_is_number(c, slot), types, listed, lambda: c.dims(slot, "a slot"))

        count, numbers = code.choose(c.equal(given, 1, "i64"), types, only, listed)
        return _Slots(c, first, count, numbers)

    def number(self, i: str) -> str:
        """Slot index `i` (i64)."""
        c, code = self.c, self.c.code
        listed = code.let(f'llvm.icmp "ne" {self.numbers}, {code.null()} : !llvm.ptr')

        def argument() -> list[str]:
            position = code.let(f"arith.addi {i}, {code.constant(self.first)} : i64")
            return [c.number(c.argument(position), "a slot")]

        (found,) = code.choose(listed, ["i64"], lambda: [code.load(c.element(self.numbers, i, 8), 0, "i64")], argument)
        return found


def _shape_or_tensor(c: BuiltinWriter, slot: str) -> tuple[str, str]:
    """The number of dimensions of a shape or tensor (i64), and their address."""
    kind = c.kind_of(slot)
    is_tensor = c.any_of(c.equal(kind, TENSOR, "i32"), c.equal(kind, DLTENSOR, "i32"))

    def of_tensor() -> list[str]:
        tensor = c.dl_tensor(slot, "argument 'shape'", is_read=False)
        return [c.rank(tensor), c.code.load(tensor, DL.SHAPE, "!llvm.ptr")]

    count, numbers = c.code.choose(is_tensor, ["i64", "!llvm.ptr"], of_tensor, lambda: c.dims(slot, "argument 'shape'"))
    return count, numbers


def _shape_of(c: BuiltinWriter) -> None:
    """(x): the shape of a tensor."""
    c.take(1, "x")
    tensor = c.dl_tensor(c.slot(0), "argument 'x'", is_read=False)
    c.shape_result(c.rank(tensor), c.code.load(tensor, DL.SHAPE, "!llvm.ptr"))


def _store_shape(c: BuiltinWriter) -> None:
    """(shape, heap, slots...): write the dimensions of a shape or tensor into slots of the heap."""
    code = c.code
    c.take_from(2, "shape", "heap", "slots...")
    rank, numbers = _shape_or_tensor(c, c.slot(0))
    heap = c.heap(c.slot(1))
    slots = _Slots.of(c, 2)
    c.check_equal(rank, slots.count, "ShapeError", "a shape of {0} dimensions is to be stored in {1} slots")
    i = c.loop(rank)
    size = code.load(c.element(numbers, i, 8), 0, "i64")
    code.store(size, "i64", c.heap_slot(heap, slots.number(i)))
    code.do("}")
    c.nothing()


def _load_shape(c: BuiltinWriter) -> None:
    """(heap, slots...): the shape whose dimensions are in slots of the heap."""
    code = c.code
    c.take_from(1, "heap", "slots...")
    heap = c.heap(c.slot(0))
    slots = _Slots.of(c, 1)
    room = _room(c, slots.count)
    i = c.loop(slots.count)
    slot = c.heap_slot(heap, slots.number(i))
    code.store(code.load(slot, 0, "i64"), "i64", c.element(room, i, 8))
    code.do("}")
    c.shape_result(slots.count, room)


def _room(c: BuiltinWriter, rank: str) -> str:
    """Stack memory for the dimensions of a shape."""
    code = c.code
    c.check(
        code.let(f"arith.cmpi sle, {rank}, {code.constant(MAX_RANK)} : i64"),
        "ShapeError",
        f"a shape of {{0}} dimensions is asked for, {MAX_RANK} are the most",
        code.index(rank),
    )
    bytes = code.let(f"arith.muli {rank}, {code.constant(8)} : i64")
    return code.let(f"llvm.alloca {bytes} x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr")


def _pairs(c: BuiltinWriter, before: int, after: int) -> str:
    """The number of {code, value} pairs after argument `before`, which holds that number; as i64."""
    code = c.code
    rank = c.number(c.slot(before), "argument 'size'")
    twice = code.let(f"arith.muli {rank}, {code.constant(2)} : i64")
    expected = code.let(f"arith.addi {twice}, {code.constant(before + 1 + after)} : i64")
    c.check(
        c.all_of(
            code.let(f"arith.cmpi uge, {c.count()}, {rank} : i64"),
            code.let(f"arith.cmpi eq, {expected}, {c.count()} : i64"),
        ),
        "ArgumentError",
        f"takes {before + 1 + after} arguments and two for each dimension; got {{0}} for {{1}} dimensions",
        code.index("%n", "i32"),
        code.index(rank),
    )
    return rank


def _pair(c: BuiltinWriter, i: str, first: int) -> tuple[str, str]:
    """Code and value of pair `i`, if the pairs begin with argument `first`."""
    code = c.code
    twice = code.let(f"arith.muli {i}, {code.constant(2)} : i64")
    at = code.let(f"arith.addi {twice}, {code.constant(first)} : i64")
    after = code.let(f"arith.addi {twice}, {code.constant(first + 1)} : i64")
    return c.number(c.argument(at), "a code"), c.number(c.argument(after), "a value")


def _slot_or_number(c: BuiltinWriter, heap_at: str, which: str, value: str) -> str:
    """The contents of slot `value` of the heap if `which` (i1), otherwise `value` itself."""

    def in_slot() -> list[str]:
        return [c.code.load(c.heap_slot(c.heap(heap_at), value), 0, "i64")]

    (result,) = c.code.choose(which, ["i64"], in_slot, lambda: [value])
    return result


def _make_shape(c: BuiltinWriter) -> None:
    """(heap, size, (code, value)...): a shape of integers (code 0) and slots of the heap (code 1)."""
    code = c.code
    c.take_from(2, "heap", "size", "codes and values...")
    rank = _pairs(c, 1, 0)
    room = _room(c, rank)
    i = c.loop(rank)
    which, value = _pair(c, i, 2)
    size = _slot_or_number(c, c.slot(0), c.equal(which, SLOT, "i64"), value)
    code.store(size, "i64", c.element(room, i, 8))
    code.do("}")
    c.shape_result(rank, room)


def _match(c: BuiltinWriter, size: str, which: str, value: str, i: str, context: str, what: str) -> None:
    """Check or store one dimension according to a code."""
    code, heap_at = c.code, c.slot(1)
    code.do(f"scf.if {c.equal(which, STORE, 'i64')} {{")
    code.store(size, "i64", c.heap_slot(c.heap(heap_at), value))
    code.do("} else {")
    asserts = c.any_of(c.equal(which, ASSERT_IMMEDIATE, "i64"), c.equal(which, ASSERT_SLOT, "i64"))
    code.do(f"scf.if {asserts} {{")
    wanted = _slot_or_number(c, heap_at, c.equal(which, ASSERT_SLOT, "i64"), value)
    c.check_equal(
        size,
        wanted,
        "ShapeError",
        f"{{0:text}}: {what} is {{2}}, expected {{3}}",
        code.index(i),
        context=context,
    )
    code.do("} else {")
    c.check(c.equal(which, IGNORE, "i64"), "ArgumentError", "code {0} is none of 0 to 3", code.index(which))
    code.do("}\n  }")


def _match_shape(c: BuiltinWriter) -> None:
    """(shape, heap, size, (code, value)..., context): check and store the dimensions of a shape or tensor."""
    code = c.code
    c.take_from(4, "shape", "heap", "size", "codes and values...", "context")
    rank, numbers = _shape_or_tensor(c, c.slot(0))
    expected = _pairs(c, 2, 1)
    last = code.let(f"arith.subi {c.count()}, {code.constant(1)} : i64")
    context = c.text(c.argument(last), "argument 'context'")
    c.check_equal(rank, expected, "ShapeError", "{0:text} has rank {1}, expected rank {2}", context=context)
    i = c.loop(rank)
    which, value = _pair(c, i, 3)
    size = code.load(c.element(numbers, i, 8), 0, "i64")
    c.check_natural(
        size,
        "ShapeError",
        "{0:text}: dimension {1} is {2}, expected zero or more",
        code.index(i),
        context=context,
    )
    _match(c, size, which, value, i, context, "dimension {1}")
    code.do("}")
    c.nothing()


def _match_prim_value(c: BuiltinWriter) -> None:
    """(value, heap, code, value, context): check or store an integer."""
    code = c.code
    c.take(5, "value", "heap", "code", "value", "context")
    given = c.number(c.slot(0), "argument 'value'")
    context = c.text(c.slot(4), "argument 'context'")
    which, value = c.number(c.slot(2), "argument 'code'"), c.number(c.slot(3), "argument 3")
    _match(c, given, which, value, code.constant(0), context, "the value")
    c.nothing()


def _make_prim_value(c: BuiltinWriter) -> None:
    """(heap, code, value): an integer (code 0), or the contents of a slot of the heap (code 1)."""
    c.take(3, "heap", "code", "value")
    which, value = c.number(c.slot(1), "argument 'code'"), c.number(c.slot(2), "argument 'value'")
    c.result(INT, _slot_or_number(c, c.slot(0), c.equal(which, SLOT, "i64"), value))


def _tensor_to_shape(c: BuiltinWriter) -> None:
    """(x): the shape whose dimensions are the elements of a rank-1 int64 tensor."""
    code = c.code
    c.take(1, "x")
    tensor = c.dl_tensor(c.slot(0), "argument 'x'")
    dtype, rank = code.load(tensor, DL.DTYPE, "i32"), code.load(tensor, DL.NDIM, "i32")
    c.check(
        c.all_of(c.equal(dtype, INT64, "i32"), c.equal(rank, 1, "i32")),
        "DTypeError",
        "argument 'x' is a tensor of rank {1} of {0:dtype}, expected rank 1 of int64",
        code.index(dtype, "i32"),
        code.index(rank, "i32"),
    )
    data, _ = c.row_major(tensor)
    count = code.load(code.load(tensor, DL.SHAPE, "!llvm.ptr"), 0, "i64")
    i = c.loop(count)
    size = code.load(c.element(data, i, 8), 0, "i64")
    c.check_natural(
        size,
        "ShapeError",
        "element {0} of the tensor is {1}, expected zero or more, as it is a dimension",
        code.index(i),
    )
    code.do("}")
    c.shape_result(count, data)


def _shape_to_tensor(c: BuiltinWriter) -> None:
    """(shape): a rank-1 int64 tensor with the dimensions of a shape."""
    code = c.code
    c.take(1, "shape")
    rank, numbers = c.dims(c.slot(0), "argument 'shape'")
    room = code.stack(8)
    code.store(rank, "i64", room)
    bytes = code.let(f"arith.muli {rank}, {code.constant(8)} : i64")
    tensor = c.owned_tensor(room, code.constant(1), code.constant(INT64, "i32"), bytes)
    data = code.load(tensor, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
    code.do(
        f'"llvm.intr.memcpy"({data}, {numbers}, {bytes}) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()'
    )
    c.result(TENSOR, tensor)


def _shape_equal(c: BuiltinWriter) -> None:
    """(a, b): true if two shapes have the same dimensions."""
    code = c.code
    c.take(2, "a", "b")
    (rank, first), (other, second) = (c.dims(c.slot(i), f"argument '{n}'") for i, n in enumerate("ab"))
    same, found, result = code.let(f"arith.cmpi eq, {rank}, {other} : i64"), code.fresh(), code.fresh()
    i, before = code.fresh(), code.fresh()
    zero, step = code.constant(0, "index"), code.constant(1, "index")
    code.do(f"{result} = scf.if {same} -> i1 {{")
    bounds = f"{i} = {zero} to {code.index(rank)} step {step}"
    code.do(f"{found} = scf.for {bounds} iter_args({before} = {same}) -> (i1) {{")
    place = code.let(f"arith.index_cast {i} : index to i64")
    left, right = (code.load(c.element(numbers, place, 8), 0, "i64") for numbers in (first, second))
    equal = code.let(f"arith.cmpi eq, {left}, {right} : i64")
    code.do(f"scf.yield {code.let(f'arith.andi {before}, {equal} : i1')} : i1")
    code.do("}")
    code.do(f"scf.yield {found} : i1")
    code.do("} else {")
    code.do(f"scf.yield {same} : i1")
    code.do("}")
    c.result(BOOL, code.let(f"arith.extui {result} : i1 to i64"))


SHAPE_HEAP: Builtins = {
    "vm.builtin.alloc_shape_heap": _alloc_shape_heap,
    "vm.builtin.shape_of": _shape_of,
    "vm.builtin.store_shape": _store_shape,
    "vm.builtin.load_shape": _load_shape,
    "vm.builtin.make_shape": _make_shape,
    "vm.builtin.match_shape": _match_shape,
    "vm.builtin.match_prim_value": _match_prim_value,
    "vm.builtin.make_prim_value": _make_prim_value,
    "vm.builtin.tensor_to_shape": _tensor_to_shape,
    "vm.builtin.shape_to_tensor": _shape_to_tensor,
    "vm.builtin.shape_equal": _shape_equal,
}


# Builtins that create storages and tensors, and copy and reshape them.


def _alloc_storage(c: BuiltinWriter) -> None:
    """(vm, shape, device, dtype[, scope]): a storage, a tensor with one byte per element of the shape."""
    code = c.code
    c.take_from(4, "vm", "shape", "device", "dtype", "scope")
    _, _, size = c.natural_shape(c.slot(1), "argument 'shape'")
    device = c.number(c.slot(2), "argument 'device'")
    c.check(
        c.equal(device, 0, "i64"),
        "DeviceError",
        "device {0} is asked for, there is only 0",
        code.index(device),
    )
    c.dtype(c.slot(3), "argument 'dtype'")
    room = code.stack(8)
    code.store(size, "i64", room)
    c.result(TENSOR, c.owned_tensor(room, code.constant(1), code.constant(UINT8, "i32"), size))


def _alloc_tensor(c: BuiltinWriter) -> None:
    """(storage, offset, shape, dtype): a tensor in a storage at byte `offset`."""
    code = c.code
    c.take(4, "storage", "offset", "shape", "dtype")
    role = "argument 'storage'"
    c.require_kind(c.slot(0), (TENSOR,), role, "a storage (a tensor of bytes)")
    storage = c.dl_tensor(c.slot(0), role)
    dtype, rank = code.load(storage, DL.DTYPE, "i32"), code.load(storage, DL.NDIM, "i32")
    c.check(
        c.all_of(c.equal(dtype, UINT8, "i32"), c.equal(rank, 1, "i32")),
        "DTypeError",
        f"{role} is a tensor of rank {{1}} of {{0:dtype}}, expected rank 1 of uint8",
        code.index(dtype, "i32"),
        code.index(rank, "i32"),
    )
    contiguous = c.call("relax.rt.contiguous", [storage], ["!llvm.ptr"], "i1")
    c.check(contiguous, "ArgumentError", f"{role} is not contiguous")
    offset = c.number(c.slot(1), "argument 'offset'")
    new_rank, shape, elements = c.natural_shape(c.slot(2), "argument 'shape'")
    new_dtype = c.dtype(c.slot(3), "argument 'dtype'")
    needed = c.bytes_of(elements, new_dtype)
    available = code.load(code.load(storage, DL.SHAPE, "!llvm.ptr"), 0, "i64")
    limit = code.let(f"arith.subi {available}, {needed} : i64")
    c.check(
        c.all_of(
            code.let(f"arith.cmpi sge, {needed}, {code.constant(0)} : i64"),
            code.let(f"arith.cmpi sge, {offset}, {code.constant(0)} : i64"),
            code.let(f"arith.cmpi sle, {offset}, {limit} : i64"),
        ),
        "ArgumentError",
        "a tensor of {0} bytes (-1: beyond 64 bits) does not fit into a storage of {1} bytes from byte {2} on",
        code.index(needed),
        code.index(available),
        code.index(offset),
    )
    at = code.let(f"llvm.getelementptr {c.elements(storage)}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    c.result(TENSOR, c.view(code.load(c.slot(0), 8, "!llvm.ptr"), at, new_rank, shape, new_dtype))


def _reshape(c: BuiltinWriter) -> None:
    """(x, shape): the elements of a tensor in another shape: a view if it is row-major, otherwise a copy."""
    code = c.code
    c.take(2, "x", "shape")
    x = c.dl_tensor(c.slot(0), "argument 'x'")
    rank, shape, wanted = c.natural_shape(c.slot(1), "argument 'shape'")
    dtype = code.load(x, DL.DTYPE, "i32")
    have = c.call("relax.rt.tensor_bytes", [x, code.constant(1)], ["!llvm.ptr", "i64"], "i64")
    c.check_equal(have, wanted, "ShapeError", "a tensor of {0} elements cannot have a shape of {1}")
    is_object = c.equal(c.kind_of(c.slot(0)), TENSOR, "i32")
    plain = c.all_of(is_object, c.call("relax.rt.contiguous", [x], ["!llvm.ptr"], "i1"))

    def copied() -> list[str]:
        copy = c.copy(x)
        return [copy, code.load(copy, OBJECT_BYTES + DL.DATA, "!llvm.ptr")]

    source, base = code.choose(
        plain, ["!llvm.ptr"] * 2, lambda: [code.load(c.slot(0), 8, "!llvm.ptr"), c.elements(x)], copied
    )
    c.result(TENSOR, c.view(source, base, rank, shape, dtype))


def _copy(c: BuiltinWriter) -> None:
    """(x): the value itself, for a move between registers."""
    c.take(1, "x")
    c.any_result(c.slot(0))


def _copy_tensor(c: BuiltinWriter) -> None:
    """(x): a new tensor with the elements of another one, in row-major order."""
    c.take(1, "x")
    c.held(TENSOR, c.copy(c.dl_tensor(c.slot(0), "argument 'x'")))


def _copy_into(c: BuiltinWriter) -> None:
    """(source, destination): copy the elements of a tensor into another one of the same shape and dtype."""
    code = c.code
    c.take(2, "source", "destination")
    source, target = (c.dl_tensor(c.slot(i), f"argument '{n}'") for i, n in enumerate(("source", "destination")))
    dtype, other = (code.load(t, DL.DTYPE, "i32") for t in (source, target))
    c.check_equal(dtype, other, "DTypeError", "the source has dtype {0:dtype}, the destination {1:dtype}", type="i32")
    rank, other_rank = c.rank(source), c.rank(target)
    c.check_equal(rank, other_rank, "ShapeError", "the source has rank {0}, the destination {1}")
    sizes, others = (code.load(t, DL.SHAPE, "!llvm.ptr") for t in (source, target))
    i = c.loop(rank)
    a, b = (code.load(c.element(shape, i, 8), 0, "i64") for shape in (sizes, others))
    c.check_equal(a, b, "ShapeError", "dimension {0} of the source is {1}, of the destination {2}", code.index(i))
    code.do("}")
    contiguous = c.call("relax.rt.contiguous", [target], ["!llvm.ptr"], "i1")
    c.check(contiguous, "ArgumentError", "the destination is not contiguous")
    data, bytes = c.row_major(source)
    operands = f"{c.elements(target)}, {data}, {bytes}"
    code.do(f'"llvm.intr.memmove"({operands}) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()')
    c.nothing()


def _null_value(c: BuiltinWriter) -> None:
    """(): None; ends the lifetime of the register's previous value."""
    c.take(0)
    c.nothing()


MEMORY: Builtins = {
    "vm.builtin.alloc_storage": _alloc_storage,
    "vm.builtin.alloc_tensor": _alloc_tensor,
    "vm.builtin.reshape": _reshape,
    "vm.builtin.copy": _copy,
    "vm.builtin.copy_tensor": _copy_tensor,
    "vm.builtin.copy_into": _copy_into,
    "vm.builtin.null_value": _null_value,
}
