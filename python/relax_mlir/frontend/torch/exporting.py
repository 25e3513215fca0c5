"""`export_program`: ``torch.export.export`` that records branches on sizes 0 and 1 instead of assuming them away."""

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
    """``torch.export.export`` under ``backed_size_oblivious``: a branch of the model on ``size == 1`` is recorded.

    By default torch assumes sizes of two or more when it traces, and does not record the decisions that follow: a
    program with ``if x.shape[0] == 1`` silently takes the other branch for all sizes. Here such a condition is an error
    of torch's if the size has a `Dim` that may be 1, and a check of each call if it is ``Dim.DYNAMIC``. Conditions on
    size 0 are not recorded: torch assumes that sizes are positive.

    Raises:
        ArgumentError: torch is not installed. Errors of ``torch.export.export`` are passed on.
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
