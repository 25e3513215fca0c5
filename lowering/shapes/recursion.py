"""Functions that call themselves: how deep they may go."""

from __future__ import annotations

from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.abi.runtime_declarations import RuntimeDeclarations
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, ir

STACK_BYTES = 2 << 20
"""What calls of recursive functions may take of the stack, from the first one on; threads have 8 MiB as a rule."""


def check_stack(declarations: RuntimeDeclarations, name: str, base: ir.Value) -> ir.Value:
    """Check at the entry of a recursive function that there is room; the address from which callees measure.

    `base`: the address that the caller gave, 0 from outside of the recursion.
    """
    word = ir.IntegerType.get_signless(64)
    (here,) = declarations.object("stack", [], [word])
    outermost = arith.cmpi(arith.CmpIPredicate.eq, base, arith.constant(word, 0))
    start = arith.select(outermost, here, base)
    used = arith.index_cast(ir.IndexType.get(), arith.subi(start, here))
    limit = index_constant(STACK_BYTES)
    text = "the function calls itself too deep: its calls take {0} bytes of the stack, the limit is {1}"
    message = f"{verbatim(name)}: {text}"
    fits = arith.cmpi(arith.CmpIPredicate.sle, used, limit)
    declarations.check(fits, "RecursionLimitError", message, [used, limit])
    return start
