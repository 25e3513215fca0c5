"""Schedules of tensor expressions: loops, where stages are computed, copies; made into prim funcs."""

from relax_mlir.te.schedule.schedule import Schedule, create_schedule
from relax_mlir.te.schedule.scheduled_function import lower
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.schedule.trace import Trace

__all__ = ["Schedule", "Stage", "Trace", "create_schedule", "lower"]
