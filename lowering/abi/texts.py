"""The strings and lookup caches of generated code: globals of its module, or external to shared code."""

from __future__ import annotations

from collections.abc import Mapping

from relax_mlir.lowering.abi.checks import PLACEHOLDER, Check
from relax_mlir.lowering.runtime_lib.argument_tables import table_name
from relax_mlir.lowering.runtime_lib.support import CACHED_OBJECT
from relax_mlir.mlir_text import Fragment, quoted_bytes, symbol, text_constant, text_name

_TABLE = "relax.entry.table"
_PREFIX = "relax.entry.text."
"""Prefix of strings that another compilation unit uses."""
_CACHE = "relax.entry.function."
"""Prefix of external caches for FFI functions; caches private to a module are called `relax.function.`."""


def cache_global(fragment: Fragment, name: str) -> str:
    """Define a global pointer to an FFI function, initially null, that `__relax_release` drops (`emit-lifecycle`).

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
        """The symbol of an argument table (`argument_tables`), with its @."""
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
            f"llvm.mlir.global external constant {symbol(name)}({quoted_bytes(data)}) "
            f"{{alignment = {alignment} : i64}}"
        )
        return symbol(used)
