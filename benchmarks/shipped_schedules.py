"""The knob values in the package: ``python -m benchmarks.shipped_schedules --write``.

For each of the project's own schedules with knobs, candidates are compared on some cases (calls with other channels, at
several sizes) with the schedule of default values. The best one is measured again on cases that were not used for the
choice. If it is faster there by more than noise, with bit-identical results, it is written for the class of this CPU;
entries of other classes stay unchanged. One thread is measured: knobs for threads keep their default values.
"""

from __future__ import annotations

from benchmarks import environment  # noqa: F401  # isort: skip - before anything that imports NumPy

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import ml_dtypes  # noqa: F401 - NumPy knows its dtypes by name then
import numpy as np
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import tuning
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.strategy import tuned
from relax_mlir.module_file import write_atomically
from relax_mlir.target import Target
from relax_mlir.tuning.measure import BETTER, LocalWorkers
from relax_mlir.tuning.search import RandomSearch
from relax_mlir.tuning.task import FUNCTION, Sizes, Task

from benchmarks import machine

COMMAND = "python -m benchmarks.shipped_schedules --write"
FOR_THREADS = ("jobs",)
"""Knobs that choose the parallel loops."""
SIZES = tuple({"n": n, "h": h, "w": w} for n, h, w in ((1, 30, 31), (1, 56, 56), (2, 113, 100)))
OTHER_SIZES = tuple(
    {"n": n, "h": h, "w": w} for n, h, w in ((1, 14, 15), (1, 80, 75), (4, 64, 60), (1, 224, 224), (1, 60, 500))
)
"""Sizes to choose on, and to judge on."""
DTYPE = "float32"
JUDGEMENTS = 3
"""The number of times that values are judged; the minimum score counts."""


@dataclass(frozen=True)
class Case:
    """A convolution of ``(n, channels, h, w)``, with symbols for all but the channels."""

    channels: int
    window: int
    stride: int
    outputs: int
    groups: int

    def module(self) -> IRModule:
        """A function with this call."""
        x = rx.Var("x", rx.Tensor(("n", self.channels, "h", "w"), DTYPE))
        pad = self.window // 2
        strides, padding, window = (self.stride,) * 2, (pad,) * 4, (self.window,) * 2
        bb = rx.BlockBuilder()
        weight = rx.Var("w", rx.Tensor((self.outputs, self.channels // self.groups, *window), DTYPE))
        with bb.function("main", [x, weight]):
            called = R.nn.conv2d(x, weight, strides=strides, padding=padding, groups=self.groups)
            bb.emit_func_output(called)
        return bb.get()


@dataclass(frozen=True)
class Family:
    """Cases of one entry of the table: those to choose on, and those to judge on."""

    cases: tuple[Case, ...]
    others: tuple[Case, ...]


def families() -> Iterator[Family]:
    """The measured families: convolutions in several groups."""
    for window, stride in ((3, 1), (3, 2)):
        grouped = ((32, 64, 4), (64, 64, 8), (96, 48, 3), (48, 96, 6), (128, 64, 4))
        given = [Case(c, window, stride, k, groups) for c, k, groups in grouped]
        yield Family(tuple(given[:3]), tuple(given[3:]))


@dataclass(frozen=True)
class Found:
    """The best values for a family and their speed-up on other cases, or the reason why they are not an entry."""

    template: tuned.Template
    values: dict[str, Any]
    score: float
    cases: int
    reason: str = ""

    def __str__(self) -> str:
        facts = " ".join(f"{name}={'x'.join(map(str, v))}" for name, v in self.template.facts.items())
        head = f"{self.template.name} {self.template.dtype} {facts}: {self.score:.3f} in {self.cases} cases"
        return f"{head}, {self.values}" + (f": not taken: {self.reason}" if self.reason else "")


def tune(family: Family, seconds: float, workers: LocalWorkers) -> Found | None:
    """The best values for a family; None if the project has no schedule with knobs for it."""
    tasks = [task for case in family.cases if (task := task_of(case)) is not None]
    judges = [task for case in family.others if (task := task_of(case)) is not None]
    if not tasks or not judges:
        return None
    template = tasks[0].template
    assert template is not None
    space = common_space([*tasks, *judges])
    first = {name: candidates[0] for name, candidates in space.items()}
    search = RandomSearch(space, 0)
    search.tell(first, 1.0)
    best, score, deadline = first, 1.0, time.monotonic() + seconds
    while time.monotonic() < deadline and (proposed := search.propose(1)):
        found = judge(tasks, SIZES, proposed[0], workers, least=score)
        if found > score:
            best, score = proposed[0], found
    changed = {name: value for name, value in best.items() if value != first[name]}
    if not changed:
        return Found(template, {}, 1.0, 0, "the first values are the best")
    rounds, workers.rounds = workers.rounds, 3 * workers.rounds
    score = min(judge(judges, OTHER_SIZES, best, workers) for _ in range(JUDGEMENTS))
    workers.rounds = rounds
    cases = len(judges) * len(OTHER_SIZES)
    if score < BETTER:
        return Found(template, changed, score, cases, "no better by more than noise on other cases")
    if not all(is_equal(task, best, each) for task in [*tasks, *judges] for each in (*SIZES, *OTHER_SIZES)):
        return Found(template, changed, score, cases, "results are not equal bit by bit")
    return Found(template, changed, score, cases)


def task_of(case: Case) -> Task | None:
    """The task of a case, on one thread; None if the project has no schedule with knobs for it."""
    tasks = tuning.extract_tasks(case.module(), replace(Target.host(), num_threads=1))
    return next((task for task in tasks if task.template is not None), None)


def common_space(tasks: Sequence[Task]) -> dict[str, list[Any]]:
    """The candidates that all tasks have; for knobs of threads only the first one."""
    spaces = [task.space() for task in tasks]
    common = {
        name: [each for each in candidates if all(each in other.get(name, ()) for other in spaces)]
        for name, candidates in spaces[0].items()
    }
    # The first value must be the same for all tasks, or it is no common default.
    same = {name for name in common if len({str(space.get(name, [None])[0]) for space in spaces}) == 1}
    return {
        name: candidates[: 1 if name in FOR_THREADS else None]
        for name, candidates in common.items()
        if name in same and candidates
    }


def judge(
    tasks: Sequence[Task],
    sizes: Sequence[Sizes],
    values: dict[str, Any],
    workers: LocalWorkers,
    least: float = 0.0,
) -> float:
    """The speed-up of some tasks by values, as geometric mean; 0 if one fails, or is much slower."""
    logs: list[float] = []
    for task in tasks:
        (found,) = workers.measure(task, sizes, [values], task.scheduled({}))
        if found.error:
            return 0.0
        logs += [log(time.ratio) for time in found.times]
        if exp(sum(logs) / len(logs)) < 0.8 * least:
            return 0.0
    return exp(sum(logs) / len(logs))


def is_equal(task: Task, values: dict[str, Any], sizes: Sizes) -> bool:
    """True if results are bit-identical to those of the default values."""
    rng, results = np.random.default_rng(0), []
    inputs = [rng.standard_normal(a.shape).astype(a.dtype) for a in task.arguments(sizes) if not a.is_output]
    for text in (task.scheduled({}), task.scheduled(values)):
        function = rx.build(IRModule.parse(text, trusted=True), task.target)[FUNCTION]
        outputs = [np.zeros(a.shape, a.dtype) for a in task.arguments(sizes) if a.is_output]
        function(*inputs, *outputs, *task.integers(sizes))
        results.append([output.tobytes() for output in outputs])
    return results[0] == results[1]


def class_of_host(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The class of this CPU with some entries, in the file's form."""
    host = Target.host()
    widest = {64: ["avx512f"], 32: ["avx2", "fma"]}.get(host.vector_bytes, [])
    needs = [name for name in widest if host.has(name)] or (["asimd"] if host.has("asimd") else [])
    lacks = [] if host.architecture != "x86_64" or host.has("avx512f") else ["avx512f"]
    vectors = " ".join(needs) or "baseline"
    caches = f"{host.l1_bytes >> 10} KiB and {host.l2_bytes >> 10} KiB of cache"
    return {
        "name": f"{host.architecture} with {vectors}, {caches}",
        "architecture": host.architecture,
        "vector_bytes": host.vector_bytes,
        "l1_bytes": host.l1_bytes,
        "l2_bytes": host.l2_bytes,
        "needs": needs,
        "lacks": lacks,
        "measured": {
            "cpu": str(machine.describe()["cpu"]),
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "command": COMMAND,
        },
        "entries": list(entries),
    }


def entry_of(item: Found) -> dict[str, Any]:
    """A found entry in the file's form."""
    return {
        **call_of(item.template),
        "values": item.values,
        "score": round(item.score, 3),
        "cases": item.cases,
    }


def call_of(template: tuned.Template) -> dict[str, Any]:
    """The call of an entry in the file's form."""
    facts = {name: list(value) for name, value in template.facts.items()}
    return {"template": template.name, "dtype": template.dtype, "facts": facts}


def write(measured: Sequence[Found]) -> None:
    """Replace the file's entries of these calls for the class of this CPU by the found ones."""
    given = json.loads(tuned.SHIPPED_FILE.read_text(encoding="utf-8"))
    name, calls = class_of_host([])["name"], [call_of(item.template) for item in measured]
    known = [entry for each in given["classes"] if each["name"] == name for entry in each["entries"]]
    entries = [entry for entry in known if {key: entry[key] for key in calls[0]} not in calls]
    entries += [entry_of(item) for item in measured if not item.reason]
    entries.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    others = [each for each in given["classes"] if each["name"] != name]
    made = [class_of_host(entries)] if entries else []
    classes = sorted([*others, *made], key=lambda each: str(each["name"]))
    text = json.dumps({"version": tuned.SHIPPED_VERSION, "classes": classes}, indent=1)
    write_atomically(tuned.SHIPPED_FILE, text + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shipped_schedules", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for the search of one family (60)")
    parser.add_argument("--only", type=int, action="append", metavar="N", help="the N-th family alone")
    parser.add_argument("--write", action="store_true", help="write what was found into the package")
    options = parser.parse_args(arguments)
    measured: list[Found] = []
    with LocalWorkers(rounds=21, least=0.0005) as workers:
        for number, family in enumerate(families()):
            if options.only and number not in options.only:
                continue
            item = tune(family, options.seconds, workers)
            print(f"{number}: {item or 'no schedule with knobs'}", flush=True)
            if item is not None:
                measured.append(item)
    if options.write and measured:
        write(measured)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
