"""Bytecode computes, bit by bit, what native code does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from forms import assert_same
from memory_programs import PROGRAMS, module
from relax_mlir.runtime import to_numpy


@pytest.fixture(autouse=True)
def _functions() -> None:
    def double(x: Any, y: Any) -> None:
        to_numpy(x)[...] *= 2
        to_numpy(y)[...] += 1

    def negate(x: Any, times: int, out: Any) -> None:
        to_numpy(out)[...] = -times * to_numpy(x)

    tvm_ffi.register_global_func("test.memory.double", double, override=True)
    tvm_ffi.register_global_func("test.memory.negate", negate, override=True)
    tvm_ffi.register_global_func("test.memory.keep", lambda x: x, override=True)


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
