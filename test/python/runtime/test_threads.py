"""Loops on several threads: the same results bit for bit, from several callers, in children, and at exit."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import warm_process
from relax_mlir import op
from relax_mlir.error import ParseError
from relax_mlir.lowering.base import support
from relax_mlir.runtime import Executable, threads
from relax_mlir.target import Target

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL = ctypes.CFUNCTYPE(None, BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

RUN = """
import os, sys
import numpy as np
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.runtime import threads

bb = rx.BlockBuilder()
x = rx.Var("x", rx.Tensor(("n", 256), "float32"))
with bb.function("main", [x]):
    bb.emit_func_output(bb.emit(op.nn.softmax(x)))
main = rx.build(bb.get(), rx.target.Target(num_threads=2))["main"]
data = np.random.default_rng(0).standard_normal((2048, 256), dtype=np.float32)
expected = np.from_dlpack(main(data))
assert threads.running_threads() == 1
"""


def parallel() -> PARALLEL:
    return PARALLEL(ctypes.c_void_p.from_address(threads._address()).value or 0)


def module() -> rx.IRModule:
    rng = np.random.default_rng(3)
    constant = (rng.standard_normal((96, 160), dtype=np.float32) / 10).astype(np.float32)
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("m", "k"), "float32")), rx.Var("y", rx.Tensor(("k", "n"), "float32"))
    with bb.function("product", [x, y]):
        bb.emit_func_output(bb.emit(op.matmul(x, y)))
    y = rx.Var("y", rx.Tensor(("n", "k"), "float32"))
    with bb.function("transposed", [x, y]):
        bb.emit_func_output(bb.emit(op.matmul(x, bb.emit(op.permute_dims(y)))))
    x, y = rx.Var("x", rx.Tensor(("m", "k"), "float16")), rx.Var("y", rx.Tensor(("k", "n"), "float16"))
    with bb.function("halves", [x, y]):
        bb.emit_func_output(bb.emit(op.matmul(x, y, out_dtype="float32")))
    a, b = (rx.Var(name, rx.Tensor(("b", "n", "n"), "float32")) for name in "ab")
    with bb.function("batches", [a, b]):
        bb.emit_func_output(bb.emit(op.matmul(a, b)))
    z = rx.Var("z", rx.Tensor(("m", 96), "float32"))
    with bb.function("layer", [z]):
        linear = bb.emit(op.nn.gelu(bb.emit(op.matmul(z, bb.const(constant)))))
        bb.emit_func_output(bb.emit(op.nn.softmax(linear)))
    u = rx.Var("u", rx.Tensor(("n", "m"), "float32"))
    with bb.function("pieces", [u]):
        scaled = bb.emit(op.exp(bb.emit(op.multiply(u, u))))
        total = bb.emit(op.sum(scaled, axis=[1], keepdims=True))
        bb.emit_func_output(bb.emit(op.divide(scaled, total)))
    q, k, v = (rx.Var(name, rx.Tensor(("b", "s", 4, 32), "float32")) for name in "qkv")
    with bb.function("attention", [q, k, v]):
        bb.emit_func_output(bb.emit(op.nn.attention(q, k, v)))
    return bb.get()


@pytest.fixture(scope="module")
def built() -> dict[int, Executable]:
    return {count: rx.build(module(), Target(num_threads=count)) for count in (1, 2, 4)}


def shapes(name: str, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Shapes of one call, small and large ones."""
    large = int(rng.choice([4, 64, 300]))
    m, k, n = (int(rng.integers(1, large + 2)) for _ in range(3))
    return {
        "product": [(m, k * 4), (k * 4, n * 5)],
        "batches": [(1 + m % 7, n, n)] * 2,
        "layer": [(m * 3, 96)],
        "pieces": [(m * 2, n * 5)],
        "attention": [(1 + m % 3, k, 4, 32)] * 3,
    }[name]


@pytest.mark.parametrize("name", ["product", "batches", "layer", "pieces", "attention"])
def test_same_results(built: dict[int, Executable], name: str) -> None:
    rng = np.random.default_rng(len(name))
    for _ in range(12):
        inputs = [rng.standard_normal(s, dtype=np.float32) for s in shapes(name, rng)]
        one, *others = (np.from_dlpack(executable[name](*inputs)) for executable in built.values())
        assert all(one.tobytes() == other.tobytes() for other in others), [x.shape for x in inputs]


@pytest.mark.parametrize("name", ["product", "transposed", "halves"])
@pytest.mark.parametrize("shape", [(1000, 301, 499), (515, 1030, 515), (97, 2100, 97), (3001, 130, 33)])
def test_packed_by_all_threads(built: dict[int, Executable], name: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(k)
    dtype = np.float16 if name == "halves" else np.float32
    x, y = (rng.standard_normal(size).astype(dtype) for size in ((m, k), (k, n)))
    given = np.ascontiguousarray(y.T) if name == "transposed" else y
    one, *others = (np.from_dlpack(executable[name](x, given)) for executable in built.values())
    np.testing.assert_allclose(one, x.astype(np.float64) @ y, rtol=1e-4, atol=1e-3)
    assert all(one.tobytes() == other.tobytes() for other in others)


@pytest.mark.parametrize("shape", [(1, 2048, 1536), (3, 1500, 1501), (2000, 7, 300), (1, 0, 70), (0, 3, 5)])
def test_same_products(built: dict[int, Executable], shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(m)
    x, y = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal((k, n), dtype=np.float32)
    one, *others = (np.from_dlpack(executable["product"](x, y)) for executable in built.values())
    np.testing.assert_allclose(one, x.astype(np.float64) @ y, rtol=1e-4, atol=1e-3)
    assert all(one.tobytes() == other.tobytes() for other in others)


def test_every_part_is_done_once() -> None:
    for count in (1, 2, 3, 7, 8, 9, 1000):
        seen: list[tuple[int, int]] = []
        parallel()(BODY(lambda _, begin, end, into=seen: into.append((begin, end))), None, count, 3)
        assert sorted(i for begin, end in seen for i in range(begin, end)) == list(range(count))


def test_a_limit_of_threads() -> None:
    """With limit 1, the caller does all work in one piece; with limit 2, one more thread takes part."""
    limit = threads._word("limit")
    for most in (1, 2, 3) * 10:
        seen: list[tuple[int, int, int]] = []

        def note(_: object, begin: int, end: int, into: Any = seen) -> None:
            into.append((begin, end, threading.get_native_id()))

        limit.value = most
        try:
            parallel()(BODY(note), None, 100, 4)
        finally:
            limit.value = 0
        assert sorted(i for begin, end, _ in seen for i in range(begin, end)) == [*range(100)]
        assert len({thread for *_, thread in seen}) <= most
        if most == 1:
            assert seen == [(0, 100, threading.get_native_id())]


def test_loops_inside_of_loops() -> None:
    done = []
    inner = BODY(lambda _, begin, end: done.extend(range(begin, end)))

    def outer(_: object, begin: int, end: int) -> None:
        for _i in range(begin, end):
            parallel()(inner, None, 10, 2)

    parallel()(BODY(outer), None, 6, 2)
    assert sorted(done) == sorted([*range(10)] * 6)


def test_many_callers(built: dict[int, Executable]) -> None:
    rng = np.random.default_rng(8)
    data = [rng.standard_normal((500 + 10 * i, 96), dtype=np.float32) for i in range(8)]
    expected = [np.from_dlpack(built[1]["layer"](x)) for x in data]
    wrong: list[int] = []

    def call(number: int) -> None:
        for _ in range(10):
            if not np.array_equal(np.from_dlpack(built[2]["layer"](data[number])), expected[number]):
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def run(code: str, **variables: str) -> tuple[int, str, str]:
    """Exit code and outputs of a child that has not started threads."""
    child = warm_process.run(["-c", code], timeout=240, env={**os.environ, **variables})
    return child.returncode, child.stdout.decode(), child.stderr.decode()


def test_fork_and_end() -> None:
    code = """
child = os.fork()
if child == 0:
    assert threads.running_threads() == 0
    good = all(np.array_equal(np.from_dlpack(main(data)), expected) for _ in range(5))
    os._exit(0 if good and threads.running_threads() == 1 else 1)
assert np.array_equal(np.from_dlpack(main(data)), expected)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("done")
"""
    status, said, errors = run(RUN + code)
    assert (status, said) == (0, "done\n"), errors


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_NUM_THREADS", "3")
    assert Target("cpu").num_threads == 3
    assert Target("cpu -num-threads=2").num_threads == 2
    assert Target(num_threads=5).num_threads == 5
    for target in (Target("cpu"), Target(num_threads=2), Target("cpu -mcpu=haswell")):
        assert Target(str(target)) == target
        text = str(target)
        monkeypatch.setenv("RELAX_MLIR_NUM_THREADS", "7")
        assert Target(text) == target
        monkeypatch.setenv("RELAX_MLIR_NUM_THREADS", "3")
    for wrong in ("", "0", "-1", "two", "257", "1.5"):
        monkeypatch.setenv("RELAX_MLIR_NUM_THREADS", wrong)
        with pytest.raises(ParseError, match=r"RELAX_MLIR_NUM_THREADS is .*expected a number of threads from 1 to 256"):
            Target("cpu")
    with pytest.raises(ParseError, match="num_threads must be at most 256, not 257"):
        Target("cpu -mcpu=haswell", num_threads=257)


@pytest.mark.parametrize(("text", "nanoseconds"), [("0", 0), ("0.5", 500_000), ("7", 7_000_000), (None, 5_000_000)])
def test_blocktime(text: str | None, nanoseconds: int) -> None:
    code = """
cpus = os.sched_getaffinity(0)
print(threads._word("patience").value, len(cpus))
for _ in range(3):
    os.sched_setaffinity(0, {min(cpus)})
    assert np.array_equal(np.from_dlpack(main(data)), expected)
    seen = threads._word("patience").value
    os.sched_setaffinity(0, cpus - {min(cpus)} or cpus)
    assert np.array_equal(np.from_dlpack(main(data)), expected)
print(seen)
"""
    failed, said, errors = run(RUN + code, **({} if text is None else {"RELAX_MLIR_BLOCKTIME": text}))
    assert not failed, errors
    first, cpus, alone = map(int, said.split())
    short = min(nanoseconds, support.SHORT_BLOCKTIME)
    assert first == (nanoseconds if cpus > 1 else short)
    assert alone == short


@pytest.mark.parametrize("text", ["", "-1", "soon", "nan", "inf", "1e10"])
def test_wrong_blocktime(text: str) -> None:
    code, _, errors = run(RUN, RELAX_MLIR_BLOCKTIME=text)
    assert code == 1
    said = f"ParseError: the environment variable RELAX_MLIR_BLOCKTIME is {text!r}, expected a number of milliseconds"
    assert said in errors


def test_machines_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(rx.error.UnsupportedError, match="num_threads is 2, but compiled code runs on one thread"):
        threads.require_threads(2, "build")
    threads.require_threads(1, "build")
