"""Checks as data: what `relax.check` says, and how its error is formatted and raised."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import CHECK, SUPPORT
from relax_mlir.error import CompileError
from relax_mlir.lowering.abi import value_formatters
from relax_mlir.lowering.abi.error_places import ADD_PLACE, SET_ERROR, define_add_place, define_set_error
from relax_mlir.lowering.abi.signature import plain
from relax_mlir.mlir import arith, func, ir, llvm
from relax_mlir.mlir_text import Code, Fragment, quoted, symbol

PLACEHOLDER = re.compile(r"\{(\d+)(?::(\w+))?\}")
NAMERS = {
    "dtype": "relax.rt.dtype_name",
    "device": "relax.rt.device_name",
    "type": "relax.rt.type_name",
    "float": value_formatters.FLOAT,
    "bool": value_formatters.BOOL,
    "text": value_formatters.TEXT,
}
NAME_ROOM = 64
MAX_NAME = 4000
"""How many characters of a name or text a message shows: it is put together on the stack."""


@dataclass(frozen=True)
class Check:
    """An error that a check raises: its kind, and its message with `{i}` for the i-th index value.

    `{i:dtype}`, `{i:device}` and `{i:type}` show a DLDataType, a DLDeviceType or an FFI type index by name,
    `{i:float}` and `{i:bool}` the bits of a float64 and of a truth value, `{i:text}` the characters at an address.
    Braces that do not hold a number stand for themselves, as all braces do in a `literal` message.
    """

    kind: str
    message: str
    literal: bool = False

    @staticmethod
    def of(declaration: ir.Operation) -> Check:
        """The check that a declaration with the attribute `relax.check` stands for."""
        data = plain(declaration.attributes[CHECK])
        return Check(data["kind"], data["message"])

    def _placeholders(self) -> list[re.Match[str]]:
        return [] if self.literal else list(PLACEHOLDER.finditer(self.message))

    def values(self, count: int) -> list[tuple[int, str]]:
        """Number and way of showing ("" for a number) of the values in the message, in order.

        Raises CompileError if the message shows a value that a check with `count` values does not have.
        """
        shown = [(int(match[1]), match[2] or "") for match in self._placeholders()]
        for position, way in shown:
            if position >= count or (way and way not in NAMERS):
                raise CompileError(
                    f"a check of {count} values cannot show {{{position}:{way}}}: {self.message!r}"
                )
        return shown

    @property
    def format(self) -> str:
        """The message as a format of `snprintf`: %lld for numbers, %.Ns for names."""
        pieces, end = [], 0
        for match in self._placeholders():
            shown = f"%.{MAX_NAME}s" if match[2] else "%lld"
            pieces += [self.message[end : match.start()].replace("%", "%%"), shown]
            end = match.end()
        return "".join([*pieces, self.message[end:].replace("%", "%%")])


def _name_of(text: str) -> str:
    """The name of a string, the same in all modules, so that they can share the code that uses it."""
    return f"relax.text.{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class Raisers:
    """What a module needs to raise errors: strings, each once, and one function per number of values."""

    def __init__(self, checks: Iterable[tuple[Check, int]], places: Iterable[str] = ()) -> None:
        """`checks`: every check, with how many values it is given; `places`: what `add_place` is called with."""
        self._strings: dict[str, str] = {}
        counts, shown = set(), set()
        for check, count in checks:
            values = check.values(count)
            counts.add(len(values))
            shown |= {NAMERS[way] for _, way in values if way}
            for text in (check.kind, check.format):
                self._strings.setdefault(text, _name_of(text))
        self.fragment = Fragment()
        for place in places:
            self._strings.setdefault(place, _name_of(place))
            define_add_place(self.fragment)
        for text, name in self._strings.items():
            self.fragment.define(
                f"llvm.mlir.global internal constant {symbol(name)}({quoted(text + chr(0))})"
            )
        value_formatters.define_formatters(self.fragment, shown)
        for count in sorted(counts):
            self._define(count)

    def _define(self, count: int) -> None:
        """`@relax.rt.raise.COUNT(kind, format, count times i64)`; names are passed as addresses."""
        code, fragment = Code(), self.fragment
        fragment.external("@snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32")
        define_set_error(fragment)
        values = [f"%a{i}" for i in range(count)]
        types = ["!llvm.ptr", "i64", "!llvm.ptr", *["i64"] * count]

        def print_to(buffer: str, size: str) -> str:
            operands = ", ".join([buffer, size, "%format", *values])
            return code.let(
                f"llvm.call @snprintf({operands}) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : "
                f"({', '.join(types)}) -> i32"
            )

        length = code.let(f"arith.extsi {print_to(code.null(), code.constant(0))} : i32 to i64")
        size = code.let(f"arith.addi {length}, {code.constant(1)} : i64")
        buffer = code.let(f"llvm.alloca {size} x i8 : (i64) -> !llvm.ptr")
        print_to(buffer, size)
        code.do(f"func.call @{SET_ERROR}(%kind, {buffer}) : (!llvm.ptr, !llvm.ptr) -> ()")
        code.do("func.return")
        parameters = ", ".join(["%kind: !llvm.ptr", "%format: !llvm.ptr", *(f"{v}: i64" for v in values)])
        head = f"private {symbol(_raiser(count))}({parameters})"
        fragment.function(head, code, f'passthrough = ["cold", "noinline"], {SUPPORT}')

    def add_place(self, place: str) -> None:
        """Write, at the insertion point, code that adds `place` to the message of the error that is raised."""
        pointer = ir.Type.parse("!llvm.ptr")
        func.CallOp([], ADD_PLACE, [llvm.AddressOfOp(pointer, self._strings[place]).result])

    def raise_error(self, check: Check, values: Sequence[ir.Value]) -> None:
        """Write, at the insertion point, code that sets the error of `check` (of its index `values`)."""
        pointer, word = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
        operands = [
            llvm.AddressOfOp(pointer, self._strings[text]).result for text in (check.kind, check.format)
        ]
        for position, way in check.values(len(values)):
            number = arith.IndexCastOp(word, values[position]).result
            if way:
                size = arith.ConstantOp(word, NAME_ROOM).result
                byte = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
                buffer = llvm.AllocaOp(pointer, size, byte).result
                name = func.CallOp([pointer], NAMERS[way], [number, buffer]).results[0]
                number = llvm.PtrToIntOp(word, name).result
            operands.append(number)
        func.CallOp([], _raiser(len(operands) - 2), operands)


def _raiser(count: int) -> str:
    return f"relax.rt.raise.{count}"
