"""Writing functions as text where that is clearer than using builders, and splicing them into a module."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from relax_mlir.mlir import func, ir

_PRINTABLE = re.compile(r"[ !#-\[\]-~]*")
"""The characters that a literal contains unescaped: printable ASCII but quotation marks and backslashes."""


_ESCAPED = re.compile(rb'[^ -~]|["\\]')
"""The bytes that are escaped."""
_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(n)|(t)|(.))", re.DOTALL)
_BARE = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
"""The keys of attributes that need no quotation marks."""


def quoted(text: str) -> str:
    """`text` as a string literal of MLIR (UTF-8 bytes outside printable ASCII as hex escapes)."""
    if _PRINTABLE.fullmatch(text):
        return f'"{text}"'
    return quoted_bytes(text.encode())


def quoted_bytes(data: bytes) -> str:
    """Any bytes as a string literal of MLIR."""
    return '"' + _ESCAPED.sub(lambda found: f"\\{found[0][0]:02X}".encode(), data).decode() + '"'


def attribute(value: Any) -> str:  # noqa: ANN401 - any tree of plain values
    """A tree of str, bool, int, list and dict as the text of an attribute."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {attribute(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(attribute(v) for v in value) + "]"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)


def unquoted(literal: str) -> str:
    """The string that a string literal of MLIR denotes."""
    return _unescaped(literal.encode()).decode(errors="replace")


def _unescaped(literal: bytes) -> bytes:
    def character(match: re.Match[bytes]) -> bytes:
        code, newline, tab, other = match.groups()
        if code:
            return bytes([int(code, 16)])
        return b"\n" if newline else b"\t" if tab else bytes(other)

    return _ESCAPE.sub(character, literal[1:-1])


_HIGH = re.compile(rb"\\[89A-Fa-f][0-9A-Fa-f]|[\x80-\xff]")
_LITERAL = re.compile(rb'"(?:[^"\\\n]|\\.)*"')


def undecodable(text: bytes) -> str:
    """The first string literal of a module's text whose bytes are not UTF-8, or "".

    The bindings cannot return such a string to Python. The data of LLVM globals may be any bytes.
    """
    if not _HIGH.search(text):
        return ""
    for line in text.splitlines():
        for literal in () if b"llvm.mlir.global" in line else _LITERAL.findall(line):
            try:
                _unescaped(literal).decode()
            except UnicodeDecodeError:
                return str(literal, errors="replace")
    return ""


def symbol(name: str) -> str:
    """A reference to a symbol, quoted so that any name is allowed."""
    return "@" + quoted(name)


def descriptor(rank: int) -> str:
    """The LLVM struct that a memref of this rank is lowered to."""
    sizes = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    return f"!llvm.struct<(ptr, ptr, i64{sizes})>"


_SYMBOL = re.compile(r'^(?:func\.func|llvm\.func|llvm\.mlir\.global)[^@\n]*@("(?:[^"\\]|\\.)+"|[\w.$]+)', re.MULTILINE)


def symbols_in(text: str) -> frozenset[str]:
    """The names of the functions and globals at the top level of a module given as text."""
    found = (match[1] for match in _SYMBOL.finditer(text))
    return frozenset(unquoted(name) if name.startswith('"') else name for name in found)


class Code:
    """The body of a function under construction: operations in order, with fresh names for their results."""

    def __init__(self) -> None:
        self.prologue: list[str] = []
        self.body: list[str] = []
        self._count = 0
        self._constants: dict[tuple[int, str], str] = {}
        self._frame = ""

    @property
    def lines(self) -> list[str]:
        """The whole body: constants and stack allocations first."""
        return self.prologue + self.body

    def fresh(self) -> str:
        """A name that no value has yet."""
        self._count += 1
        return f"%v{self._count}"

    def do(self, operation: str) -> None:
        self.body.append("  " + operation)

    def let(self, operation: str) -> str:
        """Write an operation with one result and return its name."""
        name = self.fresh()
        self.do(f"{name} = {operation}")
        return name

    def choose(
        self,
        condition: str,
        types: Sequence[str],
        then: Callable[[], Sequence[str]],
        otherwise: Callable[[], Sequence[str]],
    ) -> list[str]:
        """Write an ``scf.if`` whose branches are written by functions that return their values."""
        names, kinds = [self.fresh() for _ in types], ", ".join(types)
        self.do(f"{', '.join(names)} = scf.if {condition} -> ({kinds}) {{")
        self.do(f"scf.yield {', '.join(then())} : {kinds}")
        self.do("} else {")
        self.do(f"scf.yield {', '.join(otherwise())} : {kinds}")
        self.do("}")
        return names

    def at_entry(self, operation: str) -> str:
        """Like `let`, at the start of the function."""
        name = self.fresh()
        self.prologue.append(f"  {name} = {operation}")
        return name

    def constant(self, value: int, type: str = "i64") -> str:
        """An integer constant, written once at the start of the function."""
        key = (value, type)
        if key not in self._constants:
            text = ("true" if value else "false") if type == "i1" else f"{value} : {type}"
            self._constants[key] = self.at_entry(f"arith.constant {text}")
        return self._constants[key]

    def null(self) -> str:
        key = (0, "!llvm.ptr")
        if key not in self._constants:
            self._constants[key] = self.at_entry("llvm.mlir.zero : !llvm.ptr")
        return self._constants[key]

    def stack(self, bytes: int) -> str:
        """A stack allocation of a constant size, 8-byte aligned."""
        size = self.constant(max(bytes, 1))
        return self.at_entry(f"llvm.alloca {size} x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr")

    def use_frame(self, frame: str) -> None:
        """Use the frame of the caller instead of a separate one."""
        self._frame = frame

    def frame(self, fragment: Fragment) -> str:
        """The frame of this call (see `support`), released on every exit."""
        if not self._frame:
            self._frame, null = self.stack(8), self.null()
            release = fragment.declare("relax.rt.release", "(!llvm.ptr) -> ()")
            self.prologue += [
                f"  llvm.store {null}, {self._frame} : !llvm.ptr, !llvm.ptr",
                f'  func.call {release}({self._frame}) {{relax.defer = "always"}} : (!llvm.ptr) -> ()',
            ]
        return self._frame

    def at(self, pointer: str, offset: int) -> str:
        """The address `offset` bytes after `pointer`."""
        if offset == 0:
            return pointer
        return self.let(f"llvm.getelementptr {pointer}[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8")

    def load(self, pointer: str, offset: int, type: str, alignment: int | None = None) -> str:
        """The value `offset` bytes after `pointer`; `alignment`: in bytes, if it is not that of the type."""
        aligned = "" if alignment is None else f" {{alignment = {alignment} : i64}}"
        return self.let(f"llvm.load {self.at(pointer, offset)}{aligned} : !llvm.ptr -> {type}")

    def store(self, value: str, type: str, pointer: str, offset: int = 0) -> None:
        self.do(f"llvm.store {value}, {self.at(pointer, offset)} : {type}, !llvm.ptr")

    def index(self, value: str, type: str = "i64") -> str:
        """An integer as index, sign-extended."""
        return self.let(f"arith.index_cast {value} : {type} to index")

    def memref(self, data: str, dims: Iterable[str], type: str) -> str:
        """A contiguous memref of the MLIR type `type` from its data pointer and sizes (i64)."""
        sizes = list(dims)
        struct = descriptor(len(sizes))
        value = self.let(f"llvm.mlir.poison : {struct}")

        def put(item: str, *position: int) -> None:
            nonlocal value
            value = self.let(f"llvm.insertvalue {item}, {value}[{', '.join(map(str, position))}] : {struct}")

        put(data, 0)
        put(data, 1)
        put(self.constant(0), 2)
        stride = self.constant(1)
        for i in reversed(range(len(sizes))):
            put(sizes[i], 3, i)
            put(stride, 4, i)
            if i:
                stride = self.let(f"llvm.mul {stride}, {sizes[i]} : i64")
        return self.let(f"builtin.unrealized_conversion_cast {value} : {struct} to {type}")


class Fragment:
    """Functions and globals written as text, to be spliced into a module.

    `declare` declares functions of the target module (or hooks) for the text; `splice` does not replace a symbol that
    the module already has.
    """

    def __init__(self) -> None:
        self._declarations: dict[str, str] = {}
        self._definitions: dict[str, None] = {}

    def declare(self, name: str, type: str, attributes: str = "") -> str:
        """Declare a private function: `type` like "(i1, index) -> ()". Return the name with its @."""
        suffix = f" attributes {{{attributes}}}" if attributes else ""
        self._declarations.setdefault(name, f"func.func private {symbol(name)}{type}{suffix}")
        return symbol(name)

    def external(self, declaration: str) -> None:
        """Declare a C function: `declaration` like "@free(!llvm.ptr)"."""
        name = declaration[1 : declaration.index("(")]
        self._declarations.setdefault(name, f"llvm.func {declaration}")

    def define(self, text: str) -> None:
        """Add functions or globals; equal text is added once."""
        self._definitions[text] = None

    def function(self, head: str, code: Code, attributes: str = "") -> None:
        """Define a function: `head` like "@f(%a: index) -> index", the body from `code` (return included)."""
        suffix = f" attributes {{{attributes}}}" if attributes else ""
        self.define("\n".join([f"func.func {head}{suffix} {{", *code.lines, "}"]))

    def declared(self) -> set[str]:
        """The names of the declared functions."""
        return set(self._declarations)

    def text(self, known: Container[str] = ()) -> str:
        """The whole text, without declarations of symbols in `known`."""
        declared = [text for name, text in self._declarations.items() if name not in known]
        return "\n".join([*declared, *self._definitions])

    def splice(self, module: ir.Module) -> None:
        text = self.text()
        with module.context, ir.Location.name("relax.abi", context=module.context):
            source = ir.Module.parse(text)
        splice(source, module)


def splice(source: ir.Module, module: ir.Module) -> None:
    """Move the ops of a module to the end of another one, without those that it defines or declares already.

    Definitions replace declarations.
    """
    have = ir.SymbolTable(module.operation)
    for op in list(source.body.operations):
        name = symbol_name(op)
        present = have[name] if name and name in have else None
        if present is not None and (is_declaration(op) or not is_declaration(present)):
            continue
        if present is not None:
            have.erase(present)
        op.operation.detach_from_parent()
        module.body.append(op)


def text_name(text: str) -> str:
    """The name of the constant for a string, the same in all modules, so that they can share the code that uses it."""
    return f"relax.text.{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def text_constant(fragment: Fragment, text: str) -> str:
    """A zero-terminated string as a private global constant; return its name with the @."""
    name = symbol(text_name(text))
    fragment.define(f"llvm.mlir.global internal constant {name}({quoted(text + chr(0))})")
    return name


def symbol_name(op: ir.Operation | ir.OpView) -> str:
    """The name of a symbol operation, or ""."""
    attributes = op.attributes
    return str(ir.StringAttr(attributes["sym_name"]).value) if "sym_name" in attributes else ""


def is_declaration(op: ir.OpView) -> bool:
    """True if a symbol is a function without a body (globals never are)."""
    return len(op.regions) == 1 and len(op.regions[0].blocks) == 0 and op.operation.name.endswith("func")


def functions(module: ir.Module) -> dict[str, func.FuncOp]:
    """All `func.func` operations of a module by name."""
    return {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
