"""Schedules of prim funcs by block name, based on the stages of `relax_mlir.te.schedule`."""

from relax_mlir.tir.schedule.prim_schedule import Block, Loop, PrimTrace, Schedule, TensorIntrin

__all__ = ["Block", "Loop", "PrimTrace", "Schedule", "TensorIntrin"]
