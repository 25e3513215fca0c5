"""A program imports what it uses: neither torch, nor the lowering if its code comes from the cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from relax_mlir import instrument, rewrite, strategy
from relax_mlir.dialects.prim_funcs import KERNEL_SPECS
from relax_mlir.lowering.kernels.select_kernels import GENERATOR_MODULES, GENERATORS, generator_of
from relax_mlir.runtime.packed_functions import HOMES

from benchmarks import cold_start

COLD, CACHED = 560, 250
"""The most modules of the project that the program imports."""

LOWERING = (
    "passes",
    "lowering.pipeline",
    "lowering.legalize",
    "lowering.kernels",
    "lowering.loops",
    "lowering.shapes",
)


@pytest.mark.parametrize("case", cold_start.CASES[1::2], ids=lambda case: case.name)
def test_few_modules_are_imported(case: cold_start.Case, tmp_path: Path) -> None:
    cold_start.run(case, cold_start.ROOT, tmp_path)  # fills the cache
    _, modules = cold_start.run(case, cold_start.ROOT, tmp_path)
    assert "torch" not in modules
    assert len(modules) <= (CACHED if case.cached else COLD)
    names = {name.removeprefix("relax_mlir.") for name in modules} - {"passes"}
    heavy = {name for name in names if name.startswith(LOWERING)}
    assert bool(heavy) != case.cached, sorted(heavy)


def test_every_kernel_finds_its_generator() -> None:
    assert {name for name in KERNEL_SPECS if generator_of(name)} == GENERATORS.keys() == GENERATOR_MODULES.keys()


@pytest.mark.parametrize("package", [instrument, rewrite, strategy])
def test_every_name_of_a_lazy_package_exists(package: object) -> None:
    assert all(hasattr(package, name) for name in package.__all__)  # type: ignore[attr-defined]  # packages have it
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        package.Nothing  # type: ignore[attr-defined]  # noqa: B018 - it has not


def test_functions_of_the_runtime_are_registered_where_the_table_says() -> None:
    from relax_mlir.runtime import data_dependent, packed_functions, run_op

    homes = {name: function.__module__ for name, function in packed_functions._functions.items() if name in HOMES}
    assert homes == HOMES
    assert {data_dependent.__name__, data_dependent.__name__, run_op.__name__} == set(HOMES.values())
