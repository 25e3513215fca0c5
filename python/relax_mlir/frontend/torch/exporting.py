"""`export_program`: ``torch.export.export``, with branches on sizes 0 and 1 noted instead of assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.frontend.torch.requirement import exact_sizes, require_torch
from relax_mlir.frontend.torch.torch_types import Argument, ExportedProgram

__all__ = ["export_program"]


def export_program(
    module: Argument,
    args: Sequence[Argument] = (),
    kwargs: Mapping[str, Argument] | None = None,
    *,
    dynamic_shapes: Argument = None,
    strict: bool = False,
) -> ExportedProgram:
    """``torch.export.export`` under ``backed_size_oblivious``: a branch of the model on ``size == 1`` is noted.

    By itself torch takes sizes for two or more when it traces, and leaves no trace of what it has decided by that: a
    program with ``if x.shape[0] == 1`` goes the other way for all sizes, without a word. Here such a condition is an
    error of torch's where the size has a `Dim` that may be 1, and a check of each call where it is ``Dim.DYNAMIC``.
    Conditions on size 0 are not noted: torch takes sizes for positive.

    Raises:
        ArgumentError: torch is not installed; and what ``torch.export.export`` raises.
    """
    torch = require_torch()
    with exact_sizes():
        found: ExportedProgram = torch.export.export(
            module,
            tuple(args),
            dict(kwargs) if kwargs else None,
            dynamic_shapes=dynamic_shapes,
            strict=strict,
        )
    return found
