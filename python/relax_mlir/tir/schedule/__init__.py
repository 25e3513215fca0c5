"""Schedules of prim funcs by block name, based on the stages of `relax_mlir.te.schedule`."""

from relax_mlir.tir.schedule.blocks_and_loops import Block, Loop
from relax_mlir.tir.schedule.prim_intrins import TensorIntrin
from relax_mlir.tir.schedule.prim_schedule import PrimTrace, Schedule

__all__ = ["Block", "Loop", "PrimTrace", "Schedule", "TensorIntrin"]
