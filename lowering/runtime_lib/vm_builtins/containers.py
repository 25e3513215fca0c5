"""Builtins for tuples, closures and calls of values."""

from __future__ import annotations

from relax_mlir.lowering.abi.unpack import ANY_BYTES, ARRAY, INT, LIST, OBJECT_BYTES
from relax_mlir.lowering.runtime_lib.set_error import SET_ERROR_CALLS
from relax_mlir.lowering.runtime_lib.vm_builtins.arguments import FUNCTION, Builtins, BuiltinWriter

CONTAINERS_CALL = (
    "@free(!llvm.ptr)",
    "@malloc(i64) -> !llvm.ptr",
    "@TVMFFIFunctionCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32",
    "@TVMFFIAnyViewToOwnedAny(!llvm.ptr, !llvm.ptr) -> i32",
    *SET_ERROR_CALLS,
)
"""Declarations for the templates of tuples and closures."""

CALL_BYTES = 4096
"""Maximum bytes of the C stack that a call of a function value takes, in addition to its arguments."""


def _make_tuple(c: BuiltinWriter) -> None:
    """(fields...): a tuple, which is an FFI array."""
    code = c.code
    c.keepable("%args", c.count())
    made = c.call("relax.vm.tuple", [c.count()], ["i64"], "!llvm.ptr")
    fields = code.load(made, OBJECT_BYTES, "!llvm.ptr")
    status = code.let(
        f"llvm.call @relax.vm.keep_values(%args, {fields}, {c.count()}) : (!llvm.ptr, !llvm.ptr, i64) -> i32"
    )
    ok = code.constant(0, "i32")
    failed = code.let(f"arith.cmpi ne, {status}, {ok} : i32")
    code.do(f"scf.if {failed} {{")
    code.let(f"llvm.call @TVMFFIObjectDecRef({made}) : (!llvm.ptr) -> i32")
    code.do("}")
    c.call("relax.propagate", [status], ["i32"])
    c.result(ARRAY, made)


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


def _room_for_call(c: BuiltinWriter, bytes: str) -> None:
    """Check that the C stack has room for a call, and for `bytes` (i64) more."""
    code = c.code
    needed = code.let(f"arith.addi {bytes}, {code.constant(CALL_BYTES)} : i64")
    left = code.let("llvm.call @relax.vm.stack_left() : () -> i64")
    c.check(
        code.let(f"arith.cmpi sge, {left}, {needed} : i64"),
        "RecursionLimitError",
        "the C stack of this thread has no room for another call: is the recursion endless, or the stack small?",
    )


def _call(c: BuiltinWriter, function: str, arguments: str, count: str) -> None:
    """Call a function with `count` (i64) arguments; the builtin returns its result."""
    code = c.code
    _room_for_call(c, code.constant(0))
    number = code.let(f"arith.trunci {count} : i64 to i32")
    c.fragment.external("@TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32")
    status = code.let(
        f"llvm.call @TVMFFIFunctionCall({function}, {arguments}, {number}, %ret) "
        ": (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32"
    )
    c.call("relax.propagate", [status], ["i32"])
    code.do("func.return")


def _make_closure(c: BuiltinWriter) -> None:
    """(function, captured...): a function that appends the captured values to its arguments."""
    code = c.code
    c.take_from(1, "function", "captured...")
    _function(c, 0, "function")
    c.keepable("%args", c.count())
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
    _room_for_call(c, size)
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
