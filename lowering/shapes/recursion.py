"""Recursive functions: a limit on their stack depth."""

from __future__ import annotations

from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.abi.runtime_declarations import RuntimeDeclarations
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, ir

STACK_BYTES = 2 << 20
"""Stack bytes available to a recursion, measured from its first call; threads usually have 8 MiB."""


def check_stack(declarations: RuntimeDeclarations, name: str, base: ir.Value) -> ir.Value:
    """Check stack space at the entry of a recursive function; return the base address for its callees.

    `base`: the base address from the caller, 0 if it is outside of the recursion.
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
