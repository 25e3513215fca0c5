"""Random prim funcs with loop annotations compute the same as Python, at all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from guard_pages import run_apart
from guarded_loops import arrays
from loop_generator import LoopGenerator
from relax_mlir.lowering.loops import parallelize_loops
from relax_mlir.script import parse
from tir_reference import interpret

SUPPORT = Path(__file__).parents[2] / "support"
SIZES = ((0, 3), (2, 0), (1, 1), (5, 7), (9, 33), *(((17, 50),) if sweep.ALL else ()))
PER_MODULE = 6


def module_of(generators: Sequence[LoopGenerator], sources: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for source in sources for line in source.splitlines())
    return f"@I.ir_module\nclass M:\n{body}\n"


@pytest.mark.parametrize("seed", range(5 if sweep.ALL else 1))
def test_native_code_agrees_with_python(seed: int) -> None:
    compare(seed, "native")


@pytest.mark.parametrize("seed", range(100, 101))
@pytest.mark.slow
def test_bytecode_agrees_with_python(seed: int) -> None:
    compare(seed, "bytecode")


@pytest.mark.slow
def test_parallel_loops_of_little_work_agree_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelize_loops, "THRESHOLD", 0)
    compare(200, "native", target="cpu -num-threads=4", cache=False)


def compare(seed: int, exec_mode: str, target: str = "cpu", cache: bool = True) -> None:
    generators = [LoopGenerator(Random(seed * PER_MODULE + number)) for number in range(PER_MODULE)]
    sources = [generator.program(f"k{number}") for number, generator in enumerate(generators)]
    built = rx.build(parse(module_of(generators, sources)), target, exec_mode=exec_mode, cache=cache)
    for number, (generator, source) in enumerate(zip(generators, sources, strict=True)):
        for n, m in SIZES:
            given = arrays(generator, n, m, seed)
            expected = [array.copy() for array in given]
            interpret(source, expected)
            built[f"k{number}"](*given)
            for ours, theirs in zip(given, expected, strict=True):
                np.testing.assert_array_equal(ours, theirs, err_msg=f"n = {n}, m = {m}\n{source}")


@pytest.mark.parametrize(
    ("seed", "target"),
    [
        pytest.param(500, "cpu", marks=pytest.mark.slow),
        (600, "cpu -mcpu=haswell"),
        pytest.param(700, "cpu -mcpu=x86-64", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_touched_out_of_bounds(seed: int, target: str) -> None:
    run_apart(SUPPORT / "guarded_loops.py", [str(seed), "4", target])
