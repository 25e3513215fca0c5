"""Unpacked calls of prim funcs, for passes that merge them (level R1)."""

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
    """A `relax.call_tir` with its callee, operands and index expressions."""

    op: ir.Operation
    callee: str
    operands: Sequence[ir.Value]
    index_exprs: Sequence[Dim]

    @classmethod
    def of(cls, op: ir.Operation) -> PrimCall | None:
        """The unpacked call; None if its operands are not a `tuple` op."""
        packed = defining_op(op.operands[0])
        if packed is None or packed.name != TUPLE:
            return None
        exprs = [d for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
        return cls(op, callee_of(op), list(packed.operands), exprs)

    @property
    def info(self) -> Tensor | None:
        """Struct info of the result; None for a tuple."""
        info = struct_info(self.op.results[0].type)
        return info if isinstance(info, Tensor) else None

    def is_only_user(self, value: ir.Value) -> bool:
        """True if this call is the only user of `value`."""
        packed = self.op.operands[0]
        if [use.owner.operation for use in packed.uses] != [self.op]:
            return False
        return all(use.owner.operation == defining_op(packed) for use in value.uses)

    def reads(self) -> int:
        """Bytes per element read from the inputs that have the shape of the result."""
        infos = [struct_info(value.type) for value in self.operands]
        assert self.info is not None
        same = [
            i for i in infos if isinstance(i, Tensor) and i.shape == self.info.shape and i.dtype is not None
        ]
        return sum(i.dtype.itemsize for i in same if i.dtype is not None)

    def erase(self) -> None:
        """Erase the call, and the `tuple` of its operands if it is unused."""
        packed = defining_op(self.op.operands[0])
        self.op.erase()
        if packed is not None and not is_used(packed.results[0]):
            packed.erase()


def unpack_tuples(block: ir.Block) -> None:
    """Replace fields of `tuple` ops by the packed values, and erase unused tuples."""
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
"""Maximum number of users that fusion examines; without a limit, examining all users for each of them is quadratic."""


def has_many_users(op: ir.Operation) -> bool:
    """True if the result of `op` has more than `MAX_USERS` uses; stops counting there."""
    return next(itertools.islice(op.results[0].uses, MAX_USERS, None), None) is not None


def users_of(op: ir.Operation) -> list[ir.Operation]:
    """The users of the result of `op`, looking through the `tuple` of a call."""
    found: dict[ir.Operation, None] = {}
    for use in op.results[0].uses:
        owner = use.owner.operation
        users = [u.owner.operation for u in owner.results[0].uses] if owner.name == TUPLE else [owner]
        found.update(dict.fromkeys(users))
    return list(found)


def saved_traffic(producer: PrimCall, consumer: PrimCall) -> str:
    """Bytes of memory traffic saved if `consumer` computes the result of `producer`, as a formula of symbols.

    With other users left: the bytes that this user no longer reads, minus the inputs that it reads instead.
    """
    info = producer.info
    assert info is not None and info.dtype is not None
    size = info.dtype.itemsize
    total: Dim = 2 * size if consumer.is_only_user(producer.op.results[0]) else size - producer.reads()
    for dim in info.known_shape or ():
        total = total * dim
    return str(total)
