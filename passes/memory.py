"""Explicit memory: lifetimes of tensors, `call-tir-rewrite`, `static-plan-block-memory`."""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from relax_mlir import symbolic
from relax_mlir.analysis.well_formed import defining_symbols
from relax_mlir.diagnostics import where
from relax_mlir.dialects.builders import attributes_of
from relax_mlir.dialects.calls import CallPackedOp, CallPurePackedOp, destinations
from relax_mlir.dialects.dialect import ObjectType
from relax_mlir.dialects.memory import (
    CallPrimOp,
    MemoryAllocStorageOp,
    MemoryAllocTensorOp,
    MemoryCopyOp,
    MemoryKillStorageOp,
    MemoryKillTensorOp,
    bytes_of,
    call_attributes,
    shape_dims,
)
from relax_mlir.dialects.structure import TUPLE, MatchShapeOp, ShapeExprOp, TupleGetItemOp, pack, unpack
from relax_mlir.dialects.traits import (
    CapturesTensors,
    EndsLife,
    HasDestination,
    IsLoop,
    KeptInExplicitMemory,
    KeptInShapeHeap,
    OnMemory,
    ReadsTensors,
    has_trait,
    ops_with,
)
from relax_mlir.dialects.types import (
    Object,
    Shape,
    StructInfo,
    Tensor,
    dims_attr,
    dims_from_attr,
    struct_info,
)
from relax_mlir.dialects.vm import COPY_TENSOR, VmCallTirDynOp
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.ir_queries import (
    callee_of,
    defining_op,
    enclosing_op_in,
    entry_block,
    first_op,
    is_used,
    loop_values,
    next_op,
    ops_of,
)
from relax_mlir.mlir import func, ir
from relax_mlir.passes.dataflow import ExplicitEffects
from relax_mlir.rewrite.effects import is_needless_copy
from relax_mlir.symbolic import Bounds, Dim
from relax_mlir.transform import FunctionPass, PassContext

# Pass `call-tir-rewrite`: allocate explicit memory for the results of destination-passing calls.


class CallTIRRewrite(FunctionPass):
    """Allocate the results of `call_tir`, `call_tir_inplace` and `call_dps_packed`, and pass them as arguments.

    Every result gets a storage and a tensor in it. Both are killed after the last use of the tensor and its aliases, on
    each branch separately. A tensor that is returned, yielded or passed to a packed function is not killed. A tensor
    that a packed function may change, or whose memory a result reuses, is copied first, unless it has no other reader.

    Requires level R1 without dataflow blocks (``legalize-ops``, ``to-non-dataflow``). A function in explicit memory is
    unchanged.
    """

    name: ClassVar[str] = "call-tir-rewrite"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        """Raises `UnsupportedError` for a function in another form."""
        _require_form(function)
        names = {op.name for op in _walk(entry_block(function))}
        if not names & (ops_with(HasDestination) | {"relax.distinct"}) and names & ops_with(OnMemory):
            return
        ExplicitEffects().run_on_function(function, module, ctx)
        for op in ops_of(function.operation, "relax.distinct"):
            if is_needless_copy(op):
                op.results[0].replace_all_uses_with(op.operands[0])
                op.erase()
        rewriter = _Rewriter()
        for op in list(_walk(entry_block(function))):
            with op.location:
                rewriter.rewrite(op)
        _fold_tuples(function)
        _kill(function, rewriter)


def _require_form(function: func.FuncOp) -> None:
    name = function.name.value
    for op in _walk(entry_block(function)):
        if op.name == "relax.dataflow":
            raise UnsupportedError(
                f"{where(op)}: {name}: a dataflow block is left; run to-non-dataflow before call-tir-rewrite"
            )
        known = has_trait(op, KeptInExplicitMemory, KeptInShapeHeap, HasDestination)
        if op.name.startswith("relax.") and not known:
            raise UnsupportedError(
                f"{where(op)}: {name}: {op.name} is no call with a destination; run legalize-ops before "
                "call-tir-rewrite (match_shape operands of unknown shape first)"
            )


def _walk(block: ir.Block) -> Iterator[ir.Operation]:
    for view in list(block.operations):
        yield view.operation
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from _walk(inner)


@dataclass
class _Rewriter:
    """Rewrites calls; records storages with their tensors, and results of packed calls that do not retain arguments."""

    allocated: list[tuple[ir.Value, ir.Value]] = field(default_factory=list)
    borrowing: set[ir.Value] = field(default_factory=set)
    owned: set[ir.Value] = field(default_factory=set)
    """Tensors in separate memory, which a packed function may change if they have no other reader."""
    fillers: dict[ir.Value, list[ir.Operation]] = field(default_factory=dict)
    """Tensors by the ops that write their elements: argument tuples of calls, and copies."""

    def rewrite(self, op: ir.Operation) -> None:
        if op.name == "relax.call_tir":
            self._call_tir(op)
        elif op.name == "relax.call_tir_inplace":
            self._call_tir_inplace(op)
        elif op.name == "relax.call_dps_packed":
            self._call_dps_packed(op)
        elif op.name == "relax.call_packed":
            self._call_packed(op)
        elif op.name == "relax.distinct":
            _replace(op, [self._copy(op.operands[0], op)])

    def _call_tir(self, op: ir.Operation) -> None:
        with ir.InsertionPoint(op):
            arguments, outs = self._arguments(op)
            self._call_prim(op, arguments, outs)
        _replace(op, outs)

    def _call_prim(
        self,
        op: ir.Operation,
        arguments: Sequence[ir.Value],
        outs: Sequence[ir.Value],
        taken: Sequence[ir.Value] = (),
    ) -> None:
        tir_vars = [d for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
        operands, name = [self._pack(arguments, outs, op, taken)], CallPrimOp.OPERATION_NAME
        if tir_vars:
            operands, name = [*operands, shape_value(tir_vars)], VmCallTirDynOp.OPERATION_NAME
        callee = callee_of(op)
        ir.Operation.create(name, operands=operands, attributes=call_attributes(callee, len(outs)))

    def _call_tir_inplace(self, op: ir.Operation) -> None:
        """Reuse the memory of arguments for results, or of copies if the old elements are still needed."""
        defining = defining_op(op.operands[0])
        results: list[ir.Value] = []
        fresh: list[ir.Value] = []
        infos = destinations(struct_info(op.results[0].type))
        with ir.InsertionPoint(op):
            given = list(self._fields(op))
            for index, info in zip(ir.ArrayAttr(op.attributes["inplace_indices"]), infos, strict=True):
                position = int(ir.IntegerAttr(index).value)
                if position < 0:
                    fresh.append(self._allocate(info, op.location))
                    results.append(fresh[-1])
                    continue
                value = given[position]
                owned = defining is not None and defining.name == TUPLE and self._is_owned(value, op, defining)
                if not owned or given.count(value) > 1:
                    given[position] = self._copy(value, op)
                results.append(given[position])
            self._call_prim(op, given, fresh, [value for value in results if value not in fresh])
        _replace(op, results)

    def _call_dps_packed(self, op: ir.Operation) -> None:
        with ir.InsertionPoint(op):
            arguments, outs = self._arguments(op)
            spec = [*ir.ArrayAttr(op.attributes["arg_spec"]), *[ir.UnitAttr.get()] * len(outs)]
            call = ir.Operation.create(
                CallPackedOp.OPERATION_NAME,
                results=[ir.TupleType.get_tuple([])],
                operands=[self._pack(arguments, outs, op)],
                attributes={"func": op.attributes["func"], "arg_spec": ir.ArrayAttr.get(spec)},
            )
        self.borrowing.add(call.results[0])
        _replace(op, outs)

    def _pack(
        self,
        arguments: Sequence[ir.Value],
        outs: Sequence[ir.Value],
        op: ir.Operation,
        taken: Sequence[ir.Value] = (),
    ) -> ir.Value:
        given = pack([*arguments, *outs], op.location)
        for value in {*outs, *taken}:
            self.fillers.setdefault(value, []).append(given.owner.operation)
        return given

    def _arguments(self, op: ir.Operation) -> tuple[list[ir.Value], list[ir.Value]]:
        """The arguments of a destination-passing call, and new tensors for its results."""
        outs = [self._allocate(info, op.location) for info in destinations(struct_info(op.results[0].type))]
        return self._fields(op), outs

    @staticmethod
    def _fields(op: ir.Operation) -> list[ir.Value]:
        given = ir.TupleType(op.operands[0].type)
        return unpack(op.operands[0], [given.get_type(i) for i in range(given.num_types)])

    def _allocate(self, info: StructInfo, location: ir.Location) -> ir.Value:
        assert isinstance(info, Tensor) and info.known_shape is not None and info.dtype is not None
        storage = ir.Operation.create(
            MemoryAllocStorageOp.OPERATION_NAME,
            results=[Object().to_type()],
            operands=[shape_value([bytes_of(info)])],
            attributes=attributes_of(MemoryAllocStorageOp, dtype=info.dtype),
            loc=ir.Location.name("storage", location),
        ).results[0]
        tensor = ir.Operation.create(
            MemoryAllocTensorOp.OPERATION_NAME,
            results=[info.to_type()],
            operands=[storage, shape_value(info.known_shape)],
            attributes=attributes_of(MemoryAllocTensorOp, dtype=info.dtype),
            loc=location,
        ).results[0]
        self.allocated.append((storage, tensor))
        self.owned.add(tensor)
        return tensor

    def _call_packed(self, op: ir.Operation) -> None:
        """Copy tensor arguments that the call may change and that others read, and those in tuples."""
        defining = defining_op(op.operands[0])
        assert defining is not None  # effects are explicit: the call has its own tuple
        given = dict.fromkeys(v for v in defining.operands if isinstance(struct_info(v.type), Tensor))
        copies = {v: self._copy(v, op) for v in given if not self._is_owned(v, op, defining)}
        tuples = dict.fromkeys(v for v in defining.operands if isinstance(v.type, ir.TupleType))
        copies |= {v: self._copied_fields(v, op) for v in tuples}
        if copies:
            with ir.InsertionPoint(op):
                op.operands[0] = pack([copies.get(v, v) for v in defining.operands], op.location)
        for updated in _updates(op):
            value = updated.operands[0]
            if value in given:
                updated.operands[0] = copies.get(value, value)
                if op.results[0].type == ir.TupleType.get_tuple([]):
                    self.owned.add(updated.results[0])

    def _copied_fields(self, value: ir.Value, call: ir.Operation) -> ir.Value:
        """A tuple of copies of the tensors in a tuple: a tuple keeps its elements when a call changes them."""
        types = ir.TupleType(value.type)
        with ir.InsertionPoint(call):
            fields = unpack(value, [types.get_type(i) for i in range(types.num_types)])
        kept: list[ir.Value] = []
        for item in fields:
            if isinstance(item.type, ir.TupleType):
                kept.append(self._copied_fields(item, call))
            else:
                is_tensor = isinstance(struct_info(item.type), Tensor)
                kept.append(self._copy(item, call) if is_tensor else item)
        with ir.InsertionPoint(call):
            return pack(kept, call.location)

    def _is_owned(self, value: ir.Value, call: ir.Operation, defining: ir.Operation) -> bool:
        """True if only `call` needs the elements that `value` holds before it."""
        producer = defining_op(value)
        if value not in self.owned or producer is None or producer.block != call.block:
            return False
        for use in value.uses:
            user = use.owner.operation
            fills = any(user == filler for filler in self.fillers.get(value, ()))
            if user.name != "relax.updated" and user != defining and not fills:
                return False
        return [use.owner.operation for use in defining.results[0].uses] == [call]

    def _copy(self, value: ir.Value, call: ir.Operation) -> ir.Value:
        info = struct_info(value.type)
        assert isinstance(info, Tensor)
        if info.known_shape is None or info.dtype is None:
            return self._copy_of_unknown_size(value, call)
        with ir.InsertionPoint(call):
            copy = self._allocate(info, call.location)
            filler = ir.Operation.create(MemoryCopyOp.OPERATION_NAME, operands=[value, copy])
            self.fillers[copy] = [filler]
        return copy

    def _copy_of_unknown_size(self, value: ir.Value, call: ir.Operation) -> ir.Value:
        """A copy allocated by the virtual machine, for a tensor whose size is unknown at compile time."""
        with ir.InsertionPoint(call):
            copy = ir.Operation.create(
                CallPurePackedOp.OPERATION_NAME,
                results=[value.type],
                operands=[pack([value], call.location)],
                attributes={
                    "func": ir.StringAttr.get(COPY_TENSOR),
                    "arg_spec": ir.ArrayAttr.get([ir.UnitAttr.get()]),
                },
                loc=call.location,
            ).results[0]
        self.owned.add(copy)
        return copy


def shape_value(dims: Sequence[Dim]) -> ir.Value:
    """A shape value of the given dimensions, created at the current insertion point."""
    return ir.Operation.create(
        ShapeExprOp.OPERATION_NAME,
        results=[Shape(dims).to_type()],
        attributes={"values": dims_attr(dims)},
    ).results[0]


def _updates(call: ir.Operation) -> Iterator[ir.Operation]:
    """The ``relax.updated`` ops that immediately follow `call`."""
    following = next_op(call)
    while following is not None and following.name == "relax.updated":
        yield following
        following = next_op(following)


def _replace(op: ir.Operation, outs: Sequence[ir.Value]) -> None:
    result = op.results[0]
    if isinstance(result.type, ir.TupleType):
        with ir.InsertionPoint(op):
            result.replace_all_uses_with(pack(outs, op.location))
    else:
        result.replace_all_uses_with(outs[0])
    arguments = defining_op(op.operands[0])
    op.erase()
    if arguments is not None and arguments.name == TUPLE and not is_used(arguments.results[0]):
        arguments.erase()


def _fold_tuples(function: func.FuncOp) -> None:
    """Replace fields of `tuple` ops by their operands, so that lifetimes stay separate."""
    for op in list(_walk(entry_block(function))):
        defining = defining_op(op.operands[0]) if op.name == TupleGetItemOp.OPERATION_NAME else None
        if defining is not None and defining.name == TUPLE:
            index = int(ir.IntegerAttr(op.attributes["index"]).value)
            op.results[0].replace_all_uses_with(defining.operands[index])
            op.erase()
    for op in reversed(list(_walk(entry_block(function)))):
        if op.name == TUPLE and not is_used(op.results[0]):
            op.erase()


def _kill(function: func.FuncOp, rewriter: _Rewriter) -> None:
    """Kill every tensor, and its storage, after its last use."""
    lifetimes = Lifetimes(function, rewriter.borrowing)
    ends = [(storage, tensor, lifetimes.ends(tensor)) for storage, tensor in rewriter.allocated]
    points = InsertionPoints()
    for storage, tensor, places in ends:
        for place in places:
            with points[place], tensor.owner.operation.location:
                ir.Operation.create(MemoryKillTensorOp.OPERATION_NAME, operands=[tensor])
                ir.Operation.create(MemoryKillStorageOp.OPERATION_NAME, operands=[storage])


# Lifetimes of tensors in Relax functions: aliases of a tensor and its last uses.
#
# A tensor *escapes* its block if something outside may still hold it: it is returned, yielded by the block, or passed
# to a packed function, which may retain it.


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

    def _places(self, block: ir.Block, users: list[ir.Operation], sharing: set[ir.Operation]) -> Iterator[Place]:
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
        return [parent.results[operand]] if parent.name == "scf.if" else loop_values(parent)
    if has_trait(op, IsLoop):
        return loop_values(op)
    return [r for r in op.results if isinstance(r.type, ir.ShapedType | ir.TupleType | ObjectType)]


# Pass `static-plan-block-memory`: share storages between tensors with disjoint lifetimes.


SYMBOL_BOUNDS = "relax.symbol_bounds"

MAX_SIZES = 64
"""Maximum number of free sizes that a storage is compared with: a proof takes microseconds, and programs are long."""

_Where: TypeAlias = tuple[str, str]
"""Device and scope of a storage."""
_Known: TypeAlias = ChainMap[str, int]
"""Symbols, each with the number of storages that are allocated before its definition."""


class StaticPlanBlockMemory(FunctionPass):
    """Reuse storages of dead tensors for later ones, if the sizes are provably ordered.

    Proofs are symbolic, under the function's symbol bounds. A storage may grow to the larger of two sizes if all
    symbols of that size are defined before its allocation. The branches of a conditional share storages. Each iteration
    of a loop reuses storages that are free before the loop. A tensor without a kill (a result, say) keeps its storage.

    Requires the form that ``call-tir-rewrite`` produces.
    """

    name: ClassVar[str] = "static-plan-block-memory"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        planner = _Planner(function, symbol_bounds(function))
        symbols = ChainMap({s: 0 for t in function.type.inputs for s in _symbols_of(t)})
        planner.walk(entry_block(function), _Pool(), symbols)
        planner.merge()


def symbol_bounds(function: func.FuncOp) -> Bounds:
    """The bounds of the function's symbols, from its attribute `relax.symbol_bounds`."""
    if SYMBOL_BOUNDS not in function.attributes:
        return {}
    given = ir.DictAttr(function.attributes[SYMBOL_BOUNDS])
    bounds: dict[str, tuple[int, int | None]] = {}
    for item in (given[i] for i in range(len(given))):
        low, high = ir.ArrayAttr(item.attr)
        limit = int(ir.IntegerAttr(high).value) if isinstance(high, ir.IntegerAttr) else None
        bounds[item.name] = (int(ir.IntegerAttr(low).value), limit)
    return bounds


def _symbols_of(type_: ir.Type) -> set[str]:
    try:
        return set(defining_symbols(struct_info(type_)))
    except RelaxError:
        return set()  # a value of an upstream op


@dataclass(eq=False)
class _Storage:
    """A storage and those merged into it; `number` counts the storages allocated before it."""

    alloc: ir.Operation
    size: Dim
    number: int
    merged: list[ir.Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.place: _Where = (
            str(self.alloc.attributes["device"]),
            str(self.alloc.attributes["storage_scope"]),
        )

    def ends(self, lifetimes: Lifetimes) -> list[Place]:
        """The places after the end of the last tensor of the storage, one per path."""
        uses = [use for member in (self.alloc, *self.merged) for use in _tensor_uses(member)]
        return lifetimes.places(self.alloc.block, uses)

    def merge(self) -> None:
        """Move all tensors into this storage, and erase its kills."""
        kills = [kill for member in (self.alloc, *self.merged) for kill in _kills(member)]
        _resize(self)
        for member in self.merged:
            member.results[0].replace_all_uses_with(self.alloc.results[0])
            _erase_with_size(member)
        for kill in kills:
            kill.erase()


class _Pool:
    """Free storages by place (device and scope) and size, each group in the order in which its members became free."""

    def __init__(self, storages: Iterable[_Storage] = ()) -> None:
        self._groups: dict[tuple[_Where, Dim], dict[_Storage, None]] = {}
        for storage in storages:
            self.add(storage)

    def __iter__(self) -> Iterator[_Storage]:
        for group in self._groups.values():
            yield from group

    def regroup(self) -> None:
        """Note that storages in the pool may have grown."""
        self._groups = _Pool(self)._groups

    def add(self, storage: _Storage) -> None:
        self._groups.setdefault((storage.place, storage.size), {})[storage] = None

    def remove(self, storage: _Storage) -> None:
        key = storage.place, storage.size
        del self._groups[key][storage]
        if not self._groups[key]:
            del self._groups[key]

    def equal(self, wanted: _Storage) -> _Storage | None:
        """A free storage with exactly the size of `wanted`, or None."""
        return next(iter(self._groups.get((wanted.place, wanted.size), ())), None)

    def candidates(self, wanted: _Storage) -> list[_Storage]:
        """One storage for each of the last `MAX_SIZES` sizes with the device and scope of `wanted`."""
        found = (group for (place, _), group in reversed(self._groups.items()) if place == wanted.place)
        return [next(iter(group)) for group in itertools.islice(found, MAX_SIZES)][::-1]


class _Planner:
    """Assigns storages to tensors in program order, from a pool of free storages."""

    def __init__(self, function: func.FuncOp, bounds: Bounds) -> None:
        self._function, self._bounds = function, bounds
        self._root: dict[ir.Operation, _Storage] = {}

    def walk(self, block: ir.Block, pool: _Pool, symbols: _Known) -> None:
        """Plan the storages of `block`; updates `pool`, the free storages, in place."""
        for view in block.operations:
            op = view.operation
            if op.name == MatchShapeOp.OPERATION_NAME:
                pattern = [d for d in dims_from_attr(op.attributes["pattern"]) if d is not None]
                names = (symbolic.linear_definition(d) for d in pattern)
                symbols.update({n: len(self._root) for n in names if n is not None and n not in symbols})
            elif op.name == MemoryAllocStorageOp.OPERATION_NAME:
                self._allocate(op, pool, symbols)
            elif op.name == MemoryKillStorageOp.OPERATION_NAME:
                root = self._root.get(op.operands[0].owner.operation)
                if root is not None:
                    pool.add(root)
            elif len(op.regions):
                self._regions(op, pool, symbols)

    def _regions(self, op: ir.Operation, pool: _Pool, symbols: _Known) -> None:
        pools = []
        for region in op.regions:
            inner = _Pool(pool)
            for block in region.blocks:
                self.walk(block, inner, symbols.new_child())
            pools.append(inner)
        pool.regroup()
        if op.name == "scf.if":
            free = set(pools[1])
            for storage in pools[0]:
                if storage in free:
                    pool.add(storage)

    def _allocate(self, op: ir.Operation, pool: _Pool, symbols: _Known) -> None:
        if not _kills(op):
            return
        dims = shape_dims(struct_info(op.operands[0].type))
        if dims is None or dims[0] is None:
            return
        wanted = _Storage(op, dims[0], len(self._root))
        chosen = pool.equal(wanted) or self._choose(wanted, pool.candidates(wanted), symbols)
        if chosen is None:
            self._root[op] = wanted
            return
        pool.remove(chosen)
        chosen.merged.append(op)
        self._root[op] = chosen
        if not symbolic.prove_less_equal(wanted.size, chosen.size, self._bounds):
            chosen.size = wanted.size

    def _choose(self, wanted: _Storage, free: Sequence[_Storage], symbols: _Known) -> _Storage | None:
        """A free storage of equal size, else the smallest that is large enough, else one that may grow."""
        best: _Storage | None = None
        for storage in free:
            if symbolic.prove_equal(storage.size, wanted.size, self._bounds):
                return storage
            fits = symbolic.prove_less_equal(wanted.size, storage.size, self._bounds)
            tighter = best is None or symbolic.prove_less_equal(storage.size, best.size, self._bounds)
            if fits and tighter:
                best = storage
        return best or next((s for s in free if self._may_grow(s, wanted.size, symbols)), None)

    def _may_grow(self, storage: _Storage, size: Dim, symbols: _Known) -> bool:
        known = all(symbols.get(name, math.inf) <= storage.number for name in symbolic.symbols(size))
        return known and symbolic.prove_less_equal(storage.size, size, self._bounds)

    def merge(self) -> None:
        """Rewrite the function according to the plan."""
        lifetimes = Lifetimes(self._function)
        shared = [storage for op, storage in self._root.items() if storage.merged and op == storage.alloc]
        planned = [(s, s.ends(lifetimes)) for s in shared]
        for storage in shared:
            storage.merge()
        points = InsertionPoints()
        for storage, places in planned:
            for place in places:
                with points[place], storage.alloc.location:
                    ir.Operation.create(MemoryKillStorageOp.OPERATION_NAME, operands=storage.alloc.results)


def _users(value: ir.Value, name: str) -> list[ir.Operation]:
    return [op for use in value.uses if (op := use.owner.operation).name == name]


def _kills(alloc: ir.Operation) -> list[ir.Operation]:
    return _users(alloc.results[0], MemoryKillStorageOp.OPERATION_NAME)


def _tensor_uses(alloc: ir.Operation) -> list[ir.Operation]:
    """The allocations and kills of the tensors of a storage."""
    tensors = _users(alloc.results[0], MemoryAllocTensorOp.OPERATION_NAME)
    ends = [kill for t in tensors for kill in _users(t.results[0], MemoryKillTensorOp.OPERATION_NAME)]
    return [*tensors, *ends]


def _resize(storage: _Storage) -> None:
    old = defining_op(storage.alloc.operands[0])
    if shape_dims(struct_info(storage.alloc.operands[0].type)) == (storage.size,):
        return
    with ir.InsertionPoint(storage.alloc), storage.alloc.location:
        storage.alloc.operands[0] = shape_value([storage.size])
    _erase_unused(old)


def _erase_with_size(alloc: ir.Operation) -> None:
    size = defining_op(alloc.operands[0])
    alloc.erase()
    _erase_unused(size)


def _erase_unused(size: ir.Operation | None) -> None:
    if size is not None and size.name == ShapeExprOp.OPERATION_NAME and not is_used(size.results[0]):
        size.erase()
