"""Calls by generated code return the same as calls by the Python method, for all kinds of arguments."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import time
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import sweep
import tvm_ffi
import warm_process
from relax_mlir import op
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.lowering.runtime_lib.fast_call_state import MAX_ARGUMENTS
from relax_mlir.runtime import fast_call
from relax_mlir.runtime.executable import CompiledFunction, Executable


def build(dtype: str = "float32", rank: int = 2, count: int = 2) -> CompiledFunction:
    """``main``: the sum of `count` tensors."""
    bb = rx.BlockBuilder()
    sizes = tuple(f"n{i}" for i in range(rank))
    params = [rx.Var(f"x{i}", rx.Tensor(sizes, dtype)) for i in range(count)]
    with bb.function("main", params):
        total = params[0]
        for param in params[1:]:
            total = bb.emit(op.add(total, param))
        bb.emit_func_output(total if count > 1 else bb.emit(op.negative(total)))
    return rx.build(bb.get())["main"]


@pytest.fixture(scope="module")
def add() -> CompiledFunction:
    return build()


def test_it_is_there(add: CompiledFunction) -> None:
    assert type(CompiledFunction.__call__).__name__ == "method_descriptor"
    assert fast_call.fast_calls().active
    assert str(fast_call.fast_calls()) == "direct"
    assert "args" in inspect.signature(add).parameters
    with pytest.raises(TypeError, match="keyword"):
        add(np.zeros((1, 1), "float32"), x1=np.zeros((1, 1), "float32"))


SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (3, 5))
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16"),
]


CASES = sweep.product(DTYPES, SHAPES)


@pytest.fixture(scope="module")
def copies() -> Executable:
    """Functions for all tested element types and ranks."""
    bb = rx.BlockBuilder()
    for dtype, shape in CASES:
        x = rx.Var("x", rx.Tensor(tuple(f"n{i}" for i in range(len(shape))), dtype))
        with bb.function(f"{dtype}_{len(shape)}", [x]):
            bb.emit_func_output(bb.emit(op.where(bb.emit(op.equal(x, x)), x, x)))
    return rx.build(bb.get())


@pytest.mark.parametrize(("dtype", "shape"), CASES)
def test_dtypes_and_shapes(copies: Executable, dtype: str, shape: tuple[int, ...]) -> None:
    main = copies[f"{dtype}_{len(shape)}"]
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    data = (np.arange(int(np.prod(shape))) % 2).reshape(shape).astype(kind)
    result = main(data)
    assert type(result) is np.ndarray and result.shape == shape and result.dtype == kind
    np.testing.assert_array_equal(result.astype("float64"), data.astype("float64"))
    out = np.empty(shape, kind)
    assert main(data, out) is None
    np.testing.assert_array_equal(out.astype("float64"), data.astype("float64"))


class Special(np.ndarray[Any, Any]):
    """A class of arrays that is not NumPy's."""


def variants() -> dict[str, Any]:
    """The same numbers in arrays of all kinds."""
    plain = np.arange(12, dtype="float32").reshape(3, 4)
    frozen = plain.copy()
    frozen.flags.writeable = False
    return {
        "plain": plain,
        "tensor": tvm_ffi.from_dlpack(plain.copy()),
        "read-only": frozen,
        "transposed": np.asfortranarray(plain),
        "strided": np.repeat(plain, 2, axis=1)[:, ::2],
        "reversed": plain[::-1, ::-1].copy()[::-1, ::-1],
        "unaligned": np.frombuffer(b"x" + plain.tobytes(), np.uint8)[1:].view("float32").reshape(3, 4),
        "subclass": plain.copy().view(Special),
        "shifted": np.concatenate([np.zeros((1, 4), "float32"), plain])[1:],
    }


@pytest.mark.parametrize("second", variants())
@pytest.mark.parametrize("first", variants())
def test_kinds_of_arrays(add: CompiledFunction, first: str, second: str) -> None:
    result = np.from_dlpack(add(variants()[first], variants()[second]))
    np.testing.assert_array_equal(result, 2 * np.arange(12, dtype="float32").reshape(3, 4))


def test_results_to_write_to(add: CompiledFunction) -> None:
    x = np.ones((3, 4), "float32")
    for out in (np.empty((3, 4), "float32"), tvm_ffi.from_dlpack(np.empty((3, 4), "float32"))):
        assert add(x, x, out) is None
        np.testing.assert_array_equal(np.from_dlpack(out), 2 * x)
    frozen = np.empty((3, 4), "float32")
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        add(x, x, frozen)
    with pytest.raises(ArgumentError, match="not contiguous"):
        add(x, x, np.empty((4, 3), "float32").T)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), ArgumentError, "got 0"),
        ((np.zeros((1, 1), "float32"),), ArgumentError, "got 1"),
        ((np.zeros((1, 1), "float32"),) * (MAX_ARGUMENTS + 3), ArgumentError, "got 19"),
        ((np.zeros((1, 1), "float64"),) * 2, DTypeError, "'x0' has dtype float64"),
        ((np.zeros((1, 1), ">f4"),) * 2, DTypeError, ">f4"),
        ((np.zeros((1, 1), "complex64"),) * 2, DTypeError, "complex64"),
        ((np.zeros(3, "float32"),) * 2, ShapeError, "rank 1, expected rank 2"),
        ((np.zeros((2, 3), "float32"), np.zeros((2, 4), "float32")), ShapeError, "n1"),
        ((np.zeros((1, 1), "float32"), 3), ArgumentError, "'x1' is of type int"),
        ((np.zeros((1, 1), "float32"), None), ArgumentError, "'x1' is of type None"),
        ((np.zeros((1, 1), "float32"), np.float32(1)), ArgumentError, "type float"),
        ((np.zeros((1, 1), "float32"), np.array([["a"]])), DTypeError, "<U1"),
    ],
)
def test_errors(add: CompiledFunction, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as fast:
        add(*arguments)
    with pytest.raises(error) as slow:
        add._call_any(*arguments)
    assert (type(fast.value), str(fast.value)) == (type(slow.value), str(slow.value))


def test_many_arguments() -> None:
    for count in (MAX_ARGUMENTS - 1, MAX_ARGUMENTS, MAX_ARGUMENTS + 1):
        main = build(count=count, rank=1)
        arrays = [np.full(3, i, "float32") for i in range(count)]
        np.testing.assert_array_equal(np.from_dlpack(main(*arrays)), np.full(3, sum(range(count)), "float32"))
        out = np.empty(3, "float32")
        main(*arrays, out)
        np.testing.assert_array_equal(out, np.full(3, sum(range(count)), "float32"))


def test_nothing_is_kept(add: CompiledFunction) -> None:
    x, bad = np.ones((2, 2), "float32"), np.ones(2, "float32")
    tensor = tvm_ffi.from_dlpack(x)
    counted = (x, bad, tensor, None, add)
    calls = (lambda: add(x, tensor), lambda: add(x, x, x.copy()), lambda: failing(add, x, bad))
    for call in calls:
        call()
    gc.collect()
    before = [sys.getrefcount(item) for item in counted]
    for call in calls:
        for _ in range(100):
            call()
    gc.collect()
    after = [sys.getrefcount(item) for item in counted]
    assert all(abs(a - b) < 20 for a, b in zip(after, before, strict=True))
    result = add(x, x)
    array = np.from_dlpack(result)
    del result
    np.testing.assert_array_equal(array, 2 * x)


def failing(main: CompiledFunction, *arguments: Any) -> None:
    with pytest.raises(ShapeError):
        main(*arguments)


def test_function_outlives_its_executable() -> None:
    executable: Executable | None = None
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.negative(x)))
    executable = rx.build(bb.get())
    main = executable["main"]
    gone = weakref.ref(executable)
    del executable
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(np.from_dlpack(main(np.ones(3, "float32"))), -np.ones(3, "float32"))


def test_other_threads_run_meanwhile() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "n"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.matmul(x, x)))
    main = rx.build(bb.get(), rx.target.Target(num_threads=1))["main"]
    x_data, out = np.ones((1500, 1500), "float32"), np.empty((1500, 1500), "float32")
    main(x_data, out)
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    main(x_data, out)
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert any(start < moment < end for moment in ticks)


def test_calls_from_many_threads(add: CompiledFunction) -> None:
    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            x = rng.standard_normal((int(rng.integers(0, 9)), 5)).astype("float32")
            np.testing.assert_array_equal(np.from_dlpack(add(x, x)), x + x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


UNKNOWN = """
import sys
{change}
import numpy as np, relax_mlir as rx
from relax_mlir import op
from relax_mlir.runtime.executable import CompiledFunction
from relax_mlir.runtime.fast_call import fast_calls
bb = rx.BlockBuilder()
x = rx.Var("x", rx.Tensor(("n",), "float32"))
with bb.function("main", [x]):
    bb.emit_func_output(bb.emit(op.negative(x)))
main = rx.build(bb.get())["main"]
assert type(CompiledFunction.__call__).__name__ == "function", CompiledFunction.__call__
np.testing.assert_array_equal(np.from_dlpack(main(np.ones(3, "float32"))), -np.ones(3, "float32"))
out = np.empty(3, "float32")
assert main(np.ones(3, "float32"), out) is None and (out == -1).all()
assert not fast_calls().active
print(fast_calls())
"""
CHANGE = "import relax_mlir.runtime.object_layouts as o; import relax_mlir.runtime.fast_call as f; "


SHIFTED = (
    "import ctypes; F = o.Array._fields_; "
    "o.Array = type('Array', (ctypes.Structure,), {'_fields_': (*F[:2], ('more', ctypes.c_size_t), *F[2:])})"
)
NO_API = "o.address = lambda *names: (_ for _ in ()).throw(o.UnknownLayoutError('no C API'))"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("sys.gettotalrefcount = lambda: 0", "free-threaded or debug build"),
        ("import os; os.environ['RELAX_MLIR_FAST_CALLS'] = '0'", "RELAX_MLIR_FAST_CALLS is 0"),
        (CHANGE + "o.LAST_PYTHON = (3, 9)", "is not known"),
        (CHANGE + SHIFTED, "have another layout"),
        (CHANGE + "f.DLPACK_CODES = dict(f.DLPACK_CODES, f=1)", "self-test failed"),
        (CHANGE + NO_API, "no C API"),
    ],
)
def test_other_layouts_of_objects(change: str, reason: str) -> None:
    """Calls go through the FFI, and `fast_calls` gives the reason."""
    done = warm_process.run(["-c", UNKNOWN.format(change=change)])
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.decode()
    assert "through the FFI" in said and reason in said, said
