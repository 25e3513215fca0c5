"""The part of a library that is written in assembly: weights and metadata as sections, and what runs at load."""

from __future__ import annotations

from collections.abc import Mapping

from relax_mlir.export.cpu_words import cpu_words_assembly
from relax_mlir.export.metadata import SECTION
from relax_mlir.export.weights import PAGE_BYTES
from relax_mlir.lowering.runtime_lib.library import START, WEIGHTS


def library_assembly(weights: str, facts: str, architecture: str, more: Mapping[str, str]) -> str:
    """For GNU's and LLVM's assemblers.

    Args:
        architecture: LLVM's name of it.
        weights: the file of weights: they are mapped when they are read, and shared by processes.
        facts: the file of metadata, which is not loaded.
        more: names of further sections that are not loaded, each with a file.
    """
    return f"""{cpu_words_assembly(architecture)}
    .section .init_array, "aw", %init_array
    .balign 8
    .quad {START}

    .section .rodata.relax_weights, "a", %progbits
    .balign {PAGE_BYTES[architecture]}
    .globl {WEIGHTS}
    .hidden {WEIGHTS}
{WEIGHTS}:
    .incbin "{weights}"

    .section {SECTION}, "", %progbits
    .incbin "{facts}"

{"".join(_section(*pair, architecture) for pair in more.items())}
    .section .note.GNU-stack, "", %progbits
"""


def _section(name: str, file: str, architecture: str) -> str:
    return f"""
    .section {name}, "", %progbits
    .balign {PAGE_BYTES[architecture]}
    .incbin "{file}"
"""
