"""MLIR's pass managers are created once per context, and do not keep it alive."""

from __future__ import annotations

import gc
import weakref

import pytest
from relax_mlir.mlir import ir
from relax_mlir.transform.pipeline import run_native

TEXT = """
func.func @f() -> i32 {
  %0 = arith.constant 1 : i32
  %1 = arith.addi %0, %0 : i32
  return %1 : i32
}
"""
FOLD = "builtin.module(canonicalize)"


def test_the_same_pipeline_again() -> None:
    with ir.Context():
        for _ in range(3):
            module = ir.Module.parse(TEXT)
            run_native(FOLD, module)
            assert "arith.addi" not in str(module)


def test_contexts_are_freed() -> None:
    context = ir.Context()
    gone = weakref.ref(context)
    run_native(FOLD, ir.Module.parse(TEXT, context))
    del context
    gc.collect()
    assert gone() is None


def test_a_pipeline_that_is_none() -> None:
    with ir.Context(), pytest.raises(ValueError, match="none-such"):
        run_native("builtin.module(none-such)", ir.Module.create(ir.Location.unknown()))
