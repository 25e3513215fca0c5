"""What tuning has found for a computation: configurations, or tables of sizes, and on what machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError
from relax_mlir.strategy.knobs import Values
from relax_mlir.strategy.size_table import SizeTable
from relax_mlir.target import Target

Choice = Values | SizeTable
"""What is known of a schedule: one configuration, or one for each of some sizes."""


@dataclass(frozen=True)
class Known:
    """A choice, the text of the target that it was measured for, the features of the CPU, and where it is written.

    `features` are None where nobody has written them down.
    """

    choice: Choice
    target: str = "cpu"
    features: tuple[str, ...] | None = None
    place: str = ""

    def against(self, target: Target) -> str:
        """Why it is not for a target; empty: it is."""
        if Target.parse(self.target) != target and str(target) != self.target:
            return f"it was measured for the target '{self.target}', this is '{target}'"
        if self.features is not None and set(self.features) != target.features:
            other = ", ".join(sorted(target.features.symmetric_difference(self.features)))
            return f"it was measured on a CPU that differs in {other}"
        return ""


def choice_for(name: str, known: Sequence[Known], target: Target) -> Known | None:
    """The first choice that is for a target; None if there is none at all.

    Raises:
        ArgumentError: all that there are are for other targets.
    """
    for each in known:
        if not each.against(target):
            return each
    if not known:
        return None
    each = known[-1]
    raise ArgumentError(
        f"{placed(each)}what is known of the schedule of '{name}' is not for this target: {each.against(target)}"
    )


def placed(known: Known) -> str:
    """Where a choice is written, as the beginning of a message."""
    return f"{known.place}: " if known.place else ""
