"""`DiagnosticContext`: the diagnostics that the passes of a `PassContext` report, for the caller."""

from __future__ import annotations

from relax_mlir.diagnostics import location_text
from relax_mlir.error import Diagnostic
from relax_mlir.mlir import ir
from relax_mlir.source_frame import with_frames

Place = ir.Operation | ir.OpView | ir.Value | ir.Location | None
"""The subject of a message: the location of an op, of a value, or a location itself."""


class DiagnosticContext:
    """Warnings, errors and remarks of passes, and of MLIR during passes, in the order in which they were reported.

    >>> found = DiagnosticContext()
    >>> with PassContext(diag_ctx=found):
    ...     mod = Sequential([...])(mod)
    >>> print(found.render())
    """

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Append a diagnostic."""
        self.diagnostics.append(diagnostic)

    def of_severity(self, severity: str) -> list[Diagnostic]:
        """The diagnostics of a severity: ``"error"``, ``"warning"``, ``"note"`` or ``"remark"``."""
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.severity == severity]

    def render(self) -> str:
        """The diagnostics, each with its source underlined if that can be read; empty if there are none."""
        return "\n".join(with_frames(str(diagnostic)) for diagnostic in self.diagnostics)


def diagnostic_at(severity: str, message: str, place: Place) -> Diagnostic:
    """A diagnostic at the location of `place`."""
    if isinstance(place, ir.Location):
        location: ir.Location | None = place
    else:
        location = None if place is None else place.location
    return Diagnostic(severity, "unknown" if location is None else location_text(location), message)
