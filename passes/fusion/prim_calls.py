"""Calls of prim funcs taken apart, for passes that merge them (level R1)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Tensor, dims_from_attr, struct_info
from relax_mlir.ir_queries import callee_of, defining_op, is_used
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

CALL_TIR = "relax.call_tir"


@dataclass
class PrimCall:
    """A `relax.call_tir` taken apart."""

    op: ir.Operation
    callee: str
    operands: Sequence[ir.Value]
    index_exprs: Sequence[Dim]

    @classmethod
    def of(cls, op: ir.Operation) -> PrimCall | None:
        """None if its operands are not at hand."""
        packed = defining_op(op.operands[0])
        if packed is None or packed.name != TUPLE:
            return None
        exprs = [d for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
        return cls(op, callee_of(op), list(packed.operands), exprs)

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
        return all(use.owner.operation == defining_op(packed) for use in value.uses)

    def reads(self) -> int:
        """Bytes per element that are read from inputs of the result's shape."""
        infos = [struct_info(value.type) for value in self.operands]
        assert self.info is not None
        same = [
            i for i in infos if isinstance(i, Tensor) and i.shape == self.info.shape and i.dtype is not None
        ]
        return sum(i.dtype.itemsize for i in same if i.dtype is not None)

    def erase(self) -> None:
        """Erase the call, and the op that packed its operands."""
        packed = defining_op(self.op.operands[0])
        self.op.erase()
        if packed is not None and not is_used(packed.results[0]):
            packed.erase()


def unpack_tuples(block: ir.Block) -> None:
    """Fields of tuples that are packed in the function are the values that were packed; unused tuples go."""
    for view in list(block.operations):
        op = view.operation
        packed = defining_op(op.operands[0]) if op.name == "relax.tuple_get_item" else None
        if packed is not None and packed.name == TUPLE:
            index = ir.IntegerAttr(op.attributes["index"]).value
            op.results[0].replace_all_uses_with(packed.operands[index])
            op.erase()
    for view in list(block.operations):
        if view.operation.name == TUPLE and not any(is_used(result) for result in view.operation.results):
            view.operation.erase()


def is_float(info: Tensor) -> bool:
    return info.dtype is not None and info.dtype.is_float


MAX_USERS = 256
"""Of a result with more uses no user is asked whether it can compute it: each of them would ask for all of them."""


def has_many_users(op: ir.Operation) -> bool:
    """True if the result of `op` has more than `MAX_USERS` uses; looks at no more of them."""
    return next(itertools.islice(op.results[0].uses, MAX_USERS, None), None) is not None


def users_of(op: ir.Operation) -> list[ir.Operation]:
    """The ops that use the result of `op`, through the op that packs it for a call."""
    found: dict[ir.Operation, None] = {}
    for use in op.results[0].uses:
        owner = use.owner.operation
        users = [u.owner.operation for u in owner.results[0].uses] if owner.name == TUPLE else [owner]
        found.update(dict.fromkeys(users))
    return list(found)


def saved_traffic(producer: PrimCall, consumer: PrimCall) -> str:
    """Bytes that are neither written nor read again where `consumer` computes the result of `producer`.

    For a user that is not the last one: those that it does not read, less what it reads for them.
    """
    info = producer.info
    assert info is not None and info.dtype is not None
    size = info.dtype.itemsize
    total: Dim = 2 * size if consumer.is_only_user(producer.op.results[0]) else size - producer.reads()
    for dim in info.known_shape or ():
        total = total * dim
    return str(total)
