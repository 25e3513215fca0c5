"""`Executable.memory_plan`: formulas in the symbols, for which live buffers never overlap."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.error import ArgumentError, ShapeError, UnknownNameError
from relax_mlir.runtime import Executable, memory
from relax_mlir.runtime.memory import MemoryPlan
from relax_mlir.script import parse


def no_overlap(plan: MemoryPlan, **values: int) -> None:
    placed = plan.place(**values)
    for item in placed:
        assert item.start % 64 == 0
        assert item.end <= plan.bytes(**values)
    for a, b in combinations(placed, 2):
        assert not (a.buffer.meets(b.buffer) and a.start < b.end and b.start < a.end), (plan, values)


def random_function(seed: int) -> Executable:
    """Softmaxes, sums and products of values over [n, m], [m, n] and [2n, m], a few of them alive at a time."""
    numbers = random.Random(seed)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
    with bb.function("main", [x]):
        live = [bb.emit(op.nn.softmax(x))]
        for _ in range(numbers.randint(4, 10)):
            y = numbers.choice(live)
            kind = numbers.randrange(4)
            if kind == 0:
                live.append(bb.emit(op.nn.softmax(y)))
            elif kind == 1:
                live.append(bb.emit(op.permute_dims(bb.emit(op.nn.softmax(bb.emit(op.permute_dims(y)))))))
            elif kind == 2:
                both = bb.emit(op.concat([y, numbers.choice(live)], axis=0))
                live.append(bb.emit(op.nn.softmax(bb.emit(op.split(both, 2, axis=0))[1])))
            else:
                live.append(bb.emit(op.add(y, numbers.choice(live))))
            if len(live) > 4:
                live.pop(0)
        total = live[0]
        for y in live[1:]:
            total = bb.emit(op.multiply(total, y))
        bb.emit_func_output(total)
    return rx.build(bb.get())


@pytest.mark.parametrize("seed", sweep.every(range(4), 2))
def test_random_functions(seed: int) -> None:
    executable = random_function(seed)
    plan = executable.memory_plan("main")
    for n, m in ((0, 5), (1, 1), (3, 17), (64, 64), (100, 7)):
        no_overlap(plan, **{name: size for name, size in (("n", n), ("m", m)) if name in plan.symbols})
    x = np.random.default_rng(seed).random((7, 5), np.float32)
    expected = np.from_dlpack(executable["main"](x)).copy()
    memory.poison_memory()
    try:
        np.testing.assert_array_equal(np.from_dlpack(executable["main"](x)), expected)
    finally:
        memory.poison_memory(False)


CONTROL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor(("n", 64), "float32"):
        a = R.nn.softmax(x)
        if flag:
            b = R.nn.softmax(R.add(a, x))
        else:
            b = R.nn.softmax(R.multiply(a, x))
        y = R.nn.softmax(b)
        for i in range(3):
            y = R.nn.softmax(R.add(y, a))
        return R.add(y, b)
"""


def test_branches_and_loops() -> None:
    executable = rx.build(parse(CONTROL))
    plan = executable.memory_plan("main")
    assert plan.symbols == ("n",)
    assert any(b.kind == "workspace" for b in plan.buffers)
    for n in (0, 1, 9, 100):
        no_overlap(plan, n=n)
    x = np.random.default_rng(0).random((9, 64), np.float32)
    for flag in (False, True):
        expected = np.from_dlpack(executable["main"](x, np.array(flag))).copy()
        memory.poison_memory()
        try:
            np.testing.assert_array_equal(np.from_dlpack(executable["main"](x, np.array(flag))), expected)
        finally:
            memory.poison_memory(False)


@pytest.fixture(scope="module")
def layers() -> Executable:
    """Softmaxes that reuse memory, and transposed matrices that do not."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 64), "float32"))
    with bb.function("main", [x]):
        y = bb.emit(op.nn.softmax(bb.emit(op.nn.softmax(x))))
        y = bb.emit(op.nn.softmax(bb.emit(op.matmul(y, op.const(np.eye(64, dtype="float32"))))))
        bb.emit_func_output(bb.emit(op.nn.softmax(y)))
    return rx.build(bb.get())


def test_formulas(layers: Executable) -> None:
    plan = layers.memory_plan("main")
    assert str(plan.formula) == "512*n"
    assert (plan.symbols, len(plan.slots), len(plan.buffers)) == (("n",), 2, 4)
    assert (plan.bytes(n=10), plan.unshared(n=10)) == (5120, 10240)
    assert [str(b.bytes) for b in plan.buffers] == ["256*n"] * 4
    assert [(b.slot, b.in_place) for b in plan.buffers] == [(0, False), (0, True), (1, False), (1, True)]
    assert all("test_plans.py" in b.location and b.op.startswith(("softmax", "matmul")) for b in plan.buffers)
    lines = str(plan).splitlines()
    assert lines[0] == "main: workspace of 512*n bytes, 2 slots"
    assert len(lines) == 6
    assert " 1: 256*n in place " in lines[-1]


def test_values_of_symbols(layers: Executable) -> None:
    plan = layers.memory_plan("main")
    bound = plan.bind(n=10)
    assert (bound.formula, bound.symbols, bound.bytes()) == (5120, (), 5120)
    assert bound.place() == [replace(p, buffer=b) for p, b in zip(plan.place(n=10), bound.buffers, strict=True)]
    assert plan.bind() == plan
    with pytest.raises(ArgumentError, match="no symbol k"):
        plan.bind(k=1)


def test_mistakes(layers: Executable) -> None:
    plan = layers.memory_plan("main")
    with pytest.raises(ShapeError, match="needs a value of symbol 'n'"):
        plan.bytes()
    with pytest.raises(ArgumentError, match=r"memory plan of main: no symbol k; its formulas have: n"):
        plan.bytes(n=1, k=2)
    with pytest.raises(UnknownNameError):
        layers.memory_plan("mein")


def test_plot(layers: Executable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ArgumentError, match="pip install matplotlib"):
        layers.memory_plan("main").plot(tmp_path / "plan.png", n=8)
    monkeypatch.undo()
    layers.memory_plan("main").plot(tmp_path / "plan.png", n=8)
    assert (tmp_path / "plan.png").stat().st_size > 1000


def test_nothing_planned() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.add(x, x)))
    plan = rx.build(bb.get()).memory_plan("main")
    assert (plan.bytes(), plan.buffers, str(plan)) == (0, (), "main: workspace of 0 bytes, 0 slots")
