"""Lowering of random words by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.random import RandomWordsOp
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import expression
from relax_mlir.te import Tensor
from relax_mlir.topi.statistics import random_words


@expression(RandomWordsOp)
def words(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """Blocks of four random words."""
    return random_words(inputs[0], symbolic.to_dim(attrs.count))
