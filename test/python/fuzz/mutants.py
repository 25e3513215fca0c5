"""Mutants: the text of a seed with some mutations, by number, reproducibly."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import generic_text
import ir_mutations
import paths  # noqa: F401 - makes token mutations importable
import script_mutations
import seed_modules
from mutate import mutate
from reinfer import reinfer
from relax_mlir.diagnostics import parse_module
from relax_mlir.ir_module import IRModule

PASSES = (
    *("canonicalize-bindings", "convert-to-dataflow", "dead-code-elimination", "decompose-ops", "normalize"),
    *(
        "remove-redundant-reshape",
        "topological-sort",
        "call-tir-rewrite",
        "canonicalize-calls",
        "check-prim-calls",
    ),
    *(
        "expand-tuple-arguments",
        "convert-layout",
        "fold-constant",
        "explicit-effects",
        "fuse-attention",
        "fuse-ops",
        "lambda-lift",
    ),
    *(
        "inline-private-functions",
        "legalize-ops",
        "outline-branches",
        "name-unknown-dims",
        "refine-shapes",
        "remove-unused-outputs",
    ),
    *(
        "remove-unused-parameters",
        "specialize-closures",
        "to-non-dataflow",
        "canonicalize",
        "cse",
        "symbol-dce",
    ),
    *("relax-to-relax", "relax-to-explicit-memory", "relax-to-vm", "static-plan-block-memory"),
    *("fuse-ops-by-pattern{patterns=openblas}", "merge-composite-functions", "run-codegen"),
    "fuse-ops-by-pattern{patterns=openblas},merge-composite-functions,run-codegen",
)
LEVELS = (2, 0, 2, 1)
"""The optimisation levels at which mutants are built, alternating by number."""
SHARES = (("valid", 0.45), ("mixed", 0.25), ("hostile", 0.12), ("script", 0.13), ("tokens", 0.05))


@dataclass(frozen=True)
class Mutant:
    """A test case: text, its language, the passes that run first, the seed of its calls."""

    number: int
    language: str
    """``ir`` or ``script``."""
    text: str
    passes: tuple[str, ...] = ()
    call_seed: int = 0
    steps: tuple[tuple[str, int], ...] = ()
    """The mutations with their seeds."""
    origin: str = ""
    kind: str = field(default="")
    opt_level: int = 2

    def as_json(self) -> dict[str, Any]:
        """For pipes and files."""
        return {**vars(self), "passes": list(self.passes), "steps": [list(step) for step in self.steps]}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Mutant:
        """Read the output of `as_json`."""
        fields = dict(data, passes=tuple(data["passes"]), steps=tuple((n, s) for n, s in data["steps"]))
        return cls(**fields)


def make(seed: int, number: int, keep: Sequence[int] | None = None) -> Mutant:
    """Mutant `number` of the run `seed`; `keep`: only those of its mutations."""
    return replace(_made(seed, number, keep), opt_level=LEVELS[number % len(LEVELS)])


def _made(seed: int, number: int, keep: Sequence[int] | None) -> Mutant:
    rng = Random(f"{seed}/{number}")
    kind = rng.choices([k for k, _ in SHARES], [share for _, share in SHARES])[0]
    if kind == "script":
        return _script(seed, number, rng, keep)
    if kind == "tokens":
        texts = seed_modules.texts()
        origin = rng.randrange(len(texts))
        count = rng.randint(1, 2)
        data = mutate(texts[origin], texts, Random(rng.randrange(2**32)))
        text = data.decode(errors="surrogateescape")
        return Mutant(number, "ir", text, (), rng.randrange(2**32), (("tokens", count),), f"text {origin}", kind)
    return _module(seed, number, rng, kind, keep)


def _module(seed: int, number: int, rng: Random, kind: str, keep: Sequence[int] | None) -> Mutant:
    origin, tree = _tree(seed, rng)
    table: dict[str, list[Callable[..., bool]]] = {
        "valid": list(ir_mutations.VALID),
        "mixed": [*ir_mutations.VALID, *ir_mutations.HOSTILE],
        "hostile": list(ir_mutations.HOSTILE),
    }
    chosen = [rng.choice(table[kind]) for _ in range(rng.randint(1, 4 if kind == "valid" else 3))]
    steps = [(mutation.__name__, rng.randrange(2**32)) for mutation in chosen]
    repaired = rng.random() < {"valid": 0.9, "mixed": 0.7, "hostile": 0.3}[kind]
    passes = tuple(rng.sample(PASSES, rng.randint(1, 3))) if rng.random() < 0.2 else ()
    call_seed = rng.randrange(2**32)
    for index, (mutation, (_, step_seed)) in enumerate(zip(chosen, steps, strict=True)):
        if keep is None or index in keep:
            mutation(tree, Random(step_seed))
    if repaired:
        reinfer(tree)
    return Mutant(number, "ir", tree.text(), passes, call_seed, tuple(steps), origin, kind)


PROGRAMS = 100
"""The number of random programs that a run uses as seeds."""


def _program(seed: int, rng: Random) -> int:
    return PROGRAMS * seed + rng.randrange(PROGRAMS)


def _tree(seed: int, rng: Random) -> tuple[str, generic_text.Module]:
    """A valid module as a tree: of the corpus, or a random program."""
    while True:
        if rng.random() < 0.4:
            program = _program(seed, rng)
            return f"program {program}", generic_text.parse(seed_modules.random_program(program)[0])
        index = rng.randrange(len(seed_modules.relax_texts()))
        text = seed_modules.relax_module(index)
        if text is not None:
            return f"text {index}", generic_text.parse(text)


def _script(seed: int, number: int, rng: Random, keep: Sequence[int] | None) -> Mutant:
    if rng.random() < 0.5:
        program = _program(seed, rng)
        origin, text = f"program {program}", seed_modules.random_program(program)[1]
    else:
        texts = seed_modules.scripts()
        index = rng.randrange(len(texts))
        origin, text = f"script {index}", texts[index]
    hostile = rng.random() < 0.6
    table = [*script_mutations.VALID, *(script_mutations.HOSTILE if hostile else ())]
    chosen = [rng.choice(table) for _ in range(rng.randint(1, 3))]
    pairs = [(mutation, rng.randrange(2**32)) for mutation in chosen]
    call_seed = rng.randrange(2**32)
    kept = [pair for index, pair in enumerate(pairs) if keep is None or index in keep]
    try:
        text = script_mutations.mutate(text, kept)
    except (SyntaxError, ValueError):
        text = re.sub(r"\n", "\n ", text, count=1)
    steps = tuple((mutation.__name__, step_seed) for mutation, step_seed in pairs)
    return Mutant(number, "script", text, (), call_seed, steps, origin, "script")


def parsed(mutant: Mutant) -> IRModule:
    """The module of the mutant; raises the errors of the reader."""
    if mutant.language == "script":
        from relax_mlir.script import parse

        return parse(mutant.text)
    if mutant.kind in ("valid", "mixed"):
        # The text is not first tried in a child process: this process may crash.
        return IRModule(parse_module(mutant.text, seed_modules.shared_context()))
    return IRModule.parse(mutant.text)
