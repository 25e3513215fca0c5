"""Random programs, compiled once and run on several shapes, against NumPy.

``RELAX_MLIR_SOAK=1000:2000`` adds those seeds to the usual ones; `soak.py` does the same on the command line, shrinks
what fails and prints it.
"""

from __future__ import annotations

import os
from pathlib import Path

import cold_process
import pytest
import sweep
from checking import check
from generator import Generator

FUNCTIONS = 3
LEVELS = (2, 0, 3, 1)
"""Optimisation levels, by the seed."""


def _seeds() -> list[int]:
    first, _, end = os.environ.get("RELAX_MLIR_SOAK", "0:0").partition(":")
    return [*range(8 if sweep.ALL else 4), *range(int(first), int(end))]


@pytest.mark.parametrize("seed", sweep.quick(_seeds(), 0, 1))
def test_module(seed: int) -> None:
    generator = Generator(seed, FUNCTIONS)
    try:
        compared, total = check(
            generator,
            seed,
            passes=seed % 3 == 0,
            bytecode=seed % 3 == 1,
            opt_level=LEVELS[seed % len(LEVELS)],
        )
    except Exception as error:
        error.args = (f"seed {seed}: {error}\n{generator.bb.get().script()}",)
        raise
    assert compared > total / 4, f"seed {seed}: only {compared} of {total} elements are certain enough to compare"


@pytest.mark.slow
def test_soak_runs_alone() -> None:
    """Run without pytest's search path, on no seed."""
    script = Path(__file__).with_name("soak.py")
    done = cold_process.run([str(script), "0:0"])
    assert done.returncode == 0 and "0 failures" in done.stdout, done.stderr


UNUSED = 500004
"""A loop of this seed carries a maximum over no elements, which no result needs."""


def test_what_nobody_uses_may_be_dropped() -> None:
    """Compiled code may drop an op that would raise; in that case, the reference does not raise either."""
    check(Generator(UNUSED, 2, 21), UNUSED)


def test_what_a_result_needs_raises() -> None:
    import numpy as np
    from difference import Frame, Node, Passing, Program

    def largest(_: Frame, x: np.ndarray) -> np.ndarray:
        return np.asarray(x.max())

    x = Node(None, "int64", (0,), lambda *_: None)
    failed = Node(None, "int64", (), largest, (x,))
    carried = Node(None, None, (), Passing(lambda _, *values: values), (x, failed))
    first, second = (Node(None, "int64", (), lambda _, t, i=i: t[i], (carried,)) for i in range(2))
    program = Program("f", [x], first)
    nothing = np.zeros(0, "int64")
    assert Frame(program, [nothing], None).results()[0].size == 0
    program.results = second
    with pytest.raises(ValueError, match="zero-size array"):
        Frame(program, [nothing], None).results()


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from checking import DifferenceError
    from reference import NUMBER_BINARY, NUMBER_UNARY, OPS

    for name in (*NUMBER_BINARY, *NUMBER_UNARY):
        monkeypatch.setitem(OPS, name, lambda *operands: operands[0] * 0 + 1)
    with pytest.raises(DifferenceError, match=r"elements differ|shape .*, expected"):
        for seed in range(3):
            check(Generator(seed, 2), seed)
