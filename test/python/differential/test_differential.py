"""Random programs, compiled once and run on several shapes, against NumPy.

``RELAX_MLIR_SOAK=1000:2000`` adds those seeds to the usual ones; `soak.py` does the same on the command line, shrinks
what fails and prints it.
"""

from __future__ import annotations

import os

import pytest
from checking import check
from generator import Generator

FUNCTIONS = 3


def _seeds() -> list[int]:
    first, _, end = os.environ.get("RELAX_MLIR_SOAK", "0:0").partition(":")
    return [*range(6), *range(int(first), int(end))]


@pytest.mark.parametrize("seed", _seeds())
def test_module(seed: int) -> None:
    generator = Generator(seed, FUNCTIONS)
    try:
        compared, total = check(generator, seed, passes=seed % 3 == 0)
    except Exception as error:
        error.args = (f"seed {seed}: {error}\n{generator.bb.get().script()}",)
        raise
    assert compared > total / 4, (
        f"seed {seed}: only {compared} of {total} elements are certain enough to compare"
    )


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import references
    from checking import DifferenceError

    for table in (references.NUMBER_BINARY, references.NUMBER_UNARY):
        for name in table:
            monkeypatch.setitem(table, name, lambda *operands: operands[0] * 0 + 1)
    with pytest.raises(DifferenceError, match=r"elements differ|shape .*, expected"):
        for seed in range(3):
            check(Generator(seed, 2), seed)
