"""The instruments that options of ``relax-opt`` request, and their print options."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from relax_mlir.error import ParseError
from relax_mlir.instrument import (
    DumpStages,
    FileTree,
    PassInstrument,
    PassStatistics,
    PassTimingInstrument,
    PrintAfter,
    PrintBefore,
    WellFormed,
)
from relax_mlir.ir_module import IRModule
from relax_mlir.module_text import PrintOptions
from relax_mlir.tools.colour import NOTE, paint
from relax_mlir.tools.opt_options import Options
from relax_mlir.tools.supervise import note
from relax_mlir.transform import PassInfo, registry

BEFORE = ("mlir-print-ir-before", "mlir-print-ir-before-all")
AFTER = ("mlir-print-ir-after", "mlir-print-ir-after-all", "mlir-print-ir-after-change")


class Breadcrumbs(PassInstrument):
    """Records the current pass, for the message after a crash."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        note(f"pass '{info.text}' ran")


def print_options(options: Options) -> PrintOptions:
    """The options of printing modules."""
    without_body = None
    if options.on("elide-kernels"):
        from relax_mlir.tools.library_kernels import is_library_kernel  # needed for this option only

        without_body = is_library_kernel
    return PrintOptions(
        debug_info=options.on("mlir-print-debuginfo"),
        elements_limit=options.number("mlir-elide-elementsattrs-if-larger"),
        generic=options.on("mlir-print-op-generic"),
        local_scope=options.on("mlir-print-local-scope"),
        value_names=options.on("mlir-use-nameloc-as-prefix", True),
        without_body=without_body,
    )


def instruments(options: Options) -> Iterator[PassInstrument]:
    """The instruments that the options request; timing last, so that it does not measure printing.

    Raises ParseError if a printing option is set and nothing is printed.
    """
    yield Breadcrumbs()
    yield from _printers(options)
    if options.text("dump-stages"):
        yield DumpStages(options.text("dump-stages"), print_options(options))
    if options.on("check-well-formed"):
        yield WellFormed()
    if options.on("mlir-pass-statistics"):
        yield PassStatistics()
    if options.on("mlir-timing"):
        yield PassTimingInstrument()


def check(options: Options) -> None:
    """Raise ParseError for a dump folder without dumps, UnknownNameError for an unknown pass."""
    for name in (*options.names(BEFORE[0]), *options.names(AFTER[0])):
        if not (registry.is_known(name) or registry.is_upstream(name)):
            raise registry.unknown_pass(name)
    directory = "mlir-print-ir-tree-dir"
    if options.text(directory) and not any(options.values.get(name) for name in BEFORE + AFTER):
        raise ParseError(
            f"--{directory} says where dumps go: give --mlir-print-ir-after-all, too, or its like"
        )


def _printers(options: Options) -> Iterator[PassInstrument]:
    directory = options.text("mlir-print-ir-tree-dir")
    common: dict[str, Any] = {
        "stream": sys.stderr,
        "options": print_options(options),
        "module_scope": options.on("mlir-print-ir-module-scope"),
        "tree": FileTree(directory) if directory else None,
        "heading": lambda text: paint(text, NOTE, sys.stderr),
    }
    named_before, all_before = options.names(BEFORE[0]), options.on(BEFORE[1])
    if all_before or named_before:
        yield PrintBefore(None if all_before else named_before, **common)
    named_after, all_after, on_change = options.names(AFTER[0]), options.on(AFTER[1]), options.on(AFTER[2])
    if all_after or on_change or named_after:
        yield PrintAfter(None if all_after or not named_after else named_after, on_change=on_change, **common)
