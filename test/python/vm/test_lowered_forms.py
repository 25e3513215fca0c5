"""Modules that are already in explicit memory, with or without a shape heap, are built for the machine.

Their prim funcs are compiled with the checks of users' prim funcs: the summation order may differ from kernels.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from interpreter import arrays
from memory_machine import PROGRAMS, native, register_functions, together
from relax_mlir.error import ShapeError, UnsupportedError
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.script import parse
from relax_mlir.vm import Executable, VirtualMachine


@pytest.fixture(autouse=True, scope="module")
def _functions() -> None:
    register_functions()


@functools.cache
def machine(level: str) -> VirtualMachine:
    """All programs, lowered to a level and built from there."""
    lowered = together().clone()
    lowered.apply_(pipeline(level))
    return VirtualMachine(rx.vm.build(lowered))


@pytest.mark.parametrize("level", ["relax-to-explicit-memory", "relax-to-vm"])
@pytest.mark.parametrize("name", sweep.slow(PROGRAMS, "chain"))
def test_forms_run(name: str, level: str) -> None:
    for case in PROGRAMS[name][2]:
        given = [np.array(a) for a in case]
        found, wanted = machine(level)[name](*given), native()[name](*case)
        for have, want in zip(arrays(found), arrays(wanted), strict=True):
            assert have.dtype == want.dtype
            np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6, err_msg=f"{name} at {level}")
        for array, original in zip(given, case, strict=True):
            np.testing.assert_array_equal(array, original, err_msg="an argument has changed")


HEAP = """
@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((n, m), "float32"), B: T.Buffer((n, m), "float32")):
        for i, j in T.grid(n, m):
            B[i, j] = A[i, j] * 2

    @T.prim_func
    def fill(A: T.Buffer((n,), "float32"), B: T.Buffer((n, k), "float32")):
        for i, j in T.grid(n, k):
            B[i, j] = A[i] + T.cast(j, "float32")

    @R.function
    def main(x: R.Tensor(({dims}), "float32"), s: R.Shape(ndim={rank})):
        storage = R.vm.alloc_storage(R.shape([4096]), dtype="float32")
        out = R.vm.alloc_tensor(storage, s, dtype="float32")
        R.call_prim(cls.{callee}, (x, out))
        return out
"""


def test_sizes_of_tensors_that_nothing_else_tells() -> None:
    """k is a size of the result only, which the machine knows."""
    mod = parse(HEAP.format(dims="None,", rank=2, callee="fill"))
    executable = rx.vm.build(mod)
    main = VirtualMachine(executable)["main"]
    for n, k in ((3, 4), (0, 2), (1, 1), (5, 0)):
        x = np.arange(n, dtype=np.float32)
        found = np.from_dlpack(main(x, (n, k)))
        np.testing.assert_array_equal(found, x[:, None] + np.arange(k, dtype=np.float32))
    with pytest.raises(ShapeError, match="dimension 0"):
        main(np.zeros(3, "f4"), (4, 4))


def test_a_tensor_of_another_size_than_declared() -> None:
    main = VirtualMachine(rx.vm.build(parse(HEAP.format(dims="None, None", rank=2, callee="twice"))))["main"]
    x = np.ones((2, 3), "f4")
    np.testing.assert_array_equal(np.from_dlpack(main(x, (2, 3))), 2 * x)
    for wrong in ((2, 4), (30, 30), (0, 3)):
        with pytest.raises(ShapeError, match="dimension"):
            main(x, wrong)


def test_saved_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "program.rxvm"
    rx.vm.build(parse(HEAP.format(dims="None, None", rank=2, callee="twice"))).save(path)
    x = np.ones((2, 3), "f4")
    found = VirtualMachine(Executable.load(path, trusted=False))["main"](x, (2, 3))
    np.testing.assert_array_equal(np.from_dlpack(found), 2 * x)


def test_a_store_into_an_input() -> None:
    """A prim func writes its last tensors; a store to another one is an error of the build."""
    source = HEAP.format(dims="None, None", rank=2, callee="twice").replace(
        "B[i, j] = A[i, j] * 2", "A[i, j] = B[i, j] * 2"
    )
    with pytest.raises(rx.error.RelaxError, match="'A'"):
        rx.vm.build(parse(source))


def test_native_code_refuses_them() -> None:
    mod = parse(HEAP.format(dims="None, None", rank=2, callee="twice"))
    with pytest.raises(UnsupportedError, match=r'explicit memory.*exec_mode="bytecode"'):
        rx.build(mod)
