"""Builtins for tuples, closures and calls of values."""

from __future__ import annotations

from relax_mlir.lowering.abi.unpack import ANY_BYTES, ARRAY, INT, LIST, OBJECT_BYTES
from relax_mlir.lowering.runtime_lib.vm_builtins.arguments import FUNCTION, Builtins, BuiltinWriter

CLOSURES_CALL = (
    "@malloc(i64) -> !llvm.ptr",
    "@TVMFFIFunctionCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32",
    "@TVMFFIAnyViewToOwnedAny(!llvm.ptr, !llvm.ptr) -> i32",
)
CLOSURES = """
// What a closure runs: `self` is a block {number of captured values, 0, function, captured values}, all TVMFFIAnys but
// the head. The captured values stand behind the arguments.
llvm.func internal @relax.vm.call_closure(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr) -> i32 {
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %captured = llvm.load %self : !llvm.ptr -> i64
  %given = llvm.sext %n : i32 to i64
  %total = llvm.add %captured, %given : i64
  %buffer = llvm.alloca %total x !llvm.struct<(i64, i64)> {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %given_bytes = llvm.mul %given, %c16 : i64
  "llvm.intr.memcpy"(%buffer, %args, %given_bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %rest = llvm.getelementptr %buffer[%given_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %values = llvm.getelementptr %self[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %bytes = llvm.mul %captured, %c16 : i64
  "llvm.intr.memcpy"(%rest, %values, %bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %at = llvm.getelementptr %self[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %function = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %n32 = llvm.trunc %total : i64 to i32
  %status = llvm.call @TVMFFIFunctionCall(%function, %buffer, %n32, %ret) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr)
  -> i32 llvm.return %status : i32
}

llvm.func internal @relax.vm.delete_closure(%self: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %object = llvm.mlir.constant(64 : i32) : i32
  %captured = llvm.load %self : !llvm.ptr -> i64
  %count = llvm.add %captured, %one : i64
  %values = llvm.getelementptr %self[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %next = llvm.add %i, %one : i64
  %slot = llvm.getelementptr %values[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %kind = llvm.load %slot : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %kind, %object : i32
  llvm.cond_br %is_object, ^drop, ^head(%next : i64)
^drop:
  %at8 = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %held = llvm.load %at8 : !llvm.ptr -> !llvm.ptr
  %rc = llvm.call @TVMFFIObjectDecRef(%held) : (!llvm.ptr) -> i32
  llvm.br ^head(%next : i64)
^end:
  llvm.call @free(%self) : (!llvm.ptr) -> ()
  llvm.return
}

// A closure of a function and the values behind it: `values` are `count` TVMFFIAnys, the function first.
llvm.func internal @relax.vm.new_closure(%values: !llvm.ptr, %count: i64, %ret: !llvm.ptr) -> i32 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %kind = llvm.mlir.constant(68 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %bytes = llvm.mul %count, %c16 : i64
  %size = llvm.add %bytes, %c16 : i64
  %block = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %captured = llvm.sub %count, %one : i64
  llvm.store %captured, %block : i64, !llvm.ptr
  %copies = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %null8 = llvm.mlir.constant(0 : i8) : i8
  "llvm.intr.memset"(%copies, %null8, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^body, ^make
^body:
  %from = llvm.getelementptr %values[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %to = llvm.getelementptr %copies[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %taken = llvm.call @TVMFFIAnyViewToOwnedAny(%from, %to) : (!llvm.ptr, !llvm.ptr) -> i32
  %next = llvm.add %i, %one : i64
  %fine = llvm.icmp "eq" %taken, %ok : i32
  llvm.cond_br %fine, ^head(%next : i64), ^fail(%taken : i32)
^make:
  %call = llvm.mlir.addressof @relax.vm.call_closure : !llvm.ptr
  %delete = llvm.mlir.addressof @relax.vm.delete_closure : !llvm.ptr
  %at8 = llvm.getelementptr %ret[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %made = llvm.call @TVMFFIFunctionCreate(%block, %call, %delete, %at8)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %is_made = llvm.icmp "eq" %made, %ok : i32
  llvm.cond_br %is_made, ^done, ^fail(%made : i32)
^done:
  llvm.store %kind, %ret : i64, !llvm.ptr
  llvm.return %ok : i32
^fail(%status: i32):
  llvm.call @relax.vm.delete_closure(%block) : (!llvm.ptr) -> ()
  llvm.return %status : i32
}
"""
"""What closures run; part of the module of the builtins."""


def _make_tuple(c: BuiltinWriter) -> None:
    """(fields...): a tuple, which is an array of the FFI."""
    c.result(ARRAY, c.construct("ffi.Array", "%args", "%n"))


def _tuple_getitem(c: BuiltinWriter) -> None:
    """(tuple, index): a field of a tuple."""
    code = c.code
    c.take(2, "tuple", "index")
    c.require_kind(c.slot(0), (ARRAY, LIST), "argument 'tuple'", "a tuple (an array)")
    handle = code.load(c.slot(0), 8, "!llvm.ptr")
    size = code.load(handle, OBJECT_BYTES + 8, "i64")
    index = c.number(c.slot(1), "argument 'index'")
    c.check(
        code.let(f"arith.cmpi ult, {index}, {size} : i64"),
        "ArgumentError",
        "index {0} is out of range for a tuple of {1} fields",
        code.index(index),
        code.index(size),
    )
    c.any_result(c.element(code.load(handle, OBJECT_BYTES, "!llvm.ptr"), index, ANY_BYTES))


def _function(c: BuiltinWriter, i: int, what: str) -> str:
    """The handle of argument `i`, a function."""
    c.require_kind(c.slot(i), (FUNCTION,), f"argument '{what}'", "a function")
    return c.code.load(c.slot(i), 8, "!llvm.ptr")


def _call(c: BuiltinWriter, function: str, arguments: str, count: str) -> None:
    """Call a function with `count` (i64) arguments; its result is that of the builtin."""
    code = c.code
    number = code.let(f"arith.trunci {count} : i64 to i32")
    c.fragment.external("@TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32")
    status = code.let(
        f"llvm.call @TVMFFIFunctionCall({function}, {arguments}, {number}, %ret) "
        ": (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32"
    )
    c.call("relax.propagate", [status], ["i32"])
    code.do("func.return")


def _make_closure(c: BuiltinWriter) -> None:
    """(function, captured...): a function that gets the captured values behind its arguments."""
    code = c.code
    c.take_from(1, "function", "captured...")
    _function(c, 0, "function")
    status = code.let(
        f"llvm.call @relax.vm.new_closure(%args, {c.count()}, %ret) : (!llvm.ptr, i64, !llvm.ptr) -> i32"
    )
    c.call("relax.propagate", [status], ["i32"])
    code.do("func.return")


def _invoke_closure(c: BuiltinWriter) -> None:
    """(vm, closure, arguments...): call a function value."""
    c.take_from(2, "vm", "closure", "arguments...")
    function = _function(c, 1, "closure")
    _call(c, function, c.slot(2), c.code.let(f"arith.subi {c.count()}, {c.code.constant(2)} : i64"))


def _call_tir_dyn(c: BuiltinWriter) -> None:
    """(function, arguments..., shape): call with the arguments, then the dimensions of the shape as integers."""
    code = c.code
    c.take_from(2, "function", "arguments...", "shape")
    function = _function(c, 0, "function")
    last = code.let(f"arith.subi {c.count()}, {code.constant(1)} : i64")
    arguments = code.let(f"arith.subi {c.count()}, {code.constant(2)} : i64")
    rank, numbers = c.dims(c.argument(last), "argument 'shape'")
    c.check(
        code.let(f"arith.cmpi sle, {rank}, {code.constant(1024)} : i64"),
        "ShapeError",
        "the shape of integers has {0} entries, 1024 are the most",
        code.index(rank),
    )
    total = code.let(f"arith.addi {arguments}, {rank} : i64")
    size = code.let(f"arith.muli {total}, {code.constant(ANY_BYTES)} : i64")
    room = code.let(f"llvm.alloca {size} x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr")
    bytes = code.let(f"arith.muli {arguments}, {code.constant(ANY_BYTES)} : i64")
    code.do(
        f'"llvm.intr.memcpy"({room}, {c.slot(1)}, {bytes}) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()'
    )
    i = c.loop(rank)
    position = code.let(f"arith.addi {arguments}, {i} : i64")
    c.store_any(c.element(room, position, ANY_BYTES), 0, INT, code.load(c.element(numbers, i, 8), 0, "i64"))
    code.do("}")
    _call(c, function, room, total)


CONTAINERS: Builtins = {
    "vm.builtin.make_tuple": _make_tuple,
    "vm.builtin.tuple_getitem": _tuple_getitem,
    "vm.builtin.make_closure": _make_closure,
    "vm.builtin.invoke_closure": _invoke_closure,
    "vm.builtin.call_tir_dyn": _call_tir_dyn,
}
