"""Errors from deeply nested compiled code, and code that cannot be linked."""

from __future__ import annotations

import gc

import modules
import numpy as np
import psutil
import pytest
import tvm_ffi
from lowered import compile_module, run_passes
from relax_mlir import error
from relax_mlir.lowering.llvm.to_llvm import lower_to_llvm
from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.mlir import ir
from relax_mlir.runtime import Executable

M = "memref<?xf32>"
SIGNATURE = """relax.signature = {name = "main",
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \\"float32\\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}], tuple = false}"""

# main → helper (a Relax function with a workspace) → kernel (allocates, asserts in a loop).
NESTED = f"""
func.func private @kernel(%x: {M}, %o: {M}) attributes {{relax.prim_func}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : {M}
  %whole = memref.alloc(%n) : {M}
  scf.for %i = %c0 to %n step %c1 {{
    %part = memref.alloc(%n) : {M}
    %v = memref.load %x[%i] : {M}
    memref.store %v, %part[%i] : {M}
    %positive = arith.cmpf oge, %v, %zero : f32
    cf.assert %positive, "take: an index is negative, 100% {{0}}"
    %w = memref.load %part[%i] : {M}
    memref.store %w, %whole[%i] : {M}
  }}
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %whole[%i] : {M}
    memref.store %v, %o[%i] : {M}
  }}
  return
}}
func.func private @helper(%x: {M}, %o: {M}) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : {M}
  %t = memref.alloc(%n) : {M}
  call @kernel(%x, %t) : ({M}, {M}) -> ()
  call @kernel(%t, %o) : ({M}, {M}) -> ()
  return
}}
func.func private @main.shapes(%x0: index) -> index {{ return %x0 : index }}
func.func @main(%x: {M}, %o: {M}) attributes {{{SIGNATURE}}} {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : {M}
  %t = memref.alloc(%n) : {M}
  call @helper(%x, %t) : ({M}, {M}) -> ()
  call @helper(%t, %o) : ({M}, {M}) -> ()
  return
}}
"""


def test_assertions_pass_through_all_callers_and_leak_nothing() -> None:
    function = compile_module(NESTED, before=[PlanMemory()])["main"]
    good = np.arange(2000, dtype=np.float32)
    bad = np.arange(10, -5, -1, dtype=np.float32)
    ffi_bad = tvm_ffi.from_dlpack(bad)
    process = psutil.Process()
    message = r"^assertion failed at -:13:5: take: an index is negative, 100% \{0\} \(called at -:\d+:3\)$"
    before = 0
    for i in range(3000):
        with pytest.raises(error.CheckError, match=message):
            function(ffi_bad)
        if i % 500 == 0:  # exceptions are garbage with their frames
            gc.collect()
        if i == 500:
            before = process.memory_info().rss
    gc.collect()
    assert process.memory_info().rss - before < 1 << 20
    np.testing.assert_array_equal(np.from_dlpack(function(good)), good)


def test_a_function_that_nothing_defines() -> None:
    text = modules.copying("f32", "float32", 1).replace(
        "  %v = memref.load", "  func.call @nobody_defines_me() : () -> ()\n  %v = memref.load"
    )
    with pytest.raises(error.CompileError, match="functions that do not exist here: nobody_defines_me"):
        compile_module(text + "func.func private @nobody_defines_me()\n")


def test_malformed_signature() -> None:
    for old, new in (('dtype = "float32"', 'dtype = "float33"'), ('kind = "tensor"', 'kind = "tensors"')):
        with pytest.raises(error.RelaxError, match=r"float33|tensors"):
            compile_module(modules.copying("f32", "float32", 1).replace(old, new))


def test_two_functions_and_an_unused_one() -> None:
    first, second = (modules.copying("f32", "float32", r) for r in (1, 2))
    second = second.replace("@main", "@other").replace('name = "main"', 'name = "other"')
    executable = compile_module(first + second)
    assert list(executable) == ["main", "other"]
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(np.from_dlpack(executable["other"](x)), x)
    np.testing.assert_array_equal(np.from_dlpack(executable["main"](x[0])), x[0])


def test_the_same_module_twice() -> None:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(modules.copying("f32", "float32", 1))
        run_passes(module, lower_to_llvm())
        pair = [Executable.from_llvm_module(module) for _ in range(2)]
    x = np.ones(3, np.float32)
    for executable in pair:
        np.testing.assert_array_equal(np.from_dlpack(executable["main"](x)), x)
