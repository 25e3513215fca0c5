"""Schedules of tensor expressions: loops, compute locations and caches; lowered to prim funcs."""

from relax_mlir.te.schedule.lower import lower
from relax_mlir.te.schedule.schedule import Schedule, Trace, create_schedule
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.schedule.tensor_intrin import BufferPattern, TensorIntrin, decl_buffer, decl_tensor_intrin

__all__ = [
    "BufferPattern", "Schedule", "Stage", "TensorIntrin", "Trace", "create_schedule", "decl_buffer",
    "decl_tensor_intrin", "lower",
]  # fmt: skip
