"""Passes from Relax to Relax preserve a program's results: each pass by itself, and random sequences."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import library_patterns
import numpy as np
import relax_mlir as rx
import tvm_ffi
from generate_effects import EffectProgram, register
from relax_mlir.error import UnsupportedError
from relax_mlir.instrument import WellFormed
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import FuseOpsByPattern, MLIRPass, PassContext, create_pass
from relax_mlir.transform.registry import PASSES

UPSTREAM = ("canonicalize", "cse", "symbol-dce")
"""MLIR's own passes, which need effects to be explicit."""

NOT_ALONE = frozenset(
    {"bind-params", "bind-symbolic-vars", "check-prim-calls"}
    | {"call-tir-rewrite", "lower-closures", "static-plan-block-memory", "vm-memory-lower", "vm-shape-lower"}
)
"""Passes that need arguments, that change nothing, or that lead to another level."""

RELAX_PASSES = (
    *sorted(name for name, at in PASSES.items() if at.startswith("relax_mlir.passes.") and name not in NOT_ALONE),
    "legalize-ops",
)
SIZES = (0, 1, 3)


class MeaningError(AssertionError):
    """A pass has changed the results of a program."""


def apply(module: rx.IRModule, names: Sequence[str]) -> rx.IRModule:
    """A copy of `module` after the passes, with verification around each."""
    work = module.clone()
    with PassContext(instruments=[WellFormed()]):
        for name in names:
            if name in UPSTREAM:
                work.apply_(create_pass("explicit-effects"))
                work.apply_(MLIRPass(name))
            elif name == "fuse-ops-by-pattern":
                library_patterns.register()
                work.apply_(FuseOpsByPattern(tuple(library_patterns.patterns())))
            else:
                work.apply_(create_pass(name))
            work.verify()
    return work


def run(module: rx.IRModule, program: EffectProgram, *, observed: bool = False) -> list[Any]:
    """The results of `main` for all sizes, as lists; `observed`: verified between all passes of `build`."""
    executable = rx.build(module, instruments=[WellFormed()] if observed else [])
    return [_plain(executable["main"](*program.inputs(size))) for size in SIZES]


def _plain(result: Any) -> Any:
    if isinstance(result, tvm_ffi.Array | tuple | list):
        return tuple(map(_plain, result))
    return np.asarray(to_numpy(result)).tolist()


def check_program(seed: int, sequences: int, each: bool = False) -> int:
    """Compare runs of the program of `seed` with and without passes; return the number of comparisons.

    `each`: also run every pass by itself. Raises `MeaningError` with the shortest sequence that fails.
    """
    register()
    program = EffectProgram(seed)
    try:
        expected = run(program.module, program)
    except UnsupportedError:
        return 0
    chosen = random.Random(seed)
    every = [*RELAX_PASSES, *UPSTREAM]
    wanted = [[name] for name in every] if each else [[chosen.choice(every)]]
    wanted += [chosen.sample(every, min(chosen.randint(2, 6), len(every))) for _ in range(sequences)]
    if run(program.module, program, observed=True) != expected:
        raise MeaningError(f"seed {seed}: verification between passes changes the result")
    compared = 0
    before = str(program.module)
    for names in wanted:
        problem = _problem(program, names, expected, before)
        compared += problem != UNCHANGED
        if problem not in (None, UNCHANGED):
            raise MeaningError(_report(seed, program, names, expected, before))
    return compared


UNCHANGED = "unchanged"


def _problem(program: EffectProgram, names: Sequence[str], expected: Any, before: str) -> str | None:
    try:
        module = apply(program.module, names)
        if str(module) == before:
            return UNCHANGED
        found = run(module, program)
    except UnsupportedError as error:
        return None if "specialize-closures" in names else f"UnsupportedError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if found == expected else f"{found} instead of {expected}"


def _report(seed: int, program: EffectProgram, names: Sequence[str], expected: Any, before: str) -> str:
    """The shortest failing sequence, its effect, and the program."""
    fails: Callable[[Sequence[str]], str | None] = lambda n: _problem(program, n, expected, before)  # noqa: E731
    shortest = list(names)
    for name in list(names):
        fewer = [n for n in shortest if n != name]
        if fewer and fails(fewer) not in (None, UNCHANGED):
            shortest = fewer
    return f"seed {seed}, passes {' '.join(shortest)}: {fails(shortest)}\n{program.module}"
