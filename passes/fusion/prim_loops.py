"""Mergeable prim funcs: their loops, reads of arguments and cost per element, and their unpacked calls (level R1)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from relax_mlir.dialects.attributes import (
    ARG_REDUCE,
    EPILOGUE,
    KERNEL,
    KERNEL_ATTRS,
    KERNEL_INPUTS,
    PATTERN,
    PRIM_FUNC,
)
from relax_mlir.dialects.prim_funcs import Fusible, kernel_spec
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Tensor, dims_from_attr, struct_info
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

RANKS = ("elementwise", "broadcast", "injective")
"""The fusible patterns, from strictest to loosest; a merged prim func has the loosest pattern of its members."""

Kind: TypeAlias = Literal["loop", "pieces", "reduction"]
"""One parallel loop; parallel loops that each write a slice of the result; loops with a reduction among them."""

AROUND = frozenset(
    {
        "arith.constant",
        "func.return",
        "linalg.index",
        "linalg.yield",
        "tensor.dim",
        "tensor.empty",
        "tensor.extract",
    }
)
"""Ops allowed in a prim func in addition to its loops."""

_SLICES = frozenset({"tensor.extract_slice", "tensor.insert_slice"})
_BESIDE_SUMS = frozenset({"linalg.fill", "cf.assert"})


@dataclass(frozen=True)
class Read:
    """An operand of a loop that is an argument of the prim func, or a slice of one (`part`)."""

    loop: ir.Operation
    map: ir.AffineMap
    part: ir.Operation | None = None

    @property
    def leaves_out_loops(self) -> bool:
        """True if the operand does not depend on some loop, so that its elements are read repeatedly."""
        used = {x.position for x in self.map.results if isinstance(x, ir.AffineDimExpr)}
        return len(used) < int(self.map.n_dims)


LOOPS = frozenset({"linalg.generic", "linalg.copy"})
"""The ops that are loops."""


def loops_of(function: func.FuncOp) -> list[ir.Operation]:
    """All loops of a prim func, in order; empty for an external declaration."""
    if function.is_external:
        return []
    return [op.operation for op in function.entry_block.operations if op.operation.name in LOOPS]


def kind_of(function: func.FuncOp) -> Kind | None:
    """The kind of a mergeable prim func; None for others.

    A mergeable prim func has one result. Its body is scalar arithmetic in loops over its arguments or slices of them.
    """
    attributes = function.attributes
    if PRIM_FUNC not in attributes or PATTERN not in attributes or KERNEL in attributes:
        return None
    pattern = ir.StringAttr(attributes[PATTERN]).value
    if len(function.type.results) != 1 or not loops_of(function):
        return None
    if pattern == "reduction":
        return "reduction" if _is_reduction(function) else None
    return _kind_of_loops(function) if pattern in RANKS else None


def _is_reduction(function: func.FuncOp) -> bool:
    """True if exactly one loop reduces and only it reads the arguments; other loops post-process its result."""
    loops = loops_of(function)
    if sum(not is_parallel(loop) for loop in loops) != 1:
        return False
    later = [x for loop in loops if is_parallel(loop) for x in list(loop.operands)[:-1]]
    return (
        _holds_only(function, AROUND | _SLICES | _BESIDE_SUMS)
        and all(ARG_REDUCE not in loop.attributes for loop in loops)
        and all(defining_op(x) is not None or not isinstance(x.type, ir.RankedTensorType) for x in later)
    )


def _kind_of_loops(function: func.FuncOp) -> Kind | None:
    loops = loops_of(function)
    if not _holds_only(function, AROUND | _SLICES):
        return None
    if not all(is_parallel(loop) and _reads_arguments(loop) for loop in loops):
        return None
    returned = entry_block(function).operations[-1].operation.operands[0]
    if len(loops) == 1 and returned.owner == loops[0]:
        return "loop"
    pieces = pieces_of(returned)
    return "pieces" if pieces and [piece.operands[0].owner for piece in pieces] == loops else None


def _holds_only(function: func.FuncOp, allowed: frozenset[str]) -> bool:
    others: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        known = op.name == "func.func" or op.name in LOOPS or op.name in allowed
        if not known and not op.name.startswith(("arith.", "math.")):
            others.append(op.name)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return not others


def _reads_arguments(loop: ir.Operation) -> bool:
    """True if all inputs are arguments of the function, slices of them, or scalars."""
    for value in list(loop.operands)[:-1]:
        while (op := defining_op(value)) is not None and op.name == "tensor.extract_slice":
            value = op.operands[0]
        if defining_op(value) is not None and isinstance(value.type, ir.RankedTensorType):
            return False
    return True


def is_parallel(loop: ir.Operation) -> bool:
    """True if no iterator of a loop is a reduction."""
    if loop.name == "linalg.copy":
        return True
    return all("parallel" in str(kind) for kind in loop.attributes["iterator_types"])


def maps_of(loop: ir.Operation) -> list[ir.AffineMap]:
    """The indexing maps of a loop."""
    if loop.name == "linalg.copy":
        return [ir.AffineMap.get_identity(ir.RankedTensorType(loop.operands[0].type).rank)] * 2
    return [attribute.value for attribute in loop.attributes["indexing_maps"]]


def over_rows(function: func.FuncOp) -> str:
    """The name of the row kernel that replaces a prim func, with or without fused loops; "" if there is none."""
    spec = kernel_spec(function)
    return spec.name if spec is not None and spec.fusible is Fusible.BOTH else ""


def row_kernel(function: func.FuncOp) -> str:
    """The name of the row kernel that replaces a prim func and takes a prologue; "" if there is none."""
    attributes, name = function.attributes, over_rows(function)
    types = [x for x in function.type.inputs if isinstance(x, ir.RankedTensorType)]
    if not name or KERNEL_INPUTS in attributes or len({type_.element_type for type_ in types}) != 1:
        return ""
    given = ir.DictAttr(attributes[KERNEL_ATTRS])
    axes = [given["axis"]] if "axis" in given else list(ir.ArrayAttr(given["axes"]))
    numbers = [ir.IntegerAttr(axis).value for axis in axes]
    last = numbers == list(range(types[0].rank - len(numbers), types[0].rank))
    return name if last and isinstance(types[0].element_type, ir.FloatType) else ""


def takes_row_epilogue(function: func.FuncOp) -> str:
    """The name of the kernel that replaces a prim func and takes an epilogue row by row; "" if there is none."""
    attributes = function.attributes
    if KERNEL not in attributes or any(EPILOGUE in loop.attributes for loop in loops_of(function)):
        return ""
    if over_rows(function):
        return over_rows(function) if KERNEL_INPUTS in attributes else row_kernel(function)
    spec, given = kernel_spec(function), ir.DictAttr(attributes[KERNEL_ATTRS])
    if spec is None or spec.fusible is not Fusible.EPILOGUE:
        return ""
    return spec.name if len(ir.ArrayAttr(given["axes"])) else ""


def looks_at_its_place(function: func.FuncOp) -> bool:
    """True if a loop uses its iteration indices, or gathers elements at computed indices."""
    inside = [op for loop in loops_of(function) for op in entry_block(loop).operations]
    return any(op.operation.name in ("linalg.index", "tensor.extract") for op in inside)


def pieces_of(value: ir.Value) -> list[ir.Operation]:
    """The ``tensor.insert_slice`` ops that assemble a tensor of loop results, in order; empty for other tensors."""
    found: list[ir.Operation] = []
    while (op := defining_op(value)) is not None and op.name == "tensor.insert_slice":
        source = defining_op(op.operands[0])
        if source is None or source.name not in LOOPS:
            return []
        found.append(op)
        value = op.operands[1]
    return found[::-1] if defining_op(value) is None or found else []


def reads_of(function: func.FuncOp, numbers: Sequence[int]) -> list[Read] | None:
    """The distinct reads of the arguments `numbers` by loops; None if these have any other use."""
    found: dict[tuple[ir.Operation, str, ir.Operation | None], Read] = {}
    for number in numbers:
        argument = function.arguments[number]
        for value, part in [(argument, None), *_slices(argument)]:
            for use in value.uses:
                user = use.owner.operation
                if user.name == "tensor.dim" or (part is None and user.name == "tensor.extract_slice"):
                    continue
                if user.name not in LOOPS or use.operand_number == len(user.operands) - 1:
                    return None
                map_ = maps_of(user)[use.operand_number]
                found[user, str(map_), part] = Read(user, map_, part)
    return list(found.values())


def _slices(value: ir.Value) -> list[tuple[ir.Value, ir.Operation]]:
    users = [use.owner.operation for use in value.uses]
    return [(op.results[0], op) for op in users if op.name == "tensor.extract_slice"]


CHEAP = 4
"""Maximum weight of a loop that is recomputed rather than stored: about one memory access."""

_HEAVY = 100
_LIGHT_MATH = frozenset({"math.absf", "math.absi", "math.ceil", "math.copysign", "math.floor", "math.fma"})
_WEIGHTS = {"arith.divf": 4, "math.sqrt": 8, "math.rsqrt": 8, "tensor.extract": 2}
_FREE = frozenset({"arith.constant", "linalg.index", "linalg.yield"})


@dataclass(frozen=True)
class LoopTraits:
    """`weight`: work per element, in additions; `scattered`: True if elements are not read in memory order."""

    weight: int
    scattered: bool

    @property
    def is_cheap(self) -> bool:
        return self.weight <= CHEAP

    @property
    def is_heavy(self) -> bool:
        return self.weight >= _HEAVY


def traits_of(function: func.FuncOp) -> LoopTraits:
    """The traits of a mergeable prim func: the maximum weight of its loops, and whether any loop is scattered."""
    found = [_loop_traits(loop) for loop in loops_of(function)]
    steps = [
        ir.DenseI64ArrayAttr(op.operation.attributes["static_strides"])
        for op in function.entry_block.operations
        if op.operation.name in ("tensor.extract_slice", "tensor.insert_slice")
    ]
    uneven = any(len(step) and step[len(step) - 1] != 1 for step in steps)
    return LoopTraits(max(x.weight for x in found), uneven or any(x.scattered for x in found))


def _loop_traits(loop: ir.Operation) -> LoopTraits:
    body = [op.operation for op in entry_block(loop).operations]
    maps = maps_of(loop)
    last = int(maps[0].n_dims) - 1
    scattered = any(_is_scattered(map_, last) for map_ in maps)
    gathers = [op for op in body if op.name == "tensor.extract"]
    return LoopTraits(sum(map(_weight, body)), scattered or any(not _ends_in_index(op, last) for op in gathers))


def _weight(op: ir.Operation) -> int:
    if op.name in _FREE:
        return 0
    if op.name in _WEIGHTS:
        return _WEIGHTS[op.name]
    return _HEAVY if op.name.startswith("math.") and op.name not in _LIGHT_MATH else 1


def _is_scattered(map_: ir.AffineMap, last: int) -> bool:
    """True if the innermost loop indexes an axis other than the last one."""
    return any(isinstance(x, ir.AffineDimExpr) and x.position == last for x in list(map_.results)[:-1])


def _ends_in_index(gather: ir.Operation, last: int) -> bool:
    if len(gather.operands) < 2:
        return True
    owner = gather.operands[len(gather.operands) - 1].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.index":
        return False
    return bool(owner.operation.attributes["dim"].value == last)


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
        same = [i for i in infos if isinstance(i, Tensor) and i.shape == self.info.shape and i.dtype is not None]
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
