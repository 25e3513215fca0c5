"""Files of measurements: invalid ones are reported with the line; those of another target are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import te, tuning
from relax_mlir.error import ArgumentError, ParseError
from relax_mlir.strategy import OpStrategy, temporary_strategy
from relax_mlir.tuning import Database, Measurement, Record, SizeTime, apply_history_best

RECORD: dict[str, Any] = {
    "version": 2,
    "task": "0123",
    "name": "sums",
    "target": "cpu",
    "features": ["avx"],
    "sizes": [{"n": 3}],
    "values": {"tile": [4]},
    "times": [{"ratio": 2.0, "low": 1.9, "high": 2.1, "seconds": 1e-6}],
    "error": "",
}
ROW = {"symbols": ["n"], "at_most": 4, "values": {"tile": [4]}}
TABLE: dict[str, Any] = {
    **{key: RECORD[key] for key in ("version", "task", "name", "target", "features", "sizes")},
    "rows": [ROW],
    "otherwise": {"tile": [8]},
    "score": 2.0,
    "single": 1.5,
}


def without(given: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != key}


def test_good_lines(tmp_path: Path) -> None:
    """Including those of version 1, which do not record the CPU."""
    path = tmp_path / "tuned.json"
    old = {**without(RECORD, "features"), "version": 1}
    path.write_text("".join(json.dumps(line) + "\n" for line in (old, RECORD, TABLE)))
    database = Database(path)
    assert [record.features for record in database.records] == [None, ("avx",)]
    assert [record.place for record in database.records] == [f"{path}:1", f"{path}:2"]
    assert database.tables[0].table.of({"n": 4}) == {"tile": [4]}
    assert database.tables[0].table.of({"n": 5}) == {"tile": [8]}
    database.save()
    assert path.stat().st_mode & 0o777 == 0o644  # others read it, too
    assert [r.measurement for r in Database(path).records] == [r.measurement for r in database.records]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no record of a measurement: Expecting property name"),
        ("[1]", "no record of a measurement: list indices"),
        ("null", "no record of a measurement: "),
        ({**RECORD, "version": 3}, "version 3, expected 2: it is of another relax-mlir"),
        ({**RECORD, "version": "2"}, "version '2', expected 2"),
        (without(RECORD, "version"), "there is no 'version'"),
        (without(RECORD, "values"), "there is no 'values'"),
        (without(RECORD, "task"), "there is no 'task'"),
        ({**RECORD, "sizes": [{"n": -1}]}, "-1 is no size"),
        ({**RECORD, "sizes": [{"n": 2.5}]}, "2.5 is no size"),
        ({**RECORD, "sizes": [{"n": True}]}, "True is no size"),
        ({**RECORD, "sizes": 3}, "no record of a measurement: "),
        ({**RECORD, "values": 3}, "no record of a measurement: "),
        ({**RECORD, "times": [{"ratio": 1.0}]}, "missing 3 required"),
        (
            {**RECORD, "times": [{**RECORD["times"][0], "ratio": 0}]},
            "'ratio' of a time is 0, expected a positive",
        ),
        ({**RECORD, "times": [{**RECORD["times"][0], "low": "x"}]}, "'low' of a time is 'x'"),
        (
            {**RECORD, "times": [{**RECORD["times"][0], "seconds": float("nan")}]},
            "'seconds' of a time is nan",
        ),
        ({**RECORD, "times": []}, "0 times for 1 sizes"),
        ({**TABLE, "rows": [{**ROW, "symbols": ["k"]}]}, "the sizes have no 'k', which a row looks at"),
        ({**TABLE, "rows": [{**ROW, "symbols": []}]}, "a row looks at no symbol"),
        ({**TABLE, "rows": [{**ROW, "at_most": "4"}]}, "'4' is no size"),
        ({**TABLE, "rows": [ROW] * 4}, "a table of sizes has 1 to 4 configurations, not 5"),
        ({**TABLE, "rows": [without(ROW, "values")]}, "there is no 'values'"),
        (without(TABLE, "otherwise"), "there is no 'otherwise'"),
        ({**TABLE, "score": "fast"}, "could not convert string to float"),
        ({**TABLE, "score": -1}, "'score' of a table is -1.0, expected a positive number"),
    ],
)
def test_broken_lines(line: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    text = line if isinstance(line, str) else json.dumps(line)
    path.write_text(f"{json.dumps(RECORD)}\n{text}\n")
    with pytest.raises(ParseError) as error:
        Database(path)
    assert str(error.value).startswith(f"{path}:2: ") and message in str(error.value)
    with pytest.raises(ParseError):
        apply_history_best(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "binary"):
        with pytest.raises(ParseError, match=f"{path}: it cannot be read: "):
            Database(path)
    with pytest.raises(ParseError, match="there is no file"):
        apply_history_best(tmp_path / "none")


def schedule(outs: list[te.Tensor]) -> te.Schedule:
    s = te.create_schedule(outs[0].op)
    tile = tuning.get_config().define_split("tile", outs[0].op.axis[0], candidates=[[16], [8], [4]])
    s[outs[0]].vectorize(tile.apply(s, outs[0], outs[0].op.axis[0])[1])
    return s


def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
    made = OpStrategy()
    made.add_implementation(
        lambda attrs, inputs, out: te.compute(inputs[0].shape, lambda i: te.exp(inputs[0][i]), "y"),
        lambda attrs, outs, target: schedule(outs),
        name="tiled",
        plevel=20,
    )
    return made


def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [x]):
        bb.emit_func_output(R.exp(x))
    return bb.get()


def tile(database: Database, target: str = "cpu") -> int:
    work = module()
    with apply_history_best(database):
        rx.transform.LegalizeOps(target).apply_(work)
    return next(size for size in (4, 8, 16) if f"T.vectorized(T.min({size}, " in work.script())


def test_other_targets(tmp_path: Path) -> None:
    """Each target has separate measurements; measurements for other targets only are an error with a location."""
    time = (SizeTime(2.0, 2.0, 2.0, 1e-6),)
    path = tmp_path / "tuned.json"
    with temporary_strategy("exp", strategy):
        (task,) = tuning.extract_tasks(module())
        own = task.key, task.name
        features = tuple(sorted(task.target.features))
        haswell = tuple(sorted(rx.Target("cpu -mcpu=haswell").features))
        sizes = ({"n": 1},)
        database = Database(path)
        database.add(Record(*own, "cpu -mcpu=haswell", sizes, Measurement({"tile": [4]}, time), haswell))
        assert tile(Database(path), "cpu -mcpu=haswell") == 4
        message = rf"{path}:1: what is known of the schedule of 'exp_tiled' is not for this target: it was measured for"
        with pytest.raises(ArgumentError, match=message):
            tile(Database(path))
        other = (*features[1:], "sve" if "sve" not in features else "avx")
        database.add(Record(*own, str(task.target), sizes, Measurement({"tile": [4]}, time), other))
        with pytest.raises(ArgumentError, match=rf"{path}:2: .*it was measured on a CPU that differs in "):
            tile(Database(path))
        database.add(Record(*own, str(task.target), sizes, Measurement({"tile": [8]}, time), features))
        assert tile(Database(path)) == 8 and tile(Database(path), "cpu -mcpu=haswell") == 4
        assert len(Database(path).of(task)) == 1
        # Unknown computations are not an error.
        assert tile(Database()) == 16
        database.add(Record(*own, str(task.target), sizes, Measurement({"tile": [5]}, (SizeTime(9, 9, 9, 1),))))
        database.records = database.records[-1:]
        database.save()
        with pytest.raises(ArgumentError, match=rf"{path}:1: 'exp_tiled': the knob 'tile' is given \[5\], which"):
            tile(Database(path))
