"""Collect all unsupported ops of a program in one error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relax_mlir.error import UnsupportedError

_PLACES = 3
"""The maximum number of locations per op in a message."""


@dataclass
class UnsupportedOps:
    """The unsupported ops of an import, with reasons, counts and locations."""

    program: str
    """The name of the imported program in messages: ``the exported program``, ``model.onnx``."""
    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Locations by op and reason."""

    def add(self, op: str, reason: str, place: str) -> None:
        """Record that `op` at `place` (empty: unknown) is not supported, and why."""
        self.found.setdefault((op, reason), []).append(place)

    def __bool__(self) -> bool:
        return bool(self.found)

    def error(self, advice: str = "") -> UnsupportedError:
        """Return one error for all ops, the most frequent ones first."""
        rows = sorted(self.found.items(), key=lambda item: (-len(item[1]), item[0]))
        kinds = len({op for op, _ in self.found})
        head = f"{self.program} uses {kinds} op{'s' * (kinds != 1)} that this importer does not support:"
        lines = [f"  {op} ({len(places)}×): {reason}{_at(places)}" for (op, reason), places in rows]
        return UnsupportedError("\n".join([head, *lines, *([advice] if advice else [])]))


def _at(places: Iterable[str]) -> str:
    known = list(dict.fromkeys(place for place in places if place))
    if not known:
        return ""
    more = f", and {len(known) - _PLACES} more" if len(known) > _PLACES else ""
    return f"; at {', '.join(known[:_PLACES])}{more}"
