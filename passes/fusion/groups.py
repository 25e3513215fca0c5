"""Prim funcs that `fuse-ops` can fuse as loops, and which kinds of loops fuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.mlir import func, ir
from relax_mlir.passes.fusion.prim_costs import LoopTraits, traits_of
from relax_mlir.passes.fusion.prim_loops import Kind, Read, kind_of


@dataclass
class Group:
    """A fusible prim func; `members` counts the prim funcs that were fused into it."""

    function: func.FuncOp
    kind: Kind
    traits: LoopTraits
    members: int = 1

    @classmethod
    def of(cls, function: func.FuncOp, members: int = 1) -> Group | None:
        """The group of a prim func; None if it is not fusible."""
        kind = kind_of(function)
        return None if kind is None else cls(function, kind, traits_of(function), members)


def against_kinds(first: Group, second: Group, reads: Sequence[Read]) -> str:
    """The reason against fusing loops of these kinds; "" if there is none."""
    if first.kind == "reduction":
        return "a reduction is complete before its result is used"
    if first.kind == "pieces" and second.kind != "loop":
        return f"a concatenation before {'a reduction' if second.kind == 'reduction' else 'another one'}"
    whole = [read for read in reads if read.part is None]
    if not reads or len({(read.loop, str(read.map)) for read in whole}) > len({read.loop for read in whole}):
        return "read in more than one order, or at computed places"
    if first.kind == "pieces" and len(reads) > len(whole):
        return "a slice of a concatenation"
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    if not all(isinstance(x, plain) for read in reads for x in read.map.results):
        return "read in a computed order"
    return ""
