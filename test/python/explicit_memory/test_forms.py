"""Programs in explicit memory and with a shape heap compute the same as native ones, and use memory correctly."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import sweep
from interpreter import Interpreter, assert_same, forms
from memory_machine import NM, PROGRAMS, X, chain, module, native, register_functions, together
from relax_mlir.transform import MLIRPass


@pytest.fixture(autouse=True)
def _functions() -> None:
    register_functions()


@functools.cache
def all_forms() -> list[tuple[str, Interpreter]]:
    """All programs after each pass."""
    return list(forms(together()))


@functools.cache
def cleaned_forms() -> list[tuple[str, Interpreter]]:
    """The same after upstream's passes."""
    found = []
    for step, form in all_forms():
        mod = form.mod.clone()
        mod.apply_(MLIRPass("canonicalize,cse"))
        found.append((step, Interpreter(mod, form.kernels)))
    return found


@pytest.mark.parametrize("name", sweep.slow(PROGRAMS, "chain"))
def test_forms_agree(name: str) -> None:
    for step, form in all_forms():
        for case in PROGRAMS[name][2]:
            given = [np.array(a) for a in case]
            assert_same(f"{name} after {step}", form.call(name, *given), native()[name](*case))
            for array, original in zip(given, case, strict=True):
                np.testing.assert_array_equal(array, original, err_msg="an argument has changed")


def test_storages_are_shared() -> None:
    used = dict(forms(module(chain, [NM])))
    for form in used.values():
        form.call("main", X)
    assert used["call-tir-rewrite"].allocated == 4 * X.nbytes
    assert used["static-plan-block-memory"].allocated == 3 * X.nbytes
    assert used["vm-shape-lower"].allocated == 3 * X.nbytes


@pytest.mark.parametrize("name", ["effects", "branches", "sizes"])
def test_upstream_cleanup_keeps_the_forms(name: str) -> None:
    for step, cleaned in cleaned_forms():
        for case in PROGRAMS[name][2]:
            assert_same(f"{name} after {step}", cleaned.call(name, *case), native()[name](*case))
