"""Schedules of prim funcs, by the names of their blocks: the stages of `relax_mlir.te.schedule`."""

from relax_mlir.tir.schedule.blocks_and_loops import Block, Loop
from relax_mlir.tir.schedule.prim_schedule import PrimTrace, Schedule
from relax_mlir.tir.schedule.tensor_intrin import TensorIntrin

__all__ = ["Block", "Loop", "PrimTrace", "Schedule", "TensorIntrin"]
