"""Fusion patterns of ops, from freely fusible to opaque: TVM's OpPatternKind."""

from __future__ import annotations

from enum import IntEnum


class OpPatternKind(IntEnum):
    """The kind of an op, by the inputs of each result element; the values are TVM's.

    It describes the general use of the op: a call of `add` on equal shapes is elementwise, too. `fuse-ops` uses the
    ``relax.pattern`` of the prim func that a call is lowered to.
    """

    ELEMWISE = 0
    """Each element depends on the element at the same index."""
    BROADCAST = 1
    """Each element depends on elements at the same index along some axes, in order."""
    INJECTIVE = 2
    """Each element depends on one element of an input, at any index."""
    COMM_REDUCE = 3
    """Each element combines elements along some axes, in any order."""
    OUT_ELEMWISE_FUSABLE = 4
    """Each element depends on many elements; elementwise ops on the result can be fused into it."""
    TUPLE = 7
    """A tuple, without computation."""
    OPAQUE = 8
    """Anything else."""
