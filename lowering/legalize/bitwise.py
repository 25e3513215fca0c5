"""Legalisation of bitwise ops and shifts."""

from __future__ import annotations

from relax_mlir.lowering.legalize.elementwise import register
from relax_mlir.scalars.bitwise_rules import SCALAR_RULES

register(SCALAR_RULES)
