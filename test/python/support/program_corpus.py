"""All well-formed Relax modules that the tests hold: those of the lit tests, and the scripts of the Python tests."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import relax_mlir as rx
from fuzz_corpus import corpus
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import ops_of
from relax_mlir.script import parse

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))


@functools.cache
def relax_modules() -> list[rx.IRModule]:
    """The modules; without texts with mistakes, and those of lower levels."""
    from seed_modules import scripts

    found = []
    for text in corpus(most_lines=400):
        if "relax." in text:
            _add(found, text, lambda text: rx.IRModule.parse(text, trusted=True))
    for text in scripts():
        _add(found, text, parse)
    return found


def _add(found: list[rx.IRModule], text: str, read: object) -> None:
    try:
        module = read(text)  # type: ignore[operator]  # a function
        module.verify()
    except RelaxError:
        return
    functions = list(module.functions())
    is_lower = any(op.name.startswith("memref.") for f in functions for op in ops_of(f.operation))
    if functions and not is_lower:
        found.append(module)
