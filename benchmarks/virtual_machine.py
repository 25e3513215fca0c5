"""Targets of the virtual machine: an instruction, an empty call from Python, native code over bytecode."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.measure import beside
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import Workload

INSTRUCTION, EMPTY_CALL = 20e-9, 250e-9
SMALL, LARGE, LARGE_FROM = 1 / 1.10, 1 / 1.02, 128
"""Minimum of the time of native code over that of bytecode, below `LARGE_FROM` rows and from there on."""

UNROLLED, ITERATIONS = 64, 100
ROUNDS, CALLS, SECONDS = 15, 2000, 0.5


def call_rows() -> Iterator[Row]:
    """An instruction in a loop, and a function that does nothing."""
    import relax_mlir as rx
    import tvm_ffi

    ib = rx.vm.ExecBuilder()
    with ib.function("loop", num_inputs=1):
        again, end = ib.label(), ib.label()
        ib.place(again)
        ib.emit_if(ib.r(0), end)
        for number in range(UNROLLED):
            if number % 2:
                ib.emit_call("vm.builtin.copy", args=[ib.r(0)], dst=ib.r(1))
            else:
                ib.emit_call("vm.builtin.null_value", args=[], dst=ib.r(1))
        ib.emit_call("vm.builtin.arith.subi", args=[ib.r(0), ib.imm(1)], dst=ib.r(0))
        ib.emit_goto(again)
        ib.place(end)
        ib.emit_ret(ib.r(0))
    with ib.function("empty", num_inputs=3, allow_unused=True):
        ib.emit_ret(ib.r(0))
    vm = rx.vm.VirtualMachine(ib.get())
    seconds = _seconds(lambda: vm["loop"](ITERATIONS), calls=1) / (ITERATIONS * (UNROLLED + 3))
    yield _at_most("VM", "instruction with its builtin", seconds, INSTRUCTION)
    a, b, c = (tvm_ffi.from_dlpack(np.zeros(4, np.float32)) for _ in range(3))
    names = {"a": a, "b": b, "c": c}
    full, bare = (
        statistics.median(
            timeit.Timer("f(a, b, c)", globals={"f": f, **names}).timeit(CALLS) / CALLS for _ in range(ROUNDS)
        )
        for f in (vm["empty"], vm["empty"].ffi)
    )
    yield _at_most("VM", "empty function, three FFI tensors", full, EMPTY_CALL)
    yield _at_most("VM", "the same, its bare FFI function", bare, EMPTY_CALL)


def mode_rows(workload: Workload) -> Iterator[Row]:
    """Native code and bytecode of a workload, measured alternately, at each of its sizes."""
    import relax_mlir as rx
    import tvm_ffi

    from benchmarks.peers.relax_peer import relax_module

    module = relax_module(workload)
    native, bytecode = rx.build(module)["main"], rx.build(module, exec_mode="bytecode")["main"]
    for size in workload.sizes:
        inputs = [tvm_ffi.from_dlpack(array) for array in workload.inputs(size)]
        ratio, seconds = beside(native, bytecode, inputs, SECONDS)
        least = LARGE if size[0] >= LARGE_FROM else SMALL
        yield Row(f"{workload.name} {workload.label(size)}", "native / bytecode", ratio, least, duration(seconds))


def _seconds(function: Callable[[], object], calls: int) -> float:
    return statistics.median(timeit.timeit(function, number=calls) / calls for _ in range(ROUNDS))


def _at_most(subject: str, what: str, seconds: float, limit: float) -> Row:
    return Row(subject, f"{what}, limit / time", limit / seconds, 1.0, duration(seconds))
