"""Modules compute the same before and after the passes that reorder, group and shorten bindings."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.passes.bindings import CanonicalizeBindings
from relax_mlir.passes.dataflow import ConvertToDataflow, TopologicalSort
from relax_mlir.passes.shapes import RemoveRedundantReshape
from relax_mlir.passes.unused import DeadCodeElimination
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import Pass, create_pass

PASSES: list[Pass] = [
    CanonicalizeBindings(),
    ConvertToDataflow(),
    ConvertToDataflow(min_size=1),
    DeadCodeElimination(),
    RemoveRedundantReshape(),
    TopologicalSort(),
    TopologicalSort(order="breadth-first"),
    TopologicalSort(direction="from-outputs"),
    TopologicalSort(order="breadth-first", direction="from-outputs"),
    create_pass("cse"),
]


def program(*, dataflow: bool) -> rx.IRModule:
    """Views, tuples, several outputs, checks, a call, a conditional, dead code."""
    bb = rx.BlockBuilder()
    v = rx.Var("v", rx.Tensor(("n", 4), "float32"))
    with bb.function("helper", [v], private=True):
        bb.emit_func_output(R.exp(R.negative(R.abs(v))))
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    y = rx.Var("y", rx.Tensor(ndim=2, dtype="float32"))
    flag = rx.Var("flag", rx.Tensor((), "bool"))

    def body() -> list[rx.Value]:
        checked = bb.match_shape(y, ("n", 4))
        flat = R.reshape(R.flatten(R.expand_dims(x, 1)), ("n", 4))
        twice = R.permute_dims(R.permute_dims(checked))
        R.exp(checked)
        pair = R.make_tuple(flat, twice)
        summed = R.add(pair[0], pair[1])
        again = R.add(pair[0], pair[1])
        return [R.multiply(summed, again), R.sqrt(R.abs(checked)), x]

    with bb.function("main", [x, y, flag]):
        if dataflow:
            with bb.dataflow():
                first, second, third = [bb.emit_output(value) for value in body()]
        else:
            first, second, third = body()
        called = bb.call("helper", first)
        chosen = R.if_then_else(flag, lambda: R.exp(R.negative(third)), lambda: R.add(R.abs(called), first))
        bb.emit_func_output(R.make_tuple(chosen, second, called))
    return bb.get()


@functools.cache
def built(text: str) -> rx.Executable:
    """Builds are cached: some passes do not change the program, or give equal results."""
    return rx.build(rx.IRModule.parse(text))


def run(module: rx.IRModule, flag: bool) -> list[Any]:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 3, 4), dtype="f4")
    return [to_numpy(part) for part in built(str(module))["main"](x, y, np.array(flag))]


@functools.cache
def expected(flag: bool) -> list[Any]:
    return run(program(dataflow=True), flag)


@pytest.mark.parametrize(
    ("step", "dataflow"),
    [pytest.param(*pair, id=f"{pair[0].info.text}-{pair[1]}") for pair in sweep.product(PASSES, (True, False))],
)
def test_equal_results(step: Pass, dataflow: bool) -> None:
    module = program(dataflow=dataflow)
    module.apply_(step)
    module.verify()
    for flag in (True, False):
        for found, wanted in zip(run(module, flag), expected(flag), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("step", PASSES, ids=lambda p: p.info.text)
def test_a_second_run_changes_nothing(step: Pass) -> None:
    module = program(dataflow=True)
    module.apply_(step)
    once = str(module)
    module.apply_(step)
    assert str(module) == once


def count(module: rx.IRModule, op: str) -> int:
    return str(module).count(f'"{op}"(')


def test_cse_merges_equal_bindings_but_no_effects() -> None:
    module = program(dataflow=True)
    module.apply_(create_pass("cse"))
    assert count(module, "relax.add") == 2  # of 3: one is in a branch

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        first = R.call_packed("f", x, out=rx.Tensor(("n",)))
        second = R.call_packed("f", x, out=rx.Tensor(("n",)))
        assert first is not None
        assert second is not None
        bb.emit_func_output(R.add(first, second))
    module = bb.get()
    module.apply_(create_pass("cse"))
    assert count(module, "relax.call_packed") == 2


def test_dead_code_is_dropped_and_checks_stay() -> None:
    module = program(dataflow=True)
    module.apply_(DeadCodeElimination())
    assert count(module, "relax.match_shape") == 1
    assert count(module, "relax.exp") == 2  # of 3


def test_redundant_views_are_dropped() -> None:
    module = program(dataflow=True)
    module.apply_(RemoveRedundantReshape())
    assert not any(count(module, f"relax.{op}") for op in ("reshape", "flatten", "expand_dims", "permute_dims"))
