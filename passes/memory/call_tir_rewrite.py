"""Pass ``call-tir-rewrite``: allocate explicit memory for the results of destination-passing calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.diagnostics import where
from relax_mlir.dialects.builders import attributes_of
from relax_mlir.dialects.calls import CallPackedOp, CallPurePackedOp, destinations
from relax_mlir.dialects.memory import (
    CallPrimOp,
    MemoryAllocStorageOp,
    MemoryAllocTensorOp,
    MemoryCopyOp,
    MemoryKillStorageOp,
    MemoryKillTensorOp,
    bytes_of,
    call_attributes,
)
from relax_mlir.dialects.structure import TUPLE, ShapeExprOp, TupleGetItemOp, pack, unpack
from relax_mlir.dialects.traits import (
    HasDestination,
    KeptInExplicitMemory,
    KeptInShapeHeap,
    OnMemory,
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
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, is_used, next_op, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.explicit_effects import ExplicitEffects
from relax_mlir.passes.memory.lifetimes import InsertionPoints, Lifetimes
from relax_mlir.rewrite.effects import is_needless_copy
from relax_mlir.symbolic import Dim
from relax_mlir.transform import FunctionPass, PassContext


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
                owned = (
                    defining is not None and defining.name == TUPLE and self._is_owned(value, op, defining)
                )
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
