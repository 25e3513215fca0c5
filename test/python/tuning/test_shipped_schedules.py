"""The script that measures the values in the package: its output and its comparisons; no times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir import tuning
from relax_mlir.lowering.strategy import tuned
from relax_mlir.lowering.strategy.tuned import Template, shipped_for
from relax_mlir.tuning import LocalWorkers

from benchmarks import shipped_schedules as script

pytestmark = pytest.mark.usefixtures("warm_measurers")

TEMPLATE = Template("nn_conv2d_grouped_direct", "float32", {"window": (3, 3), "strides": (1, 1)})


def test_what_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The class of the host is replaced, others are kept."""
    path = tmp_path / "shipped.json"
    other: dict[str, Any] = {**script.class_of_host([]), "name": "another", "needs": [], "lacks": ["none"]}
    path.write_text(json.dumps({"version": 1, "classes": [other]}))
    monkeypatch.setattr(tuned, "SHIPPED_FILE", path)
    for values in ({"rows": [2]}, {"rows": [8]}):
        script.write([script.Found(TEMPLATE, values, 1.2345, 6)])
        tuned._read_shipped.cache_clear()
        item = shipped_for(TEMPLATE, rx.Target.host())
        assert item is not None and item.values == values and item.score == 1.234 and item.cases == 6
        assert item.cpu.measured["command"] == script.COMMAND and len(tuning.shipped()) == 1
    assert "another" in [each["name"] for each in json.loads(path.read_text())["classes"]]
    # Entries of calls that were not measured are kept; entries that are no longer better are removed.
    wide = Template(TEMPLATE.name, "float64", TEMPLATE.facts)
    script.write([script.Found(wide, {"rows": [4]}, 1.5, 6)])
    tuned._read_shipped.cache_clear()
    assert [item.dtype for item in tuning.shipped()] == ["float32", "float64"]
    for template, left in ((TEMPLATE, 1), (wide, 0)):
        script.write([script.Found(template, {}, 1.0, 0, "the first values are the best")])
        tuned._read_shipped.cache_clear()
        assert len(tuning.shipped()) == left


@pytest.mark.slow
def test_what_is_compared() -> None:
    """Cases of one family share candidates; some of their results are bitwise equal."""
    family = next(script.families())
    tasks = [task for case in family.cases[:2] if (task := script.task_of(case)) is not None]
    assert len(tasks) == 2 and tasks[0].target.num_threads == 1
    space = script.common_space(tasks)
    assert set(space) == {"channels", "rows", "width", "unrolled", "jobs"} and len(space["rows"]) > 1
    values = {name: candidates[-1] for name, candidates in space.items()}
    assert script.is_equal(tasks[0], values, {"n": 1, "h": 9, "w": 21})
    with LocalWorkers(rounds=1, least=1e-6) as workers:
        assert script.judge(tasks[:1], [{"n": 1, "h": 5, "w": 6}], values, workers) > 0
        assert script.judge(tasks[:1], [{"n": 1, "h": 5, "w": 6}], {"rows": [77]}, workers) == 0
