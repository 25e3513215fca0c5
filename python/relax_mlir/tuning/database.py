"""The measurements: a file of JSON lines, one per candidate, and one per size table; the tables found in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, pairwise
from math import exp, inf, isqrt, log, prod
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.error import ArgumentError, ParseError, expect, expect_all
from relax_mlir.files import read_text
from relax_mlir.lowering.strategy.tuned import (
    MAX_CONFIGURATIONS,
    Choice,
    Known,
    SizeRow,
    SizeTable,
    Values,
    with_history,
)
from relax_mlir.module_file import write_atomically
from relax_mlir.target import Target
from relax_mlir.tuning.measure import BETTER, Measurement, Objective, SizeTime
from relax_mlir.tuning.task import Sizes, Task

# Find size tables in measurements: short lists of thresholds that are faster than any single configuration.


@dataclass(frozen=True)
class FoundTable:
    """A size table, its speedup over the baseline, and the speedup of the best single configuration."""

    table: SizeTable
    score: float
    single: float
    least: float = inf
    """The score from the lower quartiles of interleaved rounds against the single configuration, if measured."""

    @property
    def is_better(self) -> bool:
        """True if the table is faster than the best single configuration by more than noise."""
        is_better = self.score >= BETTER * self.single and self.least > self.single
        return bool(self.table.rows) and is_better

    def measured(self, beside: Measurement, single: Measurement, objective: Objective) -> FoundTable:
        """The same table with measured scores: `beside` is the table against `single`, the best configuration."""

        def score(name: str) -> float:
            pairs = zip(beside.times, single.times, strict=True)
            ratios = [replace(own, ratio=getattr(own, name) * other.ratio) for own, other in pairs]
            return Measurement({}, tuple(ratios)).score(objective)

        if beside.error:
            return replace(self, score=0.0)
        return FoundTable(self.table, score("ratio"), single.score(objective), score("low"))

    def __str__(self) -> str:
        head = f"{self.score:.2f} times as fast by size, {self.single:.2f} by one configuration"
        return "\n".join([head, *(f"  {line}" for line in str(self.table).split("; "))])


def find_table(
    measurements: Sequence[Measurement],
    sizes: Sequence[Sizes],
    objective: Objective = "mean",
    limit: int = MAX_CONFIGURATIONS,
) -> FoundTable:
    """The best size table by measurements; without rows if a single configuration is as good.

    For each length, finds the best list of thresholds on symbols and products of symbols. A list gets one more
    threshold only if that makes it faster by `BETTER`.

    Args:
        measurements: of candidates, each for all `sizes` in order; failed ones are ignored.
        objective: the objective, as in `tune`.
        limit: the maximum number of configurations.

    Raises:
        ArgumentError: nothing was measured for these sizes; a limit below 1, or above 4.
    """
    require_limit(limit)
    expect_all("find_table: 'measurements'", measurements, Measurement, "measurements")
    expect("find_table: 'sizes'", sizes, list | tuple, "a list of sizes")
    known = [m for m in measurements if not m.error and len(m.times) == len(sizes)]
    if not known:
        raise ArgumentError(f"no candidate was measured for these {len(sizes)} sizes")
    search = _Search(known, sizes, objective)
    everything = (1 << len(sizes)) - 1
    found = search.best(everything, 1)
    single = search.score(found[0])
    for count in range(2, limit + 1):
        other = search.best(everything, count)
        if search.score(other[0]) >= BETTER * search.score(found[0]):
            found = other
    value, rows, last = found
    return FoundTable(SizeTable(rows, known[last].values), search.score(value), single)


def require_limit(limit: int) -> None:
    """Raise `ArgumentError` if a table cannot have `limit` configurations."""
    expect("a table of sizes: the number of configurations", limit, int, "a number")
    if not 1 <= limit <= MAX_CONFIGURATIONS:
        raise ArgumentError(f"a table of sizes has 1 to {MAX_CONFIGURATIONS} configurations, not {limit}")


Found = tuple[float, tuple[SizeRow, ...], int]
"""The value of a list of thresholds, the list, and the index of the candidate for the remaining sizes."""


@dataclass
class _Search:
    """Find lists of thresholds for sets of sizes, which are bit masks."""

    candidates: Sequence[Measurement]
    sizes: Sequence[Sizes]
    objective: Objective
    known: dict[tuple[int, int], Found] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.logs = np.array([[log(time.ratio) for time in m.times] for m in self.candidates])
        self.cuts = self._cuts()

    def score(self, value: float) -> float:
        """The objective for all sizes, from the value of a list."""
        return exp(value if self.objective == "worst" else value / len(self.sizes))

    def best(self, which: int, count: int) -> Found:
        """The best list with up to `count` configurations for the sizes in `which`."""
        if (which, count) not in self.known:
            self.known[which, count] = self._best(which, count)
        return self.known[which, count]

    def _best(self, which: int, count: int) -> Found:
        found = self._single(which)
        if count == 1:
            return found
        for symbols, at_most, below in self.cuts:
            first, rest = which & below, which & ~below
            if not first or not rest:
                continue
            value, _, number = self._single(first)
            other, rows, last = self.best(rest, count - 1)
            both = min(value, other) if self.objective == "worst" else value + other
            if both > found[0] + 1e-12:
                row = SizeRow(symbols, at_most, self.candidates[number].values)
                found = both, (row, *rows), last
        return found

    def _single(self, which: int) -> Found:
        key = (which, 1)
        if key not in self.known:
            columns = self.logs[:, [i for i in range(len(self.sizes)) if which >> i & 1]]
            values = columns.min(axis=1) if self.objective == "worst" else columns.sum(axis=1)
            number = int(values.argmax())
            self.known[key] = float(values[number]), (), number
        return self.known[key]

    def _cuts(self) -> list[tuple[tuple[str, ...], int, int]]:
        """Products of symbols, thresholds between the sizes, and the sizes below; each set of sizes once.

        Single symbols come first, so that the shortest condition is used for a set of sizes.
        """
        symbols = list(self.sizes[0])
        products = [c for length in range(1, len(symbols) + 1) for c in combinations(symbols, length)]
        found: dict[int, tuple[tuple[str, ...], int, int]] = {}
        for names in products:
            values = [prod(each[name] for name in names) for each in self.sizes]
            steps = sorted(set(values))
            for low, high in pairwise(steps):
                below = sum(1 << i for i, value in enumerate(values) if value <= low)
                found.setdefault(below, (names, max(low, min(high - 1, isqrt(low * high))), below))
        return list(found.values())


VERSION = 2
READABLE = (1, 2)
"""Readable versions; files of version 1 have no tables and no CPU features."""


@dataclass(frozen=True)
class Record:
    """A candidate of a task, measured for some sizes.

    `features` are those of the CPU, None if they were not recorded; `place` is the location in the file.
    """

    task: str
    name: str
    target: str
    sizes: tuple[Sizes, ...]
    measurement: Measurement
    features: tuple[str, ...] | None = None
    place: str = field(default="", compare=False)

    @classmethod
    def of(cls, task: Task, sizes: Sequence[Sizes], measurement: Measurement) -> Record:
        """The record of a measurement."""
        return cls(task.key, task.name, str(task.target), tuple(sizes), measurement, features_of(task))


@dataclass(frozen=True)
class TableRecord:
    """A size table of a task, with its score, and the score of the best single configuration, on some sizes."""

    task: str
    name: str
    target: str
    sizes: tuple[Sizes, ...]
    table: SizeTable
    score: float
    single: float
    features: tuple[str, ...] | None = None
    place: str = field(default="", compare=False)

    @classmethod
    def of(cls, task: Task, sizes: Sequence[Sizes], found: FoundTable) -> TableRecord:
        """The record of a table."""
        own = task.key, task.name, str(task.target), tuple(sizes)
        return cls(*own, found.table, found.score, found.single, features_of(task))


def features_of(task: Task) -> tuple[str, ...]:
    """The CPU features of a task's target."""
    expect("a task of the database", task, Task, "a task")
    return tuple(sorted(task.target.features))


@dataclass
class Database:
    """Records in memory, and in a file if a path is given.

    The file is replaced atomically, so that it is always complete.

    Raises:
        ParseError: the file does not contain records; the message cites the line.
    """

    path: Path | None = None
    records: list[Record] = field(default_factory=list)
    tables: list[TableRecord] = field(default_factory=list)

    def __init__(self, path: str | Path | None = None) -> None:
        expect("Database: 'path'", path, str | Path | None, "a path, or None")
        self.path = None if path is None else Path(path)
        self.records, self.tables = [], []
        if self.path is not None and self.path.exists():
            self._take(*_read(self.path))

    def add(self, *records: Record | TableRecord) -> None:
        """Add records, and write the file."""
        expect_all("Database.add: 'records'", records, Record | TableRecord, "records of measurements or tables")
        self._take(*records)
        self.save()

    def _take(self, *records: Record | TableRecord) -> None:
        for record in records:
            if isinstance(record, TableRecord):
                self.tables.append(record)
            else:
                self.records.append(record)

    def save(self) -> None:
        """Write the file, if there is one."""
        if self.path is not None:
            _write(self.path, self._all())

    def _latest(self) -> list[Record]:
        """The last measurement of each candidate for the same sizes."""
        found: dict[object, Record] = {}
        for record in self.records:
            key = _machine(record), json.dumps([record.sizes, record.measurement.values], sort_keys=True)
            found[key] = record
        return list(found.values())

    def _all(self) -> list[Record | TableRecord]:
        return [*self.records, *self.tables]

    def of(self, task: Task) -> list[Record]:
        """The records of a task on its target."""
        own = features_of(task)
        return [
            r for r in self.records if r.task == task.key and r.target == str(task.target) and r.features in (None, own)
        ]

    def for_target(self, target: str | Target) -> Database:
        """The records for a target, as a database without a file."""
        wanted, found = Target.parse(target), Database()
        found.add(*(record for record in self._all() if _is_for(record, wanted)))
        return found

    def other_targets(self, target: str | Target) -> str:
        """A message about the records for other targets; empty if there are none."""
        wanted = Target.parse(target)
        others = [record for record in self._all() if not _is_for(record, wanted)]
        known = ", ".join(
            repr(each) + (" of another CPU" if each == str(wanted) else "")
            for each in dict.fromkeys(record.target for record in others)
        )
        return f"{len(others)} measurements for other targets are ignored ({known})" if others else ""

    def best(self, objective: Objective = "mean") -> dict[str, Values]:
        """The values of the best candidate of each task, if it is faster than its baseline.

        If a candidate was measured several times, the last measurement counts.
        """
        found: dict[str, tuple[float, Values]] = {}
        for record in self._latest():
            score = record.measurement.score(objective)
            if score > max(1.0, found.get(record.task, (1.0, {}))[0]):
                found[record.task] = score, record.measurement.values
        return {task: values for task, (_, values) in found.items()}

    def known(self, objective: Objective = "mean") -> dict[str, list[Known]]:
        """The best choice for each task and target: the values of the best candidate, or a size table.

        Candidates that are not faster than their baseline are omitted. The last table is used, unless a candidate is
        faster by more than noise.
        """
        singles: dict[Machine, tuple[float, Record]] = {}
        for record in self._latest():
            score = record.measurement.score(objective)
            if score > singles.get(_machine(record), (1.0, record))[0]:
                singles[_machine(record)] = score, record
        tables = {_machine(record): record for record in self.tables if record.score > 1.0}
        known: dict[str, list[Known]] = {}
        for machine in dict.fromkeys([*singles, *tables]):
            score, single = singles.get(machine, (0.0, None))
            found: Record | TableRecord | None = single
            choice: Choice | None = None if single is None else single.measurement.values
            if machine in tables and score <= BETTER * tables[machine].score:
                found, choice = tables[machine], tables[machine].table
            assert found is not None and choice is not None
            known.setdefault(found.task, []).append(Known(choice, found.target, found.features, found.place))
        return known


Machine = tuple[str, str, tuple[str, ...] | None]
"""A task, a target, and the features of a CPU."""


def _is_for(record: Record | TableRecord, target: Target) -> bool:
    return not Known({}, record.target, record.features).against(target)


def _machine(record: Record | TableRecord) -> Machine:
    return record.task, record.target, record.features


def apply_history_best(database: Database | str | Path, objective: Objective = "mean") -> AbstractContextManager[None]:
    """Apply the best choices of a database to schedules that are created in the block: values, or size tables.

    Example: ``with apply_history_best("tuned.json"): rx.build(mod)``. For a schedule that was only measured for other
    targets, `build` raises `ArgumentError`.

    Raises:
        ParseError: the file does not exist, or does not contain records.
    """
    given = database if isinstance(database, Database) else existing_database(database)
    return with_history(given.known(objective))


def existing_database(path: str | Path) -> Database:
    """The database of a file; raises ParseError if the file does not exist."""
    expect("the measurements of tuning", path, str | os.PathLike, "a database, or the path of one")
    if not Path(path).is_file():
        raise ParseError(f"cannot open the measurements of tuning: there is no file '{path}'")
    return Database(path)


def _read(path: Path) -> Iterator[Record | TableRecord]:
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError(f"{path}: it cannot be read: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}:{number}"
        try:
            given = json.loads(line)
            if given["version"] not in READABLE:
                raise ParseError(
                    f"{place}: version {given['version']!r}, expected {VERSION}: it is of another relax-mlir"
                )
            yield _record(given, place)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            what = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            raise ParseError(f"{place}: no record of a measurement: {what}") from None


def _record(given: dict[str, Any], place: str) -> Record | TableRecord:
    """The record of a line; raises Python's own exceptions if something is missing."""
    own = str(given["task"]), str(given["name"]), str(given["target"])
    sizes = tuple({str(k): _size(v) for k, v in each.items()} for each in given["sizes"])
    listed = given.get("features")
    features = None if listed is None else tuple(sorted(map(str, listed)))
    if "rows" in given:
        rows = tuple(_row(row, sizes) for row in given["rows"])
        require_limit(len(rows) + 1)
        table = SizeTable(rows, dict(given["otherwise"]))
        score, single = float(given["score"]), float(given["single"])
        if not 0 < score < inf:
            raise ValueError(f"'score' of a table is {score}, expected a positive number")
        return TableRecord(*own, sizes, table, score, single, features, place)
    times = tuple(_time(each) for each in given["times"])
    measurement = Measurement(dict(given["values"]), times, str(given["error"]))
    if len(times) != len(sizes) and not measurement.error:
        raise ValueError(f"{len(times)} times for {len(sizes)} sizes")
    return Record(*own, sizes, measurement, features, place)


def _row(given: dict[str, Any], sizes: Sequence[Sizes]) -> SizeRow:
    symbols = tuple(map(str, given["symbols"]))
    for name in symbols:
        if any(name not in each for each in sizes):
            raise ValueError(f"the sizes have no '{name}', which a row looks at")
    if not symbols:
        raise ValueError("a row looks at no symbol")
    return SizeRow(symbols, _size(given["at_most"]), dict(given["values"]))


def _size(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ValueError(f"{given!r} is no size")
    return given


def _time(given: dict[str, Any]) -> SizeTime:
    time = SizeTime(**given)
    for name, value in asdict(time).items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf:
            raise ValueError(f"'{name}' of a time is {value!r}, expected a positive number")
    return time


def _write(path: Path, records: Sequence[Record | TableRecord]) -> None:
    write_atomically(path, "".join(json.dumps(_as_json(record), sort_keys=True) + "\n" for record in records))


def _as_json(record: Record | TableRecord) -> dict[str, Any]:
    common = {
        "version": VERSION,
        "task": record.task,
        "name": record.name,
        "target": record.target,
        "sizes": [dict(each) for each in record.sizes],
        "features": None if record.features is None else list(record.features),
    }
    if isinstance(record, TableRecord):
        rows = [
            {"symbols": list(row.symbols), "at_most": row.at_most, "values": dict(row.values)}
            for row in record.table.rows
        ]
        otherwise = dict(record.table.otherwise)
        return {
            **common,
            "rows": rows,
            "otherwise": otherwise,
            "score": record.score,
            "single": record.single,
        }
    measurement = record.measurement
    return {
        **common,
        "values": dict(measurement.values),
        "times": [asdict(time) for time in measurement.times],
        "error": measurement.error,
    }
