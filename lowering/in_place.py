"""Which prim funcs (level M) may write a result into the memory of an argument.

The two buffers are the same memory then. That is safe where every element of the argument has been read for the last
time when the element at its place is written, whichever way the function is lowered:

- its operations on buffers run in order, each by loops (`linalg-to-loops`). The first that writes the result must be
  elementwise in both: it reads the argument at the place where it writes, if at all. Later ones do not read it.
- A contraction and what is behind it run block by block: no part of its operands may be overwritten.
- Kernels for functions with a known meaning (`select-kernels`) say themselves that they work in place. What is done
  to an argument before (a prologue) they do row by row: it must read the argument at the place that it is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import KERNEL, PRIM_FUNC
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.abi.dtypes import element_bytes
from relax_mlir.lowering.abi.text import is_declaration
from relax_mlir.lowering.kernels.contraction import match_contraction
from relax_mlir.lowering.liveness import Buffer
from relax_mlir.mlir import func, ir, linalg

KERNELS_IN_PLACE = frozenset({"layer_norm", "log_softmax", "rms_norm", "softmax"})
"""The kernels of rows, which read a row before they write it, and vectors of it where they write them."""

_SIMPLE = frozenset({"func.return", "linalg.fill", "memref.alloc", "memref.copy", "memref.dealloc"})
_WITHOUT_BUFFERS = ("affine.", "arith.", "index.", "math.")


_WHOLE = frozenset({"memref.cast", "memref.collapse_shape", "memref.expand_shape"})
"""Views of all elements, in the same order."""


@dataclass
class InPlace:
    """Answers for the functions of a module, each found once."""

    functions: dict[str, func.FuncOp]
    _known: dict[str, frozenset[tuple[int, int]]] = field(default_factory=dict)

    def pairs(self, name: str) -> frozenset[tuple[int, int]]:
        """Pairs of arguments of the function: the second may be the same memory as the first, if it needs no value."""
        if name not in self._known:
            function = self.functions.get(name)
            self._known[name] = frozenset() if function is None else _pairs(function)
        return self._known[name]

    def allows(self, call: ir.Operation, given: Buffer, out: Buffer) -> bool:
        """Whether two buffers of equal size, of which `given` dies at `call` and `out` is born, may be one memory."""
        if call.name != "func.call":
            return False
        reads = [i for i, value in enumerate(call.operands) if value in given.aliases]
        writes = [i for i, value in enumerate(call.operands) if value in out.aliases]
        if len(writes) != 1 or not all(_is_whole(call.operands[i]) for i in (*reads, *writes)):
            return False
        pairs = self.pairs(callee_of(call))
        return all((read, writes[0]) in pairs for read in reads)


def _is_whole(value: ir.Value) -> bool:
    """Whether a value is all of a buffer, and no other one under some condition."""
    maker = value.owner
    while not isinstance(maker, ir.Block) and maker.name in _WHOLE:
        maker = maker.operands[0].owner
    return not isinstance(maker, ir.Block) and bool(maker.name == "memref.alloc")


def _pairs(function: func.FuncOp) -> frozenset[tuple[int, int]]:
    if is_declaration(function) or PRIM_FUNC not in function.attributes or len(function.body.blocks) != 1:
        return frozenset()
    if (
        KERNEL in function.attributes
        and ir.StringAttr(function.attributes[KERNEL]).value not in KERNELS_IN_PLACE
    ):
        return frozenset()
    body = function.body.blocks[0]
    steps = [op.operation for op in body.operations if op.operation.name != "memref.dim"]
    buffers = [i for i, argument in enumerate(body.arguments) if _is_plain(argument.type)]
    return frozenset(
        (given, out)
        for out in buffers
        for given in buffers
        if given != out
        and _is_safe(steps, body.arguments[given], body.arguments[out])
        and (KERNEL not in function.attributes or _stays_in_place(steps, body.arguments[given]))
    )


def _is_plain(type_: ir.Type) -> bool:
    if not isinstance(type_, ir.MemRefType):
        return False
    return bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))


def _is_safe(steps: Sequence[ir.Operation], given: ir.Value, out: ir.Value) -> bool:
    if element_bytes(given.type.element_type) != element_bytes(out.type.element_type):
        return False
    reads = [number for number, step in enumerate(steps) if _uses(step, given)]
    writes = [number for number, step in enumerate(steps) if _uses(step, out)]
    if not writes or any(number > writes[0] or not _only_reads(steps[number], given) for number in reads):
        return False
    if any(number < writes[0] for number in reads) and not all(map(_runs_alone, steps)):
        return False
    return _is_elementwise(steps[writes[0]], given, out)


def _stays_in_place(steps: Sequence[ir.Operation], given: ir.Value) -> bool:
    """Whether all that reads an argument reads its elements once, at the places of the results or for a reduction."""
    for step in steps:
        if not _uses(step, given):
            continue
        kinds = [str(kind) for kind in step.attributes["iterator_types"]]
        identity = ir.AffineMap.get_identity(len(kinds))
        sums = any("parallel" not in kind for kind in kinds)
        maps = [attribute.value for attribute in linalg.get_indexing_maps(step)]
        for operand, map_ in zip(step.operands, maps, strict=True):
            if map_ != identity and (operand == given or (_is_output(step, operand) and not sums)):
                return False
    return True


def _uses(step: ir.Operation, buffer: ir.Value) -> bool:
    return any(buffer in list(op.operands) for op in ops_of(step))


def _only_reads(step: ir.Operation, given: ir.Value) -> bool:
    return step.name == "linalg.generic" and given in list(step.opview.inputs) and not _is_output(step, given)


def _is_output(step: ir.Operation, buffer: ir.Value) -> bool:
    return buffer in list(step.opview.outputs)


def _runs_alone(step: ir.Operation) -> bool:
    """Whether an operation is done before the next begins: all but contractions, which take what follows along."""
    if step.name == "linalg.generic":
        return match_contraction(step) is None
    return step.name in _SIMPLE or step.name.startswith(_WITHOUT_BUFFERS)


def _is_elementwise(step: ir.Operation, given: ir.Value, out: ir.Value) -> bool:
    """Whether an operation writes the output where it reads the argument, in loops that meet each place once."""
    if step.name != "linalg.generic" or not _is_output(step, out) or out in list(step.opview.inputs):
        return False
    if any("parallel" not in str(kind) for kind in step.attributes["iterator_types"]):
        return False
    if any(buffer in list(op.operands) for op in ops_of(step)[1:] for buffer in (given, out)):
        return False
    identity = ir.AffineMap.get_identity(len(step.attributes["iterator_types"]))
    maps = [attribute.value for attribute in linalg.get_indexing_maps(step)]
    pairs = zip(step.operands, maps, strict=True)
    return all(map_ == identity for operand, map_ in pairs if operand in (given, out))
