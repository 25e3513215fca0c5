"""Truncated ELF files, and files of other formats, are errors for all readers."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.export.metadata import sections
from relax_mlir.runtime.elf import (
    NOBITS,
    SUPPORTED,
    ElfError,
    LoadedObject,
    ObjectFileError,
    elf_tables,
    with_symbol_names,
)

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="objects of another machine")


@pytest.fixture(scope="module")
def code() -> bytes:
    """An object file that LLVM has written."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.exp(x))
    return max(rx.build(bb.get(), cache=False)._engine.objects, key=len)


def test_sections_that_wrap_around(code: bytes) -> None:
    """A size that overflows 64 bits together with the offset."""
    tables = elf_tables(code)
    changed = bytearray(code)
    changed[tables.start + 64 + 32 : tables.start + 64 + 40] = b"\xff" * 8
    assert tables.sections["type"][1] != NOBITS
    with pytest.raises(ElfError, match="a section ends behind the file"):
        elf_tables(bytes(changed))


def test_sections_have_their_places(code: bytes) -> None:
    behind = b"something in front" + code
    start = len(behind) - len(code)
    assert [(name, at + start, size) for name, at, size in sections(code)] == [*sections(behind, start)]
    assert {".text", ".symtab", ".strtab"} <= {name for name, _, _ in sections(code)}


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.999])
def test_a_file_that_is_cut_off(code: bytes, share: float) -> None:
    part = code[: int(len(code) * share)]
    with pytest.raises(ElfError, match=r"not an ELF file|malformed ELF file"):
        elf_tables(part)
    with pytest.raises(ElfError):
        with_symbol_names(part, {})
    with pytest.raises(ObjectFileError, match=r"not an ELF file|malformed ELF file"):
        LoadedObject(part)


def test_other_files(code: bytes) -> None:
    for data in (b"", b"#!/bin/sh", b"\x7fELF\x01\x01" + code[6:]):
        with pytest.raises(ElfError, match="not an ELF file of 64 bits"):
            elf_tables(data)
    arm = code[:18] + (183).to_bytes(2, "little") + code[20:]
    assert elf_tables(arm).machine == 183
    with pytest.raises(ObjectFileError, match="for x86-64"):
        LoadedObject(arm)
