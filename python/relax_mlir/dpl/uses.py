"""Users of the values of a block, as in its script form: inline tuples and shapes do not count as users."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.bounds import bounds_around
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.value import Value, Var
from relax_mlir.dpl.matcher import program_of
from relax_mlir.expr.program import Program, is_hidden
from relax_mlir.expr.sequences import BindingBlock
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Bounds


class _Elsewhere(Var):
    """The users outside of bindings: the outputs of a block or function."""


ELSEWHERE = _Elsewhere("elsewhere")


class Uses:
    """The variables that a block binds or uses from outside, and their users."""

    def __init__(self, block: BindingBlock) -> None:
        bindings = block.bindings
        self._program: Program | None = bindings[0].program if bindings else None
        self.bounds: Bounds = bounds_around(bindings[0].operation) if bindings else {}
        self.values = self._values([op for op in block.ops if not is_hidden(op)])

    def _values(self, ops: Sequence[ir.Operation]) -> list[Value]:
        """The variables that the ops bind, in order, then those from outside that they use."""
        if self._program is None:
            return []
        bound = [result for op in ops for result in op.results]
        outside = [operand for op in ops for operand in _visible_operands(op)]
        found: dict[ir.Value, Value] = {}
        for ssa in (*bound, *outside):
            variable = self._program.expression(ssa)
            assert variable._identity is not None
            found.setdefault(variable._identity, variable)
        return list(found.values())

    def users(self, value: Value) -> list[Value]:
        """The variables whose bindings use `value`, in no particular order."""
        return [user for user in self.all_users(value) if user is not ELSEWHERE]

    def all_users(self, value: Value) -> list[Value]:
        """The same, plus `ELSEWHERE` if `value` is an output of a block or function."""
        assert value._identity is not None
        found: dict[ir.Value | None, Value] = {}
        self._collect(value._identity, program_of(value), found)
        return list(found.values())

    def _collect(self, ssa: ir.Value, program: Program, found: dict[ir.Value | None, Value]) -> None:
        for use in ssa.uses:
            user = use.owner.operation
            if has_trait(user, EndsBlock) or not len(user.results):
                found[None] = ELSEWHERE
            elif is_hidden(user):
                self._collect(user.results[0], program, found)
            else:
                found[user.results[0]] = program.variable(user.results[0])


def _visible_operands(op: ir.Operation) -> list[ir.Value]:
    """The operands of an op, with inline (hidden) operands replaced by their own operands."""
    from relax_mlir.ir_queries import defining_op

    found = []
    for operand in op.operands:
        maker = defining_op(operand)
        if maker is not None and is_hidden(maker):
            found += _visible_operands(maker)
        else:
            found.append(operand)
    return found
