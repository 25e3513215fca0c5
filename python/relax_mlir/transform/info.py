"""What the infrastructure knows of a pass without running it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PassInfo:
    """Name, optimisation level and required passes, as in TVM.

    `text` is the pass as it stands in a textual pipeline (``func.func(canonicalize{top-down=false})``), the
    name alone unless given. `composite` marks a pass that only runs others (instruments that print or dump
    skip it: its parts are reported one by one).
    """

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    text: str = ""
    composite: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", tuple(self.required))
        if not self.text:
            object.__setattr__(self, "text", self.name)
