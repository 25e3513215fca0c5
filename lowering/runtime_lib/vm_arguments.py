"""Reading the arguments of a builtin and returning its result: code that all builtins share."""

from __future__ import annotations

from collections.abc import Callable

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
        pointer = code.let(
            f"llvm.select {self.equal(kind, TENSOR, 'i32')}, {inside}, {handle} : i1, !llvm.ptr"
        )
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
        found = code.fresh()
        code.do(f"{found} = scf.if {self.is_kind(kind, SHAPE)} -> i64 {{")
        code.do(f"scf.yield {payload} : i64")
        code.do("} else {")
        made = code.let(
            f'func.call @"relax.object.as_shape"({code.frame(self.fragment)}, {kind}, {payload})'
            " : (!llvm.ptr, i64, i64) -> i64"
        )
        code.do(f"scf.yield {made} : i64")
        code.do("}")
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
        self.check(
            code.let(f"arith.cmpi sge, {size}, {code.constant(0)} : i64"),
            "ShapeError",
            f"{role} has dimension {{0}} of {{1}}, expected zero or more",
            i,
            code.index(size),
        )
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
        inside = code.at(slot, 8)
        result, other = code.fresh(), code.fresh()
        code.do(f"{result} = scf.if {self.equal(kind, SMALL_STR, 'i32')} -> !llvm.ptr {{")
        code.do(f"scf.yield {inside} : !llvm.ptr")
        code.do("} else {")
        handle = code.load(slot, 8, "!llvm.ptr")
        code.do(f"{other} = scf.if {self.equal(kind, STR, 'i32')} -> !llvm.ptr {{")
        code.do(f"scf.yield {code.load(handle, OBJECT_BYTES, '!llvm.ptr')} : !llvm.ptr")
        code.do(f"}} else {{\n  scf.yield {handle} : !llvm.ptr\n  }}")
        code.do(f"scf.yield {other} : !llvm.ptr")
        code.do("}")
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
