"""Seeds of mutants: the modules of the lit tests, handwritten modules, random programs, and scripts of the tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import paths  # noqa: F401 - makes generators of random programs importable
from fuzz_corpus import corpus
from generator import Generator
from relax_mlir.dialects import dialect
from relax_mlir.mlir import ir

TESTS = Path(__file__).resolve().parents[1]
MAX_LINES = 120


@cache
def texts() -> list[str]:
    """The modules of the lit tests, and some more."""
    return corpus(MAX_LINES)


@cache
def relax_texts() -> list[str]:
    """Those of Relax modules, at level R0 or R1."""
    return [text for text in texts() if re.search(r"relax\.(?!signature|check|packed|constant\b)", text)]


@cache
def scripts() -> list[str]:
    """The scripts that the tests decorate or hold as text."""
    found: dict[str, None] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if path.parent != Path(__file__).resolve().parent and ("@R.function" in text or "@T.prim_func" in text):
            found.update(dict.fromkeys(_scripts_of(text)))
    return [text for text in found if text.count("\n") <= MAX_LINES]


def _scripts_of(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            marks = {ast.unparse(mark).partition("(")[0] for mark in node.decorator_list}
            if marks & {"I.ir_module", "R.function", "T.prim_func"}:
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "@R.function" in node.value:
            try:
                yield ast.unparse(ast.parse(node.value))
            except SyntaxError:
                continue


@cache
def random_program(seed: int) -> tuple[str, str]:
    """A small program of the differential tester: IR in the generic form, and script."""
    random = Random(seed)
    module = Generator(seed, random.choice((1, 1, 1, 2)), random.choice((1, 2, 3, 5))).bb.get()
    return generic(module.mlir), module.script()


@cache
def relax_module(index: int) -> str | None:
    """Text `index` of `relax_texts` in the generic form; None for one that is no valid module."""
    try:
        return generic(ir.Module.parse(relax_texts()[index], shared_context()))
    except ir.MLIRError:
        return None


def generic(module: ir.Module) -> str:
    """The generic form of `module`."""
    return str(module.operation.get_asm(print_generic_op_form=True))


@cache
def shared_context() -> ir.Context:
    """A context for all seeds: creating one takes longer than reading most of them."""
    return dialect.context()
