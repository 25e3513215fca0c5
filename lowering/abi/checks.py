"""The contents of `relax.check` attributes, and the code that formats and raises their errors."""

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
"""Matches the opening brace of a placeholder, or of a placeholder that is escaped with colons."""
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
                raise CompileError(
                    f"a check of {count} values cannot show {{{position}:{way}}}: {self.message!r}"
                )
        return shown

    @property
    def format(self) -> str:
        """The message as a `snprintf` format: %lld for integers, %.Ns for names."""
        pieces, end = [], 0
        for match in self._placeholders():
            shown = f"%.{MAX_NAME}s" if match[2] else "%lld"
            pieces += [self._plain(end, match.start()), shown]
            end = match.end()
        return "".join([*pieces, self._plain(end, len(self.message))])

    def _plain(self, begin: int, end: int) -> str:
        """The characters `begin` to `end` of the message, without placeholders, escaped for `snprintf`."""
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
        value_formatters.define_formatters(self.fragment, shown)
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
