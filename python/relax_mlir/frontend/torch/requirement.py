"""PyTorch itself, which is no dependency of this project: it is imported when the importer is first used."""

from __future__ import annotations

from typing import Any

from relax_mlir.error import ArgumentError


def require_torch() -> Any:  # noqa: ANN401 - a module that has no types
    """The module ``torch``. Raises `ArgumentError` where it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise ArgumentError(
            f"relax_mlir.frontend.torch needs PyTorch, which cannot be imported ({error}); "
            "install it with: pip install 'relax-mlir[torch]'"
        ) from error
    return torch
