"""Tasks, measurements in child processes, and tuning: measurements are checked, and failures do not end a session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy
from relax_mlir import op as R
from relax_mlir import te, tuning
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.strategy import OpStrategy, temporary_strategy
from relax_mlir.tuning import (
    Database,
    LocalWorkers,
    Measurement,
    Task,
    apply_history_best,
    create_task,
    measure_worker,
    tune,
)
from relax_mlir.tuning.measure import MeasureProcess
from relax_mlir.tuning.search import features_of, schedule_features

pytestmark = pytest.mark.usefixtures("warm_measurers")

N = te.var("n")
X = te.placeholder((N, "m"), name="x")
Y = te.compute(X.shape, lambda i, j: te.exp(X[i, j]), "y")
QUICK: dict[str, Any] = {"rounds": 2, "least": 1e-5}


def tiled(outs: list[te.Tensor]) -> te.Schedule:
    config, (y,) = tuning.get_config(), outs
    s = te.create_schedule(y.op)
    config.define_split("tile", y.op.axis[1], candidates=[[16], [8], [4]])
    inner = config["tile"].apply(s, y, y.op.axis[1])[1]
    config.define_knob("vectors", [True, False])
    if config["vectors"].val:
        s[y].vectorize(inner)
    return s


@pytest.fixture(scope="module")
def task() -> Task:
    return create_task(tiled, [X, Y], "exponentials")


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalWorkers]:
    """A measuring process shared by most tests."""
    with LocalWorkers(**QUICK) as found:
        yield found


def test_tasks(task: Task) -> None:
    assert task.space() == {"tile": ([16], [8], [4]), "vectors": (True, False)}
    assert task.symbols == ["n", "m"]
    assert "T.min(4," in rx.IRModule.parse(task.scheduled({"tile": [4], "vectors": False})).script()
    assert task.key == create_task(tiled, [X, Y]).key
    shapes = [(a.shape, a.dtype, a.is_output) for a in task.arguments({"n": 3, "m": 5})]
    assert shapes == [((3, 5), "float32", False), ((3, 5), "float32", True)]
    drawn = task.draw_sizes(50, {"n": (4, 9)}, seed=1)
    assert len(drawn) == 50 and all(4 <= each["n"] <= 9 and 1 <= each["m"] <= 512 for each in drawn)
    assert len({each["m"] for each in drawn}) > 20
    large = task.draw_sizes(5, {"n": (1 << 20, 1 << 20), "m": (4, 1 << 20)})
    assert all(each["n"] == 1 << 20 and each["m"] == 4 for each in large)  # 16 MB at most, if bounds allow


def test_wrong_tasks(task: Task) -> None:
    with pytest.raises(ArgumentError, match="the schedule has no knobs"):
        create_task(lambda outs: te.create_schedule(outs[0].op), [X, Y])
    with pytest.raises(ArgumentError, match="what 'schedule' gives"):
        create_task(lambda outs: 3, [X, Y])  # type: ignore[arg-type, return-value]  # tested here
    for sizes, message in (
        ({"n": 3}, "'exponentials': n=3 gives no size for 'm'"),
        ({"n": 3, "m": -1}, "-1 of 'm' is no size"),
        ({"n": 3, "m": 2.5}, "2.5 of 'm' is no size"),
    ):
        with pytest.raises(ArgumentError, match=message):
            tune(task, [sizes])  # type: ignore[list-item]  # tested here
    with pytest.raises(ArgumentError, match="give a budget of seconds, or a number of trials"):
        tune(task, budget=None)
    with pytest.raises(ArgumentError, match="'sizes' is empty"):
        tune(task, [])
    with pytest.raises(UnknownNameError, match="evolution"):
        tune(task, search="evolution")
    with pytest.raises(ArgumentError, match="'count' is 0, expected at least 1"):
        LocalWorkers(count=0)


@pytest.mark.slow
def test_measurements(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are compared with the default computation, including results; each failure is reported."""
    wrong = create_task(tiled, [X, te.compute(X.shape, lambda i, j: te.exp(X[i, j]) * 1.1, "y")])
    with LocalWorkers(**QUICK) as workers:
        (process,) = workers._workers
        with workers:
            assert workers._workers == [process]
        assert process.process.poll() is None  # it ends with the outer block
        sizes = [{"n": 3, "m": 5}, {"n": 0, "m": 4}, {"n": 1, "m": 33}]
        good, bad = {"tile": [8], "vectors": True}, {"tile": [5], "vectors": True}
        found = list(workers.measure(task, sizes, [good, bad]))
        assert found[0].values == good and len(found[0].times) == 3 and found[0].score() > 0
        assert "is given [5], which is none of its 3 candidates" in found[1].error and found[1].score() == 0
        (differs,) = workers.measure(wrong, sizes, [good], baseline=task.plain())
        assert "ValueError: the results differ by up to" in differs.error
        assert differs.error.endswith("for (3, 5), (3, 5)")
        (broken,) = workers.measure(task, sizes, [good], baseline="module {")
        assert broken.error.startswith("ParseError")
        # A process that crashes loses only the candidate that it measures.
        ask = MeasureProcess.ask

        def killing(self: MeasureProcess, *args: Any) -> None:
            ask(self, *args)
            self.process.kill()
            monkeypatch.undo()

        monkeypatch.setattr(MeasureProcess, "ask", killing)
        process.process.kill()
        process.process.wait()
        idle = process.process
        workers.rounds = 10**9
        (dead,) = workers.measure(task, sizes, [good])
        assert "the process that measured it ended with signal 9" in dead.error
        assert process.process is not idle  # an idle process that exits is replaced before the next candidate
        workers.rounds = 2
        (alive,) = workers.measure(task, sizes, [good])
        assert not alive.error
        workers.timeout, workers.rounds = 0.1, 10**9
        (late,) = workers.measure(task, sizes, [good])
        assert late.error == "TimeoutError: it took longer than 0.1 s"
        workers.timeout, workers.rounds = 60.0, 2
        assert not next(iter(workers.measure(task, sizes, [good]))).error
    with pytest.raises(ArgumentError, match="use it in a `with` block"):
        next(workers.measure(task, sizes, [good]))


def test_two_workers(task: Task) -> None:
    with LocalWorkers(count=2, **QUICK) as workers:
        space = [{"tile": tile, "vectors": v} for tile in ([16], [8], [4]) for v in (True, False)]
        found = list(workers.measure(task, [{"n": 4, "m": 9}], space))
        # The late result of an abandoned request must not be taken for the next one.
        started = workers.measure(task, [{"n": 4, "m": 9}], space)
        next(started)
        started.close()  # type: ignore[attr-defined]  # a generator, declared an iterator
        later = list(workers.measure(task, [{"n": 1, "m": 1}, {"n": 2, "m": 1}], space[:2]))
        assert [len(m.times) for m in later] == [2, 2]
    assert sorted(map(str, (m.values for m in found))) == sorted(map(str, space))
    assert not any(m.error for m in found)


def test_tuning_is_resumed(task: Task, workers: LocalWorkers, tmp_path: Path) -> None:
    """Measurements in the file are not repeated; a search ends when everything has been measured."""
    path, seen = tmp_path / "tuned.json", []

    def progress(count: int, last: Measurement, best: float) -> None:
        seen.append((count, dict(last.values)))

    sizes = [{"n": 4, "m": 9}, {"n": 2, "m": 64}]
    common: dict[str, Any] = {"budget": None, "progress": progress, "workers": workers}
    first = tune(task, sizes, trials=2, database=Database(path), **common)
    measured = {str(record.measurement.values) for record in Database(path).records}
    assert first.measured == len(measured) == 2
    second = tune(task, sizes, trials=99, database=Database(path), **common)
    assert second.measured == 6 and [count for count, _ in seen] == [1, 2, 3, 4, 5, 6]
    assert len({str(values) for _, values in seen}) == 6 and second.failed == 0
    assert second.best in [values for _, values in seen]
    other = tune(task, sizes[:1], trials=1, database=Database(path), **common)
    assert other.measured == 1  # everything must be measured again on other sizes


def test_interrupts(task: Task, workers: LocalWorkers, tmp_path: Path) -> None:
    """Ctrl-C: measurements are kept, the best so far is the result; before the first measurement it is raised."""
    path, sizes = tmp_path / "tuned.json", [{"n": 4, "m": 9}]

    def interrupted(count: int, last: Measurement, best: float) -> None:
        if count == 3:
            raise KeyboardInterrupt

    found = tune(
        task,
        sizes,
        budget=None,
        trials=6,
        database=Database(path),
        workers=workers,
        progress=interrupted,
    )
    assert found.interrupted and found.measured == 3 and "(3 candidates, 0 failed, interrupted" in str(found)
    records = Database(path).records
    assert len(records) == 3 and found.score == max(r.measurement.score() for r in records)

    class Interrupted(LocalWorkers):
        def measure(self, *arguments: Any, **more: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(task, sizes, budget=None, trials=6, workers=Interrupted(**QUICK))
    with Interrupted(**QUICK):
        again = tune(task, sizes, trials=6, database=Database(path), workers=Interrupted(**QUICK))
    assert again.interrupted and again.measured == 3


def test_databases_of_other_schedules(task: Task, tmp_path: Path) -> None:
    """Records of the same computation with other knobs."""
    sizes = [{"n": 4, "m": 9}]
    times = (tuning.SizeTime(2.0, 2.0, 2.0, 1e-6),)
    for values, wrong in (
        ({"tile": [4]}, "vectors"),
        ({"tile": [4], "vectors": True, "rows": 3}, "rows"),
        ({"tile": [5], "vectors": True}, "tile"),
    ):
        path = tmp_path / f"{wrong}.json"
        record = tuning.Record(task.key, task.name, str(task.target), tuple(sizes), Measurement(values, times))
        Database(path).add(record)
        with pytest.raises(ArgumentError, match=f"{wrong}.json has a measurement of 'exponentials' with other"):
            tune(task, sizes, database=Database(path))


@pytest.mark.parametrize("search", ["random", "model", "optuna"])
def test_searches_by_name(task: Task, workers: LocalWorkers, search: str) -> None:
    found = tune(task, [{"n": 4, "m": 9}], trials=99, search=search, workers=workers)
    assert found.measured == 6 and found.failed == 0


def test_several_tasks(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has an equal share; the rest goes to the task that gains, and unused shares to the others."""
    other = create_task(tiled, [X, te.compute(X.shape, lambda i, j: te.exp(X[i, j]) + 1.0, "y")], "other")
    clock = [0.0]
    monkeypatch.setattr(sys.modules[tune.__module__], "monotonic", lambda: clock[0])

    class Fake(LocalWorkers):
        """A candidate takes ten seconds; those of the task "other" are faster each time."""

        def measure(self, task: Task, sizes: Any, candidates: Any, baseline: Any = None) -> Any:
            for values in candidates:
                clock[0] += 10
                ratio = 1 + clock[0] / 10 if task is other else 1.0
                yield Measurement(values, (tuning.SizeTime(ratio, ratio, ratio, 1.0 / ratio),))

    steps: list[tuning.TaskStep] = []
    sizes = [{"n": 2, "m": 3}, {"n": 4, "m": 3}]
    outcomes = tuning.tune_tasks([task, other], sizes, budget=80, workers=Fake(**QUICK), progress=steps.append)
    assert [step.number for step in steps] == [0, 0, 1, 1, 1, 1, 1, 1]
    assert [len(outcome.scores) for outcome in outcomes] == [2, 6]  # of 6 each
    assert outcomes[1].result is not None and outcomes[1].result.found_better and not outcomes[1].interrupted
    outcomes = tuning.tune_tasks([task, other], sizes, budget=10_000, workers=Fake(**QUICK))
    assert [len(outcome.scores) for outcome in outcomes] == [6, 6]
    outcomes = tuning.tune_tasks([task, other], sizes, budget=None, trials=4, workers=Fake(**QUICK))
    assert [len(outcome.scores) for outcome in outcomes] == [4, 4]
    with pytest.raises(ArgumentError, match="'tasks' is empty"):
        tuning.tune_tasks([])
    with pytest.raises(ArgumentError, match="give a budget of seconds, or a number of trials"):
        tuning.tune_tasks([task], budget=None)
    with pytest.raises(ArgumentError, match="'exponentials': n=3 gives no size for 'm'"):
        tuning.tune_tasks([task], [{"n": 3}])


def test_interrupts_of_several_tasks(task: Task, workers: LocalWorkers, tmp_path: Path) -> None:
    def interrupted(step: tuning.TaskStep) -> None:
        if step.measured == 2:
            raise KeyboardInterrupt

    other = create_task(tiled, [X, te.compute(X.shape, lambda i, j: te.exp(X[i, j]) + 1.0, "y")], "other")
    first, second = tuning.tune_tasks(
        [task, other],
        [{"n": 2, "m": 3}],
        budget=100,
        database=Database(tmp_path / "t.json"),
        workers=workers,
        progress=interrupted,
    )
    assert first.interrupted and first.result is not None and first.result.measured == 2
    assert second.result is None and "nothing was measured" in second.error
    assert len(Database(tmp_path / "t.json").records) == 2


def test_the_best_is_confirmed(task: Task) -> None:
    """A lucky measurement is repeated, and is no longer the best; so the next one is, and that is stored."""
    lucky, good = {"tile": [16], "vectors": True}, {"tile": [8], "vectors": False}
    seen: list[Any] = []

    class Fake(LocalWorkers):
        def measure(self, task: Task, sizes: Any, candidates: Any, baseline: Any = None) -> Any:
            for values in candidates:
                ratio = {str(lucky): 1.0 if values in seen else 3.0, str(good): 1.5}.get(str(values), 1.1)
                seen.append(values)
                yield Measurement(values, (tuning.SizeTime(ratio, ratio, ratio, 1e-6),))

    database = Database()
    sizes = [{"n": 2, "m": 3}]
    found = tune(task, sizes, trials=6, workers=Fake(**QUICK), database=database)
    assert found.best == good and found.score == 1.5 and found.measured == 6
    assert seen[6:] == [lucky, good] and len(database.records) == 8
    assert database.best() == {task.key: good}
    (known,) = database.known()[task.key]
    assert known.choice == good
    again = tune(task, sizes, trials=6, workers=Fake(**QUICK), database=database)
    assert again.best == good and len(seen) == 8  # all is known


def test_baselines_of_relax_ops(task: Task, workers: LocalWorkers) -> None:
    """The baseline may be a Relax module, whose results are the reference."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m")))
    with bb.function("main", [x]):
        bb.emit_func_output(R.exp(x))
    wrong = rx.BlockBuilder()
    with wrong.function("main", [x]):
        wrong.emit_func_output(R.sin(x))
    values = {"tile": [8], "vectors": True}
    sizes = [{"n": 3, "m": 5}, {"n": 0, "m": 4}, {"n": 1, "m": 33}]
    (good,) = workers.measure(task, sizes, [values], baseline=str(bb.get()))
    assert not good.error and len(good.times) == 3
    (bad,) = workers.measure(task, sizes, [values], baseline=str(wrong.get()))
    assert "ValueError: the results differ by up to" in bad.error


def test_features_of_schedules(task: Task) -> None:
    plain = features_of(task, {"tile": [8], "vectors": False})
    vectors = features_of(task, {"tile": [8], "vectors": True})
    assert plain["loops_serial"] == 3 and plain["length_serial"] == 3 and plain["loops_vectorized"] == 0
    assert vectors["loops_serial"] == 2 and vectors["length_vectorized"] == 3
    assert plain.keys() == vectors.keys()
    assert features_of(task, {"tile": [5], "vectors": True}) == {}
    a = te.placeholder(("n", "m"), name="a")
    b = te.compute(a.shape, lambda i, j: a[i, j] * 2.0, "b")
    c = te.compute(a.shape, lambda i, j: b[i, j] + 1.0, "c")
    d = te.compute(a.shape, lambda i, j: c[i, j] - 1.0, "d")
    s = te.create_schedule(d.op)
    s[b].compute_inline()
    s[c].compute_at(s[d], d.op.axis[0])
    s[d].parallel(d.op.axis[0])
    found = schedule_features(s)
    assert (found["inlined"], found["attached"], found["depth"], found["loops_parallel"]) == (1, 1, 1, 1)


def test_results_say_what_was_found(task: Task) -> None:
    def result(score: float) -> tuning.TuningResult:
        return tuning.TuningResult(task, ({"n": 3},), {"tile": [8]}, score, 5, 1, Measurement({}))

    assert not result(1.01).found_better and result(1.5).found_better
    assert str(result(1.01)) == (
        "exponentials: nothing better was found (5 candidates, 1 failed; the best is 1.01 times as fast)"
    )
    assert str(result(1.5)) == "exponentials: 1.50 times as fast (5 candidates, 1 failed): tile=[8]"


def test_tasks_of_a_module(tmp_path: Path) -> None:
    """Schedules of strategies are tasks, each computation once; the results are used when the module is built."""

    def compute(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
        (x,) = inputs
        return te.compute(x.shape, lambda i, j: te.exp(x[i, j]), "y")

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        made.add_implementation(compute, lambda attrs, outs, target: tiled(outs), name="tiled", plevel=20)
        return made

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m")))
    with bb.function("main", [x], bounds={"n": (2, 30)}):
        bb.emit_func_output(R.exp(R.negative(R.exp(x))))
    module = bb.get()
    with temporary_strategy("exp", strategy):
        (task,) = tuning.extract_tasks(module)
        assert task.bounds == {"n": (2, 30)}
        drawn = task.draw_sizes(20, seed=3)
        assert all(2 <= each["n"] <= 30 and 1 <= each["m"] <= 512 for each in drawn)
        assert task.name == "exp_tiled" and task.space()["tile"] == ([16], [8], [4])
        database = Database(tmp_path / "tuned.json")
        times = (tuning.SizeTime(2.0, 2.0, 2.0, 1e-6),)
        values = {"tile": [4], "vectors": True}
        database.add(tuning.Record(task.key, task.name, "cpu", ({"n": 1},), Measurement(values, times)))
        for history, wanted in ((None, 16), (database, 4), (tmp_path / "tuned.json", 4)):
            work = module.clone()
            with apply_history_best(Database() if history is None else history):
                rx.transform.LegalizeOps().apply_(work)
            assert f"T.vectorized(T.min({wanted}, " in work.script()
        with apply_history_best(database):
            main = rx.build(module)["main"]
        given = np.random.default_rng(0).random((3, 7), "float32")
        np.testing.assert_allclose(numpy(main(given)), np.exp(-np.exp(given)), rtol=1e-5)
        broken = Database()
        wrong = Measurement({"tile": [4], "rows": 3}, times)
        broken.add(tuning.Record(task.key, task.name, "cpu", ({"n": 1},), wrong))
        with (
            pytest.raises(ArgumentError, match="the schedule has no knob 'rows'"),
            apply_history_best(broken),
        ):
            rx.transform.LegalizeOps()(module.clone())


def test_disturbances_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fifth call of the clock's owner takes a hundred times as long: the ratio is that of the other calls."""
    clock, calls = [0.0], [0]

    def call(seconds: float) -> None:
        calls[0] += 1
        clock[0] += seconds * (100 if calls[0] % 5 == 0 else 1)

    monkeypatch.setattr(measure_worker, "perf_counter", lambda: clock[0])
    both = partial(call, 3e-3), partial(call, 1e-3)
    found = measure_worker._compare(*both, rounds=40, least=1e-4)
    assert found["ratio"] == pytest.approx(3) and found["seconds"] == pytest.approx(1e-3)
    assert found["low"] <= 3 <= found["high"]
    calls[0] = 0
    measure_worker._compare(partial(call, 1.0), partial(call, 2.0), rounds=40, least=1e-4)
    assert calls[0] == 2 * (2 + measure_worker.MIN_ROUNDS)  # long calls have few rounds
    assert measure_worker._compare(*both, rounds=1, least=1e-9)["low"] > 0
