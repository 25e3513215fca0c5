"""Nodes that need no rule: arithmetic of sizes, which is part of the shapes, and redundant checks."""

from __future__ import annotations

from relax_mlir.frontend.torch.torch_types import Node, Size

CHECKS = (
    "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
)
"""Torch's checks that always hold if shapes, dtypes and guards do."""

_EFFECTS = ("aten._assert_scalar.default", "aten._local_scalar_dense.default", "aten.item.default")
"""Ops that have rules although no result is a tensor."""


def is_ignored(node: Node) -> bool:
    """True if nothing is emitted for a node."""
    name = str(node.target)
    if name in CHECKS:
        return True
    return name not in _EFFECTS and _is_number(node.meta.get("val"))


def _is_number(value: Size) -> bool:
    return isinstance(value, bool | int | float) or type(value).__name__ in ("SymInt", "SymFloat", "SymBool")
