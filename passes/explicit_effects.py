"""Pass ``explicit-effects``: represent in-place changes by packed functions as new values."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.transform import FunctionPass, PassContext


class ExplicitEffects(FunctionPass):
    """Represent in-place changes: after a `call_packed`, its tensor arguments are replaced by `relax.updated` of them.

    Afterwards no op before an effect equals an op after it, so that CSE and folding by SSA value are correct. A
    conditional yields the outer tensors that its branches may change, and a loop carries them. A field of a `tuple` op
    aliases the operand of that op: both are updated. Changes by a nested function to captured values are local to it.

    Every pass of this project that replaces one value by another, or moves an op, first makes effects explicit in the
    functions that it changes. MLIR's own passes do not.
    """

    name: ClassVar[str] = "explicit-effects"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        make_effects_explicit(function)
