"""`FusionPattern`: a named pattern with an optional check of its matches, and the registry of such patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.value import Value, Var
from relax_mlir.dpl.patterns import DFPattern
from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.lazy import LIBRARIES, load_library


@dataclass(frozen=True)
class PatternCheckContext:
    """A match, as the `check` of a `FusionPattern` receives it."""

    matched_expr: Value
    """The value that the whole pattern matches."""
    annotated_expr: Mapping[str, Any]
    """The values that the patterns of `annotation_patterns` match, by name, without those that match nothing."""
    matched_bindings: Mapping[Var, Value]
    """The variables that would move into the function, with their bound expressions."""
    var_usages: Mapping[Var, Sequence[Var]]
    """For each of these variables, the variables whose bindings use it."""


Check = Callable[[PatternCheckContext], bool]
AttrsGetter = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class FusionPattern:
    """A pattern whose matches become functions named ``library.kind``.

    Args:
        name: the composite function's name; the part before the dot names the code generator.
        pattern: the pattern to match.
        annotation_patterns: sub-patterns by name, for `check` and `attrs_getter`.
        check: returns True to accept a match; None accepts all.
        attrs_getter: returns attributes of the function, given the values that the named sub-patterns match.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = field(default_factory=dict)
    check: Check | None = None
    attrs_getter: AttrsGetter | None = None

    def __post_init__(self) -> None:
        expect("FusionPattern: 'name'", self.name, str, "a name such as 'openblas.matmul'")
        library, dot, kind = self.name.partition(".")
        if not (library and dot and kind):
            raise ArgumentError(
                f"FusionPattern: the name {self.name!r} has no library in front of a dot, as 'openblas.matmul' has"
            )
        expect(f"FusionPattern '{self.name}': 'pattern'", self.pattern, DFPattern, "a pattern")
        expect(
            f"FusionPattern '{self.name}': 'annotation_patterns'",
            self.annotation_patterns,
            Mapping,
            "a dictionary of patterns by name",
        )
        for part, given in self.annotation_patterns.items():
            expect(f"FusionPattern '{self.name}': part '{part}'", given, DFPattern, "a pattern")
        for what in ("check", "attrs_getter"):
            given = getattr(self, what)
            if given is not None and not callable(given):
                raise ArgumentError(f"FusionPattern '{self.name}': '{what}' is {given!r}, expected a function")

    @property
    def library(self) -> str:
        """The part of its name before the dot."""
        return self.name.partition(".")[0]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def of(given: object) -> FusionPattern:
        """Return a `FusionPattern`, or build one of a tuple ``(name, pattern[, annotation_patterns[, check]])``.

        Raises:
            ArgumentError: `given` is neither.
        """
        if isinstance(given, FusionPattern):
            return given
        if isinstance(given, tuple) and 2 <= len(given) <= 4:
            return FusionPattern(*given)
        raise ArgumentError(f"{given!r} is no FusionPattern, and no (name, pattern, annotation_patterns, check)")


_known: dict[str, FusionPattern] = {}


def register_patterns(patterns: Sequence[FusionPattern | tuple[Any, ...]]) -> None:
    """Register patterns by name, for ``fuse-ops-by-pattern{patterns=…}``; those registered later are tried first.

    Raises:
        ArgumentError: a name is registered already.
    """
    expect("register_patterns: 'patterns'", patterns, list | tuple, "a list of FusionPatterns")
    for pattern in map(FusionPattern.of, patterns):
        if pattern.name in _known:
            raise ArgumentError(f"register_patterns: there is a pattern '{pattern.name}' already")
        _known[pattern.name] = pattern


def unregister_pattern(name: str) -> None:
    """Remove a pattern from the registry; unknown names are ignored."""
    expect("unregister_pattern: 'name'", name, str, "a name")
    _known.pop(name, None)


def patterns_named(name: str) -> list[FusionPattern]:
    """The registered pattern called `name`, or all whose names begin with ``name.``, the last registered first.

    Raises:
        UnknownNameError: no such pattern.
        ArgumentError: the patterns belong to a library that is not installed.
    """
    expect("patterns_named: 'name'", name, str, "a name, or the library's")
    load_library(name.partition(".")[0])
    found = [pattern for known, pattern in _known.items() if known == name or known.startswith(f"{name}.")]
    if not found:
        hint = "register_patterns makes patterns known by name"
        libraries = {pattern.library for pattern in _known.values()} | set(LIBRARIES)
        raise UnknownNameError("pattern", name, [*_known, *sorted(libraries)], hint)
    return found[::-1]
