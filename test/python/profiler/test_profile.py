"""The records of the profiler: sites, counts, formulas against hand calculation, nesting, threads; never times."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.error import ArgumentError
from relax_mlir.lowering.entry.instrument_calls import evaluate
from relax_mlir.profiler import Limits

LIMITS = Limits(flops=1e11, bandwidth=1e10)


def dense_and_softmax() -> Any:
    x, y = rx.Var("x", rx.Tensor(("n", "k"))), rx.Var("y", rx.Tensor(("k", "m")))
    bb = rx.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            product = bb.emit(R.matmul(x, y))
            result = bb.emit_output(R.nn.softmax(product, axis=-1))
        bb.emit_func_output(result)
    return bb.get()


@pytest.fixture(scope="module")
def executable() -> Any:
    return rx.build(dense_and_softmax(), profile=True)


def arrays(n: int, k: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((n, k), np.float32), np.ones((k, m), np.float32)


def test_counts_flops_and_bytes(executable: Any) -> None:
    sizes = [(3, 5, 7), (1, 2, 4), (3, 5, 7)]
    with executable.profile() as p:
        for size in sizes:
            executable["main"](*arrays(*size))
    products = [event for event in p.events if event.site.name.startswith("matmul")]
    assert [event.flops for event in products] == [2 * n * k * m for n, k, m in sizes]
    assert [event.bytes for event in products] == [4 * (n * k + k * m + n * m) for n, k, m in sizes]
    assert all(Path(event.site.location.split(":")[0]).name == "test_profile.py" for event in products)
    softmax = next(op for op in p.ops() if op.site.name.startswith("softmax"))
    assert softmax.calls == 3
    assert softmax.bytes == sum(8 * n * m for n, _, m in sizes)
    (main,) = p.functions()
    assert (main.site.name, main.calls, p.truncated) == ("main", 3, False)


def test_ops_lie_within_their_function(executable: Any) -> None:
    with executable.profile() as p:
        executable["main"](*arrays(4, 4, 4))
    (whole,) = [event for event in p.events if event.site.kind == "function"]
    inner = [event for event in p.events if event.site.kind == "prim"]
    assert len(inner) == 2
    assert all(whole.start <= event.start <= event.end <= whole.end for event in inner)
    assert inner[0].end <= inner[1].start


def test_calls_outside_are_not_recorded(executable: Any) -> None:
    executable["main"](*arrays(2, 2, 2))
    with executable.profile() as p:
        pass
    executable["main"](*arrays(2, 2, 2))
    assert p.events == ()
    p.table(LIMITS)
    assert p.trace()["traceEvents"] == []


def test_threads(executable: Any) -> None:
    def work() -> None:
        for _ in range(50):
            executable["main"](*arrays(2, 3, 4))

    with executable.profile() as p:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(p.events) == 4 * 50 * 3
    assert sum(op.flops for op in p.ops() if op.site.name.startswith("matmul")) == 200 * 2 * 2 * 3 * 4


def test_too_little_room_drops_calls(executable: Any) -> None:
    with executable.profile(capacity=20) as p:
        for _ in range(10):
            executable["main"](*arrays(2, 3, 4))
    assert p.truncated
    assert 0 < len(p.events) <= 5


def test_gathers_count_what_they_read() -> None:
    table, rows = rx.Var("table", rx.Tensor(("v", 16))), rx.Var("rows", rx.Tensor(("n",), "int64"))
    bb = rx.BlockBuilder()
    with bb.function("main", [table, rows]):
        with bb.dataflow():
            result = bb.emit_output(R.take(table, rows, axis=0))
        bb.emit_func_output(result)
    executable = rx.build(bb.get(), profile=True)
    with executable.profile() as p:
        executable["main"](np.ones((1000, 16), np.float32), np.arange(3))
    (op,) = p.ops()
    assert (op.flops, op.bytes) == (0, 4 * 3 * 16 + 8 * 3 + 4 * 3 * 16)


def test_packed_functions_are_ops() -> None:
    tvm_ffi.register_global_func(
        "test.profile.double",
        lambda x, out: np.copyto(np.from_dlpack(out), 2 * np.from_dlpack(x)),
        override=True,
    )
    x = rx.Var("x", rx.Tensor(("n",)))
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        out = bb.emit(R.call_dps_packed("test.profile.double", [x], rx.Tensor(("n",))))
        bb.emit_func_output(out)
    executable = rx.build(bb.get(), profile=True)
    with executable.profile() as p:
        executable["main"](np.ones(3, np.float32))
    (op,) = p.ops()
    assert (op.site.kind, op.site.name, op.flops, op.bytes) == ("packed", "test.profile.double", None, None)


def test_trace_and_table(executable: Any, tmp_path: Path) -> None:
    with executable.profile() as p:
        executable["main"](*arrays(3, 5, 7))
    p.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == 3
    assert {event["ph"] for event in events} == {"X"}
    assert {event["cat"] for event in events} == {"prim", "function"}
    assert next(e for e in events if e["name"].startswith("matmul"))["args"]["flops"] == 210
    assert p.table(LIMITS).row_count == 3


def test_roofline(executable: Any, tmp_path: Path) -> None:
    with executable.profile() as p:
        executable["main"](*arrays(3, 5, 7))
    p.save_roofline(tmp_path / "roofline.png", LIMITS)
    assert (tmp_path / "roofline.png").stat().st_size > 0


def test_nothing_when_off() -> None:
    executable = rx.build(dense_and_softmax())
    assert executable.profile_sites == ()
    with pytest.raises(ArgumentError, match="profile=True"), executable.profile():
        pass


def test_one_profile_at_a_time(executable: Any) -> None:
    with executable.profile(), pytest.raises(ArgumentError, match="already"), executable.profile():
        pass
    with pytest.raises(ArgumentError, match="positive number of words, not 0"), executable.profile(0):
        pass


def test_formulas() -> None:
    assert evaluate("2*a0_0*a1 + -3*a1 + 4", {"a0_0": 5, "a1": 7}) == 70 - 21 + 4
    assert evaluate("0", {}) == 0
    assert evaluate(None, {}) is None
