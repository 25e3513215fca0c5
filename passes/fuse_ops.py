"""Pass ``fuse-ops``: chains of elementwise prim funcs become one (level R1)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.dialects.structure import TUPLE, pack
from relax_mlir.dialects.types import Tensor, dims_attr, dims_from_attr, struct_info
from relax_mlir.ir_queries import callee_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.prim_merging import Wiring, merge
from relax_mlir.passes.prim_patterns import Kind, kind_of
from relax_mlir.symbolic import Dim
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.passes import relax_functions

CALL_TIR = "relax.call_tir"
TRANSPARENT = frozenset(
    {
        CALL_TIR,
        TUPLE,
        "arith.constant",
        "index.constant",
        "relax.call_dps_packed",
        "relax.constant",
        "relax.expand_dims",
        "relax.flatten",
        "relax.match_shape",
        "relax.output",
        "relax.prim_value",
        "relax.reshape",
        "relax.shape_expr",
        "relax.shape_of",
        "relax.squeeze",
        "relax.tuple_get_item",
    }
)
"""Ops that write to no tensor that a prim func may read, so that a call may move past them."""


@dataclass(frozen=True)
class FuseOps(ModulePass):
    """Fuse calls of elementwise prim funcs into their only user, if that is elementwise and of the same shape.

    Taken are prim funcs with the patterns elementwise, broadcast and injective whose body is one parallel loop.
    `max_depth`: at most so many prim funcs become one. Like groups share one fused prim func.
    """

    name: ClassVar[str] = "fuse-ops"
    max_depth: int = 16

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        fusion = _Fusion(module, self.max_depth)
        for function in relax_functions(module):
            for block in _blocks(function.operation):
                fusion.run_on_block(block)
        fusion.drop_unused()


def _blocks(op: ir.Operation) -> Iterator[ir.Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for view in block.operations:
                yield from _blocks(view.operation)


def _maker(value: ir.Value) -> ir.Operation | None:
    """The op whose result `value` is; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


@dataclass
class _Group:
    """A prim func that can be fused: how many prim funcs it was made of."""

    function: func.FuncOp
    kind: Kind
    members: int = 1


@dataclass
class _Call:
    """A `relax.call_tir` taken apart."""

    op: ir.Operation
    callee: str
    operands: Sequence[ir.Value]
    index_exprs: Sequence[Dim]

    @classmethod
    def of(cls, op: ir.Operation) -> _Call | None:
        """None if its operands are not at hand."""
        maker = _maker(op.operands[0])
        if maker is None or maker.name != TUPLE:
            return None
        exprs = [d for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
        return cls(op, callee_of(op), list(maker.operands), exprs)

    @property
    def info(self) -> Tensor | None:
        """Info of the result; None for a tuple."""
        info = struct_info(self.op.results[0].type)
        return info if isinstance(info, Tensor) else None

    def is_only_user(self, value: ir.Value) -> bool:
        """Whether `value` is used by this call alone."""
        packed = self.op.operands[0]
        if [use.owner.operation for use in packed.uses] != [self.op]:
            return False
        return all(use.owner.operation == _maker(packed) for use in value.uses)

    def erase(self) -> None:
        """Erase the call, and the op that packed its operands."""
        maker = _maker(self.op.operands[0])
        self.op.erase()
        if maker is not None and not list(maker.results[0].uses):
            maker.erase()


@dataclass
class _Fusion:
    module: ir.Module
    max_depth: int
    groups: dict[str, _Group | None] = field(default_factory=dict)
    merged: dict[Hashable, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = {f.name.value: f for f in self.module.body.operations if isinstance(f, func.FuncOp)}

    def run_on_block(self, block: ir.Block) -> None:
        """Fuse each call with the calls that make its operands, in order, as long as that goes on."""
        epoch = 0
        epochs: dict[ir.Value, int] = {}
        for view in list(block.operations):
            op = view.operation
            if op.name not in TRANSPARENT:
                epoch += 1
            if op.name != CALL_TIR:
                continue
            epochs[op.results[0]] = epoch
            call = _Call.of(op)
            while call is not None:
                call = self._fuse_one(call, epochs, epoch)

    def _fuse_one(self, call: _Call, epochs: dict[ir.Value, int], epoch: int) -> _Call | None:
        """Fuse `call` with one of its producers; returns the new call, or None if there is none to fuse."""
        group = self._group(call.callee)
        if group is None:
            return None
        for number, operand in enumerate(call.operands):
            if (
                number not in group.kind.open
                or epochs.get(operand) != epoch
                or not call.is_only_user(operand)
            ):
                continue
            made_by = _maker(operand)
            producer = None if made_by is None else _Call.of(made_by)
            if producer is None or call.info is None or producer.info is None:
                continue
            if producer.info.known_shape is None or producer.info.shape != call.info.shape:
                continue
            fused = self._fuse(producer, call)
            if fused is not None:
                epochs[fused.op.results[0]] = epoch
                return fused
        return None

    def _fuse(self, producer: _Call, consumer: _Call) -> _Call | None:
        first, second = self._group(producer.callee), self._group(consumer.callee)
        if first is None or second is None or first.members + second.members > self.max_depth:
            return None
        if first.kind.contraction and second.kind.contraction:
            return None
        wiring, operands, exprs = _wire(producer, consumer)
        symbol = self._merged(first, second, wiring)
        if symbol is None:
            return None
        old = consumer.op
        location = ir.Location.fused([producer.op.location, old.location])
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
        producer.erase()
        return _Call(new, symbol, operands, exprs)

    def _group(self, symbol: str) -> _Group | None:
        if symbol not in self.groups:
            function = self.functions.get(symbol)
            kind = None if function is None else kind_of(function)
            self.groups[symbol] = None if function is None or kind is None else _Group(function, kind)
        return self.groups[symbol]

    def _merged(self, first: _Group, second: _Group, wiring: Wiring) -> str | None:
        """Symbol of the prim func that does both, made when first asked for; None if they do not merge."""
        names = first.function.name.value, second.function.name.value
        key = (*names, wiring)
        if key not in self.merged:
            symbol = self._fresh("_".join(names))
            function = merge(self.module, first.function, second.function, wiring, symbol)
            self.merged[key] = None if function is None else symbol
            kind = None if function is None else kind_of(function)
            if function is not None and kind is not None:
                self.functions[symbol] = function
                self.groups[symbol] = _Group(function, kind, first.members + second.members)
        return self.merged[key]

    def _fresh(self, name: str) -> str:
        count, symbol = 0, name
        while symbol in self.functions:
            count += 1
            symbol = f"{name}_{count}"
        return symbol

    def drop_unused(self) -> None:
        """Erase the prim funcs made on the way to larger ones."""
        used: set[str] = set()

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == CALL_TIR:
                used.add(callee_of(op))
            return ir.WalkResult.ADVANCE

        self.module.operation.walk(visit)
        for symbol in self.merged.values():
            if symbol is not None and symbol not in used:
                self.functions[symbol].operation.erase()


def _wire(producer: _Call, consumer: _Call) -> tuple[Wiring, list[ir.Value], list[Dim]]:
    """The wiring of the fused call, its operands and its index expressions, each of them once."""
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

    wiring = Wiring(
        tuple(map(operand_number, producer.operands)),
        tuple(None if value == result else operand_number(value) for value in consumer.operands),
        tuple(map(index_number, producer.index_exprs)),
        tuple(map(index_number, consumer.index_exprs)),
    )
    return wiring, operands, exprs
