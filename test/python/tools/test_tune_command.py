"""``relax-tune`` as a command: measurements, files, output and errors; and the tools that use its results."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import forked_measuring
import numpy as np
import pytest
import warm_process
from distributed import LocalCluster
from relax_mlir import te
from relax_mlir.error import ParseError
from relax_mlir.lowering.strategy.tuned import SizeRow, SizeTable
from relax_mlir.target import Target
from relax_mlir.tools import tune_command, tune_driver
from relax_mlir.tools.tune_driver import read_seconds
from relax_mlir.tuning import Database, Measurement, SizeTime, Task, TaskOutcome, TuningResult
from relax_mlir.tuning.database import FoundTable
from relax_mlir.tuning.search import SEARCHES
from terminals import run_on_terminal

MODEL = """
func.func @main(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
    attributes {relax.symbol_bounds = {m = [1, 64]}} {
  %y = "relax.exp"(%x) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  return %y : tensor<?x?xf32, #relax.shape<["n", "m"]>>
}
"""
STRATEGIES = """
from relax_mlir import te, tuning
from relax_mlir.strategy import OpStrategy, register_strategy


def schedule(attrs, outs, target):
    config, (y,) = tuning.get_config(), outs
    s = te.create_schedule(y.op)
    config.define_knob("tile", [16, 8, 4])
    config.define_knob("vectors", [False, True])
    inner = s[y].split(y.op.axis[1], factor=config["tile"].val)[1]
    if config["vectors"].val:
        s[y].vectorize(inner)
    return s


@register_strategy("relax.exp")
def exponential(attrs, inputs, out_type, target):
    strategy = OpStrategy()
    strategy.add_implementation(
        lambda attrs, inputs, out: te.compute(out.shape, lambda i, j: te.exp(inputs[0][i, j]), "y"),
        schedule,
        name="tiled",
        plevel=20,
    )
    return strategy
"""
TASKS = """
from relax_mlir import te, tuning

x = te.placeholder((7, "k"), name="x")
y = te.compute(x.shape, lambda i, j: x[i, j] * 2.0, "y")


def schedule(outs):
    s = te.create_schedule(outs[0].op)
    tuning.get_config().define_split("tile", outs[0].op.axis[1], candidates=[[8], [4]])
    tuning.get_config()["tile"].apply(s, outs[0], outs[0].op.axis[1])
    return s


doubled = tuning.create_task(schedule, [x, y], "doubled")
again = doubled
other = tuning.create_task(schedule, [x, te.compute(x.shape, lambda i, j: x[i, j] * 3.0, "z")], "tripled")
"""
SIZES = ("--sizes", "n=3,m=5", "--sizes", "n=8,m=16")


def tool(name: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    done = warm_process.run(["-c", forked_measuring.CODE, f"relax_mlir.tools.{name}", *arguments])
    assert done.returncode == code, done.stdout.decode() + done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


def relax_tune(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    return tool("tune_command", *arguments, code=code)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("tuned")
    (found / "model.mlir").write_text(MODEL)
    (found / "mine.py").write_text(STRATEGIES)
    (found / "tasks.py").write_text(TASKS)
    (found / "both.py").write_text(STRATEGIES + MODULE)
    (found / "broken.json").write_text('{"version": 7}\n')
    (found / "raises.py").write_text("1 / 0\n")
    (found / "exits.py").write_text("raise SystemExit(0)\n")
    (found / "x.npy").write_bytes(b"")
    return found


MODULE = """
from relax_mlir.script import ir as I, relax as R


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 16), "float32")):
        return R.exp(R.negative(R.exp(x)))
"""


def records_of(path: Path) -> list[dict[str, Any]]:
    """The last measurement of each candidate."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return list({(r["task"], r["target"], str(r["values"])): r for r in records}.values())


@pytest.mark.usefixtures("warm_measurers")
@pytest.mark.slow
def test_many_machines(folder: Path) -> None:
    """With `--dask`, the workers of a cluster measure."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp://"
    ) as cluster:
        address = cluster.scheduler_address
        out = folder / "dask.json"
        common = ("--trials", "2", "--out", str(out), *("--sizes", "k=5"), "--timeout", "300s")
        relax_tune(str(folder / "tasks.py"), "--dask", address, *common)
    records = Database(out).records
    assert len({(r.name, str(r.measurement.values)) for r in records}) == 4
    assert not any(r.measurement.error for r in records)
    done = relax_tune(str(folder / "tasks.py"), "--dask", "nowhere", *common, code=1)
    assert b"DaskWorkers: no scheduler at 'nowhere'" in done.stderr


def test_what_is_measured_and_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends after its trials; the next one continues, and ends when everything has been measured."""
    monkeypatch.chdir(folder)
    out = tmp_path / "tuned.json"
    options = ["model.mlir", "--strategies", "mine.py", "--out", str(out), *SIZES]
    first = relax_tune(*options, "--trials", "2")
    assert first.stderr == b""  # no bar in a pipe
    lines = first.stdout.decode().splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.split()[:1] == ["exp_tiled"]).split()
    assert row[-2:] == ["2", "0"]
    assert [record["sizes"] for record in records_of(out)] == [[{"n": 3, "m": 5}, {"n": 8, "m": 16}]] * 2
    database = Database(out)
    other = replace(database.records[0], target="cpu -mcpu=haswell")
    database.add(other)
    more = ["--budget", "1h", "--search", "random", "--workers", "2", "--timeout", "2m"]
    picture = tmp_path / "best.svg"
    told = relax_tune(*options, *more, "--plot", str(picture)).stderr.decode()
    assert told == (
        f"relax-tune: note: {out}: 1 measurements for other targets are ignored ('cpu -mcpu=haswell')\n"
        f"plot: {picture}\n"
    )
    assert picture.read_bytes().startswith(b"<?xml")
    records = [record for record in records_of(out) if record["target"] != other.target]
    assert sorted((r["values"]["tile"], r["values"]["vectors"]) for r in records) == [
        (tile, vectors) for tile in (4, 8, 16) for vectors in (False, True)
    ]
    assert not any(record["error"] for record in records)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.svg", "tuned.json"]


@pytest.mark.slow
def test_tasks_of_python_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that are globals, each once; those of modules; and the output of --list."""
    monkeypatch.chdir(folder)
    listed = relax_tune("tasks.py", "--list").stdout.decode()
    assert max(map(len, listed.splitlines())) <= 80
    rows = [line.split() for line in listed.splitlines()[3:] if line.strip()]
    assert [row[0] for row in rows] == ["doubled", "tripled"] and [row[-1] for row in rows] == ["2", "2"]
    assert "(7, k) float32" in listed
    assert "tripled" not in relax_tune("tasks.py:doubled", "--list").stdout.decode()
    for name in ("both.py", "both.py:Model"):
        assert relax_tune(name, "--list").stdout.decode().count("exp_tiled") == 1
    out = tmp_path / "t.json"
    picture = tmp_path / "best.png"
    options = ["--trials", "1", "--sizes", "k=5", "--objective", "worst", "--seed", "3"]
    done = relax_tune("tasks.py", "-o", str(out), *options, "--plot", str(picture))
    assert {record["name"] for record in records_of(out)} == {"doubled", "tripled"}
    rows = [line.split() for line in done.stdout.decode().splitlines()[3:] if line.strip()]
    assert [(row[0], row[-2:]) for row in rows] == [("doubled", ["1", "0"]), ("tripled", ["1", "0"])]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_nothing_could_be_measured(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate that takes too long fails; the task is reported, the table shows the others."""
    monkeypatch.chdir(folder)
    out = tmp_path / "t.json"
    done = relax_tune(
        "tasks.py:doubled", "-o", str(out), "--trials", "1", "--sizes", "k=5", "--timeout", "0.01s", code=1
    )
    assert "none could be" in done.stdout.decode()
    assert "error: tune: 'doubled': no candidate could be measured: TimeoutError" in done.stderr.decode()
    assert [record["error"] for record in records_of(out)] == ["TimeoutError: it took longer than 0.01 s"]


@pytest.mark.slow
def test_on_a_terminal(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A progress bar; and Ctrl-C, after which the table has the best result so far, and the file all measurements."""
    monkeypatch.chdir(folder)
    command = ["-m", "relax_mlir.tools.tune_command", "model.mlir", "--strategies", "mine.py"]
    out = tmp_path / "tuned.json"
    code, text = run_on_terminal(
        [*command, "--out", str(out), "--budget", "1h", "--sizes", "n=900,m=64"],
        interrupt_when=lambda _: out.exists(),
    )
    assert "━" in text and "1 tried" in text
    assert code == 130 and "exp_tiled" in text.splitlines()[-2], text
    records = records_of(out)
    assert 1 <= len(records) < 6 and not any(record["error"] for record in records)
    assert [path.name for path in tmp_path.iterdir()] == ["tuned.json"]


@pytest.fixture(scope="module")
def tuned(folder: Path) -> Path:
    """A file in which tiles of 4 are the best on this machine."""
    path = folder / "known.json"
    options = [str(folder / "both.py"), "-o", str(path), "--trials", "1", "--sizes", "n=2"]
    relax_tune(*options)
    record = Database(path).records[-1]
    times = (SizeTime(9.0, 9.0, 9.0, 1e-6),)
    best = Measurement({"tile": 4, "vectors": True}, times)
    Database(path).add(replace(record, measurement=best))
    return path


@pytest.mark.slow
def test_schedules_are_tuned(folder: Path, tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """relax-compile, relax-run and relax-opt use the best values for schedules; for other targets, the default ones."""
    monkeypatch.chdir(folder)
    command = ["both.py", "--emit=calls"]
    texts = {}
    for name, options in {
        "plain": [],
        "tuned": ["--tuned", str(tuned)],
        "other": ["--tuned", str(tuned), "--target", "cpu -mcpu=haswell"],
    }.items():
        done = tool("compile_command", *command, *options)
        texts[name] = done.stdout.decode()
        assert (b" measurements for other targets are ignored" in done.stderr) == (name == "other")
    assert 'relax.loop = "vectorized"' in texts["tuned"] and 'relax.loop = "vectorized"' not in texts["plain"]
    assert texts["other"] == texts["plain"] or 'relax.loop = "vectorized"' not in texts["other"]
    library = tmp_path / "model.so"
    tool("compile_command", "both.py", "--tuned", str(tuned), "-o", str(library))
    x = np.random.default_rng(0).random((3, 16), "f4")
    np.save(tmp_path / "x.npy", x)
    for model in ("both.py", str(library)):
        options = ["--tuned", str(tuned)] if model == "both.py" else []
        result = tmp_path / "y.npz"
        tool("run_command", model, "--input", str(tmp_path / "x.npy"), "-o", str(result), *options)
        np.testing.assert_allclose(np.load(result)["result"], np.exp(-np.exp(x)), rtol=1e-5)
    mlir = tmp_path / "model.mlir"
    mlir.write_text(tool("compile_command", "both.py", "--emit=relax").stdout.decode())
    options = ["--load-pass-plugin=mine.py", "--relax-to-calls"]
    assert b"vectorized" not in tool("opt", str(mlir), *options).stdout
    assert b"vectorized" in tool("opt", str(mlir), *options, f"--tuned={tuned}").stdout
    done = tool("run_command", str(library), "--tuned", str(tuned), code=1)
    assert b"--tuned is for modules that are compiled now" in done.stderr


@pytest.mark.slow
def test_strategies_of_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--strategies of relax-compile and relax-run; the file may fail."""
    monkeypatch.chdir(folder)
    command = ["model.mlir", "--emit=calls"]
    assert b"@exp_tiled" not in tool("compile_command", *command).stdout
    assert b"@exp_tiled" in tool("compile_command", *command, "--strategies", "mine.py").stdout
    x = np.random.default_rng(0).random((3, 5), "f4")
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "y.npz", result=np.exp(x))
    options = ["--input", str(tmp_path / "x.npy"), "--compare", str(tmp_path / "y.npz")]
    assert b"close" in tool("run_command", "model.mlir", *options, "--strategies", "mine.py").stdout
    for name in ("compile_command", "run_command"):
        done = tool(name, *command[: 2 if name == "compile_command" else 1], "--strategies", "raises.py", code=1)
        assert b"plugin 'raises.py' fails" in done.stderr and b"ZeroDivisionError" in done.stderr


def test_other_schedules(folder: Path, tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that the module does not have are ignored; knobs that the schedule does not have are an error."""
    monkeypatch.chdir(folder)
    for key, values in (("of another module", {"rows": 3}), (Database(tuned).records[0].task, {"rows": 3})):
        path = tmp_path / "t.json"
        path.write_text(tuned.read_text())
        database = Database(path)
        record = database.records[-1]
        times = (SizeTime(99.0, 99.0, 99.0, 1e-6),)
        database.add(replace(record, task=key, measurement=Measurement(values, times)))
        is_ours = key == record.task
        done = tool("compile_command", "both.py", "--emit=calls", "--tuned", str(path), code=int(is_ours))
        assert (b"the schedule has no knob 'rows'" in done.stderr) == is_ours
        if is_ours:
            done = relax_tune("both.py", "-o", str(path), "--trials", "9", "--sizes", "n=2", code=1)
            assert b"other values of the knob 'rows' than the schedule has" in done.stderr


MINE = ("model.mlir", "--strategies", "mine.py")
OUT = ("--out", "new.json")
WRONG = {
    ("model.mlir",): "give a file for what is measured: --out tuned.json",
    ("nothing.mlir", *OUT): "cannot open input file 'nothing.mlir': there is no such file",
    ("nothing.py", *OUT): "cannot open input file 'nothing.py': there is no such file",
    ("raises.py", *OUT): "raises.py: the file raises ZeroDivisionError",
    ("mine.py", *OUT): "mine.py: defines no module",
    ("tasks.py:triple", *OUT): "unknown module of tasks.py 'triple'",
    ("model.mlir", *OUT): "model.mlir: there is nothing to tune. A task is a schedule with knobs",
    (*MINE, "--out", "no/t.json"): "cannot open output file 'no/t.json': there is no folder 'no'",
    (*MINE, "--out", "broken.json"): "broken.json:1: version 7, expected 2: it is of another relax-mlir",
    (*MINE, "--strategies", "no.py", *OUT): "cannot read plugin 'no.py': No such file or directory",
    (*MINE, "--strategies", "raises.py", *OUT): "plugin 'raises.py' fails",
    (
        *MINE,
        *OUT,
        "--budget",
        "10x",
    ): "--budget: '10x' is no time above 0: expected one like 90s, 10m or 1h30m",
    (*MINE, *OUT, "--budget", "0s"): "--budget: '0s' is no time above 0",
    (*MINE, *OUT, "--budget", ""): "--budget: '' is no time above 0",
    (*MINE, *OUT, "--timeout", "soon"): "--timeout: 'soon' is no time above 0",
    (*MINE, *OUT, "--trials", "0"): "--trials: 0, expected a number from 1",
    (*MINE, *OUT, "--seed", "-1"): "--seed: -1, expected a number from 0",
    ("exits.py", *OUT): "exits.py: the file raises SystemExit: 0",
    (*MINE, *OUT, "--workers", "0"): "--workers: 0, expected a number from 1",
    (*MINE, *OUT, "--sizes", "n=3"): "--sizes n=3: task 'exp_tiled' has a symbol 'm' too: give its size",
    (*MINE, *OUT, "--sizes", "n=3,m=65"): "'m' of task 'exp_tiled' is outside of its bounds, from 1 to 64",
    (*MINE, *OUT, "--sizes", "n=3,q=4"): "unknown symbol 'q'",
    (*MINE, *OUT, "--sizes", "n=-3"): "--sizes: 'n=-3', expected symbols with sizes, as n=1,m=7",
    (
        *MINE,
        *OUT,
        "--sizes",
        "n=3,n=4",
    ): "--sizes: 'n=3,n=4' gives 'n' twice: repeat the option for other sizes",
    (*MINE, *OUT, "--sizes", ","): "--sizes: ',', expected symbols with sizes, as n=1,m=7",
    (*MINE, *OUT, "--buckets", "9"): "a table of sizes has 1 to 4 configurations, not 9",
    (*MINE, *OUT, "--plot", "p.pdf"): "--plot: 'p.pdf' does not end with .svg or .png",
    (*MINE, *OUT, "--target", "gpu"): "gpu",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_mistakes(folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = relax_tune(*arguments, code=1)
    assert done.stderr.startswith(b"relax-tune: error: ")
    assert WRONG[arguments] in done.stderr.decode()
    assert [path for path in sorted(folder.iterdir()) if path not in before and path.is_file()] == []


def test_files_of_other_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name, tuned, message in (
        (
            "compile_command",
            "absent.json",
            "cannot open the measurements of tuning: there is no file 'absent.json'",
        ),
        (
            "compile_command",
            "broken.json",
            "broken.json:1: version 7, expected 2: it is of another relax-mlir",
        ),
        ("run_command", "broken.json", "broken.json:1: version 7, expected 2: it is of another relax-mlir"),
        ("opt", "absent.json", "there is no file 'absent.json'"),
    ):
        options = ["--emit=calls"] if name == "compile_command" else []
        done = tool(name, "model.mlir", "--tuned", tuned, *options, code=1)
        assert message in done.stderr.decode()


def test_times() -> None:
    for text, seconds in (("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("2.5m", 150), ("7", 7)):
        assert read_seconds("--budget", text) == seconds
    for text in ("m", "-3s", "3s4m", "1e3", "inf", "s"):
        with pytest.raises(ParseError, match="is no time above 0"):
            read_seconds("--budget", text)


def test_help_and_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    text = relax_tune("--help").stdout.decode()
    assert max(map(len, text.splitlines())) <= 80
    assert sorted(tune_command.SEARCHES) == sorted(SEARCHES)
    assert relax_tune("--version").stdout.startswith(b"relax-tune ")
    assert b"invalid choice: 'evolution'" in relax_tune("m.py", "--search", "evolution", code=2).stderr
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Exception, match=r"--plot needs matplotlib: pip install 'relax-mlir\[plot\]'"):
        tune_driver.require_plot(Path("p.svg"))


def test_tables_of_sizes_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    x = te.placeholder(("n",), name="x")
    y = te.compute(x.shape, lambda i: x[i] * 2.0, "y")
    task = Task("doubled", "key", (x,), (y,), lambda: te.create_schedule(y.op), Target())
    measured = Measurement({"tile": 8}, (SizeTime(1.5, 1.5, 1.5, 1e-6),))
    rows = (SizeRow(("n",), 64, {"tile": 4}),)
    by_size = FoundTable(SizeTable(rows, {"tile": 8}), 2.25, 1.5)
    result = TuningResult(task, ({"n": 3},), {"tile": 8}, 1.5, 5, 1, measured, by_size=by_size)
    worse = TuningResult(task, ({"n": 3},), {"tile": 8}, 1.01, 3, 0, measured)
    outcomes = [
        TaskOutcome(task, result, "", (1.0, 0.0, 1.5)),
        TaskOutcome(task, worse, "", (1.0, 1.01)),
        TaskOutcome(task, None, "it failed", (0.0,)),
    ]
    tune_driver.show_outcomes(outcomes)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines() if "doubled" in line or "otherwise" in line]
    assert lines[0].split() == ["doubled", "where", "n", "<=", "64:", "tile=4", "2.25", "5", "1"]
    assert lines[1].split() == ["otherwise:", "tile=8"]
    assert lines[2].split() == ["doubled", *["nothing", "better", "was", "found"], "1.01", "3", "0"]
    assert lines[3].split() == ["doubled", *["none", "could", "be", "measured"], "-", "1", "1"]
