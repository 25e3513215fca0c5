"""Programs in explicit memory and with a shape heap compute what the native ones do, and use memory rightly."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from forms import assert_same, forms
from interpreter import Interpreter
from memory_programs import NM, PROGRAMS, X, chain, module, register_functions
from relax_mlir.transform import MLIRPass


@pytest.fixture(autouse=True)
def _functions() -> None:
    register_functions()


@pytest.mark.parametrize("name", PROGRAMS)
def test_forms_agree(name: str) -> None:
    build, params, cases = PROGRAMS[name]
    mod = module(build, params)
    native = rx.build(mod)["main"]
    for step, form in forms(mod):
        for case in cases:
            given = [np.array(a) for a in case]
            assert_same(f"{name} after {step}", form.call("main", *given), native(*case))
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
    build, params, cases = PROGRAMS[name]
    mod = module(build, params)
    native = rx.build(mod)["main"]
    for step, form in forms(mod):
        MLIRPass("canonicalize,cse")(form.mod.mlir)
        cleaned = Interpreter(form.mod, form.kernels)
        for case in cases:
            assert_same(f"{name} after {step}", cleaned.call("main", *case), native(*case))
