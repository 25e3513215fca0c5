"""Pass ``fuse-ops``: fuse chains of elementwise prim funcs (level R1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import KERNEL, PATTERN
from relax_mlir.dialects.location import name_of, renamed, unnamed
from relax_mlir.dialects.structure import pack
from relax_mlir.dialects.traits import IsTransparent, has_trait
from relax_mlir.dialects.types import dims_attr
from relax_mlir.ir_queries import callee_of, defining_op, fresh_name, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.passes.explicit_effects import make_all_effects_explicit
from relax_mlir.passes.fusion.call_wiring import wire
from relax_mlir.passes.fusion.fused_names import joined_name
from relax_mlir.passes.fusion.groups import Group, against_kinds
from relax_mlir.passes.fusion.input_checks import require_fusible
from relax_mlir.passes.fusion.prim_calls import (
    CALL_TIR,
    MAX_USERS,
    PrimCall,
    has_many_users,
    is_float,
    saved_traffic,
    unpack_tuples,
    users_of,
)
from relax_mlir.passes.fusion.prim_costs import CHEAP
from relax_mlir.passes.fusion.prim_loops import (
    Read,
    looks_at_its_place,
    over_rows,
    reads_of,
    row_kernel,
    takes_row_epilogue,
)
from relax_mlir.passes.fusion.prim_merging import (
    Merge,
    Wiring,
    is_contraction,
    merge,
    merge_epilogue,
    merge_prologue,
    merge_row_epilogue,
)
from relax_mlir.passes.fusion.prim_stores import against_stored_epilogue, merge_into_stores, on_buffers
from relax_mlir.passes.fusion.prim_transposes import against_transpose, merge_transpose, permutation_of
from relax_mlir.passes.fusion.report import FusionDecision, current_report
from relax_mlir.passes.fusion.sink_into_branches import sink_epilogues, sink_prologues
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.passes import optimized_functions


@dataclass(frozen=True)
class FuseOps(ModulePass):
    """Fuse calls of prim funcs into their users if that saves more memory traffic than it repeats work.

    Loops: prim funcs of pattern elementwise, broadcast or injective are fused if their body is one parallel loop, or
    one loop per part of a concatenation; the result has the same form. Slices are read in place. A reduction fuses a
    producer whose only user it is. Cheap work is repeated, for each element that it is broadcast to and in each of
    several users, unless that reads more memory. Functions such as exp are computed once, and not in loops that read
    out of order, which are not vectorised.

    Kernels: contractions (pattern out_fusable) read transposed operands in place of a permuted copy, if their kernels
    support it, and take the loop over their result as an epilogue. Row kernels (softmax, norms) take the loop that
    computes their input as a prologue, and the loop over their result as an epilogue. Prim funcs on buffers, such as
    schedules, apply the loop over their result at the store. Loops around a conditional move into its branches if a
    branch fuses them.

    `max_depth` is the maximum number of prim funcs that become one. Equal groups share one fused prim func.
    `explain_fusion` reports all decisions.
    """

    name: ClassVar[str] = "fuse-ops"
    opt_level: ClassVar[int] = 2
    max_depth: int = 16

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        require_fusible(module)
        fusion = _Fusion(module, self.max_depth)
        for function in optimized_functions(module):
            fusion.name = function.name.value
            for block in _blocks(function.operation):
                unpack_tuples(block)
                for fuse in fusion.steps():
                    fusion.run_on_block(block, fuse)
                # The blocks of branches are visited later, and fuse the calls that moved there.
                sink_epilogues(block, fusion.is_fusible)
                sink_prologues(block, fusion.is_fusible)
                fusion.explain_rest(block)
        fusion.drop_unused()


def _blocks(op: ir.Operation) -> Iterator[ir.Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for view in block.operations:
                yield from _blocks(view.operation)


Fuse: TypeAlias = "Callable[[PrimCall, PrimCall], PrimCall | None]"
"""Fuses the call that defines an operand with the call that uses it; returns None if they do not fuse."""


@dataclass
class _Fusion:
    module: ir.Module
    max_depth: int
    groups: dict[str, Group | None] = field(default_factory=dict)
    merged: dict[Hashable, str | None] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        self.functions = {f.name.value: f for f in self.module.body.operations if isinstance(f, func.FuncOp)}

    def steps(self) -> tuple[Fuse, ...]:
        """The kinds of fusion, by decreasing savings; each is applied to all calls before the next."""
        return (
            self.read_transposed,
            self.join_loops,
            self.copy_loops,
            self.add_epilogue,
            self.add_prologue,
            self.add_row_epilogue,
            self.add_stored_epilogue,
        )

    def run_on_block(self, block: ir.Block, fuse: Fuse) -> None:
        """Fuse each call with its producers, in order, until nothing more fuses."""
        epoch = 0
        epochs: dict[ir.Value, int] = {}
        for view in list(block.operations):
            op = view.operation
            if not has_trait(op, IsTransparent):
                epoch += 1
            if op.name != CALL_TIR:
                continue
            epochs[op.results[0]] = epoch
            call = PrimCall.of(op)
            while call is not None:
                call = self._fuse_one(call, epochs, epoch, fuse)

    def _fuse_one(
        self, call: PrimCall, epochs: dict[ir.Value, int], epoch: int, fuse: Fuse
    ) -> PrimCall | None:
        """Fuse `call` with one of its producers; returns the new call, or None if there is none to fuse."""
        function = self.functions.get(call.callee)
        takes_others = function is not None and (row_kernel(function) or is_contraction(function))
        if self._group(call.callee) is None and not takes_others:
            return None
        for operand in dict.fromkeys(call.operands):
            defining = defining_op(operand)
            if epochs.get(operand) != epoch or defining is None:
                continue
            producer = PrimCall.of(defining)
            if producer is None or call.info is None or producer.info is None:
                continue
            fused = fuse(producer, call)
            if fused is not None:
                epochs[fused.op.results[0]] = epoch
                return fused
        return None

    def read_transposed(self, producer: PrimCall, consumer: PrimCall) -> PrimCall | None:
        """Fuse a permutation into a contraction, which reads the operand without the permuted copy."""
        if has_many_users(producer.op):
            return None
        if any(self._against_transpose(producer, user) for user in users_of(producer.op)):
            return None
        return self._fuse(producer, consumer, merge_transpose, lambda _: None, "read as it lies")

    def _against_transpose(self, producer: PrimCall, user: ir.Operation) -> str:
        """The reason why a user of a permuted tensor needs the copy; "" if it can read the original."""
        call = PrimCall.of(user) if user.name == CALL_TIR and user.block == producer.op.block else None
        first, second = (self.functions.get(x.callee) if x is not None else None for x in (producer, call))
        if call is None or first is None or second is None:
            return "several users, not all of them contractions"
        numbers = [i for i, value in enumerate(call.operands) if value == producer.op.results[0]]
        return against_transpose(first, second, numbers)

    def join_loops(self, producer: PrimCall, consumer: PrimCall) -> PrimCall | None:
        """Fuse two loops, the second of which is the only user of the first."""
        if not consumer.is_only_user(producer.op.results[0]) or self._against_one_loop(producer, consumer):
            return None
        again = self._again(producer, consumer)
        cheap = f", cheap enough: {again}" if again else ""
        return self._join(producer, consumer, f"its only user{self._where(producer, consumer)}{cheap}")

    def copy_loops(self, producer: PrimCall, consumer: PrimCall) -> PrimCall | None:
        """Fuse a cheap loop into each of its users."""
        if self._against_copies(producer, consumer) or self._against_one_loop(producer, consumer):
            return None
        return self._join(producer, consumer, "cheap: computed in each user")

    def add_epilogue(self, producer: PrimCall, consumer: PrimCall) -> PrimCall | None:
        """Fuse a loop into the contraction that computes its input, of the same shape, as an epilogue."""
        if not consumer.is_only_user(producer.op.results[0]) or self._against_epilogue(producer, consumer):
            return None
        assert producer.info is not None and consumer.info is not None
        rounds = producer.info.dtype != consumer.info.dtype
        reason = f"epilogue of the contraction{f', to {consumer.info.dtype}' if rounds else ''}"
        return self._fuse(producer, consumer, merge_epilogue, lambda _: None, reason)

    def add_prologue(self, producer: PrimCall, consumer: PrimCall) -> PrimCall | None:
        """Fuse a loop into the row kernel that reads its result, as a prologue."""
        if not consumer.is_only_user(producer.op.results[0]) or self._against_prologue(producer, consumer):
            return None
        reason = f"prologue of the kernel {row_kernel(self.functions[consumer.callee])}"
        return self._fuse(producer, consumer, merge_prologue, lambda _: None, reason)

    def add_row_epilogue(self, producer: PrimCall, consumer: PrimCall) -> PrimCall | None:
        """Fuse a loop into the row kernel that computes its input, of the same type, as an epilogue."""
        if not consumer.is_only_user(producer.op.results[0]):
            return None
        if self._against_row_epilogue(producer, consumer):
            return None
        reason = f"epilogue of the kernel {takes_row_epilogue(self.functions[producer.callee])}"
        return self._fuse(producer, consumer, merge_row_epilogue, lambda _: None, reason)

    def add_stored_epilogue(self, producer: PrimCall, consumer: PrimCall) -> PrimCall | None:
        """Fuse a loop into the prim func on buffers (a schedule, say) that computes its input, at the store."""
        if not consumer.is_only_user(producer.op.results[0]) or self._against_stored(producer, consumer):
            return None
        return self._fuse(
            producer, consumer, merge_into_stores, lambda _: None, "computed where it is stored"
        )

    def _against_stored(self, producer: PrimCall, consumer: PrimCall) -> str:
        """The reason against applying a loop where a prim func on buffers stores its result; "" if there is none."""
        first, loop = self.functions.get(producer.callee), self._group(consumer.callee)
        if first is None or loop is None or loop.kind != "loop":
            return self._no_loop(producer.callee if first is None else consumer.callee)
        if producer.info is None or consumer.info is None or producer.info.shape != consumer.info.shape:
            return "the result has another shape"
        numbers = [i for i, value in enumerate(consumer.operands) if value == producer.op.results[0]]
        return against_stored_epilogue(first, len(producer.operands), loop.function, numbers)

    def is_fusible(self, producer: PrimCall, consumer: PrimCall) -> bool:
        """True if two calls fuse when the second is the only user of the first."""
        if producer.info is None or consumer.info is None:
            return False
        tests = (
            self._against_one_loop,
            self._against_epilogue,
            self._against_prologue,
            self._against_row_epilogue,
            self._against_stored,
        )
        return not all(against(producer, consumer) for against in tests)

    def _join(self, producer: PrimCall, consumer: PrimCall, reason: str) -> PrimCall | None:
        first, second = self._group(producer.callee), self._group(consumer.callee)
        assert first is not None and second is not None
        members = first.members + second.members
        return self._fuse(producer, consumer, merge, lambda f: Group.of(f, members), reason)

    def _against_one_loop(self, producer: PrimCall, consumer: PrimCall) -> str:
        """The reason against fusing two calls into one loop; "" if there is none."""
        first, second = self._group(producer.callee), self._group(consumer.callee)
        if first is not None and second is None and self._pattern(consumer.callee) == "reduction":
            return f"{consumer.callee} reads its input more than once, or in a way of its own"
        if first is None or second is None:
            return self._no_loop(producer.callee if first is None else consumer.callee)
        if first.members + second.members > self.max_depth:
            return f"more than max-depth={self.max_depth} ops"
        against = against_kinds(first, second, self._reads(producer, consumer))
        if against:
            return against
        if producer.info is None or producer.info.known_shape is None:
            return "of unknown shape"
        if consumer.info is None or consumer.info.known_shape is None:
            return f"{consumer.callee} is of unknown shape"
        scattered = first.traits.scattered or second.traits.scattered
        if scattered and (first.traits.is_heavy or second.traits.is_heavy):
            return "functions like exp need vectors, which reads out of order prevent"
        if self._again(producer, consumer) and not first.traits.is_cheap:
            return (
                f"{self._again(producer, consumer)}: weight {first.traits.weight} > {CHEAP} would be repeated"
            )
        return ""

    def _reads(self, producer: PrimCall, consumer: PrimCall) -> list[Read]:
        """The reads of the result of `producer` in the loops of `consumer`; empty if they cannot compute it."""
        numbers = [i for i, value in enumerate(consumer.operands) if value == producer.op.results[0]]
        function = self.functions.get(consumer.callee)
        return (reads_of(function, numbers) if function is not None else None) or []

    def _where(self, producer: PrimCall, consumer: PrimCall) -> str:
        """A phrase for the report if the fused function has more than one loop, else ""."""
        first, second = self._group(producer.callee), self._group(consumer.callee)
        if first is not None and first.kind == "pieces":
            return ", part by part"
        if second is not None and second.kind == "reduction":
            return ", a reduction that computes it"
        return ", in slices" if any(read.part is not None for read in self._reads(producer, consumer)) else ""

    def _against_copies(self, producer: PrimCall, consumer: PrimCall) -> str:
        """The reason against copying a call into all its users; "" if there is none."""
        first = self._group(producer.callee)
        if first is None:
            return self._no_loop(producer.callee)
        if first.kind != "loop":
            return "several users: of a concatenation, or sums"
        if not first.traits.is_cheap:
            return f"several users: weight {first.traits.weight} > {CHEAP} would be repeated"
        if has_many_users(producer.op):
            return f"more than {MAX_USERS} users"
        users = users_of(producer.op)
        for user in users:
            call = PrimCall.of(user) if user.name == CALL_TIR and user.block == producer.op.block else None
            if call is None or self._group(call.callee) is None:
                return "several users, not all of them loops: the value is needed anyway"
            if self._against_one_loop(producer, call):
                return "several users, not all of which can compute it"
        info, before = producer.info, producer.reads()
        assert info is not None and info.dtype is not None
        if len(users) * before > before + (1 + len(users)) * info.dtype.itemsize:
            return f"several users: reading its inputs {len(users)} times costs more than storing it"
        return ""

    def _against_epilogue(self, producer: PrimCall, consumer: PrimCall) -> str:
        """The reason against fusing a loop as the epilogue of a contraction; "" if there is none."""
        function, loop = self.functions.get(producer.callee), self._group(consumer.callee)
        if function is None or not is_contraction(function):
            return self._no_loop(producer.callee)
        if loop is None or loop.kind != "loop":
            return self._no_loop(consumer.callee)
        if producer.info is None or consumer.info is None or producer.info.shape != consumer.info.shape:
            return "the result of the contraction has another shape"
        if producer.info.dtype != consumer.info.dtype and not is_float(producer.info):
            return "another dtype, and no kernel that has the sums of some rows at a time"
        return "" if loop.members < self.max_depth else f"more than max-depth={self.max_depth} ops"

    def _against_prologue(self, producer: PrimCall, consumer: PrimCall) -> str:
        """The reason against fusing a loop as the prologue of a row kernel; "" if there is none."""
        loop, function = self._group(producer.callee), self.functions.get(consumer.callee)
        if loop is None or loop.kind != "loop" or function is None or not row_kernel(function):
            return self._no_loop(producer.callee if loop is None else consumer.callee)
        if producer.info != consumer.info or producer.op.results[0] != consumer.operands[0]:
            return "not the rows that the kernel walks"
        if loop.traits.scattered or looks_at_its_place(loop.function):
            return "read out of order"
        return "" if loop.members < self.max_depth else f"more than max-depth={self.max_depth} ops"

    def _against_row_epilogue(self, producer: PrimCall, consumer: PrimCall) -> str:
        """The reason against fusing a loop as the epilogue of a row kernel; "" if there is none."""
        loop, function = self._group(consumer.callee), self.functions.get(producer.callee)
        if loop is None or loop.kind != "loop" or function is None or not takes_row_epilogue(function):
            return self._no_loop(consumer.callee if loop is None else producer.callee)
        if producer.info != consumer.info:
            return "the result of the kernel has another type"
        if loop.traits.scattered or looks_at_its_place(loop.function):
            return "read out of order"
        return "" if loop.members < self.max_depth else f"more than max-depth={self.max_depth} ops"

    def _no_loop(self, symbol: str) -> str:
        function = self.functions.get(symbol)
        if function is None:
            return f"{symbol} is not a prim func of this module"
        if KERNEL in function.attributes:
            return f"{symbol} has a kernel of its own ({ir.StringAttr(function.attributes[KERNEL]).value})"
        return f"{symbol} is {self._pattern(symbol)}, not of parallel loops"

    def _pattern(self, symbol: str) -> str:
        function = self.functions.get(symbol)
        known = function is not None and PATTERN in function.attributes
        return ir.StringAttr(function.attributes[PATTERN]).value if known and function else "opaque"

    def _again(self, producer: PrimCall, consumer: PrimCall) -> str:
        """A phrase for the report if elements are recomputed for several elements of the user, else ""."""
        assert producer.info is not None and consumer.info is not None
        group, reads = self._group(consumer.callee), self._reads(producer, consumer)
        if len(reads) > 1:
            return "read in several places"
        if group is not None and (group.kind != "loop" or reads[0].part is not None):
            return "broadcast" if any(read.leaves_out_loops for read in reads) else ""
        sizes = [[d for d in info.known_shape or () if d != 1] for info in (producer.info, consumer.info)]
        return "" if sorted(map(str, sizes[0])) == sorted(map(str, sizes[1])) else "broadcast"

    def explain_rest(self, block: ir.Block) -> None:
        """Report the calls that were not fused with a user of their result."""
        if current_report() is None:
            return
        for view in block.operations:
            consumer = PrimCall.of(view.operation) if view.operation.name == CALL_TIR else None
            for value in dict.fromkeys(consumer.operands if consumer is not None else ()):
                defining = defining_op(value)
                producer = (
                    PrimCall.of(defining) if defining is not None and defining.name == CALL_TIR else None
                )
                if producer is not None and consumer is not None:
                    self._report(producer, consumer, False, self._why_apart(producer, consumer))

    def _why_apart(self, producer: PrimCall, consumer: PrimCall) -> str:
        if producer.info is None or consumer.info is None:
            return "more than one result"
        if producer.op.block != consumer.op.block:
            return "in different blocks"
        function, only = self.functions.get(producer.callee), consumer.is_only_user(producer.op.results[0])
        turned = function is not None and permutation_of(function) is not None
        if turned and is_contraction(self.functions[consumer.callee]):
            reasons = [self._against_transpose(producer, user) for user in users_of(producer.op)]
            return next(filter(None, reasons), "an op between them may write")
        if function is not None and is_contraction(function):
            against = self._against_epilogue(producer, consumer)
            return against or (
                "read in another order" if only else "several users: a contraction is computed once"
            )
        if not only and over_rows(self.functions[consumer.callee]):
            return "several users"
        if function is not None and row_kernel(self.functions[consumer.callee]):
            return self._against_prologue(producer, consumer) or "an op between them may write"
        if function is not None and takes_row_epilogue(function):
            against = self._against_row_epilogue(producer, consumer)
            return against or "read in another order" if only else "several users"
        if on_buffers(self.functions[consumer.callee]):
            return f"{consumer.callee} works on memory: it takes no prologue"
        if function is not None and on_buffers(function):
            against = self._against_stored(producer, consumer)
            return against or ("an op between them may write" if only else "several users")
        against = self._against_one_loop(producer, consumer)
        if not against and not only:
            against = self._against_copies(producer, consumer)
        return against or "an op between them may write, or the loops do not merge"

    def _report(self, producer: PrimCall, consumer: PrimCall, fused: bool, reason: str) -> None:
        report = current_report()
        if report is None:
            return
        patterns = self._pattern(producer.callee), self._pattern(consumer.callee)
        place = location_text(producer.op.location)
        saved = saved_traffic(producer, consumer) if fused else ""
        report.decisions.append(
            FusionDecision(self.name, place, producer.callee, consumer.callee, patterns, fused, reason, saved)
        )

    def _fuse(
        self,
        producer: PrimCall,
        consumer: PrimCall,
        merge: Merge,
        group: Callable[[func.FuncOp], Group | None],
        reason: str,
    ) -> PrimCall | None:
        wiring, operands, exprs = wire(self.functions, producer, consumer)
        symbol = self._merged(producer.callee, consumer.callee, wiring, merge, group)
        if symbol is None:
            return None
        self._report(producer, consumer, True, reason)
        old = consumer.op
        places = ir.Location.fused([unnamed(producer.op.location), unnamed(old.location)])
        location = renamed(name_of(old.location), places)
        with ir.InsertionPoint(old):
            new = ir.Operation.create(
                CALL_TIR,
                results=[old.results[0].type],
                operands=[pack(operands, location)],
                attributes={"callee": ir.FlatSymbolRefAttr.get(symbol), "tir_vars": dims_attr(exprs)},
                loc=location,
            )
        old.results[0].replace_all_uses_with(new.results[0])
        consumer.erase()
        if not is_used(producer.op.results[0]):
            producer.erase()
        return PrimCall(new, symbol, operands, exprs)

    def _group(self, symbol: str) -> Group | None:
        if symbol not in self.groups:
            function = self.functions.get(symbol)
            self.groups[symbol] = None if function is None else Group.of(function)
        return self.groups[symbol]

    def _merged(
        self,
        producer: str,
        consumer: str,
        wiring: Wiring,
        merge: Merge,
        group: Callable[[func.FuncOp], Group | None],
    ) -> str | None:
        """Symbol of the merged prim func, created at the first use; None if the two do not merge."""
        key = (producer, consumer, wiring)
        if key not in self.merged:
            symbol = fresh_name(joined_name((producer, consumer)), self.functions)
            function = merge(self.module, self.functions[producer], self.functions[consumer], wiring, symbol)
            self.merged[key] = None if function is None else symbol
            if function is not None:
                self.functions[symbol] = function
                self.groups[symbol] = group(function)
        return self.merged[key]

    def drop_unused(self) -> None:
        """Erase intermediate fused prim funcs that are not called."""
        used: set[str] = set()

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == CALL_TIR:
                used.add(callee_of(op))
            return ir.WalkResult.ADVANCE

        self.module.operation.walk(visit)
        for symbol in self.merged.values():
            if symbol is not None and symbol not in used:
                self.functions[symbol].operation.erase()
