"""Bytecode computes the same as native code, bit for bit."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from interpreter import assert_same
from memory_machine import PROGRAMS, native, register_functions, together


@pytest.fixture(autouse=True)
def _functions() -> None:
    register_functions()


@functools.cache
def bytecode() -> Any:
    return rx.vm.build(together())


@pytest.mark.parametrize("name", sweep.slow(PROGRAMS, "chain"))
def test_programs_with_shared_memory(name: str) -> None:
    for case in PROGRAMS[name][2]:
        given = [np.array(a) for a in case]
        assert_same(name, bytecode()[name](*given), native()[name](*case))
        for array, original in zip(given, case, strict=True):
            np.testing.assert_array_equal(array, original, err_msg="an argument has changed")
