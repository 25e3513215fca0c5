"""How an op may be fused, from freely to not at all: TVM's OpPatternKind."""

from __future__ import annotations

from enum import IntEnum


class OpPatternKind(IntEnum):
    """The kind of an op by what each element of its result is computed of; the numbers are TVM's.

    It is that of the op's plain use: a call of `add` on one shape is elementwise, too. What `fuse-ops` goes by is the
    ``relax.pattern`` of the prim func that a call becomes.
    """

    ELEMWISE = 0
    """Of the element at the same place."""
    BROADCAST = 1
    """Of elements at the same place along some axes, in order."""
    INJECTIVE = 2
    """Of one element of an input, anywhere."""
    COMM_REDUCE = 3
    """Of elements along some axes, combined in any order."""
    OUT_ELEMWISE_FUSABLE = 4
    """Of many elements; elementwise ops on the result can be computed with it."""
    TUPLE = 7
    """A tuple: nothing is computed."""
    OPAQUE = 8
    """Anything else."""
