"""Import PyTorch, an optional dependency, when the importer is first used."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from relax_mlir.error import ArgumentError


def require_torch() -> Any:  # noqa: ANN401 - a module that has no types
    """Return the module ``torch``. Raises `ArgumentError` if it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise ArgumentError(
            f"relax_mlir.frontend.torch needs PyTorch, which cannot be imported ({error}); "
            "install it with: pip install 'relax-mlir[torch]'"
        ) from error
    return torch


def exact_sizes() -> AbstractContextManager[Any]:
    """Within the context, torch does not assume sizes of two or more when it traces, if its version supports this."""
    from torch.fx.experimental import _config

    known = hasattr(_config, "backed_size_oblivious")
    return _config.patch(backed_size_oblivious=True) if known else nullcontext()
