"""Pass ``fuse-ops``: fuse chains of elementwise prim funcs (level R1).

A conditional between implementations of an op yields the result of the selected one. A loop over that result is copied
into each branch, and so is a loop that computes an operand only for the branches. This is done if at least one branch
fuses the loop; the other branches call it separately.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from relax_mlir.diagnostics import location_text, where
from relax_mlir.dialects.attributes import KERNEL, KERNEL_ATTRS, PATTERN, PRIM_FUNC
from relax_mlir.dialects.location import name_of, renamed, unnamed
from relax_mlir.dialects.prim_funcs import kernel_spec
from relax_mlir.dialects.structure import TUPLE, pack
from relax_mlir.dialects.traits import IsTransparent, has_trait
from relax_mlir.dialects.types import dims_attr
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import callee_of, defining_op, enclosing_op_in, fresh_name, is_used, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.fusion.prim_loops import (
    CALL_TIR,
    CHEAP,
    MAX_USERS,
    Kind,
    LoopTraits,
    PrimCall,
    Read,
    has_many_users,
    is_float,
    kind_of,
    looks_at_its_place,
    over_rows,
    reads_of,
    row_kernel,
    saved_traffic,
    takes_row_epilogue,
    traits_of,
    unpack_tuples,
    users_of,
)
from relax_mlir.passes.fusion.prim_merging import (
    Merge,
    Wiring,
    against_stored_epilogue,
    against_transpose,
    declares_result,
    is_contraction,
    merge,
    merge_epilogue,
    merge_into_stores,
    merge_prologue,
    merge_row_epilogue,
    merge_transpose,
    on_buffers,
    permutation_of,
    unsized_axes,
)
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.symbolic import Dim
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.fusion_report import FusionDecision, current_report
from relax_mlir.transform.passes import optimized_functions

MAX_NAME_LENGTH = 80
"""Maximum length; longer names are truncated and get a hash of the whole name (TVM's kMaxFuncNameLength)."""


def joined_name(parts: Iterable[str]) -> str:
    """The name ``a_b_c`` for the parts of a fused function."""
    name = "_".join(parts)
    if len(name) <= MAX_NAME_LENGTH:
        return name
    return f"{name[:MAX_NAME_LENGTH]}_{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def wire(
    functions: Mapping[str, func.FuncOp], producer: PrimCall, consumer: PrimCall
) -> tuple[Wiring, list[ir.Value], list[Dim]]:
    """The wiring of the fused call, its operands and its index expressions, each without duplicates."""
    result = producer.op.results[0]
    operands: list[ir.Value] = []
    exprs: list[Dim] = []

    def operand_number(value: ir.Value) -> int:
        if value not in operands:
            operands.append(value)
        return operands.index(value)

    def index_number(expr: Dim) -> int:
        if expr not in exprs:
            exprs.append(expr)
        return exprs.index(expr)

    numbers = [i for i, value in enumerate(consumer.operands) if value == result]
    first, second = functions[producer.callee], functions[consumer.callee]
    # Prim funcs on buffers have no tensor in between.
    unsized = unsized_axes(first, second, numbers) if first.type.results else []
    shape = producer.info.known_shape if producer.info is not None else None
    assert shape is not None
    wiring = Wiring(
        tuple(map(operand_number, producer.operands)),
        tuple(None if value == result else operand_number(value) for value in consumer.operands),
        tuple(map(index_number, producer.index_exprs)),
        tuple(map(index_number, consumer.index_exprs)),
        tuple((axis, index_number(shape[axis])) for axis in unsized),
    )
    return wiring, operands, exprs


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


def require_fusible(module: ir.Module) -> None:
    """Raise `CompileError`, with the location, for IR that `fuse-ops` cannot process."""
    _require_attributes(module)
    _require_fitting_calls(module)


def _require_attributes(module: ir.Module) -> None:
    """Raise `CompileError` if a pattern or kernel is not a string, or the axes of a kernel are missing."""
    for op in module.body.operations:
        for name in (PATTERN, KERNEL):
            if name in op.attributes and not isinstance(op.attributes[name], ir.StringAttr):
                _fail(op, name, f"is {op.attributes[name]}, expected a string")
        spec = kernel_spec(op)
        if spec is not None and spec.has_axes:
            _require_axes(op)


def _require_fitting_calls(module: ir.Module) -> None:
    """Raise `CompileError` for a call with the wrong number of arguments to a prim func of one result."""
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    for op in ops_of(module.operation, CALL_TIR):
        call = PrimCall.of(op)
        callee = None if call is None else functions.get(call.callee)
        if call is None or call.info is None or callee is None or PRIM_FUNC not in callee.attributes:
            continue
        given, wanted = len(call.operands) + 1 + len(call.index_exprs), len(callee.type.inputs)
        if given != wanted:
            raise CompileError(
                f"{where(op)}: call_tir of '{call.callee}': {given} arguments (outputs and tir_vars included), "
                f"the prim func takes {wanted}"
            )


def _require_axes(op: ir.OpView) -> None:
    kernel = ir.StringAttr(op.attributes[KERNEL]).value
    expected = f'expected a dictionary with "axis" or "axes" for the kernel {kernel}'
    if KERNEL_ATTRS not in op.attributes:
        _fail(op, KERNEL_ATTRS, f"is missing, {expected}")
    given = op.attributes[KERNEL_ATTRS]
    if not isinstance(given, ir.DictAttr):
        _fail(op, KERNEL_ATTRS, f"is {given}, {expected}")
    axes: list[ir.Attribute] | None = [given["axis"]] if "axis" in given else None
    if "axes" in given and isinstance(given["axes"], ir.ArrayAttr):
        axes = list(given["axes"])
    if axes is None or not all(isinstance(axis, ir.IntegerAttr) for axis in axes):
        _fail(op, KERNEL_ATTRS, f"is {given}, {expected}")


def _fail(op: ir.OpView, name: str, what: str) -> None:
    raise CompileError(f"{location_text(op.location)}: {name} of {op.attributes['sym_name']} {what}")


IF = "scf.if"
Fuses = Callable[[PrimCall, PrimCall], bool]
"""True if the call that defines an operand fuses with the call that uses it, as its only user."""


def sink_epilogues(block: ir.Block, fuses: Fuses) -> None:
    """Move each call into the branches of the conditional that defines its operand, if that lets it fuse."""
    epoch, epochs = 0, dict[ir.Value, int]()
    for op in [view.operation for view in block.operations]:
        if op.name == IF:
            epoch += 1
            epochs.update(dict.fromkeys(op.results, epoch))
        elif not has_trait(op, IsTransparent):
            epoch += 1
        call = PrimCall.of(op) if op.name == CALL_TIR else None
        if call is None or call.info is None:
            continue
        for value in dict.fromkeys(call.operands):
            branch = defining_op(value)
            if branch is None or branch.name != IF or branch.block != block or epochs.get(value) != epoch:
                continue
            if not call.is_only_user(value) or not _are_before(call, value, branch):
                continue
            number = ir.OpResult(value).result_number
            if any(fuses(producer, _reading(call, value, producer)) for producer in _producers(branch, number)):
                epochs.update(dict.fromkeys(_sink(call, branch, number).results, epoch))
                break


def _reading(call: PrimCall, value: ir.Value, producer: PrimCall) -> PrimCall:
    """A call that reads the result of `producer` in place of `value`."""
    made = producer.op.results[0]
    operands = [made if operand == value else operand for operand in call.operands]
    return PrimCall(call.op, call.callee, operands, call.index_exprs)


def _are_before(call: PrimCall, value: ir.Value, branch: ir.Operation) -> bool:
    """True if the other operands of a call are defined before a conditional in the same block."""
    others = [operand for operand in call.operands if operand != value]
    made = [op for op in map(defining_op, others) if op is not None and op.block == branch.block]
    return all(op.is_before_in_block(branch) for op in made)


def _producers(branch: ir.Operation, number: int) -> Iterator[PrimCall]:
    """The calls that define a result of a conditional, including those in nested conditionals."""
    for region in branch.regions:
        (block,) = region.blocks
        value = block.operations[len(block.operations) - 1].operation.operands[number]
        op = defining_op(value)
        if op is None or op.block != block:
            continue
        if op.name == IF:
            yield from _producers(op, ir.OpResult(value).result_number)
        elif op.name == CALL_TIR and (call := PrimCall.of(op)) is not None:
            yield call


def _sink(call: PrimCall, branch: ir.Operation, number: int) -> ir.Operation:
    """Copy a call into all branches of a conditional; returns the new conditional."""
    types = [result.type for result in branch.results]
    types[number] = call.op.results[0].type
    with ir.InsertionPoint(branch):
        made = ir.Operation.create(
            IF,
            results=types,
            operands=list(branch.operands),
            attributes={name: branch.attributes[name] for name in branch.attributes},
            regions=len(branch.regions),
            loc=branch.location,
        )
    for old, new in zip(branch.regions, made.regions, strict=True):
        old.blocks[0].append_to(new)
        block = new.blocks[0]
        last = block.operations[len(block.operations) - 1].operation
        given = last.operands[number]
        operands = [given if value == branch.results[number] else value for value in call.operands]
        with ir.InsertionPoint(last):
            packed = pack(operands, call.op.location)
            copy = call.op.clone()
            copy.operands[0] = packed
        last.operands[number] = copy.results[0]
    for place, (old_result, new_result) in enumerate(zip(branch.results, made.results, strict=True)):
        if place != number:
            old_result.replace_all_uses_with(new_result)
    call.op.results[0].replace_all_uses_with(made.results[number])
    call.erase()
    branch.erase()
    return made


def sink_prologues(block: ir.Block, fuses: Fuses) -> None:
    """Move each call whose only users are in the branches of one conditional into these, if that lets it fuse."""
    for op in reversed([view.operation for view in block.operations]):
        call = PrimCall.of(op) if op.name == CALL_TIR else None
        if call is None or call.info is None:
            continue
        users = [use.owner.operation for use in op.results[0].uses]
        places = {enclosing_op_in(block, user) for user in users}
        branch = next(iter(places)) if len(places) == 1 else None
        if branch is None or branch.name != IF or any(user.name != TUPLE for user in users):
            continue
        if not _is_pure_between(op, branch):
            continue
        calls = [use.owner.operation for user in users for use in user.results[0].uses]
        takers = [PrimCall.of(user) for user in calls if user.name == CALL_TIR]
        if any(taker is not None and fuses(call, taker) for taker in takers):
            _sink_before_users(call, branch)


def _is_pure_between(first: ir.Operation, last: ir.Operation) -> bool:
    ops = [view.operation for view in first.block.operations]
    between = ops[ops.index(first) + 1 : ops.index(last)]
    return all(has_trait(op, IsTransparent) for op in between)


def _sink_before_users(call: PrimCall, branch: ir.Operation) -> None:
    """Copy a call into each branch that uses its result."""
    result = call.op.results[0]
    for region in branch.regions:
        block = region.blocks[0]
        users = {enclosing_op_in(block, use.owner.operation) for use in result.uses}
        inside = [view.operation for view in block.operations if view.operation in users]
        if not inside:
            continue
        with ir.InsertionPoint(inside[0]):
            operand = pack(list(call.operands), call.op.location)
            copy = call.op.clone()
            copy.operands[0] = operand
        for use in list(result.uses):
            if enclosing_op_in(block, use.owner.operation) is not None:
                use.owner.operation.operands[use.operand_number] = copy.results[0]
    call.erase()


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

    def _fuse_one(self, call: PrimCall, epochs: dict[ir.Value, int], epoch: int, fuse: Fuse) -> PrimCall | None:
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
        return self._fuse(producer, consumer, merge_into_stores, lambda _: None, "computed where it is stored")

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
            return f"{self._again(producer, consumer)}: weight {first.traits.weight} > {CHEAP} would be repeated"
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
                producer = PrimCall.of(defining) if defining is not None and defining.name == CALL_TIR else None
                if producer is not None and consumer is not None:
                    self._report(producer, consumer, False, self._why_apart(producer, consumer))

    def _why_apart(self, producer: PrimCall, consumer: PrimCall) -> str:
        if producer.info is None or consumer.info is None:
            return "more than one result"
        if producer.op.block != consumer.op.block:
            return "in different blocks"
        function, only = self.functions.get(producer.callee), consumer.is_only_user(producer.op.results[0])
        numbers = [i for i, value in enumerate(consumer.operands) if value == producer.op.results[0]]
        if function is not None and not declares_result(function, self.functions[consumer.callee], numbers):
            return f"{consumer.callee} declares other sizes than {producer.callee}"
        turned = function is not None and permutation_of(function) is not None
        if turned and is_contraction(self.functions[consumer.callee]):
            reasons = [self._against_transpose(producer, user) for user in users_of(producer.op)]
            return next(filter(None, reasons), "an op between them may write")
        if function is not None and is_contraction(function):
            against = self._against_epilogue(producer, consumer)
            return against or ("read in another order" if only else "several users: a contraction is computed once")
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
            first, second = self.functions[producer], self.functions[consumer]
            fits = declares_result(first, second, [i for i, n in enumerate(wiring.consumer) if n is None])
            function = merge(self.module, first, second, wiring, symbol) if fits else None
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
