"""What was measured: a file of JSON lines, one per candidate."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from relax_mlir.error import ParseError, expect
from relax_mlir.strategy.knobs import Values
from relax_mlir.strategy.tuned import with_history
from relax_mlir.tuning.measure import Measurement, Objective, SizeTime
from relax_mlir.tuning.task import Sizes, Task

VERSION = 1


@dataclass(frozen=True)
class Record:
    """A candidate of a task that was measured for some sizes."""

    task: str
    name: str
    target: str
    sizes: tuple[Sizes, ...]
    measurement: Measurement


@dataclass
class Database:
    """Records, in memory, or in a file if there is a path.

    The file is written under another name and moved, so that it is whole at any time.

    Raises:
        ParseError: the file is none of records; names the line.
    """

    path: Path | None = None
    records: list[Record] = field(default_factory=list)

    def __init__(self, path: str | Path | None = None) -> None:
        expect("Database: 'path'", path, str | Path | None, "a path, or None")
        self.path = None if path is None else Path(path)
        self.records = []
        if self.path is not None and self.path.exists():
            self.records = list(_read(self.path))

    def add(self, *records: Record) -> None:
        """Add records, and write the file."""
        self.records += records
        self.save()

    def save(self) -> None:
        """Write the file, if there is one."""
        if self.path is not None:
            _write(self.path, self.records)

    def of(self, task: Task) -> list[Record]:
        """The records of a task on its target."""
        return [r for r in self.records if r.task == task.key and r.target == str(task.target)]

    def best(self, objective: Objective = "mean") -> dict[str, Values]:
        """The values of the best candidate of each task, if it was better than what it was compared with."""
        found: dict[str, tuple[float, Values]] = {}
        for record in self.records:
            score = record.measurement.score(objective)
            if score > max(1.0, found.get(record.task, (1.0, {}))[0]):
                found[record.task] = score, record.measurement.values
        return {task: values for task, (_, values) in found.items()}


def apply_history_best(
    database: Database | str | Path, objective: Objective = "mean"
) -> AbstractContextManager[None]:
    """Let schedules that are made within have the best values of a database.

    Example: ``with apply_history_best("tuned.json"): rx.build(mod)``.
    """
    known = database if isinstance(database, Database) else Database(_existing(database))
    return with_history(known.best(objective))


def _existing(path: str | Path) -> Path:
    if not Path(path).exists():
        raise ParseError(f"apply_history_best: there is no file {path}")
    return Path(path)


def _read(path: Path) -> Iterator[Record]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            given = json.loads(line)
            if given["version"] != VERSION:
                raise ParseError(f"{path}:{number}: version {given['version']}, expected {VERSION}")
            times = tuple(SizeTime(**each) for each in given["times"])
            measurement = Measurement(dict(given["values"]), times, str(given["error"]))
            sizes = tuple({str(k): int(v) for k, v in each.items()} for each in given["sizes"])
            yield Record(str(given["task"]), str(given["name"]), str(given["target"]), sizes, measurement)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ParseError(f"{path}:{number}: no record of a measurement: {error}") from None


def _write(path: Path, records: list[Record]) -> None:
    folder = path.parent
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=folder, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            file.writelines(json.dumps(_as_json(record), sort_keys=True) + "\n" for record in records)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _as_json(record: Record) -> dict[str, Any]:
    measurement = record.measurement
    return {
        "version": VERSION,
        "task": record.task,
        "name": record.name,
        "target": record.target,
        "sizes": [dict(each) for each in record.sizes],
        "values": dict(measurement.values),
        "times": [asdict(time) for time in measurement.times],
        "error": measurement.error,
    }
