"""Results in the memory of dead arguments: smaller plans, the same values bit for bit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.lowering.memory.plan_memory import InPlace
from relax_mlir.mlir import ir
from relax_mlir.runtime import Executable, memory

Step = tuple[Callable[[ir.Value], ir.Value], Callable[[np.ndarray], np.ndarray]]


def weight(values: np.ndarray, dtype: str) -> ir.Value:
    return op.const(values.astype(dtype))


def row_step(name: str, length: int, dtype: str) -> Step:
    """A row kernel, and its reference in float64."""
    gamma = np.random.default_rng(length).standard_normal(length)
    one, zero = np.ones(length), np.zeros(length)

    def softmax(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(-1, keepdims=True)) if x.size else x
        return e / e.sum(-1, keepdims=True)

    def norm(x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gamma

    known: dict[str, Step] = {
        "softmax": (op.nn.softmax, softmax),
        "log_softmax": (op.nn.log_softmax, lambda x: np.log(softmax(x))),
        "layer_norm": (
            lambda x: op.nn.layer_norm(x, weight(gamma, dtype), weight(zero, dtype), axes=[-1]),
            norm,
        ),
        "square": (lambda x: op.multiply(x, x), lambda x: x * x),
        "tanh": (lambda x: op.tanh(op.add(x, weight(one, dtype))), lambda x: np.tanh(x + 1)),
        "sum": (
            lambda x: op.subtract(x, op.mean(x, axis=[-1], keepdims=True)),
            lambda x: x - x.mean(-1, keepdims=True),
        ),
    }
    return known[name]


def chain(names: Sequence[str], length: int, dtype: str) -> tuple[rx.IRModule, list[Step]]:
    steps = [row_step(name, length, dtype) for name in names]
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", length), dtype))
    with bb.function("main", [x]):
        value = x
        for step, _ in steps:
            value = bb.emit(step(value))
        bb.emit_func_output(value)
    return bb.get(), steps


def without_reuse(mod: rx.IRModule, target: str = "cpu") -> Executable:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InPlace, "allows", lambda *_: False)
        return rx.build(mod, target=target, cache=False)


NAMES = ["softmax", "layer_norm", "tanh", "sum", "log_softmax", "square", "softmax", "tanh", "layer_norm"]


@pytest.mark.parametrize(
    ("dtype", "length", "bound"),
    [
        ("float32", 1, 1e-4),
        ("float32", 37, 1e-4),
        ("float64", 37, 1e-10),
        pytest.param("float16", 37, 0.05, marks=pytest.mark.slow),
    ],
)
def test_rows_in_place(dtype: str, length: int, bound: float) -> None:
    mod, steps = chain(NAMES, length, dtype)
    apart, together = without_reuse(mod), rx.build(mod)
    assert together.memory_plan("main").bytes(n=64) < apart.memory_plan("main").bytes(n=64)
    assert any(buffer.in_place for buffer in together.memory_plan("main").buffers)
    for n in (0, 1, 3, 70):
        x = np.random.default_rng(n).standard_normal((n, length)).astype(dtype)
        memory.poison_memory()
        try:
            result = np.from_dlpack(together["main"](x)).copy()
        finally:
            memory.poison_memory(False)
        np.testing.assert_array_equal(result, np.from_dlpack(apart["main"](x)))
        expected = x.astype("float64")
        for _, step in steps:
            expected = step(expected)
        np.testing.assert_allclose(result.astype("float64"), expected, rtol=bound, atol=bound)


def test_rows_with_nan_and_infinity_on_two_threads() -> None:
    mod, _ = chain(NAMES[:6], 300, "float32")
    target = "cpu -num-threads=2"
    x = np.random.default_rng(0).standard_normal((900, 300), "float32")
    x[5, 7], x[6, 8], x[7] = np.nan, np.inf, -np.inf
    together, apart = rx.build(mod, target=target), without_reuse(mod, target)
    np.testing.assert_array_equal(np.from_dlpack(together["main"](x)), np.from_dlpack(apart["main"](x)))


def test_residual_of_an_epilogue() -> None:
    """A GEMM with accumulators of another type than its result: the epilogue writes where it reads the residual."""
    w = np.random.default_rng(1).standard_normal((40, 64)).astype("float32")
    bb = rx.BlockBuilder()
    x, h = rx.Var("x", rx.Tensor(("n", 40), "float32")), rx.Var("h", rx.Tensor(("n", 64), "float16"))
    with bb.function("main", [x, h]):
        rest = bb.emit(op.nn.softmax(h))
        product = bb.emit(op.astype(bb.emit(op.matmul(x, op.const(w))), "float16"))
        bb.emit_func_output(bb.emit(op.nn.softmax(bb.emit(op.add(product, rest)))))
    mod = bb.get()
    target = "cpu -num-threads=2"
    together, apart = rx.build(mod, target=target), without_reuse(mod, target)
    (_, added) = together.memory_plan("main").buffers
    assert added.in_place and added.op.startswith("matmul")
    for n in (0, 1, 2, 33, 500):
        numbers = np.random.default_rng(n)
        given = numbers.random((n, 40), np.float32), numbers.random((n, 64)).astype("float16")
        results = [np.from_dlpack(executable["main"](*given)).copy() for executable in (together, apart)]
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("turned", [False, True])
def test_prologues_of_row_kernels(turned: bool) -> None:
    """Prologues of a kernel on each row: in place only if the kernel reads no other row."""
    size = 40
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor((size, size), "float32")) for name in "xy")
    with bb.function("main", [x, y]):
        first = bb.emit(op.nn.softmax(x))
        second = bb.emit(op.permute_dims(first)) if turned else first
        third = bb.emit(op.nn.softmax(bb.emit(op.add(second, y))))
        bb.emit_func_output(bb.emit(op.nn.softmax(third)))
    mod = bb.get()
    together, apart = rx.build(mod), without_reuse(mod)
    plan = together.memory_plan("main")
    assert plan.bytes() == size * size * 4 * (2 if turned else 1)
    values = [np.random.default_rng(i).random((size, size), np.float32) for i in range(2)]
    results = [np.from_dlpack(executable["main"](*values)).copy() for executable in (together, apart)]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("again", [False, True])
def test_epilogues_of_row_kernels(again: bool) -> None:
    """Epilogues of a kernel on each row: in place only if they do not read what the kernel has overwritten."""
    size = 40
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor((size, size), "float32")) for name in "xy")
    with bb.function("main", [x, y]):
        first = bb.emit(op.matmul(x, y))
        second = bb.emit(op.add(bb.emit(op.nn.softmax(first)), first if again else y))
        bb.emit_func_output(bb.emit(op.matmul(second, y)))
    mod = bb.get()
    together, apart = rx.build(mod), without_reuse(mod)
    _, fused = together.memory_plan("main").buffers
    assert fused.op.startswith("softmax_add") and fused.in_place == (not again)
    values = [np.random.default_rng(i).random((size, size), np.float32) for i in range(2)]
    results = [np.from_dlpack(executable["main"](*values)).copy() for executable in (together, apart)]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("seed", range(3 if sweep.ALL else 2))
def test_random_functions(seed: int) -> None:
    """Values of which some are needed later, of equal and of other sizes: the same bits as without reuse."""
    numbers = random.Random(seed)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 12), "float32"))
    with bb.function("main", [x]):
        live = [bb.emit(op.nn.softmax(x))]
        for _ in range(numbers.randint(6, 14)):
            y = numbers.choice(live)
            kind = numbers.randrange(6)
            if kind < 2:
                live.append(bb.emit(op.nn.softmax(y)))
            elif kind == 2:
                live.append(bb.emit(op.add(y, numbers.choice(live))))
            elif kind == 3:
                live.append(bb.emit(op.matmul(y, op.const(np.eye(12, k=1, dtype="float32")))))
            elif kind == 4:
                turned = bb.emit(op.nn.softmax(bb.emit(op.permute_dims(y))))
                live.append(bb.emit(op.permute_dims(bb.emit(op.nn.softmax(turned)))))
            else:
                both = bb.emit(op.concat([y, numbers.choice(live)], axis=0))
                live.append(bb.emit(op.split(bb.emit(op.nn.softmax(both)), 2, axis=0))[1])
            if len(live) > 3 and numbers.random() < 0.7:
                live.pop(numbers.randrange(len(live)))
        total = live[0]
        for y in live[1:]:
            total = bb.emit(op.nn.softmax(bb.emit(op.add(total, y))))
        bb.emit_func_output(total)
    mod = bb.get()
    together, apart = rx.build(mod), without_reuse(mod)
    plans = [executable.memory_plan("main") for executable in (together, apart)]
    for n in (0, 1, 7, 40):
        values = np.random.default_rng(n).standard_normal((n, 12)).astype("float32")
        memory.poison_memory()
        try:
            results = [np.from_dlpack(ex["main"](values)).copy() for ex in (together, apart)]
        finally:
            memory.poison_memory(False)
        np.testing.assert_array_equal(*results)
        assert plans[0].bytes(n=n) <= plans[1].bytes(n=n)


CHANNELS: dict[str, tuple[int, Sequence[int] | None]] = {
    "group_norm": (1, [2]),
    "group_norm_last": (2, [1]),
    "group_norm_apart": (0, [2]),
    "instance_norm": (1, [2]),
    "cumsum": (1, None),
    "cumsum_last": (2, None),
    "cumprod": (2, None),
}
SHAPES: tuple[tuple[int | str, ...], ...] = ((6, 6, 6), ("n", 6, "m"), ("n", "m", 6))
"""The shapes, by the axis of the channels, or of the scan."""


TARGETS = ("cpu", "cpu -mcpu=x86-64")


@pytest.mark.parametrize("target", TARGETS)
def test_norms_by_channels_and_scans_in_place(target: str) -> None:
    """In the middle of a chain they work in place on a dead temporary, with the same bits."""
    channels = dict(sweep.turn(target, TARGETS, [*CHANNELS.items()]))
    bb = rx.BlockBuilder()
    for name, (axis, axes) in channels.items():
        x = rx.Var("x", rx.Tensor(SHAPES[axis]))
        with bb.function(name, [x]):
            one, value = weight(np.ones(6), "float32"), op.nn.softmax(op.tanh(x))
            if axes is None:
                scan = op.cumprod if name == "cumprod" else op.cumsum
                value = scan(value, axis, exclusive=name == "cumprod")
            elif name == "instance_norm":
                value = op.nn.instance_norm(value, one, one, axis, axes)
            else:
                value = op.nn.group_norm(value, one, one, 3, axis, axes)
            bb.emit_func_output(op.nn.softmax(op.permute_dims(value, [2, 0, 1])))
    module = bb.get()
    apart, together = without_reuse(module, target), rx.build(module, target=target)
    for name, (axis, _) in channels.items():
        plan = together.memory_plan(name)
        kernel = name.removesuffix("_last").removesuffix("_apart")
        assert any(b.in_place and b.op.startswith(kernel) for b in plan.buffers), f"{name}\n{plan}"
        for n, m in ((1, 1), (3, 5), (2, 40), (0, 3), (5, 131)):
            shape = [{"n": n, "m": m}.get(str(d), 6) for d in SHAPES[axis]]
            given = np.random.default_rng(n).normal(size=shape).astype(np.float32)
            have, want = (np.from_dlpack(f[name](given)) for f in (together, apart))
            np.testing.assert_array_equal(have, want)
