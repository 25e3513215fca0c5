"""Tuning results of a computation: configurations or size tables, and the machine that they were measured on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError
from relax_mlir.strategy.knobs import Values
from relax_mlir.strategy.size_table import SizeTable
from relax_mlir.target import Target

Choice = Values | SizeTable
"""The tuning result of a schedule: one configuration, or a table of configurations by size."""


@dataclass(frozen=True)
class Known:
    """A choice, the target and CPU features for which it was measured, and the location where it is recorded.

    `features` are None if they were not recorded.
    """

    choice: Choice
    target: str = "cpu"
    features: tuple[str, ...] | None = None
    place: str = ""

    def against(self, target: Target) -> str:
        """The reason why the choice does not apply to a target; empty if it does."""
        if Target.parse(self.target) != target and str(target) != self.target:
            return f"it was measured for the target '{self.target}', this is '{target}'"
        if self.features is not None and set(self.features) != target.features:
            other = ", ".join(sorted(target.features.symmetric_difference(self.features)))
            return f"it was measured on a CPU that differs in {other}"
        return ""


def choice_for(name: str, known: Sequence[Known], target: Target) -> Known | None:
    """The first choice that applies to a target; None if `known` is empty.

    Raises:
        ArgumentError: all choices are for other targets.
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
    """The location of a choice, as a message prefix."""
    return f"{known.place}: " if known.place else ""
