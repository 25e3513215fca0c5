"""Optimisation levels: the lowering passes that each level of a `PassContext` runs, and those that are required."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from relax_mlir.error import ArgumentError
from relax_mlir.lowering.pipeline import Phase, memory_phases, phases
from relax_mlir.transform import MLIRPass, Pass, PassContext, Sequential


def leaves(passes: Iterable[Pass], level: int = 0) -> Iterator[tuple[str, int, bool]]:
    """Yield (name, effective level, is composite) of each pass, including nested ones."""
    for each in passes:
        own = max(level, each.info.opt_level)
        parts = each.passes if isinstance(each, Sequential | MLIRPass) else ()
        is_composite = isinstance(each, Sequential) or each.info.composite
        yield each.info.name, own, is_composite
        if is_composite:
            yield from leaves(parts, own)


@functools.cache
def needed_passes() -> frozenset[str]:
    """The names of passes that every lowering requires: those of level 0, and the phases that contain them.

    MLIR's ``canonicalize`` and ``cse`` are among them, because passes below level R1 depend on them.
    """
    found = leaves(phase.as_pass() for phase in _all_phases())
    return frozenset(name for name, level, _ in found if level == 0)


def with_needed(context: PassContext, opt_level: int | None = None) -> PassContext:
    """The context of a compilation, in which instruments cannot skip required passes.

    Raises:
        ArgumentError: the context disables a required pass.
    """
    disabled = sorted(context.disabled_pass & needed_passes())
    if disabled:
        raise ArgumentError(
            f"build: {', '.join(repr(name) for name in disabled)} cannot be disabled: nothing can be compiled without; "
            f"what can is {', '.join(optional_passes())}"
        )
    return context.derived(
        opt_level=context.opt_level if opt_level is None else opt_level,
        required_pass=context.required_pass | needed_passes(),
    )


def optional_passes() -> list[str]:
    """The names of the passes that levels and `PassContext.disabled_pass` control, in order."""
    found = leaves(phase.as_pass() for phase in phases())
    return list(
        dict.fromkeys(
            name for name, level, group in found if level and not group and name not in needed_passes()
        )
    )


def level_table() -> list[tuple[int, str, str, str]]:
    """Level, phase, pass and kind of each pass above level 0, sorted by level."""
    rows = []
    for phase in phases():
        for name, level, is_composite in leaves(phase.passes):
            if level:
                rows.append((level, phase.name, name, "group" if is_composite else "pass"))
    return sorted(rows, key=lambda row: row[0])


def _all_phases() -> list[Phase]:
    return [*phases(keep_closures=True), *memory_phases()]
