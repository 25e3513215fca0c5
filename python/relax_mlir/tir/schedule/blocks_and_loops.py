"""Blocks and loops, the arguments of schedule primitives."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.te.expressions import IterVar
from relax_mlir.te.schedule.stage import Stage


@dataclass(frozen=True, eq=False)
class Block:
    """A block of a prim func: a computation that fills a buffer."""

    name: str
    function: str
    stage: Stage


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop around a block."""

    axis: IterVar
    function: str
    stage: Stage

    @property
    def name(self) -> str:
        """The name of its variable."""
        return self.axis.name
