"""Features of a schedule for a cost model, without lowering: the number and lengths of loops of each kind."""

from __future__ import annotations

from math import log2

from relax_mlir.error import RelaxError
from relax_mlir.strategy.knobs import Values
from relax_mlir.te.schedule.axes import Split
from relax_mlir.te.schedule.schedule import Schedule
from relax_mlir.te.schedule.stage import AttachedAt, Following, Inlined, Stage
from relax_mlir.tuning.task import Task

KINDS = ("serial", "vectorized", "unroll", "parallel")


def features_of(task: Task, values: Values) -> dict[str, float]:
    """The features of the schedule for the given knob values; empty if the schedule is invalid."""
    try:
        return schedule_features(task.schedule(values))
    except RelaxError:
        return {}


def schedule_features(schedule: Schedule) -> dict[str, float]:
    """Features of a schedule; the set of features is the same for all schedules.

    For each kind of loop: the number of loops, and the sum of log2 of the lengths that splits give them. Also the
    number of stages computed inside another stage's loops, the maximum depth of these, and the number of inlined
    stages.
    """
    found = {f"{what}_{kind}": 0.0 for kind in KINDS for what in ("loops", "length")}
    found |= {"attached": 0.0, "depth": 0.0, "inlined": 0.0}
    for stage in schedule.stages:
        if stage.is_placeholder:
            continue
        if isinstance(stage.place, Inlined):
            found["inlined"] += 1
            continue
        if isinstance(stage.place, AttachedAt | Following):
            found["attached"] += 1
            found["depth"] = max(found["depth"], float(_depth(stage.place)))
        lengths = _lengths(stage)
        for axis in stage.leaf_iter_vars:
            kind = stage.kinds.get(axis, "serial")
            found[f"loops_{kind}"] = found.get(f"loops_{kind}", 0.0) + 1
            found[f"length_{kind}"] = found.get(f"length_{kind}", 0.0) + lengths.get(axis.name, 0.0)
    return found


def _depth(place: AttachedAt | Following) -> int:
    return place.stage.leaf_iter_vars.index(place.axis) + 1 if place.axis in place.stage.leaf_iter_vars else 0


def _lengths(stage: Stage) -> dict[str, float]:
    """log2 of the lengths of the inner loops of splits by a constant, by name."""
    splits = [relation for relation in stage.relations if isinstance(relation, Split)]
    return {s.inner.name: log2(s.factor) for s in splits if isinstance(s.factor, int) and s.factor > 0}
