"""The classification of functions as short; their calls with small arguments keep the GIL."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op
from relax_mlir.lowering.runtime_lib.fast_call_state import SHORT_ELEMENTS
from relax_mlir.lowering.shapes.lower_symbolic_shapes import MAX_CALLS, MAX_STATIC
from relax_mlir.runtime import fast_call

Body = Callable[[rx.BlockBuilder, rx.Var, rx.Var], object]


def build(body: Body, first: rx.StructInfo | None = None, second: rx.StructInfo | None = None) -> rx.Executable:
    bb = rx.BlockBuilder()
    x = rx.Var("x", first or rx.Tensor(("n", "m"), "float32"))
    y = rx.Var("y", second or rx.Tensor(("n", "m"), "float32"))
    with bb.function("main", [x, y]):
        bb.emit_func_output(body(bb, x, y))
    return rx.build(bb.get())


def is_latency_critical(executable: rx.Executable) -> bool:
    return "main" in executable._engine.latency_critical


def gather(bb: rx.BlockBuilder, x: rx.Var, y: rx.Var) -> rx.Var:
    """More tensors that cannot be merged into one loop than a short function may have."""
    total = x
    for _ in range(MAX_CALLS + 1):
        total = op.add(op.nn.softmax(total), y)
    return total


LATENCY_CRITICAL: dict[str, Body] = {
    "elementwise": lambda bb, x, y: op.exp(op.add(x, y)),
    "rows": lambda bb, x, y: op.nn.softmax(op.add(x, y)),
    "transposed": lambda bb, x, y: op.permute_dims(op.add(x, y)),
    "a small constant": lambda bb, x, y: op.add(op.sum(x), bb.const(np.ones(MAX_STATIC, "float32"))),
    "a tuple": lambda bb, x, y: (op.add(x, y), op.multiply(x, y)),
}
LONG: dict[str, Body] = {
    "a product": lambda bb, x, y: op.matmul(x, op.permute_dims(y)),
    "larger than its arguments": lambda bb, x, y: op.add(
        op.expand_dims(op.sum(x, axis=1), 1), op.expand_dims(op.sum(y, axis=0), 0)
    ),
    "perhaps larger than its arguments": lambda bb, x, y: op.sum(x, axis=1),
    "a large constant": lambda bb, x, y: op.add(op.sum(x), bb.const(np.ones(MAX_STATIC + 1, "float32"))),
    "many steps": gather,
}


@pytest.mark.parametrize("name", LATENCY_CRITICAL)
def test_short(name: str) -> None:
    assert is_latency_critical(build(LATENCY_CRITICAL[name]))


@pytest.mark.parametrize("name", LONG)
def test_long(name: str) -> None:
    assert not is_latency_critical(build(LONG[name]))


def test_other_parameters_than_tensors_of_known_rank() -> None:
    assert not is_latency_critical(build(lambda bb, x, y: op.exp(x), None, rx.Prim("int64")))
    assert not is_latency_critical(build(lambda bb, x, y: op.exp(x), None, rx.Shape(("k",))))
    assert not is_latency_critical(build(lambda bb, x, y: op.exp(x), None, rx.Tensor(None, "float32")))


@pytest.fixture
def gil() -> Iterator[list[str]]:
    """The GIL operations of calls; it is held all the time."""
    events: list[str] = []

    def save() -> int:
        events.append("releases it")
        return 1

    def restore(thread: int) -> None:
        assert thread == 1
        events.append("takes it again")

    functions = (ctypes.CFUNCTYPE(ctypes.c_size_t)(save), ctypes.CFUNCTYPE(None, ctypes.c_size_t)(restore))
    assert fast_call.fast_calls().active
    state = next(item for item in fast_call._kept if isinstance(item, fast_call._State))
    before = state.save_thread, state.restore_thread
    state.save_thread, state.restore_thread = (ctypes.cast(f, ctypes.c_void_p).value for f in functions)
    yield events
    state.save_thread, state.restore_thread = before


def test_small_calls_keep_the_gil(gil: list[str]) -> None:
    main = build(LATENCY_CRITICAL["elementwise"])["main"]

    def events(n: int, m: int, given: bool = False) -> list[str]:
        x = np.ones((n, m), "float32")
        gil.clear()
        result = main(x, x, *([out := np.empty_like(x)] if given else []))
        np.testing.assert_allclose(out if given else np.from_dlpack(result), np.exp(x + x), rtol=1e-6)
        return list(gil)

    both = ["releases it", "takes it again"]
    assert events(1, SHORT_ELEMENTS // 2 - 1) == []
    assert events(2, SHORT_ELEMENTS // 4) == both
    assert events(SHORT_ELEMENTS // 4, 1, given=True) == []
    assert events(SHORT_ELEMENTS // 2 - 1, 1, given=True) == both
    assert events(0, 5) == []


def test_long_functions_never_keep_it(gil: list[str]) -> None:
    main = build(LONG["a product"])["main"]
    gil.clear()
    main(np.ones((1, 1), "float32"), np.ones((1, 1), "float32"))
    assert gil == ["releases it", "takes it again"]


def test_a_short_function_from_the_cache(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", "1")
    monkeypatch.setenv("RELAX_MLIR_CACHE_DIR", str(tmp_path))
    for from_cache in (False, True):
        executable = build(LATENCY_CRITICAL["rows"])
        assert executable.compile_report is not None and executable.compile_report.from_cache == from_cache
        assert is_latency_critical(executable)
