"""Memory over many calls: nothing leaks, nothing is shared between threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tvm_ffi
from lowered import compile_module
from memory_growth import growth
from relax_mlir import error
from relax_mlir.lowering.bufferize import bufferize
from relax_mlir.runtime import Executable
from relax_mlir.transform import MLIRPass

T = "tensor<?x4xf32>"
CHAIN = f"""
func.func private @relax.check.0(i1, index) attributes {{relax.check = {{kind = "ShapeError",
  message = "main: n is {{0}}, which is odd"}}}}
func.func private @exp(%x: {T}, %o: {T}) -> {T} attributes {{relax.prim_func}} {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : {T}
  %e = tensor.empty(%n) : {T}
  %0 = linalg.exp ins(%x : {T}) outs(%e : {T}) -> {T}
  %1 = linalg.add ins(%x, %0 : {T}, {T}) outs(%o : {T}) -> {T}
  return %1 : {T}
}}
func.func private @mul(%x: {T}, %y: {T}, %o: {T}) -> {T} attributes {{relax.prim_func}} {{
  %0 = linalg.mul ins(%x, %y : {T}, {T}) outs(%o : {T}) -> {T}
  return %0 : {T}
}}
func.func private @main.shapes(%x0: index, %x1: index) -> (index, index) {{
  return %x0, %x1 : index, index
}}
func.func @main(%x: {T}, %o: {T}) -> {T} attributes {{relax.signature = {{
    name = "main", params = [{{name = "x", kind = "tensor", dtype = "float32", ndim = 2, type = "Tensor"}}],
    results = [{{kind = "tensor", dtype = "float32", ndim = 2}}], tuple = false}}}} {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : {T}
  %e0 = tensor.empty(%n) : {T}
  %0 = call @exp(%x, %e0) : ({T}, {T}) -> {T}
  %e1 = tensor.empty(%n) : {T}
  %1 = call @exp(%0, %e1) : ({T}, {T}) -> {T}
  %r = arith.remui %n, %c2 : index
  %even = arith.cmpi eq, %r, %c0 : index
  call @relax.check.0(%even, %n) : (i1, index) -> ()
  %e2 = tensor.empty(%n) : {T}
  %2 = call @mul(%0, %1, %e2) : ({T}, {T}, {T}) -> {T}
  %e3 = tensor.empty(%n) : {T}
  %3 = call @mul(%2, %x, %e3) : ({T}, {T}, {T}) -> {T}
  %4 = bufferization.materialize_in_destination %3 in %o : ({T}, {T}) -> {T}
  return %4 : {T}
}}
"""


@pytest.fixture(scope="module")
def chain() -> Executable:
    return compile_module(CHAIN, before=[*bufferize(), MLIRPass("convert-linalg-to-loops")])


def expected(x: np.ndarray) -> np.ndarray:
    a = x + np.exp(x)
    return a * (a + np.exp(a)) * x


def values(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, 4), np.float32)


@pytest.mark.parametrize("n", [0, 2, 100])
def test_values(chain: Executable, n: int) -> None:
    x = values(n)
    np.testing.assert_allclose(np.from_dlpack(chain["main"](x)), expected(x), rtol=1e-5)


def test_many_calls_of_all_sizes(chain: Executable) -> None:
    inputs = [tvm_ffi.from_dlpack(values(2 * n)) for n in (1, 5, 60, 300, 7, 0, 2, 120)]
    wild = [tvm_ffi.from_dlpack(np.asfortranarray(values(2 * n))) for n in (3, 9, 100)]
    every = [*inputs, *wild]
    function = chain["main"].ffi

    def call(i: int) -> None:
        function(every[i % len(every)])

    assert growth(call, 100_000) < 1 << 20


def test_failing_calls(chain: Executable) -> None:
    function = chain["main"]
    inputs = [values(301), np.asfortranarray(values(301)), values(3).astype("f8"), values(2)[0]]

    def call(i: int) -> None:
        with pytest.raises((error.ShapeError, error.DTypeError)):
            function(inputs[i % len(inputs)])

    assert growth(call, 10_000) < 2 << 20
    x = values(8)
    np.testing.assert_allclose(np.from_dlpack(function(x)), expected(x), rtol=1e-5)


def test_threads(chain: Executable) -> None:
    function = chain["main"]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for n in range(300):
            x = values(2 * ((n * seed) % 50))
            if not np.allclose(np.from_dlpack(function(x)), expected(x), rtol=1e-5):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_release_the_interpreter(chain: Executable) -> None:
    assert chain["main"].ffi.release_gil


def test_executables_are_freed() -> None:
    def call(i: int) -> None:
        executable = compile_module(CHAIN, before=[*bufferize(), MLIRPass("convert-linalg-to-loops")], opt_level=0)
        executable["main"](big)

    big = values(20_000)
    # The workspace (3 times 320 kB) and the tensors are freed; LLVM keeps a little memory per module.
    assert growth(call, 8) < 4 << 20
