"""Tables of sizes, derived from measurements and stored in files, and prim funcs that branch on sizes."""

from __future__ import annotations

import json
import random
from math import exp, log, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy
from relax_mlir import op as R
from relax_mlir import te, tuning
from relax_mlir.analysis import structural_equal
from relax_mlir.error import ArgumentError
from relax_mlir.script import parse
from relax_mlir.strategy import OpStrategy, explain_strategy, temporary_strategy
from relax_mlir.tuning import (
    Database,
    FoundTable,
    LocalWorkers,
    Measurement,
    SizeRow,
    SizeTable,
    SizeTime,
    TableRecord,
    Task,
    apply_history_best,
    create_task,
    find_table,
)

pytestmark = pytest.mark.usefixtures("warm_measurers")

X = te.placeholder(("n", "m"), name="x")
Z = te.compute(X.shape, lambda i, j: te.exp(X[i, j]), "z")
K = te.reduce_axis((0, X.shape[1]), "k")
Y = te.compute((X.shape[0],), lambda i: te.sum(Z[i, K], axis=K), "y")
KINDS = ["plain", "inside", "inlined"]


def schedule(outs: list[te.Tensor]) -> te.Schedule:
    """Sums of exponentials: computed row by row in a separate buffer, or where they are read."""
    (y,) = outs
    config = tuning.get_config()
    kind = config.define_knob("kind", KINDS).val
    lanes = config.define_knob("lanes", [4, 8]).val
    s = te.create_schedule(y.op)
    (z,) = y.op.input_tensors
    if kind == "inside":
        s[z].compute_at(s[y], y.op.axis[0])
        s[z].vectorize(s[z].split(z.op.axis[1], factor=lanes)[1])
    elif kind == "inlined":
        s[z].compute_inline()
        s[y].parallel(y.op.axis[0])
    return s


def values(kind: str, lanes: int = 4) -> dict[str, Any]:
    return {"kind": kind, "lanes": lanes}


TABLE = SizeTable(
    (SizeRow(("n",), 4, values("plain")), SizeRow(("n", "m"), 200, values("inside", 8))), values("inlined")
)


@pytest.fixture(scope="module")
def task() -> Task:
    return create_task(schedule, [X, Y], "sums")


def measured(ratios: dict[str, list[float]]) -> list[Measurement]:
    return [
        Measurement(values(kind), tuple(SizeTime(ratio, ratio, ratio, 1e-6) for ratio in of))
        for kind, of in ratios.items()
    ]


SIZES = [{"n": n, "m": m} for n, m in ((2, 500), (3, 10), (10, 10), (20, 9), (40, 30), (100, 100))]


def test_tables_are_found() -> None:
    """A threshold on a symbol, one on a product; the conditions separate the measured sizes."""
    found = find_table(
        measured({"plain": [3, 3, 1, 1, 1, 1], "inside": [1, 1, 2, 2, 0.5, 0.5], "inlined": [0.5, 0.5, 1, 1, 4, 4]}),
        SIZES,
    )
    assert [row.values["kind"] for row in found.table.rows] == ["plain", "inside"]
    assert found.table.otherwise == values("inlined") and found.is_better
    assert [found.table.of(each)["kind"] for each in SIZES] == ["plain"] * 2 + ["inside"] * 2 + ["inlined"] * 2
    assert found.score == pytest.approx((3 * 3 * 2 * 2 * 4 * 4) ** (1 / 6))
    assert found.single == pytest.approx((3 * 3) ** (1 / 6))
    assert str(found).splitlines()[0] == "2.88 times as fast by size, 1.44 by one configuration"
    assert str(found).splitlines()[1:] == [
        "  where n <= 5: kind=plain, lanes=4",
        "  where n <= 28: kind=inside, lanes=4",
        "  otherwise: kind=inlined, lanes=4",
    ]


def test_products_where_no_symbol_separates() -> None:
    sizes = [
        {"n": 1, "m": 100},
        {"n": 100, "m": 1},
        {"n": 50, "m": 60},
        {"n": 100, "m": 100},
        {"n": 60, "m": 50},
    ]
    found = find_table(measured({"plain": [2, 2, 1, 1, 1], "inside": [1, 1, 2, 2, 2]}), sizes)
    (row,) = found.table.rows
    assert row.symbols == ("n", "m") and row.values == values("plain") and 100 <= row.at_most < 3000


def test_noise_makes_no_table() -> None:
    ratios = {"plain": [1.02, 1, 1.02, 1, 1, 1], "inside": [1, 1.02, 1, 1.02, 1.01, 1]}
    found = find_table(measured(ratios), SIZES)
    assert not found.table.rows and not found.is_better and found.score == found.single
    failed = Measurement(values("inlined"), (), "it failed")
    assert find_table([failed, *measured(ratios)], SIZES) == found
    one = find_table(measured({"plain": [2.0], "inside": [3.0]}), SIZES[:1])
    assert not one.table.rows and one.table.otherwise == values("inside")


def test_limits() -> None:
    ratios = {
        "plain": [3, 3, 1, 1, 1, 1],
        "inside": [1, 1, 2, 2, 0.5, 0.5],
        "inlined": [0.5, 0.5, 1, 1, 4, 4],
    }
    assert len(find_table(measured(ratios), SIZES, limit=2).table.rows) == 1
    assert not find_table(measured(ratios), SIZES, limit=1).table.rows
    for limit in (0, 5):
        with pytest.raises(ArgumentError, match=f"a table of sizes has 1 to 4 configurations, not {limit}"):
            find_table(measured(ratios), SIZES, limit=limit)
    with pytest.raises(ArgumentError, match="no candidate was measured for these 5 sizes"):
        find_table(measured(ratios), SIZES[:5])


def best_by_force(ratios: list[list[float]], sizes: list[dict[str, int]], objective: str, count: int) -> float:
    """The best score of a list of up to `count` configurations with thresholds, by exhaustive search."""
    cuts = []
    for names in (("n",), ("m",), ("n", "m")):
        product = [prod(each[name] for name in names) for each in sizes]
        cuts += [{i for i, v in enumerate(product) if v <= at} for at in set(product)]

    def best(left: frozenset[int], count: int) -> float:
        merge = min if objective == "worst" else sum
        found = max(merge(log(row[i]) for i in left) for row in ratios)
        for cut in cuts if count > 1 else []:
            first, rest = left & cut, left - cut
            if first and rest:
                one = max(merge(log(row[i]) for i in first) for row in ratios)
                found = max(found, merge([one, best(rest, count - 1)]))
        return found

    value = best(frozenset(range(len(sizes))), count)
    return exp(value if objective == "worst" else value / len(sizes))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("objective", ["mean", "worst"])
def test_no_table_is_better(seed: int, objective: Any) -> None:
    """Random measurements: a table has the score of its configurations, and no list is better by more than noise."""
    rng = random.Random(seed)
    sizes = [{"n": rng.randint(0, 60), "m": rng.randint(0, 60)} for _ in range(rng.randint(1, 5))]
    names = [values(kind, lanes) for kind in KINDS for lanes in (4, 8)]
    ratios = [[exp(rng.gauss(0, 0.3)) for _ in sizes] for _ in names]
    given = [
        Measurement(name, tuple(SizeTime(r, r, r, 1e-6) for r in row)) for name, row in zip(names, ratios, strict=True)
    ]
    found = find_table(given, sizes, objective)
    own = [log(ratios[names.index(dict(found.table.of(each)))][i]) for i, each in enumerate(sizes)]
    assert found.score == pytest.approx(exp(min(own) if objective == "worst" else sum(own) / len(own)))
    assert found.score * 1.03**3 >= best_by_force(ratios, sizes, objective, 4) - 1e-9


def wanted(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.exp(x.astype("float64")).sum(axis=1)


def at_thresholds(rng: random.Random) -> list[tuple[int, int]]:
    """Sizes around the thresholds of `TABLE`, small ones, and some at random."""
    found = [(n, m) for n in (0, 1, 3, 4, 5, 6) for m in (0, 1, 33, 40, 41, 50)]
    found += [(8, 25), (8, 24), (8, 26), (20, 10), (20, 11), (201, 1), (200, 1), (199, 1)]
    return found + [(rng.randint(0, 70), rng.randint(0, 70)) for _ in range(40)]


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_prim_funcs_that_branch(task: Task, mode: Any) -> None:
    """A schedule outside of strategies: one prim func with the loops of three schedules, correct for every size."""
    lowered = task.lower(TABLE, "sums")
    text = lowered.script()
    assert text.count("def ") == 1 and "if n <= 4:" in text and "m * n <= 200" in text
    again = rx.IRModule.parse(str(lowered))
    assert structural_equal(parse(again.script()), parse(text))  # MLIR text has no names of loops
    if mode == "native":
        built = rx.build(lowered)["sums"]
    rng = random.Random(1)
    draw = np.random.default_rng(0)
    if mode == "bytecode":
        bb = rx.BlockBuilder(lowered.clone())
        x = rx.Var("x", rx.Tensor(("n", "m")))
        with bb.function("main", [x]):
            bb.emit_func_output(bb.call_tir("sums", [x], rx.Tensor(("n",))))
        main = rx.build(bb.get(), exec_mode="bytecode")["main"]
    for n, m in at_thresholds(rng):
        given = draw.random((n, m), "float32")
        if mode == "native":
            out = np.full(n, np.nan, "float32")
            built(given, out)
        else:
            out = numpy(main(given))
        np.testing.assert_allclose(out, wanted(given), rtol=1e-5)


def random_table(rng: random.Random) -> SizeTable:
    """One to three rows on symbols and products, in any order, some of them unreachable."""
    rows = []
    for _ in range(rng.randint(1, 3)):
        names = rng.choice([("n",), ("m",), ("n", "m")])
        most = rng.choice([0, 1, 7, 8, 33]) * (rng.choice([1, 9]) if len(names) == 2 else 1)
        rows.append(SizeRow(names, most, values(rng.choice(KINDS), rng.choice([4, 8]))))
    return SizeTable(tuple(rows), values(rng.choice(KINDS)))


def around(table: SizeTable, rng: random.Random) -> list[tuple[int, int]]:
    """Sizes at the thresholds of a table, and one more and one less; 0 and 1; some at random."""
    found = [(n, m) for n in (0, 1, 2) for m in (0, 1, 9)]
    for row in table.rows:
        for at in (row.at_most - 1, row.at_most, row.at_most + 1):
            at = max(at, 0)
            found += {("n",): [(at, 5)], ("m",): [(5, at)], ("n", "m"): [(at, 1), (1, at), (3, at // 3)]}[row.symbols]
    return found + [(rng.randint(0, 40), rng.randint(0, 40)) for _ in range(8)]


@pytest.mark.parametrize("seed", range(6))
def test_random_tables(task: Task, seed: int) -> None:
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    table = random_table(rng)
    main = rx.build(task.lower(table))["main"]
    for n, m in around(table, rng):
        given = draw.random((n, m), "float32")
        out = np.full(n, np.nan, "float32")
        main(given, out)
        np.testing.assert_allclose(out, wanted(given), rtol=1e-5, err_msg=f"{table} {n} {m}")


def test_integers_are_passed() -> None:
    """A symbol that is not a dimension by itself is an integer argument of the call, which the condition may use."""
    n = te.var("n")
    x = te.placeholder((2 * n, "m"), name="x")
    y = te.compute(x.shape, lambda i, j: te.exp(x[i, j]), "y")

    def tiled(outs: list[te.Tensor]) -> te.Schedule:
        s = te.create_schedule(outs[0].op)
        if tuning.get_config().define_knob("lanes", [0, 8]).val:
            s[outs[0]].vectorize(s[outs[0]].split(outs[0].op.axis[1], factor=8)[1])
        return s

    table = SizeTable((SizeRow(("n", "m"), 20, {"lanes": 0}),), {"lanes": 8})
    main = rx.build(create_task(tiled, [x, y]).lower(table))["main"]
    for size, m in ((0, 3), (1, 20), (1, 21), (2, 10), (2, 11), (7, 0)):
        given = np.random.default_rng(0).random((2 * size, m), "float32")
        out = np.zeros_like(given)
        main(given, out, size)
        np.testing.assert_allclose(out, np.exp(given), rtol=1e-5)


def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
    made = OpStrategy()

    def compute(attrs: Any, inputs: list[te.Tensor], out: Any) -> te.Tensor:
        (x,) = inputs
        z = te.compute(x.shape, lambda i, j: te.exp(x[i, j]), "z")
        k = te.reduce_axis((0, x.shape[1]), "k")
        return te.compute((x.shape[0],), lambda i: te.sum(z[i, k], axis=k), "y")

    made.add_implementation(compute, lambda attrs, outs, target: schedule(outs), name="sums", plevel=20)
    return made


def module(bounds: dict[str, tuple[int, int | None]] | None = None) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m")))
    with bb.function("main", [x], bounds=bounds):
        bb.emit_func_output(R.add(R.sum(x, axis=[1]), R.const(1.0)))
    return bb.get()


def test_strategies_take_tables(tmp_path: Path) -> None:
    """`apply_history_best` gives calls a branch on the size, which `--explain-strategy` shows; bounds settle it."""
    path = tmp_path / "tuned.json"
    with temporary_strategy("sum", strategy):
        (task,) = tuning.extract_tasks(module())
        database = Database(path)
        database.add(TableRecord.of(task, SIZES, FoundTable(TABLE, 3.0, 2.0)))
        assert Database(path).tables == database.tables
        with apply_history_best(path), explain_strategy() as report:
            main = rx.build(module(), cache=False)["main"]
        rng = random.Random(2)
        for n, m in at_thresholds(rng):
            given = np.random.default_rng(0).random((n, m), "float32")
            np.testing.assert_allclose(numpy(main(given)), wanted(given) + 1, rtol=1e-5)
        lines = [line.strip() for line in report.render(100).splitlines()]
        assert "sums: tuned: where n <= 4: kind=plain, lanes=4" in lines
        assert "sums: tuned: where m*n <= 200: kind=inside, lanes=8" in lines
        assert "sums: tuned: otherwise: kind=inlined, lanes=4" in lines
        with apply_history_best(path), explain_strategy() as report:
            work = module({"n": (3, 4)})
            rx.transform.LegalizeOps().apply_(work)
        assert "sums: tuned: kind=plain, lanes=4" in report.render(100)
        assert "if (" not in work.script()


def test_what_is_best(task: Task) -> None:
    """A table, unless a candidate is better by more than noise."""
    database = Database()
    database.add(TableRecord.of(task, SIZES, FoundTable(TABLE, 3.0, 2.0)))

    def choice() -> Any:
        ((known,),) = database.known().values()
        return known.choice

    assert choice() == TABLE
    database.add(tuning.Record.of(task, SIZES, measured({"plain": [3.05] * 6})[0]))
    assert choice() == TABLE
    database.add(tuning.Record.of(task, SIZES, measured({"inside": [3.2] * 6})[0]))
    assert choice() == values("inside")


def test_tables_of_other_computations(task: Task) -> None:
    wrong = SizeTable((SizeRow(("rows",), 4, values("plain")),), values("inlined"))
    with pytest.raises(ArgumentError, match="'sums': the table of sizes looks at 'rows', which is no symbol of"):
        task.lower(wrong)
    wrong = SizeTable((SizeRow(("n",), 4, {"kind": "else"}),), values("inlined"))
    with pytest.raises(ArgumentError, match="'sums': the knob 'kind' is given 'else', which is none of its 3"):
        task.lower(wrong)


def test_tuning_ends_in_tables(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `buckets`, the compiled table is measured; it is used if it is better by more than noise."""
    ratios = {"plain": [3.0, 1.0], "inside": [1.0, 3.0], "inlined": [1.0, 1.0]}
    tables = {"good": [0.97, 2.8], "bad": [1.0, 1.02], "noisy": [0.97, 2.8]}
    sizes = [{"n": 2, "m": 8}, {"n": 50, "m": 8}]
    for name in tables:

        def measure(self: Any, task: Task, sizes: Any, candidates: Any, baseline: Any = None, name: str = name) -> Any:
            for each in candidates:
                text = task.scheduled(each)  # for which a table has no values
                found = ratios[each["kind"]] if each else tables[name]  # next to the best values
                assert ("scf.if" in text) == (not each) == (baseline is not None)
                low = 0.5 if name == "noisy" and not each else 1.0  # of the quartiles
                yield Measurement(each, tuple(SizeTime(r, low * r, r, 1e-6) for r in found))

        monkeypatch.setattr(LocalWorkers, "measure", measure)
        database = Database(tmp_path / f"{name}.json")
        result = tuning.tune(task, sizes, budget=None, trials=6, database=database, buckets=3)
        assert result.found_better and len(Database(database.path).tables) == (name == "good")
        if name != "good":
            assert result.by_size is None and "times as fast (6 cand" in str(result)
            continue
        assert result.by_size is not None
        assert [result.by_size.table.of(each)["kind"] for each in sizes] == ["plain", "inside"]
        assert str(result).startswith("sums: 2.85 times as fast by size, 1.73 by one configuration\n  where n <= 10: ")
        ((known,),) = database.known().values()
        assert known.choice == result.by_size.table
        monkeypatch.undo()
        monkeypatch.setattr(LocalWorkers, "measure", measure)
    with pytest.raises(ArgumentError, match="1 to 4 configurations, not 9"):
        tuning.tune(task, sizes, buckets=9)


def test_tables_are_measured(task: Task) -> None:
    """By a child process, like any candidate."""
    with LocalWorkers(rounds=1, least=1e-6) as workers:
        (found,) = workers.measure(tuning.task.TableTask.of(task, TABLE), SIZES, [{}])
    assert not found.error and len(found.times) == len(SIZES)


def test_files_name_what_they_are(task: Task, tmp_path: Path) -> None:
    database = Database(tmp_path / "tuned.json")
    database.add(TableRecord.of(task, SIZES, FoundTable(TABLE, 3.0, 2.0)))
    (line,) = (tmp_path / "tuned.json").read_text().splitlines()
    given = json.loads(line)
    assert given["version"] == 2 and given["features"] == sorted(task.target.features)
    assert given["rows"][1] == {"symbols": ["n", "m"], "at_most": 200, "values": values("inside", 8)}
    assert given["otherwise"] == values("inlined") and (given["score"], given["single"]) == (3.0, 2.0)
