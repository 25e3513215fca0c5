"""Passes preserve the results of random programs, and verification between passes finds no error.

``RELAX_MLIR_SOAK=1000:2000`` adds those seeds; ``soak.py --passes 1000:2000`` does the same on the command line.
"""

from __future__ import annotations

import os

import pytest
import sweep
from pass_property import RELAX_PASSES, MeaningError, check_program
from relax_mlir.mlir import func, ir
from relax_mlir.passes import unused


def _seeds() -> list[int]:
    first, _, end = os.environ.get("RELAX_MLIR_SOAK", "0:0").partition(":")
    return [*range(5 if sweep.ALL else 3), *range(int(first), int(end))]


@pytest.mark.parametrize("seed", sweep.quick(_seeds(), 0))
def test_programs_keep_their_meaning(seed: int) -> None:
    check_program(seed, sequences=2)


def test_the_passes_are_those_of_the_registry() -> None:
    assert {"normalize", "explicit-effects", "inline-private-functions", "fuse-ops"} <= set(RELAX_PASSES)
    assert len(RELAX_PASSES) >= 20


def test_a_wrong_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that drops effects, which `build` does not run itself."""

    def run(self: object, module: ir.Module, ctx: object) -> None:
        for top in module.body.operations:
            if isinstance(top, func.FuncOp) and not top.is_external:
                for view in list(top.regions[0].blocks[0].operations):
                    if view.operation.name == "relax.call_packed" and not list(view.operation.results[0].uses):
                        view.operation.erase()

    monkeypatch.setattr(unused.DeadCodeElimination, "run", run)
    monkeypatch.setattr("pass_property.RELAX_PASSES", ("dead-code-elimination",))
    monkeypatch.setattr("pass_property.UPSTREAM", ())
    with pytest.raises(MeaningError, match="passes dead-code-elimination"):
        for seed in range(12):
            check_program(seed, sequences=0)
