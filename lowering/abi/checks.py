"""Checks as data: what `relax.check` says, and how its error is formatted and raised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import CHECK, SUPPORT
from relax_mlir.error import CompileError
from relax_mlir.lowering.abi import value_formatters
from relax_mlir.lowering.abi.signature import plain
from relax_mlir.lowering.runtime_lib.raising import (
    ADD_PLACE,
    ADD_PLACE_CALLS,
    RAISER_CALLS,
    SET_ERROR,
    add_place_text,
    raiser,
    raiser_text,
    set_error,
)
from relax_mlir.lowering.runtime_lib.support import SEPARATE_DECLARATIONS, has_separate_support
from relax_mlir.mlir import arith, func, ir, llvm
from relax_mlir.mlir_text import Fragment, text_constant, text_name

PLACEHOLDER = re.compile(r"\{(\d+)(?::(\w+))?\}")
_ESCAPED = re.compile(r"\{(?=:*\d+(?::\w+)?\})")
"""The brace before a placeholder, or before one that is escaped by colons."""
_ESCAPE = re.compile(r"\{:(?=:*\d+(?::\w+)?\})")
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
    Braces that do not hold a number are shown, as all braces are in a `literal` message; ``{:0}`` shows
    ``{0}`` (see `verbatim`).
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
            pieces += [self._plain(end, match.start()), shown]
            end = match.end()
        return "".join([*pieces, self._plain(end, len(self.message))])

    def _plain(self, begin: int, end: int) -> str:
        """The characters of the message from `begin` to `end`, which hold no placeholder, in a format of `snprintf`."""
        text = self.message[begin:end]
        return (text if self.literal else _ESCAPE.sub("{", text)).replace("%", "%%")


def verbatim(text: str) -> str:
    """A name, a path or any other string in a message of `Check`: its braces are shown."""
    return _ESCAPED.sub("{:", text)


class Raisers:
    """What a module needs to raise errors: strings, each once, and one function per number of values."""

    def __init__(
        self, checks: Iterable[tuple[Check, int]], places: Iterable[str], known: Mapping[str, func.FuncOp]
    ) -> None:
        """`checks`: every check, with how many values it is given; `places`: what `add_place` is called with; `known`:
        the functions that the module has, which come first, but for those of separate support functions.
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
        value_formatters.define_formatters(self.fragment, shown)
        for count in sorted(counts):
            self._define(raiser(count), raiser_text(count, SUPPORT), RAISER_CALLS)
        if places:
            self._define(ADD_PLACE, add_place_text(SUPPORT), ADD_PLACE_CALLS)

    def _define(self, name: str, text: str, calls: Iterable[str]) -> None:
        """Define a function that the module does not have, and what it calls."""
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
        """Write, at the insertion point, code that adds `place` to the message of the error that is raised."""
        pointer = ir.Type.parse("!llvm.ptr")
        func.CallOp([], ADD_PLACE, [llvm.AddressOfOp(pointer, text_name(place)).result])

    def raise_error(self, check: Check, values: Sequence[ir.Value]) -> None:
        """Write, at the insertion point, code that sets the error of `check` (of its index `values`)."""
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
