"""The properties of a pass that are known without running it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relax_mlir.error import ArgumentError, expect
from relax_mlir.transform import registry

MAX_LEVEL = 3
"""The highest optimisation level of passes and contexts."""

_made: set[str] = set()
"""Names of existing passes that are not registered."""


def pass_names(what: str, given: Iterable[str] | None) -> tuple[str, ...]:
    """`given`, a list of names or None, as a tuple; raises `ArgumentError` for others. `what` names the parameter."""
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
    """`given`, checked to be an optimisation level; `what` names the parameter. Raises `ArgumentError`."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MAX_LEVEL:
        raise ArgumentError(f"{what} is {given!r}, expected an integer from 0 to {MAX_LEVEL}")
    return given


def remember(name: str) -> None:
    """Make contexts accept the name of a pass that is not registered."""
    _made.add(name)


def known_name(name: str) -> str:
    """The name of a pass in the form that contexts compare: a class's name (``FuseOps``) is mapped to ``fuse-ops``.

    Raises:
        UnknownNameError: there is no such pass; lists near matches.
    """
    if name in _made or registry.is_known(name) or registry.is_upstream(name):
        return name
    return registry.name_of_class(name)


@dataclass(frozen=True)
class PassInfo:
    """Name, optimisation level and required passes, as in TVM.

    `text` is the pass in a textual pipeline (``func.func(canonicalize{top-down=false})``), by default its name.
    `composite` marks a pass that only runs others (instruments that print or dump skip it: they see its parts),
    `on_functions` one that runs on one function at a time.
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
