"""The levels of a library: code of one module for several targets."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.export.compiled_code import CompiledCode
from relax_mlir.export.cpu_words import needed_words
from relax_mlir.lowering.legalize.runtime_calls import RUNTIME_PREFIX
from relax_mlir.lowering.runtime_lib.library import MAX_LEVELS
from relax_mlir.target import Target, host_flags


def require_exportable(level: CompiledCode) -> None:
    """Raise UnsupportedError if code depends on this process."""
    if not level.objects:
        raise UnsupportedError(
            "export_library: the executable has no object files: this system cannot make them "
            "(they are ELF objects for x86-64 with Linux)"
        )
    for name in level.functions:
        if "@" in name:
            raise UnsupportedError(
                f"export_library: a library has no function {name!r}: linkers read a version after the @"
            )
    for name, place in level.interface.packed.items():
        if name.startswith(RUNTIME_PREFIX):
            op = name.removeprefix(RUNTIME_PREFIX)
            raise UnsupportedError(
                f"export_library: {_WHY.get(op, _WHY['op'])} (at {place}), which needs this compiler when it runs; "
                f"{_INSTEAD.get(op, _INSTEAD['op'])}"
            )


_WHY = {
    "op": "an op works on a tensor whose rank or dtype is known only then",
    "unique": "relax.unique gives a tensor whose size only its elements tell",
    "nonzero": "relax.nonzero gives a tensor whose size only its elements tell",
    "print": "relax.print writes to Python's standard output",
}
_INSTEAD = {
    "op": "give it rank and dtype with match_shape first",
    "unique": "call a function of your own with call_pure_packed, and register it where the library is loaded",
    "nonzero": "call a function of your own with call_pure_packed, and register it where the library is loaded",
    "print": "call a function of your own with call_packed, and register it where the library is loaded",
}


def ordered_levels(levels: Sequence[CompiledCode]) -> list[CompiledCode]:
    """The levels, sorted so that those with the most CPU features come first.

    Raises ArgumentError if they are of different modules, two are for the same target, or for different architectures.
    """
    if len(levels) > MAX_LEVELS:
        raise ArgumentError(
            f"export_library: there are {len(levels)} executables: a library has at most {MAX_LEVELS}"
        )
    targets = [Target.parse(level.interface.target) for level in levels]
    if any(level.interface.source != levels[0].interface.source for level in levels):
        raise ArgumentError(
            "export_library: the executables are not of one module: give a library of its own to each module"
        )
    if any(level.sites != levels[0].sites for level in levels):
        raise ArgumentError(
            "export_library: the executables record different things: build all with profile=True, or none"
        )
    for target in targets:
        if target.architecture != targets[0].architecture:
            raise ArgumentError(
                f"export_library: one is for {targets[0].architecture}, another one for {target.architecture}: "
                "a library has code for one architecture"
            )
        if targets.count(target) > 1:
            raise ArgumentError(f"export_library: two executables are for the target {target}: leave one out")
    bits = {target: _bits(target) for target in targets}
    pairs = sorted(zip(levels, targets, strict=True), key=lambda pair: bits[pair[1]], reverse=True)
    return [level for level, _ in pairs]


def _bits(target: Target) -> int:
    """The number of features that a CPU must have."""
    return sum((word & 0xFFFFFFFF).bit_count() for word in needed_words(target, host_flags()))
