"""Random programs of the differential tester in explicit memory and with a shape heap, against the native ones."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from checking import _inputs, register
from generator import SIZES, Generator
from interpreter import assert_same, forms
from relax_mlir.error import RelaxError


def _seeds() -> list[int]:
    first, _, end = os.environ.get("RELAX_MLIR_SOAK", "0:0").partition(":")
    return [*range(4 if sweep.ALL else 2), *range(int(first), int(end))]


@pytest.mark.parametrize("seed", sweep.quick(_seeds(), 0))
def test_module(seed: int) -> None:
    register()
    generator = Generator(seed, 2)
    mod = generator.bb.get()
    native = rx.build(mod)
    cases = [(p, _inputs(p, sizes, seed)) for p in generator.programs for sizes in SIZES]
    expected = [_run(native[program.name], inputs) for program, inputs in cases]
    for step, form in forms(mod):
        for (program, inputs), wanted in zip(cases, expected, strict=True):
            given = [np.array(a) for a in inputs]
            where = f"seed {seed}: {program.name} after {step}"
            found = _run(lambda *args, name=program.name, form=form: form.call(name, *args), given)
            if isinstance(wanted, Exception) or isinstance(found, Exception):
                assert isinstance(wanted, Exception) and isinstance(found, Exception), f"{where}: {wanted}, {found}"
                continue
            assert_same(where, found, wanted)
            for array, original in zip(given, inputs, strict=True):
                assert array.tobytes() == original.tobytes(), f"{where}: an argument has changed"


def _run(function: Any, inputs: list[Any]) -> Any:
    try:
        return function(*inputs)
    except RelaxError as error:
        return error
