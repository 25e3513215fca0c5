"""Errors of compiled code: the contents of `relax.check`, code that raises them, strings, errors of thread jobs."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import AS_GENERATED, CHECK, JOB, SUPPORT
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import callee_of, entry_block, function_of, ops_of
from relax_mlir.lowering.base.runtime_declarations import STATUS_OF
from relax_mlir.lowering.base.signature import plain, table_name
from relax_mlir.lowering.base.support import (
    ADD_PLACE,
    ADD_PLACE_CALLS,
    CACHED_OBJECT,
    RAISER_CALLS,
    SEPARATE_DECLARATIONS,
    SET_ERROR,
    add_place_text,
    has_separate_support,
    raiser,
    raiser_text,
    set_error,
)
from relax_mlir.mlir import arith, func, ir, llvm
from relax_mlir.mlir_text import Fragment, functions, quoted_bytes, symbol, text_constant, text_name

# Functions that format values of the user's program for messages: floats, bools and strings.
#
# Each takes the value's bits and a buffer of `relax_mlir.lowering.base.errors.NAME_ROOM` bytes, and returns the text.


FLOAT = "relax.rt.float_name"
BOOL = "relax.rt.bool_name"
TEXT = "relax.rt.text_name"

_FLOAT = f"""
llvm.mlir.global internal constant @relax.rt.float_format("%.9g\\00")
func.func private @{FLOAT}(%bits: i64, %buffer: !llvm.ptr) -> !llvm.ptr attributes {{{SUPPORT}}} {{
  %room = arith.constant 64 : i64
  %format = llvm.mlir.addressof @relax.rt.float_format : !llvm.ptr
  %value = arith.bitcast %bits : i64 to f64
  %n = llvm.call @snprintf(%buffer, %room, %format, %value) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, f64) -> i32
  return %buffer : !llvm.ptr
}}
"""
_BOOL = f"""
llvm.mlir.global internal constant @relax.rt.bool_true("True\\00")
llvm.mlir.global internal constant @relax.rt.bool_false("False\\00")
func.func private @{BOOL}(%bits: i64, %buffer: !llvm.ptr) -> !llvm.ptr attributes {{{SUPPORT}}} {{
  %zero = arith.constant 0 : i64
  %yes = llvm.mlir.addressof @relax.rt.bool_true : !llvm.ptr
  %no = llvm.mlir.addressof @relax.rt.bool_false : !llvm.ptr
  %is = arith.cmpi ne, %bits, %zero : i64
  %name = llvm.select %is, %yes, %no : i1, !llvm.ptr
  return %name : !llvm.ptr
}}
"""
_TEXT = f"""
func.func private @{TEXT}(%address: i64, %buffer: !llvm.ptr) -> !llvm.ptr attributes {{{SUPPORT}}} {{
  %text = llvm.inttoptr %address : i64 to !llvm.ptr
  return %text : !llvm.ptr
}}
"""


def define_formatters(fragment: Fragment, names: set[str]) -> None:
    """Define the functions that are in `names`."""
    for name, text in ((FLOAT, _FLOAT), (BOOL, _BOOL), (TEXT, _TEXT)):
        if name in names:
            fragment.external("@snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32")
            fragment.define(text)


# The contents of `relax.check` attributes, and the code that formats and raises their errors.


PLACEHOLDER = re.compile(r"\{(\d+)(?::(\w+))?\}")
_ESCAPED = re.compile(r"\{(?=:*\d+(?::\w+)?\})")
"""Matches the opening brace of a placeholder, or of a placeholder that is escaped with colons."""
_ESCAPE = re.compile(r"\{:(?=:*\d+(?::\w+)?\})")
NAMERS = {
    "dtype": "relax.rt.dtype_name",
    "device": "relax.rt.device_name",
    "type": "relax.rt.type_name",
    "float": FLOAT,
    "bool": BOOL,
    "text": TEXT,
}
NAME_ROOM = 64
MAX_NAME = 4000
"""Maximum number of characters shown of a name or text. The message is formatted on the stack."""


@dataclass(frozen=True)
class Check:
    """The error of a check: its kind, and its message with `{i}` for the i-th index value.

    `{i:dtype}`, `{i:device}` and `{i:type}` show a DLDataType, a DLDeviceType or an FFI type index by name. `{i:float}`
    and `{i:bool}` show the bits of a float64 or of a boolean, `{i:text}` the characters at an address. Braces that do
    not enclose an integer are shown unchanged, as are all braces of a `literal` message. ``{:0}`` shows ``{0}`` (see
    `verbatim`).
    """

    kind: str
    message: str
    literal: bool = False

    @staticmethod
    def of(declaration: ir.Operation) -> Check:
        """Read the check from a declaration with the attribute `relax.check`."""
        data = plain(declaration.attributes[CHECK])
        return Check(data["kind"], data["message"])

    def _placeholders(self) -> list[re.Match[str]]:
        return [] if self.literal else list(PLACEHOLDER.finditer(self.message))

    def values(self, count: int) -> list[tuple[int, str]]:
        """Return (index, format) of the values in the message, in order; the format is "" for an integer.

        Raises CompileError if the message shows a value that a check with `count` values does not have.
        """
        shown = [(int(match[1]), match[2] or "") for match in self._placeholders()]
        for position, way in shown:
            if position >= count or (way and way not in NAMERS):
                raise CompileError(f"a check of {count} values cannot show {{{position}:{way}}}: {self.message!r}")
        return shown

    @property
    def format(self) -> str:
        """The message as a ``snprintf`` format: %lld for integers, %.Ns for names."""
        pieces, end = [], 0
        for match in self._placeholders():
            shown = f"%.{MAX_NAME}s" if match[2] else "%lld"
            pieces += [self._plain(end, match.start()), shown]
            end = match.end()
        return "".join([*pieces, self._plain(end, len(self.message))])

    def _plain(self, begin: int, end: int) -> str:
        """The characters `begin` to `end` of the message, without placeholders, escaped for ``snprintf``."""
        text = self.message[begin:end]
        return (text if self.literal else _ESCAPE.sub("{", text)).replace("%", "%%")


def verbatim(text: str) -> str:
    """Escape the braces of a string (such as a name or path), so that a `Check` message shows them unchanged."""
    return _ESCAPED.sub("{:", text)


class Raisers:
    """The code and data that a module needs to raise errors: unique strings, and one function per number of values."""

    def __init__(
        self, checks: Iterable[tuple[Check, int]], places: Iterable[str], known: Mapping[str, func.FuncOp]
    ) -> None:
        """Collect the strings and define the functions.

        `checks`: every check with its number of values. `places`: every argument of `add_place`. `known`: the functions
        of the module; they take precedence, except those of separate support functions.
        """
        self._known, self._declared = known, SEPARATE_DECLARATIONS if has_separate_support(known) else {}
        counts, shown, places = set(), set(), list(places)
        self.fragment = Fragment()
        for check, count in checks:
            values = check.values(count)
            counts.add(len(values))
            shown |= {NAMERS[way] for _, way in values if way}
            for text in (check.kind, check.format):
                text_constant(self.fragment, text)
        for place in places:
            text_constant(self.fragment, place)
        define_formatters(self.fragment, shown)
        for count in sorted(counts):
            self._define(raiser(count), raiser_text(count, SUPPORT), RAISER_CALLS)
        if places:
            self._define(ADD_PLACE, add_place_text(SUPPORT), ADD_PLACE_CALLS)

    def _define(self, name: str, text: str, calls: Iterable[str]) -> None:
        """Define a function that the module lacks, and the functions that it calls."""
        if name in self._known:
            return
        if name in self._declared:
            self.fragment.define(self._declared[name])
            return
        for declaration in calls:
            self.fragment.external(declaration)
        if SET_ERROR in self._declared:
            self.fragment.define(self._declared[SET_ERROR])
        elif SET_ERROR not in self._known:
            self.fragment.define(set_error(SUPPORT))
        self.fragment.define(text)

    def add_place(self, place: str) -> None:
        """Emit, at the insertion point, code that appends `place` to the message of the current error."""
        pointer = ir.Type.parse("!llvm.ptr")
        func.CallOp([], ADD_PLACE, [llvm.AddressOfOp(pointer, text_name(place)).result])

    def raise_error(self, check: Check, values: Sequence[ir.Value]) -> None:
        """Emit, at the insertion point, code that sets the error of `check` with its index `values`."""
        pointer, word = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
        operands = [llvm.AddressOfOp(pointer, text_name(text)).result for text in (check.kind, check.format)]
        for position, way in check.values(len(values)):
            number = arith.IndexCastOp(word, values[position]).result
            if way:
                size = arith.ConstantOp(word, NAME_ROOM).result
                byte = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
                buffer = llvm.AllocaOp(pointer, size, byte).result
                name = func.CallOp([pointer], NAMERS[way], [number, buffer]).results[0]
                number = llvm.PtrToIntOp(word, name).result
            operands.append(number)
        func.CallOp([], raiser(len(operands) - 2), operands)


# The strings and lookup caches of generated code: globals of its module, or external to shared code.


_TABLE = "relax.entry.table"
_PREFIX = "relax.entry.text."
"""Prefix of strings that another compilation unit uses."""
_CACHE = "relax.entry.function."
"""Prefix of external caches for FFI functions; caches private to a module are called `relax.function.`."""


def cache_global(fragment: Fragment, name: str) -> str:
    """Define a global pointer to an FFI function, initially null, that ``__relax_release`` drops (`emit-lifecycle`).

    Returns its symbol with the @.
    """
    cache = f"relax.function.{name}"
    fragment.define(_cache_text(cache, "internal"))
    return symbol(cache)


def _cache_text(name: str, linkage: str) -> str:
    return (
        f"llvm.mlir.global {linkage} {symbol(name)}() {{{CACHED_OBJECT}}} : !llvm.ptr "
        "{\n  %0 = llvm.mlir.zero : !llvm.ptr\n  llvm.return %0 : !llvm.ptr\n}"
    )


class Texts:
    """Constants of the module, named by their contents."""

    def __init__(self, fragment: Fragment) -> None:
        self.fragment = fragment

    def constant(self, text: str) -> str:
        """The symbol of a string, with its @."""
        return text_constant(self.fragment, text)

    def message(self, message: str) -> str:
        """The message of a check as it appears in its declaration."""
        return message

    def table(self, table: bytes) -> str:
        """The symbol of an argument table (`Row`), with its @."""
        name = symbol(table_name(table))
        self.fragment.define(
            f"llvm.mlir.global internal constant {name}({quoted_bytes(table)}) {{alignment = 8 : i64}}"
        )
        return name

    def cache(self, name: str) -> str:
        """The symbol of the cache for an FFI function, with its @."""
        return cache_global(self.fragment, name)


class OutsideTexts(Texts):
    """Constants that the code refers to by numbered symbols, so that code that differs only in strings is equal.

    `symbols` maps each symbol in the code to the symbol of the module's global. `globals` are the definitions of these,
    which are visible to other compilation units.
    """

    def __init__(self, fragment: Fragment) -> None:
        super().__init__(fragment)
        self._symbols: dict[str, str] = {}
        self._globals: dict[str, str] = {}
        self._stand_ins: dict[str, str] = {}

    @property
    def symbols(self) -> Mapping[str, str]:
        """The symbols of the globals, by the symbols in the code."""
        return self._symbols

    @property
    def globals(self) -> tuple[str, ...]:
        """The definitions of the globals, as text."""
        return tuple(self._globals.values())

    def constant(self, text: str) -> str:
        if text not in self._stand_ins:
            self._stand_ins[text] = f"text {len(self._stand_ins)}"
        return self.stand_for(self._stand_ins[text], text)

    def message(self, message: str) -> str:
        if message not in self._stand_ins:
            shown = "".join(f" {match[0]}" for match in PLACEHOLDER.finditer(message))
            self._stand_ins[message] = f"message {len(self._stand_ins)}{shown}"
        other = self._stand_ins[message]
        self.stand_for(Check("", other).format, Check("", message).format)
        return other

    def table(self, table: bytes) -> str:
        name = f"{_TABLE}.{table_name(table).rpartition('.')[2]}"
        return self._outside(_TABLE, name, table, 8)

    def cache(self, name: str) -> str:
        other = f"{_CACHE}{name}"
        self.fragment.define(f"llvm.mlir.global external {symbol(other)}() : !llvm.ptr")
        self._symbols[other] = other
        self._globals[other] = _cache_text(other, "external")
        return symbol(other)

    def stand_for(self, stand_in: str, text: str) -> str:
        """Define `text` for the symbol of `stand_in`, which the code uses; return that symbol with its @."""
        name = f"{_PREFIX}{text_name(text).rpartition('.')[2]}"
        return self._outside(text_name(stand_in), name, text.encode() + b"\0", 1)

    def _outside(self, used: str, name: str, data: bytes, alignment: int) -> str:
        self.fragment.define(f"llvm.mlir.global external constant {symbol(used)}() : !llvm.array<1 x i8>")
        self._symbols[used] = name
        self._globals[name] = (
            f"llvm.mlir.global external constant {symbol(name)}({quoted_bytes(data)}) {{alignment = {alignment} : i64}}"
        )
        return symbol(used)


# Errors of thread jobs: the call that submitted a job raises the errors of its workers again.
#
# The error of a failing function is in thread-local storage. A job whose function may fail gets a separate context,
# {error, context of the job}: the first error of its parts is moved there, and the thread that waits for them raises it
# again.


RUN = "relax.rt.parallel"
"""`(function, context, count, cost, threads)`: runs `function(context, begin, end)` on parts of 0 to count."""

_KEEP, _RAISE = "relax.rt.keep_error", "relax.rt.raise_kept"
_WORDS = 2


@dataclass(frozen=True)
class Job:
    """A call of `relax.rt.parallel`, and the `func.constant` of its function."""

    call: ir.Operation
    body: ir.Operation


def pointed(constant: ir.Operation) -> str:
    """The name of the function that a `func.constant` refers to."""
    return str(ir.FlatSymbolRefAttr(constant.attributes["value"]).value)


def jobs_of(function: func.FuncOp) -> list[Job]:
    """The jobs that a function submits."""
    jobs = []
    for call in ops_of(function.operation, "func.call"):
        if callee_of(call) == RUN:
            defining = call.operands[0].owner
            while defining.name == "builtin.unrealized_conversion_cast":
                defining = defining.operands[0].owner
            jobs.append(Job(call, defining.operation))
    return jobs


def guard_jobs(module: ir.Module, callers: Sequence[func.FuncOp], failing: Container[str]) -> None:
    """Make the jobs of `callers` whose functions are among `failing` pass on their errors."""
    jobs = [job for function in callers for job in jobs_of(function) if pointed(job.body) in failing]
    if not jobs:
        return
    fragment = Fragment()
    names = dict.fromkeys(pointed(job.body) for job in jobs)
    for name in names:
        _define_guard(fragment, name)
    _define_errors(fragment)
    fragment.splice(module)
    table = functions(module)
    for name in names:
        for mark in (AS_GENERATED, JOB):
            if mark in table[name].attributes:
                table[_guarded(name)].attributes[mark] = table[name].attributes[mark]
    for job in jobs:
        with job.call.location:
            _guard(job)


def _guarded(name: str) -> str:
    return f"{name}.guarded"


def _guard(job: Job) -> None:
    """Give a job a separate context, and raise its error after it."""
    job.body.attributes["value"] = ir.FlatSymbolRefAttr.get(_guarded(pointed(job.body)))
    pointer, word = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint.at_block_begin(entry_block(function_of(job.call))):
        count = llvm.ConstantOp(word, ir.IntegerAttr.get(word, _WORDS)).result
        context = llvm.AllocaOp(pointer, count, ir.TypeAttr.get(word), alignment=8).result
    with ir.InsertionPoint(job.call):
        func.call([], "relax.rt.start_job", [context, job.call.operands[1]])
    job.call.operands[1] = context
    with ir.InsertionPoint.after(job.call):
        func.call([], _RAISE, [context])


def _define_guard(fragment: Fragment, name: str) -> None:
    """Define the function that runs parts of the job @name and stores its error."""
    attributes = f"{STATUS_OF} = {symbol(name)}"
    signature = "(!llvm.ptr, index, index) -> i32"
    status = fragment.declare(f"relax.status.{name}", signature, attributes)
    fragment.declare(name, "(!llvm.ptr, index, index) -> ()")
    fragment.define(f"""
func.func private {symbol(_guarded(name))}(%context: !llvm.ptr, %begin: index, %end: index) {{
  %at = llvm.getelementptr %context[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %inner = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %status = func.call {status}(%inner, %begin, %end) : {signature}
  %zero = arith.constant 0 : i32
  %failed = arith.cmpi ne, %status, %zero : i32
  scf.if %failed {{
    func.call @{_KEEP}(%context) : (!llvm.ptr) -> ()
  }}
  return
}}""")


def _define_errors(fragment: Fragment) -> None:
    support = f" attributes {{{SUPPORT}}}"
    fragment.external("@TVMFFIErrorMoveFromRaised(!llvm.ptr)")
    fragment.external("@TVMFFIErrorSetRaised(!llvm.ptr)")
    fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
    fragment.declare("relax.propagate", "(i32) -> ()")
    fragment.define(f"""
func.func private @relax.rt.start_job(%context: !llvm.ptr, %inner: !llvm.ptr){support} {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.store %null, %context : !llvm.ptr, !llvm.ptr
  %at = llvm.getelementptr %context[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %inner, %at : !llvm.ptr, !llvm.ptr
  return
}}

// Move the error of this thread to a job, unless it has one.
func.func private @{_KEEP}(%context: !llvm.ptr){support} {{
  %one = arith.constant 1 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%out) : (!llvm.ptr) -> ()
  %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %pair = llvm.cmpxchg %context, %null, %error acq_rel acquire : !llvm.ptr, !llvm.ptr
  %first = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, i1)>
  %extra = llvm.select %first, %null, %error : i1, !llvm.ptr
  func.call @relax.rt.drop(%extra) : (!llvm.ptr) -> ()
  return
}}

// Raise the error of a job that is done, if it has one.
func.func private @{_RAISE}(%context: !llvm.ptr){support} {{
  %null = llvm.mlir.zero : !llvm.ptr
  %error = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %failed = llvm.icmp "ne" %error, %null : !llvm.ptr
  scf.if %failed {{
    llvm.call @TVMFFIErrorSetRaised(%error) : (!llvm.ptr) -> ()
    func.call @relax.rt.drop(%error) : (!llvm.ptr) -> ()
  }}
  %status = arith.extsi %failed : i1 to i32
  func.call @relax.propagate(%status) : (i32) -> ()
  return
}}""")
