"""Legalisation of the binary arithmetic ops and of ewise_fma."""

from __future__ import annotations

from relax_mlir.lowering.legalize.elementwise import register
from relax_mlir.scalars.binary_rules import SCALAR_RULES

register(SCALAR_RULES)
