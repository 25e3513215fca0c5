"""Object files whose symbols get other names: the code that functions of a kind share is linked once for each."""

from __future__ import annotations

import struct
from collections.abc import Mapping

_HEADER = struct.Struct("<40xQ10xHHH")
"""Where section headers begin, their size, how many there are, which of them has the names."""
_SECTION = struct.Struct("<4xI16xQQI20x")
"""Type, where the section begins, its size, the number of the section that it belongs with."""
_OFFSET = 24
"""Where a section header says where the section begins; its size follows."""
_SYMBOL_BYTES = 24
_SYMTAB = 2


def with_symbol_names(data: bytes, names: Mapping[str, str]) -> bytes:
    """An ELF object file (64 bits, little-endian) in which the symbols called as the keys have the names beside them.

    What is called otherwise stays as it is. Raises ValueError if there is no symbol table, or none of its symbols is
    called as the first key.
    """
    start, entry, count, _ = _HEADER.unpack_from(data)
    headers = [_SECTION.unpack_from(data, start + entry * i) for i in range(count)]
    table = next((header for header in headers if header[0] == _SYMTAB), None)
    if table is None:
        raise ValueError("an object file without symbols")
    _, symbols, size, text = table
    _, text_at, text_bytes, _ = headers[text]
    old = data[text_at : text_at + text_bytes]
    wanted = {key.encode(): value.encode() for key, value in names.items()}
    new, places = bytearray(old), dict[bytes, int]()
    result = bytearray(data)
    for symbol in range(symbols, symbols + size, _SYMBOL_BYTES):
        (name,) = struct.unpack_from("<I", data, symbol)
        found = old[name : old.index(b"\0", name)]
        if found not in wanted:
            continue
        if found not in places:
            places[found] = len(new)
            new += wanted[found] + b"\0"
        struct.pack_into("<I", result, symbol, places[found])
    if names and next(iter(wanted)) not in places:
        raise ValueError(f"an object file without the symbol {next(iter(names))}")
    struct.pack_into("<QQ", result, start + entry * text + _OFFSET, len(result), len(new))
    return bytes(result + new)
