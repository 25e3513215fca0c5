"""Knobs of schedules, searches over them, and the files of measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from relax_mlir import te
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.tuning import (
    Database,
    Measurement,
    Record,
    SizeTime,
    configured,
    get_config,
)

A = te.placeholder(("n", "m"), name="A")
B = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, "B")
AXIS = B.op.axis[0]


def test_first_values_unless_told_otherwise() -> None:
    config = get_config()
    assert config.define_knob("order", ["ij", "ji"]).val == "ij"
    assert config.define_split("tile", AXIS, max_factor=8).val == [8]
    assert config.values == {"order": "ij", "tile": [8]}
    assert config.space == {"order": ("ij", "ji"), "tile": ([8], [4], [2], [1])}
    with configured({"order": "ji", "tile": [2]}) as given:
        assert get_config() is given
        assert given.define_knob("order", ["ij", "ji"]).val == "ji"
        assert given.define_split("tile", AXIS, max_factor=8).val == [2]
    assert get_config() is not given


def test_splits_are_applied() -> None:
    """Three loops, the outermost first; of any length, including one that no tile divides."""
    with configured({"tile": [4, 8]}) as config:
        config.define_split("tile", AXIS, num_outputs=3)
        s = te.create_schedule(B.op)
        outer, middle, inner = config["tile"].apply(s, B, AXIS)
        assert s[B].leaf_iter_vars[:3] == [outer, middle, inner]
    text = te.lower(s, [A, B], simple_mode=True)
    assert "range((n + 31) // 32)" in text and "range(T.min(8, " in text


def test_wrong_knobs() -> None:
    config = get_config()
    config.define_knob("order", [1, 2])
    for define, message in (
        (lambda: config.define_knob("order", [1]), "'order' is defined twice"),
        (lambda: config.define_knob("none", []), "'none' has no candidates"),
        (lambda: config.define_split("s", AXIS, num_outputs=1), "1 loops of at most 64 elements"),
        (lambda: config.define_split("s", AXIS, candidates=[[0]]), r"\[0\] is none of 1 positive numbers"),
        (lambda: config.define_split("s", AXIS, candidates=[[2, 2]]), r"\[2, 2\] is none of 1 positive"),
    ):
        with pytest.raises(ArgumentError, match=message):
            define()
    with pytest.raises(UnknownNameError, match="ordr"):
        config["ordr"]
    with (
        pytest.raises(ArgumentError, match="is given 3, which is none of its 2 candidates"),
        configured({"x": 3}),
    ):
        get_config().define_knob("x", [1, 2])
    with pytest.raises(ArgumentError, match=r"has no knob 'y' \(it has x\)"), configured({"x": 1, "y": 2}):
        get_config().define_knob("x", [1, 2])


def record(task: str, ratio: float, values: dict[str, Any], error: str = "") -> Record:
    times = () if error else (SizeTime(ratio, ratio, ratio, 1e-6), SizeTime(4 * ratio, ratio, ratio, 1e-6))
    return Record(task, "f", "cpu", ({"n": 3}, {"n": 4}), Measurement(values, times, error))


def test_files_of_records(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    database = Database(path)
    database.add(record("t", 2.0, {"a": [1]}), record("t", 3.0, {"a": [2]}), record("u", 0.1, {"a": [4]}))
    database.add(record("t", 0, {"a": [8]}, error="it failed"))
    again = Database(path)
    assert again.records == database.records and len(again.records) == 4
    assert again.best() == {"t": {"a": [2]}}
    assert again.records[1].measurement.score() == pytest.approx(6) and again.records[3].measurement.score() == 0
    assert again.records[1].measurement.score("worst") == 3
    assert [file.name for file in tmp_path.iterdir()] == ["tuned.json"]
