"""Lifetimes of tensors in Relax functions: aliases of a tensor and its last uses.

A tensor *escapes* its block if something outside may still hold it: it is returned, yielded by the block, or passed
to a packed function, which may retain it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from relax_mlir.dialects.dialect import ObjectType
from relax_mlir.dialects.traits import CapturesTensors, EndsLife, IsLoop, ReadsTensors, has_trait
from relax_mlir.ir_queries import enclosing_op_in, entry_block, first_op, next_op
from relax_mlir.mlir import func, ir


@dataclass(frozen=True)
class Place:
    """An insertion position: after the op `after`, or at the start of `block`."""

    block: ir.Block
    after: ir.Operation | None

    def insertion_point(self) -> ir.InsertionPoint:
        """The point after the kills that are already there; `InsertionPoints` computes it once per place."""
        op = first_op(self.block) if self.after is None else next_op(self.after)
        while op is not None and has_trait(op, EndsLife):
            op = next_op(op)
        assert op is not None, "a block has a terminator"
        return ir.InsertionPoint(op)


class InsertionPoints(dict[Place, ir.InsertionPoint]):
    """The insertion point of each place, computed on first use: many tensors may end at one place.

    No op may be erased until the last of them is used.
    """

    def __missing__(self, place: Place) -> ir.InsertionPoint:
        found = self[place] = place.insertion_point()
        return found


@dataclass
class Lifetimes:
    """Ends of the tensors of one function. `borrowing`: results of packed calls that do not retain their arguments.

    Ops are hashed by their operands: compute all places before the function changes.
    """

    function: func.FuncOp
    borrowing: set[ir.Value] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._position: dict[ir.Operation, int] = {}
        self._number(entry_block(self.function))

    def _number(self, block: ir.Block) -> None:
        for position, view in enumerate(block.operations):
            self._position[view.operation] = position
            for region in view.operation.regions:
                for inner in region.blocks:
                    self._number(inner)

    def ends(self, value: ir.Value) -> list[Place]:
        """The places after the last use of `value`, the result of an op, one per path; empty if it escapes."""
        home = value.owner.operation.block
        users, sharing = self._uses(value)
        if users is None:
            return []
        return self.places(home, [value.owner.operation, *users], sharing)

    def places(
        self, home: ir.Block, users: list[ir.Operation], sharing: set[ir.Operation] | None = None
    ) -> list[Place]:
        """Places in `home` and its branches after the last of `users`, one per path.

        `sharing`: ops whose results share the memory, so that a branch must not end it. Empty if a user is outside of
        `home` or is its terminator.
        """
        outer = [ancestor for user in users if (ancestor := enclosing_op_in(home, user)) is not None]
        if len(outer) < len(users):
            return []
        return list(self._places(home, users, sharing or set()))

    def _places(
        self, block: ir.Block, users: list[ir.Operation], sharing: set[ir.Operation]
    ) -> Iterator[Place]:
        inside: dict[ir.Operation, list[ir.Operation]] = {}
        for user in users:
            ancestor = enclosing_op_in(block, user)
            if ancestor is not None:
                inside.setdefault(ancestor, []).append(user)
        if not inside:
            yield Place(block, None)
            return
        last = max(inside, key=self._position.__getitem__)
        if next_op(last) is None:
            return  # the terminator yields it
        branches = [region.blocks[0] for region in last.regions if len(region.blocks)]
        splits = last.name == "scf.if" and len(branches) == 2 and last not in sharing
        if not splits:
            yield Place(block, last)
            return
        for branch in branches:
            yield from self._places(branch, inside[last], sharing)

    def _uses(self, value: ir.Value) -> tuple[list[ir.Operation] | None, set[ir.Operation]]:
        """The users of `value` and its aliases (None: it escapes), and the ops whose results alias it."""
        seen, todo = {value}, [value]
        users: list[ir.Operation] = []
        sharing: set[ir.Operation] = set()
        while todo:
            for use in todo.pop().uses:
                op = use.owner.operation
                if has_trait(op, CapturesTensors) and not self.borrowing.intersection(op.results):
                    return None, sharing
                users.append(op)
                for alias in _aliases(op, use.operand_number):
                    if not isinstance(alias.owner, ir.Block):
                        sharing.add(alias.owner.operation)
                    if alias not in seen:
                        seen.add(alias)
                        todo.append(alias)
        return users, sharing


def _aliases(op: ir.Operation, operand: int) -> list[ir.Value]:
    """The values that may alias operand `operand` of `op` because of this op."""
    if has_trait(op, ReadsTensors, CapturesTensors):
        return []
    if op.name in ("scf.yield", "scf.condition"):
        parent = op.parent.operation
        return [parent.results[operand]] if parent.name == "scf.if" else _loop_values(parent)
    if has_trait(op, IsLoop):
        return _loop_values(op)
    return [r for r in op.results if isinstance(r.type, ir.ShapedType | ir.TupleType | ObjectType)]


def _loop_values(loop: ir.Operation) -> list[ir.Value]:
    arguments = [a for region in loop.regions for block in region.blocks for a in block.arguments]
    return [*loop.results, *arguments]
