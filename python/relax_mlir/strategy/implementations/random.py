"""Random integers, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor
from relax_mlir.topi.sampling import random_words


@by_expression
def words(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """Blocks of four random words."""
    return random_words(inputs[0], symbolic.to_dim(attrs.count))
