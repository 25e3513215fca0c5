"""What the infrastructure knows of a pass without running it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relax_mlir.error import expect


def pass_names(what: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """`given`, a name or several, as names; `what` is the parameter. Raises `ArgumentError` for what is no name."""
    listed = [given] if isinstance(given, str) else given
    expect(what, listed, Iterable, "the name of a pass, or a list of names")
    found = tuple(listed)
    for item in found:
        expect(f"{what}: an entry", item, str, "the name of a pass")
    return found


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
        object.__setattr__(self, "required", pass_names(f"pass '{self.name}': 'required'", self.required))
        if not self.text:
            object.__setattr__(self, "text", self.name)
