"""Legalisation of comparisons and logical ops."""

from __future__ import annotations

from relax_mlir.lowering.legalize.elementwise import register
from relax_mlir.scalars.comparison_rules import SCALAR_RULES

register(SCALAR_RULES)
