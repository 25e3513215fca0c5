"""The virtual machine's core, and its builtins for tuples, closures, calls, scalars and checks."""

from __future__ import annotations

import functools
from collections.abc import Callable

from relax_mlir.lowering.base.signature import ENTRY_PREFIX
from relax_mlir.lowering.base.support import (
    HEAD_BYTES,
    MEMORY_TABLE,
    PAGE_BYTES,
    PAGED_BYTES,
    SET_ERROR_CALLS,
    fill_template,
    set_error_text,
    support_text,
)
from relax_mlir.lowering.base.unpack import (
    ANY_BYTES,
    ARRAY,
    DL,
    FLOAT,
    INT,
    LIST,
    NONE,
    OBJECT_BYTES,
    SHAPE,
    TENSOR,
)
from relax_mlir.lowering.runtime_lib.vm_memory import (
    BOOL,
    BOOL8,
    DTYPE,
    FUNCTION,
    MEMORY,
    SHAPE_HEAP,
    Builtins,
    BuiltinWriter,
    Writer,
)
from relax_mlir.mlir_text import Fragment, symbol, symbols_in

# The core of the virtual machine: a loop over instructions, in generated code.
#
# A *machine* is one block of memory, which the core frees with the last reference to it: a header (`HEAD`), tables,
# code. The runtime (`relax_mlir.vm.machine`) fills it in. Functions of the machine have descriptors (`DESCRIPTOR`); the
# FFI function of a descriptor holds a reference to the machine.
#
# Registers, arguments and constants are FFI values (TVMFFIAny, 16 bytes). Arguments of calls are borrowed; parameters
# and results are reference-counted. Frames are in heap chunks of the machine, so calls between its functions take no C
# stack. Calls that come back from packed functions and closures do, and are counted per thread.
#
# Instructions are those of `relax_mlir.bytecode.instructions`, with offsets in words instead of instructions. The core
# checks nothing that `relax_mlir.bytecode.verify` can check earlier.


STATE = "__relax_vm_core"

TABLE = ("create", "release", "make_function", "store_any", "retain", "observe", "enter")
"""The functions of the core, as addresses in the table that `STATE` returns."""

HEAD = (
    *("code", "functions", "constants", "descriptors", "stack", "max_depth", "max_args", "observer"),
    *("vm_state", "vm_state_payload", "values", "value_count", "references", "numbers", "names"),
    *("instrument", "instrument_payload", "profile", "max_frame_bytes"),
)
"""Fields of a machine's header, one word each.

`functions`, `constants` and `names` are tables of values, all within the `value_count` values at `values`. The machine
owns these, `vm_state` and `instrument`. `descriptors`: by function, null for packed ones. `numbers`: maps a word of
code to its instruction's index. `observer`: null, or `observe`, through which calls then go.
"""

DESCRIPTOR = ("machine", "start", "registers", "parameters", "name", "first", "takes")
"""Fields of a function's descriptor, one word each.

`start`: the word of its first instruction. `registers`, `parameters`: their numbers. `first`: the index of its first
instruction. `takes`: a string with the number of arguments that it takes.
"""

FRAME_HEAD = 48
CHUNK_BYTES = 1 << 16
CHUNK_HEAD = 32

COUNT_BITS = 16
"""Bits of a thread's word that count its entries into machines; the bits above are the bytes of their stacks."""

SIGNAL_INSTRUCTIONS = 32
"""Number of instructions between two reads of the clock, which decides when to check for signals (Ctrl-C)."""

SIGNAL_MILLISECONDS = 20

MAX_TRACEBACK = 16
"""Maximum number of functions of a machine, the innermost ones, in the traceback of an error."""

PLACE_BYTES = 512
"""Bytes for a line of a traceback."""

NAME_CHARS = 4000
"""Maximum number of characters of a function's name in errors, whose text is formatted on the stack."""

MAX_NESTING = 1000
"""Maximum nesting depth of machines on a thread, through packed functions and closures."""

STACK_RESERVE = 256 * 1024
"""Bytes of the C stack that calls into machines leave for their callees."""

ENTER_BYTES = 4096
"""Maximum bytes of the C stack that a call into a machine takes."""

CALL, RET, GOTO, IF = 1, 2, 3, 4
VOID = 1 << 54
VM = VOID + 1


def stack_text() -> str:
    """The functions that determine how much of the C stack is left, as MLIR text of level V."""
    return fill_template("vm_stack", STACK_RESERVE=STACK_RESERVE)


def vm_core_text() -> str:
    """The module of the core, as MLIR text of level V."""
    values = {
        **{name: 8 * number for number, name in enumerate(HEAD)},
        **{name: 8 * number for number, name in enumerate(DESCRIPTOR)},
        "STATE": STATE,
        "CALL": CALL,
        "CHUNK_BYTES": CHUNK_BYTES,
        "CHUNK_HEAD": CHUNK_HEAD,
        "COUNT_BITS": COUNT_BITS,
        "COUNT_MASK": (1 << COUNT_BITS) - 1,
        "ENTER_BYTES": ENTER_BYTES,
        "FRAME_HEAD": FRAME_HEAD,
        "NAME_CHARS": NAME_CHARS,
        "GOTO": GOTO,
        "IF": IF,
        "MAX_NESTING": MAX_NESTING,
        "MAX_TRACEBACK": MAX_TRACEBACK,
        "PLACE_BYTES": PLACE_BYTES,
        "PLACE_LENGTH": PLACE_BYTES - 1,
        "RET": RET,
        "SIGNAL_INSTRUCTIONS": SIGNAL_INSTRUCTIONS,
        "SIGNAL_MILLISECONDS": SIGNAL_MILLISECONDS,
        "UPDATE_BACKTRACE": OBJECT_BYTES + 48,
        "VM": VM,
        "VOID": VOID,
        "set_error": set_error_text("llvm.func internal @set_error", "llvm.return"),
    }
    return stack_text() + "".join(
        fill_template(part, values) for part in ("vm_core", "vm_machines", "vm_observed", "vm_places")
    )


# The builtins of the virtual machine: tuples, closures and calls, scalars, checks of values, and the module of all.


# Builtins for tuples, closures and calls of values.


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
    status = code.let(f"llvm.call @relax.vm.new_closure(%args, {c.count()}, %ret) : (!llvm.ptr, i64, !llvm.ptr) -> i32")
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


# Scalar builtins, named like the ops of MLIR's arith dialect that they run; integers have 64 bits.


PREFIX = "vm.builtin.arith."
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Predicates of `arith.cmpi`, by enum value."""


def _binary(text: Callable[[BuiltinWriter, str, str], str], kind: int = INT) -> Writer:
    def write(c: BuiltinWriter) -> None:
        c.take(2, "a", "b")
        a, b = (c.number(c.slot(i), f"argument '{name}'") for i, name in enumerate("ab"))
        c.result(kind, text(c, a, b))

    return write


def _op(name: str) -> Callable[[BuiltinWriter, str, str], str]:
    return lambda c, a, b: c.code.let(f"arith.{name} {a}, {b} : i64")


def _compare(predicate: str) -> Callable[[BuiltinWriter, str, str], str]:
    def write(c: BuiltinWriter, a: str, b: str) -> str:
        flag = c.code.let(f"arith.cmpi {predicate}, {a}, {b} : i64")
        return c.code.let(f"arith.extui {flag} : i1 to i64")

    return write


def _divide(name: str) -> Callable[[BuiltinWriter, str, str], str]:
    """A division defined for all operands: x / 0 is 0, and the minimum integer divided by -1 is itself."""

    def write(c: BuiltinWriter, a: str, b: str) -> str:
        code = c.code
        zero, one, minus = code.constant(0), code.constant(1), code.constant(-1)
        by_zero = code.let(f"arith.cmpi eq, {b}, {zero} : i64")
        by_minus = code.let(f"arith.cmpi eq, {b}, {minus} : i64")
        safe = code.let(f"arith.select {c.any_of(by_zero, by_minus)}, {one}, {b} : i64")
        quotient = code.let(f"arith.{name} {a}, {safe} : i64")
        negated = zero if name == "remsi" else code.let(f"arith.subi {zero}, {a} : i64")
        result = code.let(f"arith.select {by_minus}, {negated}, {quotient} : i64")
        return code.let(f"arith.select {by_zero}, {zero}, {result} : i64")

    return write


def _shift(name: str) -> Callable[[BuiltinWriter, str, str], str]:
    """A shift defined for all amounts: by 64 or more it returns 0, or the sign."""

    def write(c: BuiltinWriter, a: str, b: str) -> str:
        code = c.code
        most = code.constant(63)
        large = code.let(f"arith.cmpi ugt, {b}, {most} : i64")
        limited = code.let(f"arith.minui {b}, {most} : i64")
        shifted = code.let(f"arith.{name} {a}, {limited} : i64")
        if name == "shrsi":
            return shifted
        return code.let(f"arith.select {large}, {code.constant(0)}, {shifted} : i64")

    return write


def _select(c: BuiltinWriter) -> None:
    """(condition, a, b): one of two values."""
    code = c.code
    c.take(3, "condition", "a", "b")
    condition = c.number(c.slot(0), "argument 'condition'")
    flag = code.let(f"arith.cmpi ne, {condition}, {code.constant(0)} : i64")
    c.any_result(code.let(f"llvm.select {flag}, {c.slot(1)}, {c.slot(2)} : i1, !llvm.ptr"))


def _extract(c: BuiltinWriter) -> None:
    """(x, indices...): an element of a tensor of integers, booleans, float32 or float64."""
    code = c.code
    c.take_from(1, "x", "indices...")
    tensor = c.dl_tensor(c.slot(0), "argument 'x'")
    rank = c.rank(tensor)
    given = code.let(f"arith.subi {c.count()}, {code.constant(1)} : i64")
    c.check_equal(rank, given, "ArgumentError", "a tensor of rank {0} takes {0} indices; got {1}")
    shape, strides = code.load(tensor, DL.SHAPE, "!llvm.ptr"), code.load(tensor, DL.STRIDES, "!llvm.ptr")
    has_strides = code.let(f'llvm.icmp "ne" {strides}, {code.null()} : !llvm.ptr')
    place, i, before = code.fresh(), code.fresh(), code.fresh()
    zero, step = code.constant(0, "index"), code.constant(1, "index")
    code.do(
        f"{place} = scf.for {i} = {zero} to {code.index(rank)} step {step} "
        f"iter_args({before} = {code.constant(0)}) -> (i64) {{"
    )
    axis = code.let(f"arith.index_cast {i} : index to i64")
    position = code.let(f"arith.addi {axis}, {code.constant(1)} : i64")
    index, size = c.number(c.argument(position), "an index"), code.load(c.element(shape, axis, 8), 0, "i64")
    c.check(
        code.let(f"arith.cmpi ult, {index}, {size} : i64"),
        "ArgumentError",
        "index {0} is out of range for dimension {1} of {2}",
        code.index(index),
        i,
        code.index(size),
    )
    row_major = code.let(f"arith.muli {before}, {size} : i64")

    def by_stride() -> list[str]:
        stride = code.load(c.element(strides, axis, 8), 0, "i64")
        move = code.let(f"arith.muli {index}, {stride} : i64")
        return [code.let(f"arith.addi {before}, {move} : i64")]

    (stepped,) = code.choose(
        has_strides, ["i64"], by_stride, lambda: [code.let(f"arith.addi {row_major}, {index} : i64")]
    )
    code.do(f"scf.yield {stepped} : i64")
    code.do("}")
    dtype = code.load(tensor, DL.DTYPE, "i32")
    offset = code.let(f"arith.muli {place}, {c.element_bytes(dtype)} : i64")
    at = code.let(f"llvm.getelementptr {c.elements(tensor)}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    _element(c, at, dtype)


def _element(c: BuiltinWriter, at: str, dtype: str) -> None:
    """Return the element of a dtype (i32) at an address."""
    code = c.code
    known = code.constant(0, "i1")
    for kind, packed, conversion, type_ in _ELEMENTS:
        flag = c.equal(dtype, packed, "i32")
        known = c.any_of(known, flag)
        code.do(f"scf.if {flag} {{")
        value = code.let(f"llvm.load {at} {{alignment = 1 : i64}} : !llvm.ptr -> {type_}")
        for step in conversion:
            value = code.let(step.format(value, code.constant(0, "i8")))
        c.store_any("%ret", 0, kind, value)
        code.do("}")
    c.check(
        known,
        "DTypeError",
        "elements of {0:dtype} are no numbers of the virtual machine",
        code.index(dtype, "i32"),
    )
    code.do("func.return")


def _from_elements(c: BuiltinWriter) -> None:
    """(dtype, shape, elements...): a tensor of scalars, in row-major order."""
    code = c.code
    c.take_from(2, "dtype", "shape", "elements...")
    dtype = c.dtype(c.slot(0), "argument 'dtype'")
    rank, shape, size = c.natural_shape(c.slot(1), "argument 'shape'")
    given = code.let(f"arith.subi {c.count()}, {code.constant(2)} : i64")
    c.check_equal(size, given, "ArgumentError", "a tensor of {0} elements takes as many numbers; got {1}")
    known = code.constant(0, "i1")
    for _, packed, _, _ in _ELEMENTS:
        known = c.any_of(known, c.equal(dtype, packed, "i32"))
    c.check(
        known,
        "DTypeError",
        "{0:dtype} is no dtype of numbers of the virtual machine",
        code.index(dtype, "i32"),
    )
    narrow = code.let(f"arith.trunci {rank} : i64 to i32")
    tensor = c.new_tensor(shape, narrow, dtype)
    data = code.load(tensor, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
    bytes = c.element_bytes(dtype)
    i = c.loop(size)
    slot = c.argument(code.let(f"arith.addi {i}, {code.constant(2)} : i64"))
    offset = code.let(f"arith.muli {i}, {bytes} : i64")
    at = code.let(f"llvm.getelementptr {data}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    for kind, packed, _, type_ in _ELEMENTS:
        code.do(f"scf.if {c.equal(dtype, packed, 'i32')} {{")
        if kind == FLOAT:
            c.require_kind(slot, (FLOAT,), "an element", "a float")
            value = code.let(f"arith.bitcast {c.payload(slot)} : i64 to f64")
            value = value if type_ == "f64" else code.let(f"arith.truncf {value} : f64 to f32")
        else:
            value = c.number(slot, "an element")
            if kind == BOOL:
                flag = code.let(f"arith.cmpi ne, {value}, {code.constant(0)} : i64")
                value = code.let(f"arith.extui {flag} : i1 to i64")
            value = value if type_ == "i64" else code.let(f"arith.trunci {value} : i64 to {type_}")
        code.store(value, type_, at)
        code.do("}")
    code.do("}")
    c.held(TENSOR, tensor)


def _packed(code: int, bits: int) -> int:
    return code | bits << 8 | 1 << 16


_ELEMENTS: tuple[tuple[int, int, tuple[str, ...], str], ...] = (
    (BOOL, _packed(6, 8), ("arith.cmpi ne, {0}, {1} : i8", "arith.extui {0} : i1 to i64"), "i8"),
    *((INT, _packed(0, bits), (f"arith.extsi {{0}} : i{bits} to i64",), f"i{bits}") for bits in (8, 16, 32)),
    *((INT, _packed(1, bits), (f"arith.extui {{0}} : i{bits} to i64",), f"i{bits}") for bits in (8, 16, 32)),
    *((INT, _packed(code, 64), (), "i64") for code in (0, 1)),
    (FLOAT, _packed(2, 32), ("arith.extf {0} : f32 to f64", "arith.bitcast {0} : f64 to i64"), "f32"),
    (FLOAT, _packed(2, 64), ("arith.bitcast {0} : f64 to i64",), "f64"),
)
"""FFI kind, dtype, conversions to 64 bits, and type in memory of scalar elements."""

SCALARS: Builtins = {
    **{f"{PREFIX}{name}": _binary(_op(name)) for name in ("addi", "subi", "muli", "minsi", "maxsi", "minui", "maxui")},
    **{f"{PREFIX}{name}": _binary(_op(name)) for name in ("andi", "ori", "xori")},
    **{f"{PREFIX}{name}": _binary(_divide(name)) for name in ("divsi", "floordivsi", "ceildivsi", "remsi")},
    **{f"{PREFIX}{name}": _binary(_shift(name)) for name in ("shli", "shrsi", "shrui")},
    **{f"{PREFIX}cmpi_{predicate}": _binary(_compare(predicate), BOOL) for predicate in PREDICATES},
    f"{PREFIX}select": _select,
    "vm.builtin.extract": _extract,
    "vm.builtin.from_elements": _from_elements,
}


# Builtins that check arguments of functions, and evaluate conditions.


def _known(c: BuiltinWriter, value: str) -> str:
    """True (i1) if an integer is known: non-negative; -1 represents "unknown"."""
    return c.code.let(f"arith.cmpi sge, {value}, {c.code.constant(0)} : i64")


def _check_tensor_info(c: BuiltinWriter) -> None:
    """(x, ndim, dtype, context): a CPU tensor with memory, of that rank and dtype; -1 and None: any."""
    code = c.code
    c.take(4, "x", "ndim", "dtype", "context")
    context = c.text(c.slot(3), "argument 'context'")
    tensor = c.tensor_of(c.slot(0), context)
    ndim, rank = c.number(c.slot(1), "argument 'ndim'"), c.rank(tensor)
    dtype = code.load(tensor, DL.DTYPE, "i32")
    code.do(f"scf.if {c.equal(c.kind_of(c.slot(2)), NONE, 'i32')} {{\n  }} else {{")
    wanted = c.dtype(c.slot(2), "argument 'dtype'")
    c.check_equal(
        dtype,
        wanted,
        "DTypeError",
        "{0:text} has dtype {1:dtype}, expected {2:dtype}",
        type="i32",
        context=context,
    )
    code.do("}")
    code.do(f"scf.if {_known(c, ndim)} {{")
    c.check_equal(rank, ndim, "ShapeError", "{0:text} has rank {1}, expected rank {2}", context=context)
    code.do("}")
    shape = code.load(tensor, DL.SHAPE, "!llvm.ptr")
    total, i, before = code.fresh(), code.fresh(), code.fresh()
    zero, step, one = code.constant(0, "index"), code.constant(1, "index"), code.constant(1)
    code.do(f"{total} = scf.for {i} = {zero} to {code.index(rank)} step {step} iter_args({before} = {one}) -> (i64) {{")
    position = code.let(f"arith.index_cast {i} : index to i64")
    size = code.load(c.element(shape, position, 8), 0, "i64")
    c.check_as(
        _known(c, size),
        "ShapeError",
        "{0:text} has dimension {1} of {2}, expected zero or more",
        context,
        i,
        code.index(size),
    )
    none = c.equal(size, 0, "i64")
    code.do(f"scf.yield {code.let(f'arith.select {none}, {code.constant(0)}, {before} : i64')} : i64")
    code.do("}")
    data = code.load(tensor, DL.DATA, "!llvm.ptr")
    there = code.let(f'llvm.icmp "ne" {data}, {code.null()} : !llvm.ptr')
    c.check_as(
        c.any_of(there, c.equal(total, 0, "i64")),
        "ArgumentError",
        "{0:text} has elements, but no memory: its data pointer is null, as that of fake and meta tensors is",
        context,
    )
    c.nothing()


def _require(c: BuiltinWriter, kinds: tuple[int, ...], context: str, expected: str) -> None:
    kind = c.kind_of(c.slot(0))
    c.check_as(
        c.any_of(*(c.equal(kind, k, "i32") for k in kinds)),
        "ArgumentError",
        f"{{0:text}} is of type {{1:type}}, expected {expected}",
        context,
        c.code.index(kind, "i32"),
    )


def _check_shape_info(c: BuiltinWriter) -> None:
    """(shape, ndim, context): a shape of `ndim` non-negative dimensions; -1: any number."""
    code = c.code
    c.take(3, "shape", "ndim", "context")
    context = c.text(c.slot(2), "argument 'context'")
    _require(c, (SHAPE, ARRAY, LIST), context, "a shape")
    rank, numbers = c.dims(c.slot(0), "argument 'shape'")
    ndim = c.number(c.slot(1), "argument 'ndim'")
    code.do(f"scf.if {_known(c, ndim)} {{")
    c.check_equal(rank, ndim, "ShapeError", "{0:text} has {1} elements, expected {2}", context=context)
    code.do("}")
    i = c.loop(rank)
    size = code.load(c.element(numbers, i, 8), 0, "i64")
    c.check_as(
        _known(c, size),
        "ShapeError",
        "{0:text} has an element {1} of {2}, expected zero or more",
        context,
        code.index(i),
        code.index(size),
    )
    code.do("}")
    c.nothing()


def _check_prim_value_info(c: BuiltinWriter) -> None:
    """(value, dtype, context): an integer, a boolean or a float, according to the dtype."""
    code = c.code
    c.take(3, "value", "dtype", "context")
    context = c.text(c.slot(2), "argument 'context'")
    c.require_kind(c.slot(1), (DTYPE,), "argument 'dtype'", "a dtype")
    word = code.load(c.slot(1), 8, "i32")
    of_dtype = code.let(f"arith.andi {word}, {code.constant(255, 'i32')} : i32")
    is_float = c.equal(of_dtype, 2, "i32")
    code.do(f"scf.if {is_float} {{")
    _require(c, (FLOAT,), context, "a float")
    code.do("} else {")
    code.do(f"scf.if {c.equal(of_dtype, 6, 'i32')} {{")
    _require(c, (BOOL, INT), context, "a truth value")
    code.do("} else {")
    _require(c, (INT,), context, "an int")
    code.do("}\n  }")
    c.nothing()


def _check_tuple_info(c: BuiltinWriter) -> None:
    """(value, size, context): a tuple (an FFI array) of `size` fields."""
    code = c.code
    c.take(3, "value", "size", "context")
    context = c.text(c.slot(2), "argument 'context'")
    _require(c, (ARRAY, LIST), context, "a tuple")
    size = c.number(c.slot(1), "argument 'size'")
    have = code.load(code.load(c.slot(0), 8, "!llvm.ptr"), 24 + 8, "i64")
    c.check_equal(have, size, "ArgumentError", "{0:text} has {1} elements, expected {2}", context=context)
    c.nothing()


def _check_func_info(c: BuiltinWriter) -> None:
    """(value, context): a function."""
    c.take(2, "value", "context")
    context = c.text(c.slot(1), "argument 'context'")
    _require(c, (FUNCTION,), context, "a function")
    c.nothing()


def _read_if_cond(c: BuiltinWriter) -> None:
    """(condition): the boolean value of a number, or of a rank-0 bool tensor, for `If`."""
    code = c.code
    c.take(1, "condition")
    kind = c.kind_of(c.slot(0))
    is_number = c.any_of(c.equal(kind, INT, "i32"), c.equal(kind, BOOL, "i32"))

    def of_tensor() -> list[str]:
        tensor = c.dl_tensor(c.slot(0), "argument 'condition'")
        dtype, rank = code.load(tensor, DL.DTYPE, "i32"), code.load(tensor, DL.NDIM, "i32")
        c.check(
            c.all_of(c.equal(dtype, BOOL8, "i32"), c.equal(rank, 0, "i32")),
            "DTypeError",
            "the condition is a tensor of rank {1} of {0:dtype}, expected rank 0 of bool",
            code.index(dtype, "i32"),
            code.index(rank, "i32"),
        )
        return [code.let(f"arith.extui {code.load(c.elements(tensor), 0, 'i8')} : i8 to i64")]

    (result,) = code.choose(is_number, ["i64"], lambda: [c.payload(c.slot(0))], of_tensor)
    flag = code.let(f"arith.cmpi ne, {result}, {code.constant(0)} : i64")
    c.result(BOOL, code.let(f"arith.extui {flag} : i1 to i64"))


CHECKS: Builtins = {
    "vm.builtin.check_tensor_info": _check_tensor_info,
    "vm.builtin.check_shape_info": _check_shape_info,
    "vm.builtin.check_prim_value_info": _check_prim_value_info,
    "vm.builtin.check_tuple_info": _check_tuple_info,
    "vm.builtin.check_func_info": _check_func_info,
    "vm.builtin.read_if_cond": _read_if_cond,
}


# The module of all builtins of the virtual machine.


MEMORY_ADDRESS = "__relax_vm_memory"
"""The function that returns the address of the module's pointers to the pool."""

BUILTINS: Builtins = {**MEMORY, **SHAPE_HEAP, **CHECKS, **CONTAINERS, **SCALARS}
"""Maps a name in the FFI's registry to its emitter."""

ENTRIES = {builtin: ENTRY_PREFIX + builtin for builtin in BUILTINS}
"""The function of the module for each builtin."""


@functools.cache
def builtins_text() -> str:
    """The module, as MLIR text of level V with checks."""
    fragment = Fragment()
    for name, write in BUILTINS.items():
        writer = BuiltinWriter(name, fragment)
        write(writer)
        parameters = "%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr"
        fragment.function(f"{symbol(ENTRIES[name])}({parameters})", writer.code)
    fragment.define(
        f"func.func @{MEMORY_ADDRESS}() -> !llvm.ptr {{\n"
        "  llvm.call @relax.vm.watch_stacks() : () -> ()\n  llvm.call @relax.vm.watch_discards() : () -> ()\n"
        f"  %0 = llvm.mlir.addressof @{MEMORY_TABLE} : !llvm.ptr\n  return %0 : !llvm.ptr\n}}"
    )
    for declaration in CONTAINERS_CALL:
        fragment.external(declaration)
    known = "\n".join([support_text(), stack_text(), flaw_text(), objects_text(), discard_text(), closures_text()])
    return "\n".join([known, fragment.text(known=symbols_in(known))])


def objects_text() -> str:
    """The functions that create objects; offsets count from the start of an object."""
    dl_tensor = OBJECT_BYTES + DL.BYTES
    return fill_template(
        "vm_objects",
        MEMORY_TABLE=MEMORY_TABLE,
        PAGE_BYTES=PAGE_BYTES,
        PAGED_BYTES=PAGED_BYTES,
        SHAPE=SHAPE,
        SOURCE=dl_tensor,
        TENSOR=TENSOR,
        TENSOR_SLACK=HEAD_BYTES + dl_tensor + 63,
        TENSOR_TABLES=dl_tensor,
        VIEW_HEAD=HEAD_BYTES + dl_tensor + 8,
        VIEW_TABLES=dl_tensor + 8,
    )


def flaw_text() -> str:
    """The function that describes what is wrong with a tensor."""
    return fill_template("tensor_flaw", NDIM=DL.NDIM, SHAPE_AT=DL.SHAPE)


def discard_text() -> str:
    """The functions that create tuples and destroy tuples and closures."""
    cell = 32
    return fill_template(
        "vm_discard",
        ARRAY=ARRAY,
        TUPLE_BYTES=OBJECT_BYTES + cell,
        TUPLE_HEAD=HEAD_BYTES + OBJECT_BYTES + cell,
    )


def closures_text() -> str:
    """The functions that create and run closures."""
    set_error = set_error_text("llvm.func internal @relax.vm.set_error", "llvm.return")
    return fill_template("vm_closures", CALL_BYTES=CALL_BYTES, set_error=set_error)
