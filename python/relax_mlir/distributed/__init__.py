"""Run libraries in several processes or on several machines (see ``docs/distributed.md``).

Workers import only `relax_mlir.distributed.worker`, so `map_batches` is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_mlir.distributed.map_batches import map_batches

__all__ = ["map_batches"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any name of the module
    if name not in __all__:
        raise AttributeError(f"module 'relax_mlir.distributed' has no attribute '{name}'")
    from relax_mlir.distributed.map_batches import map_batches

    globals()[name] = map_batches
    return globals()[name]
