"""The interpreter of the other tests detects wrong uses of memory."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from interpreter import Interpreter, MemoryMisuseError, compile_prims, legalized
from memory_machine import NM, X, chain, module
from relax_mlir.mlir import ir
from relax_mlir.transform import create_pass

KERNELS = compile_prims(legalized(module(chain, [NM])))


def planned() -> rx.IRModule:
    work = legalized(module(chain, [NM]))
    for name in ("to-non-dataflow", "call-tir-rewrite", "static-plan-block-memory"):
        work.apply_(create_pass(name))
    return work


def ops(work: rx.IRModule, name: str) -> list[ir.Operation]:
    body = work["main"].regions[0].blocks[0]
    return [view.operation for view in body.operations if view.operation.name == name]


def run(work: rx.IRModule) -> None:
    Interpreter(work, KERNELS).call("main", X)


def test_the_plan_itself_is_right() -> None:
    run(planned())


def test_a_tensor_that_ends_too_early() -> None:
    work = planned()
    calls, kills = ops(work, "relax.call_prim"), ops(work, "relax.memory_kill_tensor")
    kills[0].move_before(calls[1])
    with pytest.raises(MemoryMisuseError, match="a dead tensor is used"):
        run(work)


def test_two_tensors_in_one_place() -> None:
    work = planned()
    first, second = ops(work, "relax.memory_alloc_storage")[:2]
    second.results[0].replace_all_uses_with(first.results[0])
    with pytest.raises(MemoryMisuseError, match="made where another lives"):
        run(work)


def test_a_storage_that_is_too_small() -> None:
    work = planned()
    with work.context, ir.Location.unknown():
        size = ops(work, "relax.memory_alloc_storage")[0].operands[0].owner.operation
        size.attributes["values"] = ir.Attribute.parse('["2*m*n"]')
    with pytest.raises(MemoryMisuseError, match="of a live storage of 30"):
        Interpreter(work, KERNELS).call("main", np.array(X))
