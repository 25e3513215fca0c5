"""The assembly part of a library: weights and metadata as sections, and the code that runs at load."""

from __future__ import annotations

from collections.abc import Mapping

from relax_mlir.export.cpu_words import cpu_words_assembly
from relax_mlir.export.metadata import SECTION
from relax_mlir.export.weights import PAGE_BYTES
from relax_mlir.lowering.runtime_lib.library import START, WEIGHTS


def library_assembly(weights: str, facts: str, architecture: str, more: Mapping[str, str]) -> str:
    """The assembly text, for GNU's and LLVM's assemblers.

    Args:
        architecture: LLVM's name of the architecture.
        weights: the file of weights: they are mapped on first read, and shared by processes.
        facts: the file of metadata, which is not loaded.
        more: further sections that are not loaded: names, each with the file of its contents.
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
