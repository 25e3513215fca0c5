"""The benchmarks themselves: their checks detect errors, and every baseline computes the specified workload."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import sweep
import torch
from relax_mlir import terminal
from relax_mlir.runtime import profile
from relax_mlir.target import Target
from rich.console import Console

from benchmarks import (
    chart,
    eager,
    figures,
    generation,
    low_precision,
    measure,
    recurrent,
    report,
    self_targets,
    single_ops,
    targets,
    tuning,
    virtual_machine,
    windows,
)
from benchmarks.__main__ import main, run_cell
from benchmarks.copying import copy_of, gain_of_two_threads
from benchmarks.peers import OURS, PEERS
from benchmarks.peers.base import Bound, Peer
from benchmarks.peers.numpy_peer import reference
from benchmarks.report import Cell
from benchmarks.workloads import WORKLOADS, MiniLm, Workload

ROOT = Path(__file__).parents[2]
SMALL = [w for w in WORKLOADS if not isinstance(w, MiniLm)]
ODD_SIZES = {"W1": (3, 5, 7), "W1t": (3, 5, 7), "W5": (9,)}


def test_one_thread_for_everybody_and_nobody_is_held_back() -> None:
    held = {"OPENBLAS_CORETYPE": "Haswell", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "2"}
    code = f"import os; from benchmarks import environment; print([os.environ.get(v) for v in {list(held)}])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | held, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[None, None, '1']"


@pytest.fixture
def keeps_gradients() -> Iterator[None]:
    """Settings that the peer disables for its process are enabled again for other tests."""
    with torch.set_grad_enabled(torch.is_grad_enabled()):
        yield


@pytest.mark.usefixtures("keeps_gradients")
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("workload", SMALL, ids=lambda workload: workload.name)
def test_peers_compute_the_workload(workload: Workload, peer: Peer) -> None:
    if peer.available() is None:
        assert peer.name in ("onnxruntime", "openvino"), f"{peer.name} is missing, which the extra 'test' brings"
        pytest.skip(f"{peer.name} is installed by 'make bench' only")
    bind = peer.prepare(workload)
    for size in (workload.sizes[0], ODD_SIZES.get(workload.name, (5,))):
        inputs = workload.inputs(size)
        measure.check(bind(inputs), reference(workload, inputs))


@pytest.mark.parametrize("wrong", [np.float32([1, 2, 4]), np.float32([1, 2]), np.float32([1, 2, np.nan])], ids=str)
def test_wrong_results_are_found(wrong: np.ndarray) -> None:
    with pytest.raises(measure.WrongResult):
        measure.check(Bound(lambda: wrong, np.asarray), np.float64([1, 2, 3]))


def test_single_cell_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    status = main(["--workload", "W3", "--size", "1", "--peer", "numpy", "--seconds", "0.01", "--json", str(path)])
    assert status == 0
    (cell,) = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert (cell["workload"], cell["size"], cell["peer"]) == ("W3", [1], "numpy")
    assert 0 < cell["low"] <= cell["median"] <= cell["high"]
    assert "softmax" in capsys.readouterr().out


def timing(*samples: float) -> measure.Timing:
    return measure.Timing(samples, 1, 0.0)


def test_targets() -> None:
    workloads = {workload.name: workload for workload in WORKLOADS}
    small = Cell(workloads["W3"], (64,), elements=65536, moved=2 * 4 * 65536)
    small.timings = {
        OURS: timing(1.0, 2.0, 4.0),
        "torch": timing(2.0, 3.0, 6.0),
        "numpy": timing(9.0, 9.0, 9.0),
    }
    large = Cell(workloads["W6"], (2_000_000,), elements=2_000_000, moved=24_000_000)
    large.timings, large.copy = {OURS: timing(1.0), "numpy": timing(0.5)}, timing(0.25)
    model = Cell(workloads["MiniLM"], (1, 7), timings={OURS: timing(2.0), "torch": timing(1.0)})
    rows = {(row.subject, row.measure): row for row in targets.of_cells([small, large, model], OURS)}
    ratio = rows["W3 64", "best other / ours"]
    assert (ratio.value, ratio.note, ratio.passed) == (1.5, "torch", True)
    assert rows["W6 2000000", "best other / ours"].passed is False
    share = rows["W6 2000000", "share of the bandwidth of a copy as large"]
    assert (share.value, share.passed, share.note) == (0.25, False, "0 GB/s")
    memory = rows["W6 2000000", "share of the copy bandwidth of memory"].value
    assert memory is not None and 0 < memory < 0.1
    assert not any(subject == "W3 64" and "copy" in measured for subject, measured in rows)
    assert rows["MiniLM 1,7", "torch / ours"].passed is False
    assert rows["MiniLM 1,7", "openvino / ours"].passed is None
    mean = rows["W1 to W6", "best other / ours, geometric mean"].value
    assert mean == pytest.approx((1.5 * 0.5) ** 0.5)
    assert targets.summary(list(rows.values())).endswith("of 6 targets missed")


def test_a_copy_takes_turns_with_large_arrays() -> None:
    workload = next(workload for workload in WORKLOADS if workload.name == "W6")
    cells = [Cell(workload, (100,)), Cell(workload, (1_000_000,))]
    for cell in cells:
        run_cell(cell, {"numpy": next(peer for peer in PEERS if peer.name == "numpy").prepare(workload)}, 0.01)
    small, large = cells
    assert small.copy is None and large.copy is not None
    assert len(large.copy.samples) == len(large.timings["numpy"].samples) and set(large.timings) == {"numpy"}
    assert copy_of(12_000_000).to_numpy(None).nbytes == 6_000_000


def test_gain_of_two_threads_is_sensible() -> None:
    assert 0 < gain_of_two_threads(1 << 24) < 100


def test_targets_go_into_the_results() -> None:
    rows = [targets.Row("W1", "best other / ours", 1.5, 1.0, "torch"), targets.Row("W1", "share", None, 0.8)]
    found = json.loads(json.dumps(report.as_json([], {}, {}, [row.as_dict() for row in rows])))["targets"]
    assert found[0] == {
        "subject": "W1",
        "measure": "best other / ours",
        "value": 1.5,
        "target": 1.0,
        "passed": True,
        "note": "torch",
    }
    assert found[1]["value"] is None and found[1]["passed"] is None


def test_single_cell_of_ours_writes_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(self_targets, "rows", lambda workloads: iter([targets.Row("W3", "cold compile", 2.0, 1.0)]))
    path = tmp_path / "result.json"
    arguments = ["--workload", "W3", "--size", "1", "--peer", OURS, "--peer", "numpy", "--seconds", "0.01"]
    assert main([*arguments, "--json", str(path)]) == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    measures = {(row["subject"], row["measure"]) for row in content["targets"]}
    assert {("W3 1", "best other / ours"), ("W3", "cold compile")} <= measures
    assert {cell["peer"] for cell in content["cells"]} == {OURS, "numpy"}
    assert "PASS" in capsys.readouterr().out


def test_product_of_bf16() -> None:
    beside, speed = low_precision.rows(size=65, seconds=0.01)
    assert (beside.subject, beside.measure) == ("W1 bf16 65,65,65", "torch / ours")
    assert beside.value is not None and beside.value > 0 and beside.note.endswith("GFLOP/s")
    assert (speed.value is None) == (not Target.host().has("amx_tile", "amx_bf16"))


def test_wrong_product_of_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = low_precision._ours
    monkeypatch.setattr(low_precision, "_ours", lambda inputs: ours(inputs[::-1]))
    (row,) = low_precision.rows(size=9, seconds=0.01)
    assert row.passed is False and "an element of bf16 is" in row.note


EAGER = [*eager.PRODUCTS, *eager.ELEMENTWISE]


@pytest.mark.parametrize("case", sweep.quick(EAGER, *EAGER[::2]), ids=lambda case: case.name)
def test_beside_eager_peers(case: eager.Case) -> None:
    small = replace(case, sizes=tuple(tuple(min(n, 5) for n in size) for size in case.sizes[:1]))
    for dtype in case.dtypes:
        (row,) = eager.of_case(small, dtype, seconds=0.001)
        assert row.value is not None and row.value > 0 and row.note in ("numpy", "torch")


@pytest.mark.parametrize("case", sweep.quick(single_ops.CASES, *single_ops.CASES[::4]), ids=lambda case: case.name)
def test_single_ops(case: single_ops.Case) -> None:
    """The ops are correct at their smallest sizes."""
    (row,) = single_ops.of_case(replace(case, sizes=case.sizes[:1]), seconds=0.001)
    assert row.value is not None and row.value > 0, row.note


@pytest.mark.slow
def test_recurrent_layers() -> None:
    for row in recurrent.rows(seconds=0.001, sizes=((9, 2, 3),)):
        assert row.value is not None and row.value > 0, row.note


@pytest.mark.slow
def test_layers() -> None:
    """The layers are correct on small data."""
    small = [case for case in (*windows.LAYERS, *windows.OTHERS) if case.data[1] <= 256]
    chosen = [
        replace(case, data=(2, case.data[1], *(min(size, 9) for size in case.data[2:])))
        for case in sweep.part(small, lambda case: (case.kind, case.rank, case.window[-2:], case.stride, case.groups))
    ]
    for row in windows.rows(seconds=0.001, chosen=chosen):
        assert row.value is not None and row.value > 0, row.note


@pytest.mark.filterwarnings("ignore")  # of torch and transformers
@pytest.mark.slow
def test_steps_of_generation() -> None:
    from examples.generate import Size  # which imports transformers

    small = Size(hidden=32, layers=1)
    for row in generation.rows(seconds=0.001, steps=((2, 3, 0), (1, 1, 5)), size=small, inductor=False):
        assert row.value is not None and row.value > 0, row.note


def test_wrong_result_of_a_single_op() -> None:
    wrong = replace(single_ops.MOVING[0], ours=lambda op, x: op.roll(x, 4, 0))
    rows = list(single_ops.of_case(wrong, seconds=0.001))
    assert [row.value for row in rows] == [0.0] * len(wrong.sizes) and "is" in rows[0].note


def test_wrong_result_beside_eager_peers() -> None:
    wrong = replace(eager.PRODUCTS[0], sizes=((3, 4, 5),), ours=lambda emit, op, a, b: emit(op.matmul(a + a, b)))
    (row,) = eager.of_case(wrong, "float64", seconds=0.001)
    assert row.passed is False and "an element is" in row.note


def test_peak_of_a_core_is_sensible() -> None:
    assert 1e8 < profile.fma_peak() < 1e12


def test_tables_fit_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    workload = next(w for w in WORKLOADS if w.name == "W1")
    peers = [peer.name for peer in PEERS]
    times = [timing(9.995e-3 * (1 + i / 10), 10.05e-3 * (1 + i / 10)) for i in range(len(peers))]
    cell = Cell(workload, (1024, 1024, 1024), timings=dict(zip(peers, times, strict=True)))
    goal = targets.Row("W1 1024,1024,1024", "best other / ours, geometric mean", 1.25, 1.0, "115 GFLOP/s")
    console = Console(width=80, color_system=None)
    for table in (report.table(workload, [cell], peers, OURS), targets.table([goal])):
        terminal.print_table(table, console)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    for whole in (
        "1024,1024,1024",
        *peers,
        "10 ms",
        "±0%",
        "214 GF/s",
        "W1 1024,1024,1024",
        "≥ 1.00",
        "1.25",
    ):
        assert whole in out


def test_page_of_figures(tmp_path: Path) -> None:
    (workload,) = (w for w in WORKLOADS if w.name == "W3")
    cell = Cell(workload, (64,), timings={OURS: timing(1e-6, 1e-6), "numpy": timing(3e-6, 3e-6)})
    cell.failures["torch"] = "not found"
    machine = {"cpu": "A", "features": "fma", "python": "3.11"}
    goals = [targets.Row(f"W3 {value}", "ratio", value, 1.0, "numpy").as_dict() for value in (None, 0.5, 3.0)]
    results, written = tmp_path / "results.json", tmp_path / "figures.md"
    report.write_json(results, report.as_json([cell], machine, {"numpy": "2"}, goals))
    assert figures.main([str(results), str(written)]) == 0
    lines = written.read_text(encoding="utf-8").splitlines()
    assert "| 64 | **1 µs** (1 µs – 1 µs) | 3 µs (3 µs – 3 µs) | 3.00 |" in lines
    assert "| n/a | W3 None | ratio | - | ≥ 1.00 | numpy |" in lines
    assert "| **FAIL** | W3 0.5 | ratio | 0.50 | ≥ 1.00 | numpy |" in lines
    assert "| PASS | W3 3.0 | ratio | 3.00 | ≥ 1.00 | numpy |" in lines
    assert sorted(p.name for p in tmp_path.iterdir()) == ["figures.md", "ratios.svg", "results.json"]
    assert "numpy: 3.00 ×" in (tmp_path / "ratios.svg").read_text(encoding="utf-8")


def test_chart_shows_the_figures() -> None:
    """The committed chart matches the committed page, and its marks are at the positions of their ratios."""
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    committed = (ROOT / "docs" / figures.CHART).read_text(encoding="utf-8")
    assert committed == chart.chart(page), "run 'python -m benchmarks.chart docs/figures.md docs/ratios.svg'"
    tree = ElementTree.fromstring(committed)
    name = "{http://www.w3.org/2000/svg}"
    ticks = {float(t.text[:-1]): float(t.get("x", "")) for t in tree.iter(f"{name}text") if _is_tick(t)}
    assert len(ticks) >= 4
    scale = np.polyfit(np.log(list(ticks)), list(ticks.values()), 1)
    marks = [(g[0].text or "", g[1]) for g in tree.iter(f"{name}g") if len(g) == 2]
    assert len(marks) == sum(len(row.by_peer) for row in chart.of_page(page))
    for told, mark in marks:
        ratio = float(re.findall(r": ([\d.]+) ×", told)[0])
        place = float(mark.get("cx") or re.findall(r"M([\d.]+)", mark.get("d", ""))[0])
        assert place == pytest.approx(np.polyval(scale, np.log(ratio)), abs=2), told


def _is_tick(text: ElementTree.Element) -> bool:
    return text.get("text-anchor") == "middle" and (text.text or "").endswith("×")


def test_geometric_means() -> None:
    rows = "| 1 | **1 µs** (1 – 1) | 2 µs (2 – 2) |\n| 2 | 1 ms (1 – 1) | **500 µs** (1 – 1) |\n| 3 | 1 s | - |\n"
    page = f"## W3: softmax\n\n| n | relax-mlir | numpy |\n|---|---|---|\n{rows}"
    one, every = chart.of_page(page)
    assert (one.workload, one.cells, dict(one.by_peer)) == ("W3", 2, {"numpy": 1.0})
    assert every.label == chart.ALL
    assert chart.of_page("# nothing") == []
    with pytest.raises(ValueError, match="no times of ours"):
        chart.chart("# nothing")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workload", "W33"], "unknown workload 'W33'; did you mean W3"),
        (["--peer", "tourch"], "did you mean torch"),
    ],
)
def test_unknown_names_suggest_near_ones(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


def test_rows_of_the_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROUNDS": 1, "CALLS": 10, "ITERATIONS": 10, "SECONDS": 0.01}.items():
        monkeypatch.setattr(virtual_machine, name, value)
    rows = list(virtual_machine.call_rows())
    assert [row.subject for row in rows] == ["VM"] * 3
    assert all(row.value > 0 for row in rows)
    layer = next(workload for workload in WORKLOADS if workload.name == "W5")
    found = list(virtual_machine.mode_rows(layer))
    assert [row.least for row in found] == [1 / 1.10, 1 / 1.10, 1 / 1.02, 1 / 1.02]
    assert all(row.value > 0 for row in found)


@pytest.mark.slow
def test_rows_of_tuning(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tuning, "SEEN", 1)
    monkeypatch.setattr(tuning, "HIDDEN", 2)
    monkeypatch.setattr(tuning, "IMAGES", {"n": (1, 1), "h": (3, 9), "w": (3, 9)})
    monkeypatch.setattr(tuning, "PRODUCTS", dict.fromkeys("nkm", (1, 9)))
    every = tuning.tasks()
    names = ["grouped conv2d", "depthwise conv2d", "pool3d", "einsum nhc,chw->nw"]
    assert [task.name for task in every] == names
    assert all(task.space() for task in every)
    monkeypatch.setattr(tuning, "tasks", lambda: [every[1]])
    assert tuning.main(["--seconds", "600", "--search", "random", "--trials", "1"]) in (0, 1)
    shown = " ".join(capsys.readouterr().out.split())
    assert "tuned depthwise conv2d" in shown and "tuned matmul" in shown and "of 2 targets missed" in shown
    assert "1 tried" in shown


def test_third_party_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import third_party

    monkeypatch.setattr(third_party, "SIZES", ((3, 5, 7),))
    monkeypatch.setattr(third_party, "SECONDS", 0.01)
    found = list(third_party.rows())
    assert [(row.subject, row.measure) for row in found] == [
        ("matmul 3x5x7", "OpenBLAS / ours"),
        ("matmul 4x4x4", "a call of OpenBLAS, limit / time"),
    ]
    assert all(row.value is not None and row.value > 0 for row in found)
    monkeypatch.setattr(third_party.importlib.util, "find_spec", lambda name: None)
    assert list(third_party.rows()) == []
