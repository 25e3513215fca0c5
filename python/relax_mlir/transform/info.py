"""What the infrastructure knows of a pass without running it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relax_mlir.error import ArgumentError, expect
from relax_mlir.transform import registry

MAX_LEVEL = 3
"""The highest optimisation level of passes and contexts."""

_made: set[str] = set()
"""Names of passes that are not registered, but that somebody has made."""


def pass_names(what: str, given: Iterable[str] | None) -> tuple[str, ...]:
    """`given`, a list of names or None, as a tuple; raises `ArgumentError` for all else. `what` is the parameter."""
    if given is None:
        return ()
    if isinstance(given, str):
        raise ArgumentError(f"{what} is the string '{given}', expected a list of names: ['{given}']")
    expect(what, given, list | tuple | set | frozenset, "a list of names of passes")
    found = tuple(given)
    for item in found:
        expect(f"{what}: an entry", item, str, "the name of a pass")
    return found


def level(what: str, given: int) -> int:
    """`given`, checked to be an optimisation level; `what` is the parameter. Raises `ArgumentError`."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MAX_LEVEL:
        raise ArgumentError(f"{what} is {given!r}, expected an integer from 0 to {MAX_LEVEL}")
    return given


def remember(name: str) -> None:
    """Let contexts take the name of a pass that is not registered."""
    _made.add(name)


def known_name(name: str) -> str:
    """The name of a pass as contexts compare it; a class's name (``FuseOps``) becomes that of the pass (``fuse-ops``).

    Raises:
        UnknownNameError: there is no such pass; lists near matches.
    """
    if name in _made or registry.is_known(name) or registry.is_upstream(name):
        return name
    return registry.name_of_class(name)


@dataclass(frozen=True)
class PassInfo:
    """Name, optimisation level and required passes, as in TVM.

    `text` is the pass as it stands in a textual pipeline (``func.func(canonicalize{top-down=false})``), the
    name alone unless given. `composite` marks a pass that only runs others (instruments that print or dump
    skip it: its parts are reported one by one), `on_functions` one that sees one function at a time.
    """

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    text: str = ""
    composite: bool = False
    on_functions: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        expect("PassInfo: 'name'", self.name, str, "the name of a pass")
        level(f"pass '{self.name}': 'opt_level'", self.opt_level)
        object.__setattr__(self, "required", pass_names(f"pass '{self.name}': 'required'", self.required))
        if not self.text:
            object.__setattr__(self, "text", self.name)
        remember(self.name)
