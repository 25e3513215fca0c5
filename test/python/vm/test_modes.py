"""Bytecode computes, bit by bit, what native code does."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from forms import assert_same
from memory_programs import PROGRAMS, module, register_functions


@pytest.fixture(autouse=True)
def _functions() -> None:
    register_functions()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_shared_memory(name: str) -> None:
    build, params, cases = PROGRAMS[name]
    mod = module(build, params)
    native, bytecode = rx.build(mod)["main"], rx.vm.build(mod)["main"]
    for case in cases:
        given = [np.array(a) for a in case]
        assert_same(name, bytecode(*given), native(*case))
        for array, original in zip(given, case, strict=True):
            np.testing.assert_array_equal(array, original, err_msg="an argument has changed")
