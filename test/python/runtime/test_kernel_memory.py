"""Memory for kernels and prim funcs: blocks of the pool, released on every exit, from any thread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cold_process
import kept_parts
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import symbol_name
from relax_mlir.runtime import Executable, compile_units, memory
from relax_mlir.runtime.memory import memory_stats
from relax_mlir.script import ir_module
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

TAKE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
GIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
THREADS = "cpu -num-threads=2"


@dataclass
class Ledger:
    """A layer between a module and the pool: counts blocks, and refuses some (by number)."""

    refuse: Callable[[int], bool] | None = None
    taken: int = 0
    out: set[int] = field(default_factory=set)
    symbols: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        state = memory._state()
        take, give, lock = TAKE(state.take), GIVE(state.give), threading.Lock()

        def counted(size: int) -> int | None:
            with lock:
                self.taken += 1
                if self.refuse is not None and self.refuse(self.taken - 1):
                    return None
                block = take(size)
                self.out.add(block)
                return int(block)

        def returned(block: int) -> None:
            with lock:
                self.out.remove(block)
            give(block)

        self.functions = TAKE(counted), GIVE(returned)

    def bind(self, table: int) -> None:
        pointers = (ctypes.c_void_p * 2).from_address(table)
        for i, function in enumerate(self.functions):
            pointers[i] = ctypes.cast(function, ctypes.c_void_p).value


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("RELAX_MLIR_CACHE", "0")
    ledger = Ledger()
    lowered_part = compile_units.lowered_part

    def recorded(*part: Any) -> ir.Module:
        module = lowered_part(*part)
        ledger.symbols |= {symbol_name(operation) for operation in module.body.operations}
        return module

    monkeypatch.setattr(memory, "bind", ledger.bind)
    monkeypatch.setattr(compile_units, "lowered_part", recorded)
    kept_parts.forget(monkeypatch)
    yield ledger
    assert not ledger.out


def tensor(name: str, *shape: str | int, dtype: str = "float32") -> rx.Var:
    return rx.Var(name, rx.Tensor(shape, dtype))


def module(make: Callable[..., ir.Value], *params: rx.Var) -> rx.IRModule:
    bb = rx.BlockBuilder()
    with bb.function("main", list(params)):
        bb.emit_func_output(bb.emit(make(*params)))
    return bb.get()


@ir_module
class Scaled:
    @T.prim_func
    def rows(x: T.handle, y: T.handle):
        n, m = T.int64(), T.int64()
        X = T.match_buffer(x, (n, m), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i in range(n):
            row = T.alloc_buffer((m,), "float32")
            for j in range(m):
                row[j] = X[i, j] * T.float32(3)
            for j in range(m):
                Y[i, j] = row[m - 1 - j]

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        return R.call_tir(cls.rows, (x,), R.Tensor((n, m), "float32"))  # noqa: F821 - symbols


WEIGHT = np.random.default_rng(5).standard_normal((300, 260)).astype("float32")
Case = tuple[rx.IRModule, Sequence[np.ndarray], np.ndarray]


def values(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32").astype(dtype)


def product(dtype: str = "float32") -> Case:
    x, w = values(200, 300, dtype=dtype), values(300, 170, dtype=dtype)
    mod = module(op.matmul, tensor("x", "n", "k", dtype=dtype), tensor("w", "k", "m", dtype=dtype))
    return mod, (x, w), x.astype("float64") @ w.astype("float64")


def batches() -> Case:
    x, w = values(4, 90, 80), values(4, 80, 70)
    return module(op.matmul, tensor("x", "b", "n", "k"), tensor("w", "b", "k", "m")), (x, w), x @ w


def constant() -> Case:
    x = values(150, 300)
    return (
        module(lambda v: op.nn.relu(op.matmul(v, op.const(WEIGHT))), tensor("x", "n", 300)),
        (x,),
        np.maximum(x @ WEIGHT, 0),
    )


def attention() -> Case:
    q, k, v = values(2, 70, 3, 16), values(2, 65, 3, 16), values(2, 65, 3, 16)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k, dtype="float64") / 4
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    mod = module(
        op.nn.attention,
        tensor("q", "b", "s", "h", 16),
        tensor("k", "b", "t", "h", 16),
        tensor("v", "b", "t", "h", 16),
    )
    return mod, (q, k, v), np.einsum("bhqk,bkhd->bqhd", weights, v)


def loops() -> Case:
    x = values(9, 7)
    return Scaled, (x,), 3 * x[:, ::-1]


CASES: dict[str, Callable[[], Case]] = {
    "product": product,
    "float16": lambda: product("float16"),
    "bfloat16": lambda: product("bfloat16"),
    "batches": batches,
    "constant": constant,
    "attention": attention,
    "loops": loops,
}


def check(ex: Executable, arguments: Sequence[np.ndarray], expected: np.ndarray) -> None:
    out = np.empty(expected.shape, arguments[0].dtype)
    ex["main"].call_into(out, *arguments)
    exact = out.dtype == np.float32
    bound = 1e-4 if exact else 0.02 if out.dtype == np.float16 else 0.1
    np.testing.assert_allclose(out.astype("float64"), expected, rtol=bound, atol=bound * np.abs(expected).max())


@pytest.mark.parametrize(("name", "target"), sweep.product([*CASES], (THREADS, "cpu -num-threads=1")))
def test_kernels_use_the_pool(name: str, target: str, ledger: Ledger) -> None:
    mod, arguments, expected = CASES[name]()
    ex = rx.build(mod, target=target)
    assert "aligned_alloc" in ledger.symbols
    assert "malloc" not in ledger.symbols
    for _ in range(3):
        check(ex, arguments, expected)
    steady_state(ex, arguments, expected, ledger, target == THREADS)
    ledger.taken = 0
    check(ex, arguments, expected)
    for refused in range(min(ledger.taken, 4)):
        ledger.taken, ledger.refuse = 0, lambda number, refused=refused: number >= refused
        with pytest.raises(MemoryError, match=r"cannot allocate [0-9]+ bytes"):
            check(ex, arguments, expected)
        assert not ledger.out
        ledger.refuse = None
        check(ex, arguments, expected)


def steady_state(
    ex: Executable, arguments: Sequence[np.ndarray], expected: np.ndarray, ledger: Ledger, several: bool
) -> None:
    """Allocated blocks are released, and no further memory is requested from the system."""
    first, before = ledger.taken, memory_stats()
    assert first
    for _ in range(5):
        check(ex, arguments, expected)
    after = memory_stats()
    assert ledger.taken - first == after.taken - before.taken > 0
    # A thread that starts late may need one more block at a time.
    assert after.allocated - before.allocated <= several
    assert after.used_blocks == before.used_blocks


def test_an_error_on_another_thread_is_raised_by_the_call(ledger: Ledger) -> None:
    mod, arguments, expected = product()
    ex = rx.build(mod, target=THREADS)
    check(ex, arguments, expected)
    own, elsewhere = threading.get_ident(), 0

    def refuse(_: int) -> bool:
        nonlocal elsewhere
        elsewhere += threading.get_ident() != own
        return threading.get_ident() != own

    ledger.refuse = refuse
    for _ in range(200):
        seen = elsewhere
        try:
            check(ex, arguments, expected)
        except MemoryError:
            assert elsewhere > seen
            break
        assert elsewhere == seen
    ledger.refuse = None
    check(ex, arguments, expected)


def test_steady_state_without_memory() -> None:
    """In a process that may not allocate another page, calls still work."""
    program = """
import ctypes, resource
import numpy as np, relax_mlir as rx
from relax_mlir import op
bb = rx.BlockBuilder()
x, w = (rx.Var(name, rx.Tensor(("n", "n"), "float32")) for name in "xw")
with bb.function("main", [x, w]):
    bb.emit_func_output(bb.emit(op.nn.softmax(bb.emit(op.matmul(x, w)))))
main = rx.build(bb.get(), target="cpu -num-threads=1")["main"]
a = np.ones((900, 900), "float32")
out = np.empty_like(a)
m_mmap_threshold = -3
ctypes.CDLL(None).mallopt(m_mmap_threshold, 1 << 16)
for _ in range(3):
    main.call_into(out, a, a)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), -1))
kept = []
try:
    while True:  # what the heap has left
        kept.append(bytearray(1 << 17))
except MemoryError:
    print("no memory")
for _ in range(20):
    out.fill(0)
    main.call_into(out, a, a)
print(abs(float(out.min()) * 900 - 1) + abs(float(out.max()) * 900 - 1) < 1e-4)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
"""
    done = cold_process.run(["-c", program])
    assert (done.stdout, done.stderr) == ("no memory\nTrue\n", "")
