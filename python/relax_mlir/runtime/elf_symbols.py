"""Rename symbols in object files, so that several functions can share compiled code that is linked once for each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relax_mlir.runtime.elf_tables import SECTION, SYMBOL, elf_tables, symbol_table


def with_symbol_names(data: bytes, names: Mapping[str, str]) -> bytes:
    """Return an object file whose symbols are renamed as `names` says; other symbols are unchanged.

    Raises ElfError (a ValueError) if there is no symbol table, and ValueError if it lacks the first key.
    """
    tables = elf_tables(data)
    table = tables.sections[symbol_table(tables)]
    text = int(table["link"])
    at, size = int(tables.sections[text]["offset"]), int(tables.sections[text]["size"])
    old = data[at : at + size]
    wanted = {key.encode(): value.encode() for key, value in names.items()}
    new, places = bytearray(old), dict[bytes, int]()
    result = bytearray(data)
    symbols = np.frombuffer(result, SYMBOL, int(table["size"]) // SYMBOL.itemsize, int(table["offset"]))
    for number, name in enumerate(symbols["name"].tolist()):
        found = old[name : old.index(b"\0", name)]
        if found not in wanted:
            continue
        if found not in places:
            places[found] = len(new)
            new += wanted[found] + b"\0"
        symbols["name"][number] = places[found]
    if names and next(iter(wanted)) not in places:
        raise ValueError(f"an object file without the symbol {next(iter(names))}")
    # The string table is now at the end of the file.
    header = np.frombuffer(result, SECTION, 1, tables.start + text * SECTION.itemsize)
    header["offset"], header["size"] = len(data), len(new)
    return bytes(result) + bytes(new)


def with_renamed_symbols(data: bytes, old: str, new: str) -> bytes:
    """Replace `old` in all symbol names of an object file by `new`, which has the same length."""
    assert len(old) == len(new)
    tables = elf_tables(data)
    text = tables.sections[int(tables.sections[symbol_table(tables)]["link"])]
    at, size = int(text["offset"]), int(text["size"])
    return data[:at] + data[at : at + size].replace(old.encode(), new.encode()) + data[at + size :]
