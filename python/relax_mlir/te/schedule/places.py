"""The locations where stages are computed, and intrinsics that replace their loops."""

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
    """Computed in a separate loop nest, before its readers."""


@dataclass(frozen=True)
class Inlined:
    """Computed at each read of an element."""


@dataclass(frozen=True, eq=False)
class _Step:
    """A scheduling call for the stage `owner` at the loop `axis`; `position`: file and line of the call."""

    axis: IterVar
    owner: Stage
    position: tuple[str, int]

    @property
    def call(self) -> str:
        """The call, for messages."""
        raise NotImplementedError  # abstract

    def refused(self, reason: str) -> ScheduleError:
        """The error of a call that proves invalid when the loops are generated."""
        return ScheduleError(self.call, reason, self.owner.name, self.axis.name, self.position)


@dataclass(frozen=True, eq=False)
class AttachedAt(_Step):
    """Computed inside the loop `axis` of `stage`, exactly the elements that are read there."""

    stage: Stage

    @property
    def call(self) -> str:
        return f"s[{self.owner.name}].compute_at(s[{self.stage.name}], {self.axis.name})"


@dataclass(frozen=True, eq=False)
class Following(_Step):
    """Computed inside the loop `axis` of `stage`, which it reads, after and from the elements computed there."""

    stage: Stage

    @property
    def call(self) -> str:
        return f"s[{self.owner.name}].reverse_compute_at(s[{self.stage.name}], {self.axis.name})"


@dataclass(frozen=True, eq=False)
class Tensorized(_Step):
    """The intrinsic `intrin` replaces the loop `axis` and those inside."""

    intrin: TensorIntrin

    @property
    def call(self) -> str:
        return f"s[{self.owner.name}].tensorize({self.axis.name}, {self.intrin!r})"


Place: TypeAlias = Root | Inlined | AttachedAt | Following
