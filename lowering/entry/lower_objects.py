"""`lower-objects`: the functions that read and create TVM FFI objects, as far as a module calls them.

A value of a kind only known at run time is a *handle*: the two words of a TVMFFIAny as i64, its kind and its payload
(for objects, the pointer). Handles are borrowed. The frame of the function that received or created an object holds the
reference until the function returns. Numbers and short strings are stored in the words themselves.

From level T on a module declares the functions that it needs, such as
`func.func private @relax.object.size(i64, index) -> index`, and this pass defines them. Calls of `framed` functions get
the frame of their caller as first argument here. Functions with a variable number of operands have it as a suffix
(`relax.object.tensor.2`, for two dimensions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import SUPPORT
from relax_mlir.error import CompileError
from relax_mlir.lowering.base.runtime_declarations import calls_of, declare_release, frame_of
from relax_mlir.lowering.base.unpack import (
    ANY_BYTES,
    ARRAY,
    DL,
    DLTENSOR,
    FIRST_OBJECT,
    INT,
    LIST,
    OBJECT_BYTES,
    SHAPE,
    TENSOR,
    FFICode,
)
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Fragment, functions, is_declaration, symbol
from relax_mlir.transform import ModulePass, PassContext

PREFIX = "relax.object."
_RAW = (8, 9, 10)
"""Kinds whose data is in the caller's memory: C strings, byte arrays, and rvalue references."""


class ObjectWriter(FFICode):
    """Emits one function; its operands are `%a0`, `%a1`, …."""

    def give(self, *values: str, types: str) -> None:
        self.code.do(f"func.return {', '.join(values)} : {types}")

    def pointer(self, payload: str) -> str:
        return self.code.let(f"llvm.inttoptr {payload} : i64 to !llvm.ptr")

    def word(self, pointer: str) -> str:
        return self.code.let(f"llvm.ptrtoint {pointer} : !llvm.ptr to i64")

    def dltensor(self, payload: str) -> str:
        return self.code.at(self.pointer(payload), OBJECT_BYTES)

    def element_bytes(self, dtype: str) -> str:
        """The size in bytes of an element of a DLDataType (i32), as i64."""
        code = self.code
        number = code.let(f"arith.extui {dtype} : i32 to i64")
        shifted = code.let(f"arith.shrui {number}, {code.constant(8)} : i64")
        bits = code.let(f"arith.andi {shifted}, {code.constant(255)} : i64")
        lanes = code.let(f"arith.shrui {number}, {code.constant(16)} : i64")
        product = code.let(f"arith.muli {bits}, {lanes} : i64")
        up = code.let(f"arith.addi {product}, {code.constant(7)} : i64")
        return code.let(f"arith.shrui {up}, {code.constant(3)} : i64")

    def is_kind(self, kind: str, *wanted: int) -> str:
        """True (i1) if the kind of a handle, its first i64, is one of `wanted`."""
        index = self.code.let(f"arith.trunci {kind} : i64 to i32")
        return self.any_of(*(self.equal(index, k, "i32") for k in wanted))

    def is_object(self, kind: str) -> str:
        index = self.code.let(f"arith.trunci {kind} : i64 to i32")
        return self.code.let(f"arith.cmpi sge, {index}, {self.code.constant(FIRST_OBJECT, 'i32')} : i32")

    def retain(self, kind: str, payload: str) -> None:
        """Increment the reference count, if it is an object."""
        self.fragment.external("@TVMFFIObjectIncRef(!llvm.ptr) -> i32")
        self.code.do(f"scf.if {self.is_object(kind)} {{")
        self.code.let(f"llvm.call @TVMFFIObjectIncRef({self.pointer(payload)}) : (!llvm.ptr) -> i32")
        self.code.do("}")

    def own_any(self, kind: str, payload: str) -> None:
        """Move the reference to the frame, if it is an object."""
        self.code.do(f"scf.if {self.is_object(kind)} {{")
        self.own(self.pointer(payload))
        self.code.do("}")

    def row_major(self, tensor: str) -> tuple[str, str]:
        """The data of a DLTensor in row-major order and its size in bytes; a copy lives as long as the frame."""
        code = self.code
        size = self.element_bytes(code.load(tensor, DL.DTYPE, "i32"))
        operands = [code.frame(self.fragment), tensor, size]
        data = self.call("relax.rt.dense", operands, ["!llvm.ptr", "!llvm.ptr", "i64"], "!llvm.ptr")
        return data, self.call("relax.rt.tensor_bytes", [tensor, size], ["!llvm.ptr", "i64"], "i64")

    def new_tensor(self, shape: str, rank: str, dtype: str) -> str:
        """A new tensor owned by the frame; `rank` and `dtype` are i32."""
        operands = [shape, rank, dtype, self.element_bytes(dtype)]
        types = ["!llvm.ptr", "i32", "i32", "i64"]
        tensor = self.call("relax.rt.tensor", operands, types, "!llvm.ptr")
        self.own(tensor)
        return tensor

    def copy(self, tensor: str) -> str:
        """A copy of a DLTensor as a tensor owned by the frame."""
        code = self.code
        shape, rank = code.load(tensor, DL.SHAPE, "!llvm.ptr"), code.load(tensor, DL.NDIM, "i32")
        new = self.new_tensor(shape, rank, code.load(tensor, DL.DTYPE, "i32"))
        data, size = self.row_major(tensor)
        to = code.load(new, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
        code.do(
            f'"llvm.intr.memcpy"({to}, {data}, {size}) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()'
        )
        return new

    def loop(self, count: str) -> str:
        """Begin a loop of `count` (i64) iterations; return the iteration as i64. The caller emits the closing brace."""
        code = self.code
        last, step, zero = code.index(count), code.constant(1, "index"), code.constant(0, "index")
        i = code.fresh()
        code.do(f"scf.for {i} = {zero} to {last} step {step} {{")
        return code.let(f"arith.index_cast {i} : index to i64")

    def element(self, base: str, position: str, bytes: int) -> str:
        """The address of an element of `bytes` bytes; `position` is an i64."""
        offset = self.code.let(f"arith.muli {position}, {self.code.constant(bytes)} : i64")
        return self.code.let(f"llvm.getelementptr {base}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")

    def shape_from(self, count: str, numbers: str, stride: int, offset: int) -> str:
        """A new Shape owned by the frame, from `count` i64 at a distance of `stride` bytes."""
        code = self.code
        size = code.let(f"arith.muli {count}, {code.constant(ANY_BYTES)} : i64")
        room = code.let(f"llvm.alloca {size} x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr")
        i = self.loop(count)
        number = code.load(self.element(numbers, i, stride), offset, "i64")
        self.store_any(self.element(room, i, ANY_BYTES), 0, INT, number)
        code.do("}")
        shape = self.construct("ffi.Shape", room, code.let(f"arith.trunci {count} : i64 to i32"))
        self.own(shape)
        return shape


def _rank(c: ObjectWriter, count: int) -> None:
    c.give(c.code.index(c.code.load(c.dltensor("%a0"), DL.NDIM, "i32"), "i32"), types="index")


def _dtype(c: ObjectWriter, count: int) -> None:
    c.give(c.code.index(c.code.load(c.dltensor("%a0"), DL.DTYPE, "i32"), "i32"), types="index")


def _device(c: ObjectWriter, count: int) -> None:
    c.give(c.code.index(c.code.load(c.dltensor("%a0"), DL.DEVICE, "i32"), "i32"), types="index")


def _size(c: ObjectWriter, count: int) -> None:
    shape = c.code.load(c.dltensor("%a0"), DL.SHAPE, "!llvm.ptr")
    axis = c.code.let("arith.index_cast %a1 : index to i64")
    c.give(c.code.index(c.code.load(c.element(shape, axis, 8), 0, "i64")), types="index")


def _bytes(c: ObjectWriter, count: int) -> None:
    data, size = c.row_major(c.dltensor("%a0"))
    c.give(c.call("relax.rt.bytes", [data, size], ["!llvm.ptr", "i64"], "memref<?xi8>"), types="memref<?xi8>")


def _copy(c: ObjectWriter, count: int) -> None:
    c.give(c.word(c.copy(c.dltensor("%a0"))), types="i64")


def _tensor(c: ObjectWriter, count: int) -> None:
    code = c.code
    room = code.stack(8 * count)
    for i in range(count):
        code.store(code.let(f"arith.index_cast %a{i + 1} : index to i64"), "i64", room, 8 * i)
    dtype = code.let("arith.trunci %a0 : i64 to i32")
    c.give(c.word(c.new_tensor(room, code.constant(count, "i32"), dtype)), types="i64")


def _shape(c: ObjectWriter, count: int) -> None:
    shape = c.shape_of_numbers([f"%a{i}" for i in range(count)])
    c.own(shape)
    c.give(c.word(shape), types="i64")


def _shape_rank(c: ObjectWriter, count: int) -> None:
    c.give(c.code.index(c.code.load(c.pointer("%a0"), OBJECT_BYTES + 8, "i64")), types="index")


def _shape_entry(c: ObjectWriter, count: int) -> None:
    numbers = c.code.load(c.pointer("%a0"), OBJECT_BYTES, "!llvm.ptr")
    position = c.code.let("arith.index_cast %a1 : index to i64")
    c.give(c.code.index(c.code.load(c.element(numbers, position, 8), 0, "i64")), types="index")


def _shape_of(c: ObjectWriter, count: int) -> None:
    tensor = c.dltensor("%a0")
    rank = c.code.let(f"arith.extsi {c.code.load(tensor, DL.NDIM, 'i32')} : i32 to i64")
    shape = c.code.load(tensor, DL.SHAPE, "!llvm.ptr")
    c.give(c.word(c.shape_from(rank, shape, 8, 0)), types="i64")


def _as_shape(c: ObjectWriter, count: int) -> None:
    """The Shape that a value is, or the conversion of an Array or List of ints; otherwise 0."""
    code = c.code
    zero, true = code.constant(0), code.constant(1, "i1")

    def of_list() -> list[str]:
        elements = code.load(c.pointer("%a1"), OBJECT_BYTES, "!llvm.ptr")
        length = code.load(c.pointer("%a1"), OBJECT_BYTES + 8, "i64")
        good, i, before = code.fresh(), code.fresh(), code.fresh()
        bounds = f"{code.constant(0, 'index')} to {code.index(length)} step {code.constant(1, 'index')}"
        code.do(f"{good} = scf.for {i} = {bounds} iter_args({before} = {true}) -> (i1) {{")
        position = code.let(f"arith.index_cast {i} : index to i64")
        kind = code.load(c.element(elements, position, ANY_BYTES), 0, "i64")
        code.do(f"scf.yield {c.all_of(before, c.is_kind(kind, INT))} : i1")
        code.do("}")

        def made() -> list[str]:
            return [c.word(c.shape_from(length, elements, ANY_BYTES, 8))]

        return code.choose(good, ["i64"], made, lambda: [zero])

    def of_other() -> list[str]:
        return code.choose(c.is_kind("%a0", ARRAY, LIST), ["i64"], of_list, lambda: [zero])

    c.give(*code.choose(c.is_kind("%a0", SHAPE), ["i64"], lambda: ["%a1"], of_other), types="i64")


def _array(c: ObjectWriter, count: int) -> None:
    room = c.code.stack(ANY_BYTES * count)
    for i in range(count):
        c.store_any(room, i, f"%a{2 * i}", f"%a{2 * i + 1}")
    array = c.construct("ffi.Array", room, count)
    c.own(array)
    c.give(c.word(array), types="i64")


def _item(c: ObjectWriter, count: int) -> None:
    """An element of an Array or List; the frame also holds a reference, because Lists are mutable."""
    elements = c.code.load(c.pointer("%a0"), OBJECT_BYTES, "!llvm.ptr")
    position = c.code.let("arith.index_cast %a1 : index to i64")
    slot = c.element(elements, position, ANY_BYTES)
    kind, payload = c.code.load(slot, 0, "i64"), c.code.load(slot, 8, "i64")
    c.retain(kind, payload)
    c.own_any(kind, payload)
    c.give(kind, payload, types="i64, i64")


def _own(c: ObjectWriter, count: int) -> None:
    c.own_any("%a0", "%a1")
    c.code.do("func.return")


def _retain(c: ObjectWriter, count: int) -> None:
    c.retain("%a0", "%a1")
    c.code.do("func.return")


def _take(c: ObjectWriter, count: int) -> None:
    """An argument of a call as a handle; data in the caller's memory is copied."""
    code = c.code
    kind, payload = code.load("%a0", 0, "i64"), code.load("%a0", 8, "i64")
    types = ["i64", "i64"]

    def copied() -> list[str]:
        return [code.constant(TENSOR), c.word(c.copy(c.pointer(payload)))]

    def owned() -> list[str]:
        c.fragment.external("@TVMFFIAnyViewToOwnedAny(!llvm.ptr, !llvm.ptr) -> i32")
        room = code.stack(ANY_BYTES)
        status = code.let(f"llvm.call @TVMFFIAnyViewToOwnedAny(%a0, {room}) : (!llvm.ptr, !llvm.ptr) -> i32")
        c.call("relax.propagate", [status], ["i32"])
        found = [code.load(room, 0, "i64"), code.load(room, 8, "i64")]
        c.own_any(*found)
        return found

    def of_other() -> list[str]:
        return code.choose(c.is_kind(kind, *_RAW), types, owned, lambda: [kind, payload])

    c.give(*code.choose(c.is_kind(kind, DLTENSOR), types, copied, of_other), types="i64, i64")


def _drop(c: ObjectWriter, count: int) -> None:
    c.code.do(f"scf.if {c.is_object('%a0')} {{")
    c.call("relax.rt.drop", [c.pointer("%a1")], ["!llvm.ptr"])
    c.code.do("}")
    c.code.do("func.return")


def _stack(c: ObjectWriter, count: int) -> None:
    """An address in the stack frame of the caller, approximately."""
    here = c.word(c.code.stack(8))
    c.give(here, types="i64")


@dataclass(frozen=True)
class _ObjectFunction:
    """An object function: its emitter; `framed`: it leaves references in the frame of its caller."""

    write: Callable[[ObjectWriter, int], None]
    framed: bool = False


_FUNCTIONS: dict[str, _ObjectFunction] = {
    "rank": _ObjectFunction(_rank),
    "dtype": _ObjectFunction(_dtype),
    "device": _ObjectFunction(_device),
    "size": _ObjectFunction(_size),
    "bytes": _ObjectFunction(_bytes, framed=True),
    "copy": _ObjectFunction(_copy, framed=True),
    "tensor": _ObjectFunction(_tensor, framed=True),
    "shape": _ObjectFunction(_shape, framed=True),
    "shape_rank": _ObjectFunction(_shape_rank),
    "shape_entry": _ObjectFunction(_shape_entry),
    "shape_of": _ObjectFunction(_shape_of, framed=True),
    "as_shape": _ObjectFunction(_as_shape, framed=True),
    "array": _ObjectFunction(_array, framed=True),
    "item": _ObjectFunction(_item, framed=True),
    "own": _ObjectFunction(_own, framed=True),
    "retain": _ObjectFunction(_retain),
    "take": _ObjectFunction(_take, framed=True),
    "drop": _ObjectFunction(_drop),
    "stack": _ObjectFunction(_stack),
}


def _is_framed(name: str) -> bool:
    """True if the object function of this name exists and needs a frame."""
    function = _FUNCTIONS.get(name.removeprefix(PREFIX).partition(".")[0])
    return function is not None and function.framed


def define_object_function(fragment: Fragment, name: str, inputs: list[str], results: list[str]) -> None:
    """Define `name` (with a frame argument, if it needs one); `inputs` exclude the frame.

    Raises CompileError if there is no such function.
    """
    stem, _, count = name.removeprefix(PREFIX).partition(".")
    if stem not in _FUNCTIONS:
        raise CompileError(f"no object function {name!r}; known: {', '.join(sorted(_FUNCTIONS))}")
    writer = ObjectWriter(name, "", fragment)
    parameters = [f"%a{i}: {type}" for i, type in enumerate(inputs)]
    if _FUNCTIONS[stem].framed:
        writer.code.use_frame("%frame")
        parameters.insert(0, "%frame: !llvm.ptr")
    _FUNCTIONS[stem].write(writer, int(count or 0))
    types = f" -> ({', '.join(results)})" if results else ""
    fragment.function(f"private {symbol(name)}({', '.join(parameters)}){types}", writer.code, SUPPORT)


class LowerObjects(ModulePass):
    """Define the object functions that a module declares, and pass the caller's frame to their calls."""

    name: ClassVar[str] = "lower-objects"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        declared = {name: op for name, op in table.items() if name.startswith(PREFIX) and is_declaration(op)}
        if not declared:
            return
        declare_release(module)
        framed = {name for name in declared if _is_framed(name)}
        for function in table.values():
            calls = [] if is_declaration(function) else calls_of(function, framed)
            for call in calls:
                _pass_frame(call, frame_of(function))
        fragment = Fragment()
        for name, op in declared.items():
            inputs, results = [str(t) for t in op.type.inputs], [str(t) for t in op.type.results]
            op.operation.erase()
            define_object_function(fragment, name, inputs, results)
        fragment.splice(module)


def _pass_frame(call: func.CallOp, frame: ir.Value) -> None:
    types = [result.type for result in call.results]
    with ir.InsertionPoint(call), call.location:
        new = func.CallOp(types, call.callee.value, [frame, *call.operands])
    for old, value in zip(call.results, new.results, strict=True):
        old.replace_all_uses_with(value)
    call.operation.erase()
