"""Tuned values in the package: the CPUs and calls that they apply to, and unchanged results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from programs import numpy
from relax_mlir import op as R
from relax_mlir import te, tuning
from relax_mlir.error import ArgumentError, ParseError
from relax_mlir.lowering.strategy import tuned
from relax_mlir.lowering.strategy.tuned import Template, shipped_for
from relax_mlir.runtime.cache_key import cache_key, source_hash
from relax_mlir.strategy import CompileEngine, OpStrategy, explain_strategy, temporary_strategy
from relax_mlir.transform import PassContext
from relax_mlir.tuning import Database, Measurement, Record, SizeTime, apply_history_best

KIB = 1024


def cpu(name: str, entries: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "architecture": "x86_64",
        "vector_bytes": 32,
        "l1_bytes": 32 * KIB,
        "l2_bytes": 256 * KIB,
        "needs": ["avx2"],
        "lacks": ["avx512f"],
        "measured": {"cpu": "none", "date": "2026-01-01", "command": "none"},
        "entries": entries,
        **changes,
    }


def entry(values: dict[str, Any], template: str = "exp_tiled", **facts: list[int]) -> dict[str, Any]:
    return {
        "template": template,
        "dtype": "float32",
        "facts": facts,
        "values": values,
        "score": 1.25,
        "cases": 6,
    }


def give(monkeypatch: pytest.MonkeyPatch, folder: Path, *classes: dict[str, Any]) -> Path:
    """Replace the tuned values of the package by a file with these classes."""
    path = folder / f"shipped{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps({"version": 1, "classes": list(classes)}))
    monkeypatch.setattr(tuned, "SHIPPED_FILE", path)
    return path


def of_host(*entries: dict[str, Any]) -> dict[str, Any]:
    """A class that contains the host."""
    host = rx.Target.host()
    return cpu(
        "host",
        list(entries),
        architecture=host.architecture,
        vector_bytes=host.vector_bytes,
        l1_bytes=host.l1_bytes,
        l2_bytes=host.l2_bytes,
        needs=sorted(host.features),
        lacks=[],
    )


def test_classes_of_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By features, vector widths, and approximate cache sizes."""
    give(
        monkeypatch,
        tmp_path,
        cpu("avx2", [entry({"tile": [8]})]),
        cpu(
            "avx512",
            [entry({"tile": [16]})],
            vector_bytes=64,
            l2_bytes=1024 * KIB,
            needs=["avx512f"],
            lacks=[],
        ),
        cpu("sse", [entry({"tile": [4]})], vector_bytes=16, needs=[], lacks=["avx"]),
        cpu("neon", [entry({"tile": [2]})], vector_bytes=16, needs=["asimd"], lacks=[], architecture="aarch64"),
    )

    def found(target: str) -> list[str]:
        return [item.cpu.name for item in tuning.shipped(target)]

    assert [item.cpu.name for item in tuning.shipped()] == ["avx2", "avx512", "sse", "neon"]
    assert found("cpu -mcpu=haswell") == ["avx2"] == found("cpu -mcpu=znver3")
    assert found("cpu -mcpu=skylake-avx512") == ["avx512"] == found("cpu -mcpu=sapphirerapids")
    assert found("cpu -mcpu=x86-64") == ["sse"] == found("cpu -mcpu=x86-64-v2")
    assert found("cpu -mcpu=cortex-a72") == [] and found("cpu -mcpu=neoverse-n1") == []  # larger second caches
    assert found(f"cpu -mcpu=cortex-a72 -l2={256 * KIB}") == ["neon"]
    assert found(f"cpu -mcpu=haswell -l2={512 * KIB}") == ["avx2"]
    assert found(f"cpu -mcpu=haswell -l2={513 * KIB}") == [] == found(f"cpu -mcpu=haswell -l1={15 * KIB}")
    assert found("cpu -mcpu=haswell -vector-bytes=16") == []
    target = rx.Target("cpu -mcpu=haswell")
    assert shipped_for(Template("exp_tiled", "float64", {}), target) is None
    assert shipped_for(Template("exp_other", "float32", {}), target) is None
    item = shipped_for(Template("exp_tiled", "float32", {}), target)
    assert item is not None
    assert str(item) == "tile=[8] (avx2; 1.25 times as fast in 6 cases)"


def test_the_most_special_entry_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = entry({"tile": [4]}, window=[3, 3])
    give(monkeypatch, tmp_path, cpu("avx2", [entry({"tile": [8]}), small]))
    target = rx.Target("cpu -mcpu=haswell")
    for facts, wanted in (({"window": (3, 3), "strides": (1,)}, [4]), ({"window": (5, 5)}, [8]), ({}, [8])):
        item = shipped_for(Template("exp_tiled", "float32", facts), target)
        assert item is not None and item.values == {"tile": wanted}


def tiled(attrs: Any, outs: list[te.Tensor], target: Any) -> te.Schedule:
    (y,) = outs
    s = te.create_schedule(y.op)
    tile = tuning.get_config().define_split("tile", y.op.axis[0], candidates=[[16], [8], [4]])
    s[y].vectorize(tile.apply(s, y, y.op.axis[0])[1])
    return s


def tiled_by_a_user(attrs: Any, outs: list[te.Tensor], target: Any) -> te.Schedule:
    return tiled(attrs, outs, target)


tiled.__module__ = "relax_mlir.lowering.legalize.exponentials"


def strategy_of(schedule: Any) -> Any:
    """Twice the operand instead of its exponential: exact, on vectors of any length."""

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        made.add_implementation(
            lambda attrs, inputs, out: te.compute(
                inputs[0].shape, lambda i: inputs[0][i] * te.const(2, "float32"), "y"
            ),
            schedule,
            name="tiled",
            plevel=20,
        )
        return made

    return strategy


def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [x]):
        bb.emit_func_output(R.exp(x))
    return bb.get()


def tile() -> int:
    """The tile of the schedule that a call gets."""
    work = module()
    rx.transform.LegalizeOps().apply_(work)
    return next(size for size in (4, 8, 16) if f"T.vectorized(T.min({size}, " in work.script())


def test_schedules_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only the project's own schedules, unless they are disabled, or a database has better values."""
    give(monkeypatch, tmp_path, of_host(entry({"tile": [8]})))
    with temporary_strategy("exp", strategy_of(tiled)):
        assert tile() == 8
        with explain_strategy() as report:
            main = rx.build(module(), cache=False)["main"]
        given = np.random.default_rng(0).random(37, "float32")
        found = numpy(main(given))
        note = "tiled: comes with the package: tile=[8] (host; 1.25 times as fast in 6 cases)"
        assert note in report.render(200)
        with PassContext(config={"strategy.shipped_values": False}):
            assert tile() == 16 and tuning.shipped("cpu") == []
        monkeypatch.setenv("RELAX_MLIR_TUNED", "0")
        assert tile() == 16
        np.testing.assert_array_equal(numpy(rx.build(module(), cache=False)["main"](given)), found)
        np.testing.assert_array_equal(found, 2 * given)
        monkeypatch.setenv("RELAX_MLIR_TUNED", "1")
        (task,) = tuning.extract_tasks(module())
        time = (SizeTime(2.0, 2.0, 2.0, 1e-6),)
        database = Database()
        with apply_history_best(database):
            assert tile() == 8
        database.add(Record.of(task, [{"n": 1}], Measurement({"tile": [4]}, time)))
        with apply_history_best(database):
            assert tile() == 4
    with temporary_strategy("exp", strategy_of(tiled_by_a_user)):
        assert tile() == 16


def test_values_that_do_not_fit_are_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for values, reason in (
        ({"tile": [5]}, "the knob 'tile' is given [5], which is none of its 3 candidates"),
        ({"rows": 2}, "the schedule has no knob 'rows'"),
    ):
        give(monkeypatch, tmp_path, of_host(entry(values)))
        with temporary_strategy("exp", strategy_of(tiled)), explain_strategy() as report:
            assert tile() == 16
        text = report.render(300)
        assert f"tiled: what comes with the package does not fit, and is ignored: {reason}" in text


def test_keys_of_compilations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tuned values of the package are part of the key: of compiled modules, and of the compile engine."""
    source, engine = source_hash(module().mlir), CompileEngine()

    def key() -> str:
        engine.lower(module())
        return cache_key(source, rx.Target("cpu"))

    keys = [key()]
    for values in ({"tile": [8]}, {"tile": [4]}):
        give(monkeypatch, tmp_path, of_host(entry(values)))
        keys += [key()]
    monkeypatch.setenv("RELAX_MLIR_TUNED", "0")
    keys += [key()]
    monkeypatch.delenv("RELAX_MLIR_TUNED")
    assert len(set(keys)) == 4 and len(engine) == 4 and engine.hits == 0
    assert key() == keys[2] and engine.hits == 1
    with PassContext(config={"strategy.shipped_values": False}):
        assert key() not in keys


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no table of values that come with the package: Expecting"),
        ('{"version": 2, "classes": []}', "version 2, expected 1"),
        ('{"version": 1}', "there is no 'classes'"),
        ('{"version": 1, "classes": [{"name": "x"}]}', "there is no 'architecture'"),
        (json.dumps({"version": 1, "classes": [cpu("x", [{"template": "t"}])]}), "there is no 'dtype'"),
    ],
)
def test_broken_files(text: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    monkeypatch.setattr(tuned, "SHIPPED_FILE", path)
    with pytest.raises(ParseError, match=f"{path}: ") as error:
        tuning.shipped()
    assert message in str(error.value)


def test_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_TUNED", "yes")
    with pytest.raises(ArgumentError, match="RELAX_MLIR_TUNED is 'yes', expected 0 or 1"):
        tuning.shipped("cpu")


def test_what_is_shipped() -> None:
    """Each entry records the measurements, and an improvement larger than noise."""
    for item in tuning.shipped():
        assert set(item.cpu.measured) == {"cpu", "date", "command"}
        assert item.values and item.score >= tuning.measure.BETTER and item.cases >= 2


def grouped() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 6, "h", "w")))
    weight = rx.Var("weight", rx.Tensor((6, 3, 3, 3)))
    with bb.function("main", [x, weight]):
        bb.emit_func_output(R.nn.conv2d(x, weight, padding=(1, 1, 1, 1), groups=2))
    return bb.get()


def test_the_projects_own_schedules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All values of the knobs of a grouped convolution, as if they were in the package: equal bits."""
    (task,) = tuning.extract_tasks(grouped())
    assert task.template is not None
    name = task.template.name
    assert name == "nn_conv2d_grouped_direct" and task.template.facts["window"] == (3, 3)
    monkeypatch.setenv("RELAX_MLIR_TUNED", "0")
    plain = rx.build(grouped())["main"]
    monkeypatch.delenv("RELAX_MLIR_TUNED")
    draw = np.random.default_rng(0)
    cases = [
        (draw.standard_normal((n, 6, h, w), "float32"), draw.standard_normal((6, 3, 3, 3), "float32"))
        for n, h, w in ((1, 1, 1), (0, 4, 4), (2, 5, 33), (1, 16, 64), (1, 3, 7), (1, 70, 19))
    ]
    for knob, candidates in task.space().items():
        for value in candidates[1 : 3 if sweep.ALL else 2]:
            give(monkeypatch, tmp_path, of_host(entry({knob: value}, name, window=[3, 3], strides=[1, 1])))
            with explain_strategy() as report:
                tuned = rx.build(grouped(), cache=False)["main"]
            assert f"grouped direct: comes with the package: {knob}={value} (host;" in report.render(200)
            assert f"{knob}={value}" in str(tuning.shipped("cpu")[0])
            for x, weight in cases:
                np.testing.assert_array_equal(numpy(tuned(x, weight)), numpy(plain(x, weight)))
    give(monkeypatch, tmp_path, of_host(entry({"rows": [2]}, name, window=[5, 5])))
    with explain_strategy() as report:
        rx.transform.LegalizeOps()(grouped())
    assert "comes with the package" not in report.render(200)
