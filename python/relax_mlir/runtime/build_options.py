"""The options of a compilation, and the report on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

MACHINE_CODE = "machine code"
"""The name in reports of the step after the last phase."""
LEGALIZING = ("relax", "calls")
"""The phases down to level R1."""


@dataclass(frozen=True)
class CompileReport:
    """The time in seconds that each phase of a compilation took, and the path of the stage dump."""

    phases: dict[str, float] = field(default_factory=dict)
    stages: Path | None = None
    from_cache: bool = False
    """True if the code comes from the persistent cache; `phases` then has one entry."""

    @property
    def total(self) -> float:
        """The seconds of all phases."""
        return sum(self.phases.values())


@dataclass(frozen=True)
class Options:
    """Options of `build` other than the module and the target."""

    stages: Path | None
    cache: bool
    profile: bool
    is_legalized: bool = False
    source: str = ""
    """The hash of the module."""
