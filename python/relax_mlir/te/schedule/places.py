"""Where stages are computed, and what takes the place of their loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from relax_mlir.error import ScheduleError
from relax_mlir.te.expressions import IterVar
from relax_mlir.te.schedule.tensor_intrin import TensorIntrin

if TYPE_CHECKING:
    from relax_mlir.te.schedule.stage import Stage


@dataclass(frozen=True)
class Root:
    """Computed on its own, before what reads it."""


@dataclass(frozen=True)
class Inlined:
    """Computed wherever an element is read."""


@dataclass(frozen=True, eq=False)
class AttachedAt:
    """Computed inside the loop `axis` of `stage`, as much as is read there."""

    stage: Stage
    axis: IterVar
    owner: Stage
    position: tuple[str, int]

    def refused(self, reason: str) -> ScheduleError:
        """The error of an attachment that does not work out when the loops are made."""
        call = f"s[{self.owner.name}].compute_at(s[{self.stage.name}], {self.axis.name})"
        return ScheduleError(call, reason, self.owner.name, self.axis.name, self.position)


@dataclass(frozen=True, eq=False)
class Following:
    """Computed inside the loop `axis` of `stage`, which it reads, behind what that computes there, and of just that."""

    stage: Stage
    axis: IterVar
    owner: Stage
    position: tuple[str, int]

    def refused(self, reason: str) -> ScheduleError:
        """The error of a place that does not work out when the loops are made."""
        call = f"s[{self.owner.name}].reverse_compute_at(s[{self.stage.name}], {self.axis.name})"
        return ScheduleError(call, reason, self.owner.name, self.axis.name, self.position)


@dataclass(frozen=True, eq=False)
class Tensorized:
    """The loop `axis` and those inside are what `intrin` computes."""

    axis: IterVar
    intrin: TensorIntrin
    owner: Stage
    position: tuple[str, int]

    def refused(self, reason: str) -> ScheduleError:
        """The error of loops that are not what the intrinsic computes."""
        call = f"s[{self.owner.name}].tensorize({self.axis.name}, {self.intrin!r})"
        return ScheduleError(call, reason, self.owner.name, self.axis.name, self.position)


Place: TypeAlias = Root | Inlined | AttachedAt | Following
