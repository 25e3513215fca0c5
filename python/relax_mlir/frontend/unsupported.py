"""One error for all ops of a program that an importer does not know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relax_mlir.error import UnsupportedError

_PLACES = 3
"""How many places of one op a message shows."""


@dataclass
class UnsupportedOps:
    """What an importer has met and does not support: ops with reasons, how often, and where."""

    program: str
    """What is imported, for the message: ``the exported program``, ``model.onnx``."""
    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Places by op and reason."""

    def add(self, op: str, reason: str, place: str) -> None:
        """Note that `op` stands at `place` (empty: unknown), and why it is not supported."""
        self.found.setdefault((op, reason), []).append(place)

    def __bool__(self) -> bool:
        return bool(self.found)

    def error(self, advice: str = "") -> UnsupportedError:
        """All of it as one error, the most frequent ops first."""
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
