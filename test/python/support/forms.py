"""A module in its forms of explicit memory, each ready to run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import relax_mlir as rx
import tvm_ffi
from interpreter import Interpreter
from kernels import Array, compile_prims
from relax_mlir.lowering.legality import CheckLegality
from relax_mlir.lowering.pipeline import memory_phases, phases
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import create_pass

STEPS = (
    "to-non-dataflow",
    "call-tir-rewrite",
    "static-plan-block-memory",
    "vm-memory-lower",
    "vm-shape-lower",
)
RUNNABLE = STEPS[1:]


def legalized(mod: rx.IRModule) -> rx.IRModule:
    """A copy at level R1."""
    work = mod.clone()
    for phase in phases()[:2]:
        work.apply_(phase.as_pass())
    return work


def forms(mod: rx.IRModule) -> Iterator[tuple[str, Interpreter]]:
    """The module after each pass from ``call-tir-rewrite`` on."""
    work = legalized(mod)
    kernels = compile_prims(work)
    for step in STEPS:
        work.apply_(create_pass(step))
        work.verify()
        if step in RUNNABLE:
            yield step, Interpreter(work.clone(), kernels)
    memory, machine = memory_phases()
    assert (memory.name, machine.name) == ("explicit-memory", "vm")
    work.apply_(CheckLegality("vm"))


def arrays(result: Any) -> list[Array]:
    """The arrays in a result, in order."""
    if isinstance(result, tvm_ffi.Shape | int):
        return [np.array(result)]
    if isinstance(result, tvm_ffi.Array | tuple | list):
        if result and all(isinstance(item, int) for item in result):
            return [np.array(result)]  # a shape
        return [array for item in result for array in arrays(item)]
    return [np.array(result if isinstance(result, np.ndarray) else to_numpy(result))]


def assert_same(name: str, found: Any, expected: Any) -> None:
    """The same arrays, bit by bit."""
    have, want = arrays(found), arrays(expected)
    assert len(have) == len(want), name
    for index, (a, b) in enumerate(zip(have, want, strict=True)):
        assert a.dtype == b.dtype and a.shape == b.shape, (
            f"{name}: result {index}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        )
        if a.dtype == ml_dtypes.bfloat16:  # NumPy does not recognise its NaN
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_array_equal(a, b, err_msg=f"{name}: result {index}")
