"""Pass ``merge-composite-functions``: merge neighbouring calls of one library's composite functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from relax_mlir.analysis.call_graph import impure_functions
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.mlir import ir
from relax_mlir.passes.patterns.fuse_ops_by_pattern import composites, is_marked, library_of, wrap
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.rewrite.function_editing import Graph, functions_by_name, needs_with_effects, sort_block
from relax_mlir.transform import ModulePass, PassContext, relax_functions


class MergeCompositeFunctions(ModulePass):
    """Outline connected calls of composite functions of one library into one private function.

    The attribute ``relax.codegen`` of the function names the library, by which ``run-codegen`` selects the code
    generator. A call joins the calls whose results it uses, unless an op outside of the function would have to run in
    between. A call that joins none gets a separate function. Bindings are moved after operands that are now defined
    later; effects keep their order. Follows TVM's MergeCompositeFunctions.
    """

    name: ClassVar[str] = "merge-composite-functions"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in list(relax_functions(module)):
            if is_marked(function):
                continue
            libraries = {name: library_of(pattern) for name, pattern in composites(module).items()}
            blocks = dict.fromkeys(
                op.block for op in ops_of(function.operation, "relax.call") if callee_of(op) in libraries
            )
            if blocks:
                make_effects_explicit(function)
            for block in blocks:
                _merge(block, module, libraries)


def _merge(block: ir.Block, module: ir.Module, libraries: Mapping[str, str]) -> None:
    impure = impure_functions(functions_by_name(module))
    ops = [view.operation for view in block.operations][:-1]
    for members in _Groups(ops, impure, libraries).found():
        calls = [ops[number] for number in members]
        outputs = [call.results[0] for call in calls if _is_used_outside(call, calls)]
        wrap(calls, outputs or [calls[-1].results[0]], libraries[callee_of(calls[0])], module)
    sort_block(block, impure)


def _is_used_outside(call: ir.Operation, calls: Sequence[ir.Operation]) -> bool:
    return any(not _is_part(use.owner.operation, calls) for use in call.results[0].uses)


def _is_part(user: ir.Operation, calls: Sequence[ir.Operation]) -> bool:
    """True if a user is one of the calls, or an argument tuple that only they use."""
    if user in calls:
        return True
    users = [use.owner.operation for result in user.results for use in result.uses]
    return user.name == TUPLE and bool(users) and all(_is_part(item, calls) for item in users)


class _Groups:
    """The partition of the calls of a block into functions.

    Ops are identified by position. The first member of a group identifies it; every other op is a group by itself. A
    call may join a group whose result it uses, unless another operand of it depends on that group.
    """

    def __init__(
        self, ops: Sequence[ir.Operation], impure: Collection[str], libraries: Mapping[str, str]
    ) -> None:
        self._needs = _past_arguments(ops, needs_with_effects(ops, impure))
        self._libraries = [libraries.get(callee_of(op)) if op.name == "relax.call" else None for op in ops]
        self._leader = list(range(len(ops)))
        self._members: dict[int, list[int]] = {}
        for number, library in enumerate(self._libraries):
            if library is not None:
                self._join(number, library)

    def found(self) -> list[list[int]]:
        """The members of each group of calls, in order."""
        return [sorted(members) for _, members in sorted(self._members.items())]

    def _join(self, number: int, library: str) -> None:
        needed = {self._leader[item] for item in self._needs[number]}
        between: set[int] = set()
        for each in needed:
            between |= self._behind(each)
        joined = {each for each in needed - between if self._libraries[each] == library}
        members = [number, *(item for each in joined for item in self._members.pop(each))]
        leader = min(members)
        self._members[leader] = members
        for item in members:
            self._leader[item] = leader

    def _behind(self, group: int) -> set[int]:
        """The groups that a group depends on, transitively."""
        found: set[int] = set()
        waiting = [group]
        while waiting:
            current = waiting.pop()
            for member in self._members.get(current, [current]):
                for needed in self._needs[member]:
                    other = self._leader[needed]
                    if other != current and other not in found:
                        found.add(other)
                        waiting.append(other)
        return found


def _past_arguments(ops: Sequence[ir.Operation], needs: Graph) -> Graph:
    """The graph `needs` in which ops depend on the fields of tuples rather than on the tuples."""

    def makers(number: int) -> set[int]:
        if ops[number].name != TUPLE:
            return {number}
        return set().union(*(makers(item) for item in needs[number]))

    return [sorted(set().union(*(makers(item) for item in row))) for row in needs]
