"""The structure of mergeable prim funcs: their loops, and how these read the arguments."""

from __future__ import annotations

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
from relax_mlir.dialects.kernel_specs import Fusible, kernel_spec
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import func, ir

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
