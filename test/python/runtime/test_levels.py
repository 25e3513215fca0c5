"""Optimisation levels: each is correct, and required passes cannot be disabled."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.error import ArgumentError, RelaxError
from relax_mlir.instrument import PassInstrument
from relax_mlir.lowering.pipeline import level_table, memory_phases, needed_passes, optional_passes, phases
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import PassContext, PassInfo

RNG = np.random.default_rng(7)
WEIGHTS = RNG.standard_normal((8, 33), dtype="float32")
BIAS = RNG.standard_normal(33, dtype="float32")
HALF = RNG.standard_normal((8, 5)).astype("float16")
ROWS = (0, 1, 17)
LEVELS = range(4)
Array = np.ndarray[Any, Any]


@functools.cache
def module() -> rx.IRModule:
    """Matmuls with constants, epilogues, attention, rows, private functions, elementwise ops, annotated loops."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with bb.function("half", [x], private=True):
        bb.emit_func_output(R.multiply(x, bb.const(np.float32(0.5))))
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with bb.function("dense", [x]):
        with bb.dataflow():
            scaled = bb.call("half", x)
            y = R.nn.relu(R.add(R.matmul(scaled, bb.const(WEIGHTS)), bb.const(BIAS)))
            y = bb.emit_output(R.nn.softmax(R.reshape(R.reshape(y, (33, "n")), ("n", 33)), axis=-1))
        bb.emit_func_output(y)
    x, y = (rx.Var(name, rx.Tensor((2, "n", 8), "float32")) for name in "xy")
    with bb.function("attend", [x, y]):
        with bb.dataflow():
            scores = R.matmul(x, R.permute_dims(y, [0, 2, 1]))
            out = bb.emit_output(R.matmul(R.nn.softmax(R.multiply(scores, bb.const(np.float32(0.3)))), y))
        bb.emit_func_output(out)
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with bb.function("chain", [x]):
        with bb.dataflow():
            c = R.add(bb.const(np.float32(1)), bb.const(np.float32(2)))
            y = R.tanh(R.add(R.exp(R.negative(R.abs(x))), c))
            y = bb.emit_output(R.sum(R.multiply(y, y), axis=[1]))
        bb.emit_func_output(y)
    x = rx.Var("x", rx.Tensor(("n", 8), "float16"))
    with bb.function("low", [x]):
        with bb.dataflow():
            y = bb.emit_output(R.matmul(x, bb.const(HALF)))
        bb.emit_func_output(y)
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with bb.function("tiled", [x]):
        bb.emit_func_output(bb.emit_te(tiled, x))
    return bb.get()


def tiled(x: te.Tensor) -> te.Schedule:
    """Annotated loops."""
    y = te.compute(x.shape, lambda i, j: x[i, j] * 2.0, "y")
    s = te.create_schedule(y.op)
    s[y].vectorize(s[y].split(y.op.axis[0], factor=4)[1])
    return s


def inputs(n: int) -> dict[str, list[Array]]:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, 8), dtype="float32")
    batch = [rng.standard_normal((2, n, 8), dtype="float32") for _ in range(2)]
    return {"dense": [x], "attend": batch, "chain": [x], "low": [x.astype("float16")], "tiled": [x]}


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def expected(n: int) -> dict[str, Array]:
    """In double precision."""
    given = {name: [a.astype("float64") for a in arrays] for name, arrays in inputs(n).items()}
    (x,), (q, k) = given["dense"], given["attend"]
    chain = np.tanh(np.exp(-np.abs(x)) + 3)
    return {
        "dense": softmax(np.maximum(x * 0.5 @ WEIGHTS + BIAS, 0).reshape(33, n).reshape(n, 33)),
        "attend": softmax(q @ k.transpose(0, 2, 1) * 0.3) @ k,
        "chain": (chain * chain).sum(axis=1),
        "low": given["low"][0] @ HALF.astype("float64"),
        "tiled": 2 * x,
    }


def check(functions: Any) -> None:
    for n in ROWS:
        wanted = expected(n)
        for name, arrays in inputs(n).items():
            found = np.from_dlpack(functions[name](*arrays))
            tolerance = 2e-2 if name == "low" else 2e-5
            np.testing.assert_allclose(
                found.astype("float64"),
                wanted[name],
                rtol=tolerance,
                atol=tolerance,
                err_msg=f"{name}, n={n}",
            )


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_is_correct(level: int) -> None:
    check(rx.build(module(), opt_level=level))


@pytest.mark.parametrize("level", sweep.every([3, 0], 2))
def test_each_level_is_correct_as_bytecode(level: int) -> None:
    check(rx.VirtualMachine(rx.vm.build(module(), opt_level=level)))


@pytest.mark.parametrize(
    "name",
    sweep.quick(optional_passes(), "fuse-ops", "vectorize-loops"),
)
def test_each_optional_pass_can_be_disabled(name: str) -> None:
    with PassContext(opt_level=3, disabled_pass=[name]):
        check(rx.build(module()))


@pytest.mark.parametrize("name", ["fuse-ops", "lower-contractions", "pack-constants"])
def test_an_optional_pass_can_be_required_alone(name: str) -> None:
    with PassContext(opt_level=0, required_pass=[name]):
        check(rx.build(module()))


class Names(PassInstrument):
    """The names of the executed passes, except nested ones."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, mod: rx.IRModule, info: PassInfo) -> None:
        assert isinstance(mod, rx.IRModule)
        if not info.composite:
            self.names.append(info.name)


@functools.cache
def small() -> rx.IRModule:
    """Functions for which all passes run that run for `module`."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with bb.function("tiled", [x]):
        bb.emit_func_output(bb.emit_te(tiled, x))
    x = rx.Var("x", rx.Tensor(("n", 8), "float16"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.add(x, x))
    return bb.get()


@functools.cache
def names_at(level: int) -> list[str]:
    names = Names()
    rx.build(small(), instruments=[names], opt_level=level)
    return names.names


def test_levels_run_what_the_table_says() -> None:
    ran = {level: names_at(level) for level in LEVELS}
    for level in LEVELS:
        added = {name for at, _, name, kind in level_table() if at == level and kind == "pass"}
        extra = set(ran[level]) - set(ran[max(level - 1, 0)])
        assert extra == added - needed_passes() if level else not added
    assert len(ran[0]) < len(ran[1]) < len(ran[2]) < len(ran[3])
    assert "fold-constant" in ran[1] and "fuse-ops" not in ran[1] and "refine-shapes" not in ran[2]


def test_the_default_level_is_two() -> None:
    names = Names()
    with PassContext(instruments=[names]):
        rx.build(small())
    assert names.names == names_at(2)


def test_the_innermost_context_decides_and_an_argument_beats_it() -> None:
    names = Names()
    with PassContext(opt_level=3):
        with PassContext(opt_level=0):
            rx.build(small(), instruments=[names])
            at_0, names.names = names.names, []
            rx.build(small(), instruments=[names], opt_level=1)
            at_1, names.names = names.names, []
        rx.build(small(), instruments=[names])
        assert PassContext.current().opt_level == 3
    assert [at_0, at_1, names.names] == [names_at(0), names_at(1), names_at(3)]


@pytest.mark.parametrize("level", [-1, 4, "2", True, 1.5])
def test_levels_that_there_are_not(level: Any) -> None:
    for build in (rx.build, rx.vm.build):
        with pytest.raises(ArgumentError, match=r"'opt_level' is .*, expected an integer from 0 to 3"):
            build(module(), opt_level=level)


@pytest.mark.parametrize("name", ["legalize-ops", "cse", "LowerSymbolicShapes", "plan-memory"])
def test_what_is_needed_cannot_be_disabled(name: str) -> None:
    with PassContext(disabled_pass=[name]):
        for build in (rx.build, rx.vm.build):
            with pytest.raises(ArgumentError, match=r"build: '.*' cannot be disabled.*what can is .*fuse-ops"):
                build(module())


def test_needed_passes_are_all_of_level_0() -> None:
    every = {p.info.name for phase in (*phases(), *memory_phases()) for p in phase.passes if not p.info.opt_level}
    assert every - {"mlir-pipeline"} <= needed_passes() and not set(optional_passes()) & needed_passes()


def test_instruments_that_refuse_everything_leave_out_what_is_optional() -> None:
    class Refuses(Names):
        def should_run(self, mod: rx.IRModule, info: PassInfo) -> bool:
            return False

    refuses = Refuses()
    check(rx.build(module(), instruments=[refuses]))
    assert not set(refuses.names) & set(optional_passes()) and "legalize-ops" in refuses.names


def test_instruments_of_the_context_are_entered_once() -> None:
    class Counts(Names):
        entered = left = 0

        def enter_pass_ctx(self) -> None:
            self.entered += 1

        def exit_pass_ctx(self) -> None:
            self.left += 1

    outer, inner = Counts(), Counts()
    with PassContext(instruments=[outer]):
        rx.build(small(), instruments=[inner])
        with pytest.raises(RelaxError):
            rx.build(rx.IRModule.parse("func.func private @declared()"), instruments=[inner])
    assert (outer.entered, outer.left) == (1, 1) and (inner.entered, inner.left) == (2, 2)
    assert outer.names[: len(inner.names)] == inner.names[: len(outer.names)] != []


@pytest.mark.parametrize("level", LEVELS)
def test_tiles(level: int) -> None:
    """A CPU with AMX uses tiles."""
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(shape, "bfloat16")) for name, shape in {"x": ("n", "k"), "y": ("k", "m")}.items())
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(R.matmul(x, y)))
    main = rx.build(bb.get(), opt_level=level)["main"]
    for n, k, m in ((1, 1, 1), (33, 257, 65), (64, 96, 128)):
        a, b = (RNG.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((n, k), (k, m)))
        wanted = a.astype("float64") @ b.astype("float64")
        np.testing.assert_allclose(to_numpy(main(a, b)).astype("float64"), wanted, rtol=2**-7, atol=2**-4)
