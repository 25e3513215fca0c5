"""Work grows linearly with a program, not quadratically: calls of each function are counted at n and 2n bindings."""

from __future__ import annotations

import cProfile
import gc
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.script import parse, script_constants
from relax_mlir.transform import create_pass

from benchmarks import scaling
from benchmarks.scaling import FORMS, Growth
from benchmarks.scaling_chart import DRAWN, chart

SIZE = 24
LIMIT = 2.6
"""The maximum ratio of calls at 2n to calls at n: linear work has 2, quadratic work 4."""
PER_BINDING = 8
"""Functions with fewer calls per binding are ignored: work per function or per group grows in steps."""

Key = tuple[str, int, str]


def calls(work: Callable[[], Any]) -> dict[Key, int]:
    """The number of calls of each function, with the steps of generators."""
    gc.collect()  # finalizers run here, not in the counted code
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    profile.create_stats()
    return {key: entry[1] for key, entry in profile.stats.items()}  # type: ignore[attr-defined]


def steps(module: rx.IRModule) -> Iterator[tuple[str, Callable[[], Any]]]:
    script, constants = module.script(), script_constants(module.mlir)
    yield "verify", module.verify
    yield "print", module.script
    yield "read", lambda: parse(script, constants)
    yield "summary", module.summary
    for name in ("canonicalize-bindings", "convert-to-dataflow", "relax-to-calls", "relax-to-vm"):
        yield name, lambda name=name: create_pass(name)(module.clone())


def grown(small: dict[Key, int], large: dict[Key, int], bindings: int) -> list[str]:
    return [
        f"{key[2]} ({key[0].rpartition('/')[2]}:{key[1]}): {small.get(key, 0)} calls, then {count}"
        for key, count in large.items()
        if count > PER_BINDING * bindings and count > LIMIT * max(small.get(key, 0), 1)
    ]


@pytest.mark.parametrize("form", ["chain", "functions", "nested"])
def test_calls_grow_with_the_program(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "DEPTH", 4)  # each line is indented by each block around it
    for _, work in steps(FORMS[form](SIZE // 3)):  # lazily loaded and cached code is loaded first
        work()
    small = dict(steps(FORMS[form](SIZE)))
    large = dict(steps(FORMS[form](2 * SIZE)))
    for name, work in small.items():
        found = grown(calls(work), calls(large[name]), 2 * SIZE)
        assert not found, f"{name} of {form}: {found}"


def test_a_step_that_grows_with_the_square_is_found() -> None:
    def each() -> None:
        return None

    def square(n: int) -> None:
        for _ in range(n * n):
            each()

    def line(n: int) -> None:
        for _ in range(20 * n):
            each()

    assert grown(calls(lambda: square(SIZE)), calls(lambda: square(2 * SIZE)), 2 * SIZE)
    assert not grown(calls(lambda: line(SIZE)), calls(lambda: line(2 * SIZE)), 2 * SIZE)


def packed_calls(n: int) -> rx.IRModule:
    """Calls of a packed function that may change their one argument."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((4,), "float32"))
    with bb.function("main", [x]):
        for _ in range(n):
            R.call_packed("scaling.increment", x)
        bb.emit_func_output(bb.emit(R.tanh(x)))
    return bb.get()


def test_calls_with_effects_on_one_tensor() -> None:
    run = create_pass("explicit-effects")
    small, large = packed_calls(2 * SIZE), packed_calls(4 * SIZE)
    run(packed_calls(2))
    found = grown(calls(lambda: run(small)), calls(lambda: run(large)), 4 * SIZE)
    assert not found, found


def test_long_chains_of_uses() -> None:
    """A pass that queries users follows chains of any length: here deeper than Python's stack."""
    module = FORMS["chain"](1200)
    create_pass("fuse-attention")(module)
    module.verify()


def test_shape_functions_compute_a_few_expressions_each() -> None:
    """Bufferisation analyses the stores of one function in cubic time."""
    from relax_mlir.passes.vm import STORES

    bb = rx.BlockBuilder()
    count = 2 * STORES + 1
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        fields = [bb.emit(R.shape_expr((f"n + {i + 1}",))) for i in range(count)]
        bb.emit_func_output(bb.emit(R.make_tuple(*fields)))
    lowered = create_pass("relax-to-vm")(bb.get())
    stores = [
        sum(op.operation.name == "memref.store" for op in f.entry_block.operations)
        for name, f in lowered.functions.items()
        if "shape_func" in name
    ]
    assert sorted(stores) == [1, STORES, STORES]
    run = rx.VirtualMachine(rx.build(bb.get(), exec_mode="bytecode"))["main"]
    assert [tuple(s) for s in run(np.ones(3, "float32"))] == [(4 + i,) for i in range(count)]


def test_figure() -> None:
    """A panel per form, with a path per step: the longest ones."""
    steps = [Growth("chain", f"step<{k}>", {100: 0.1 * k, 1000: 1.0 * k}) for k in range(1, DRAWN + 2)]
    root = ET.fromstring(chart([*steps, Growth("wide", "build", {100: 0.1, 1000: 1.5})]))
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[1:] == [*(f"step<{k}>" for k in range(DRAWN + 1, 1, -1)), "slope 1", "build", "slope 1"]
    (description,) = root.iter("{http://www.w3.org/2000/svg}desc")
    assert description.text == "chain: step<9> takes 9.0 s at 1,000 bindings; wide: build takes 1.5 s at 1,000 bindings"
