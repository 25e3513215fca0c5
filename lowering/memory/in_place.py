"""Decide which prim funcs (level M) may write a result into the memory of an argument.

The two buffers then share memory. That is safe if every element of the argument is read for the last time before the
element at its position is written, for every lowering of the function:

- Its operations on buffers run in order, each as loops (`linalg-to-loops`). The first that writes the result must be
  elementwise in both: it reads the argument only at the position where it writes. Later ones do not read it.
- A contraction and its epilogue run block by block: none of its operands may be overwritten.
- Kernels with a `KernelSpec` (`select-kernels`) declare that they work in place. They apply a prologue row by row, so
  it must read the argument at the position that it writes.
- Scans are always replaced by their kernel, which reads each element before it writes it; their body need not be safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import KERNEL, KERNEL_INPUTS, PRIM_FUNC
from relax_mlir.dialects.kernel_specs import InPlace as KernelInPlace
from relax_mlir.dialects.kernel_specs import kernel_spec
from relax_mlir.dialects.traits import IsView, has_trait
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.abi.ffi_dtypes import element_bytes
from relax_mlir.lowering.kernels.gemm.lower_contractions import match_contraction
from relax_mlir.lowering.kernels.rows.scan import is_scannable
from relax_mlir.lowering.memory.liveness import Buffer
from relax_mlir.mlir import func, ir, linalg
from relax_mlir.mlir_text import is_declaration

_SIMPLE = frozenset({"func.return", "linalg.fill", "memref.alloc", "memref.copy", "memref.dealloc"})
_WITHOUT_BUFFERS = ("affine.", "arith.", "index.", "math.")


Views = Mapping[ir.Value, tuple[str, ...]]
"""A buffer and its reshaped views in a function; views with equal keys have equal elements at equal positions."""


@dataclass(frozen=True)
class _Step:
    """An operation of a function on buffers, and the operands of all ops in it."""

    operation: ir.Operation
    values: frozenset[ir.Value]

    @staticmethod
    def of(operation: ir.Operation) -> _Step:
        return _Step(operation, frozenset(value for op in ops_of(operation) for value in op.operands))

    def uses(self, buffer: Views) -> bool:
        """True if it uses a view of the buffer."""
        return not self.values.isdisjoint(buffer)


@dataclass(frozen=True)
class _Body:
    """The operations of a single-block function in order, and the views of each argument with identity layout."""

    steps: Sequence[_Step]
    views: Mapping[int, Views]

    @staticmethod
    def of(function: func.FuncOp) -> _Body:
        body = function.body.blocks[0]
        plain = {i: _views(argument) for i, argument in enumerate(body.arguments) if _is_plain(argument.type)}
        views = {view for found in plain.values() for view in found}
        steps = [
            _Step.of(op.operation)
            for op in body.operations
            if op.operation.name != "memref.dim" and views.isdisjoint(op.operation.results)
        ]
        return _Body(steps, plain)


@dataclass
class InPlace:
    """Memoised answers for the functions of a module."""

    functions: dict[str, func.FuncOp]
    _bodies: dict[str, _Body] = field(default_factory=dict)
    _known: dict[tuple[str, int, int], bool] = field(default_factory=dict)

    def may_share(self, name: str, given: int, out: int) -> bool:
        """True if argument `out` of a function, whose initial value is not read, may share memory with `given`."""
        key = name, given, out
        if key not in self._known:
            function = self.functions.get(name)
            self._known[key] = function is not None and self._find(function, given, out)
        return self._known[key]

    def allows(self, call: ir.Operation, given: Buffer, out: Buffer) -> bool:
        """True if two buffers of equal size may share memory; `given` dies at `call`, and `out` is first used there."""
        if call.name != "func.call":
            return False
        reads = [i for i, value in enumerate(call.operands) if value in given.aliases]
        writes = [i for i, value in enumerate(call.operands) if value in out.aliases]
        if len(writes) != 1 or not all(_is_whole(call.operands[i]) for i in (*reads, *writes)):
            return False
        return all(self.may_share(callee_of(call), read, writes[0]) for read in reads)

    def _find(self, function: func.FuncOp, given: int, out: int) -> bool:
        if is_declaration(function) or PRIM_FUNC not in function.attributes or len(function.body.blocks) != 1:
            return False
        spec, marked = kernel_spec(function), KERNEL in function.attributes
        if spec is not None and spec.in_place is KernelInPlace.ELEMENTS:
            return (given, out) == (0, 1) and _is_scan(function)
        if given == out or (marked and (spec is None or spec.in_place is KernelInPlace.NEVER)):
            return False
        name = function.name.value
        if name not in self._bodies:
            self._bodies[name] = _Body.of(function)
        body = self._bodies[name]
        if given not in body.views or out not in body.views:
            return False
        read, written = body.views[given], body.views[out]
        return _is_safe(body.steps, read, written) and (not marked or _stays_in_place(body.steps, read))


def _is_whole(value: ir.Value) -> bool:
    """True if a value is always a whole buffer: a chain of views of an allocation."""
    defining = value.owner
    while not isinstance(defining, ir.Block) and has_trait(defining, IsView):
        defining = defining.operands[0].owner
    return not isinstance(defining, ir.Block) and bool(defining.name == "memref.alloc")


def _is_scan(function: func.FuncOp) -> bool:
    """True if the scan kernel implements the function: equal types and no prologue."""
    types = list(function.type.inputs)
    same = len(types) == 2 and types[0] == types[1] and _is_plain(types[0])
    return same and is_scannable(types[0]) and KERNEL_INPUTS not in function.attributes


def _views(argument: ir.Value) -> Views:
    found: dict[ir.Value, tuple[str, ...]] = {argument: ()}
    for use in argument.uses:
        user = use.owner.operation
        if user.name == "memref.expand_shape" and use.operand_number == 0 and _has_one_meaning(user):
            shape = str(ir.MemRefType(user.results[0].type).shape)
            found[user.results[0]] = (str(user.attributes["reassociation"]), shape)
    return found


def _has_one_meaning(expand: ir.Operation) -> bool:
    """True if the buffer's sizes determine the view's: each expanded dimension has at most one dynamic size."""
    type_ = ir.MemRefType(expand.results[0].type)
    groups = (ir.ArrayAttr(group) for group in ir.ArrayAttr(expand.attributes["reassociation"]))
    return all(sum(type_.is_dynamic_dim(ir.IntegerAttr(i).value) for i in group) <= 1 for group in groups)


def _is_plain(type_: ir.Type) -> bool:
    if not isinstance(type_, ir.MemRefType):
        return False
    return bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))


def _is_safe(steps: Sequence[_Step], given: Views, out: Views) -> bool:
    if _element_bytes(given) != _element_bytes(out):
        return False
    reads = [number for number, step in enumerate(steps) if step.uses(given)]
    writes = [number for number, step in enumerate(steps) if step.uses(out)]
    if not writes or any(number > writes[0] for number in reads):
        return False
    if not all(_only_reads(steps[number].operation, given) for number in reads):
        return False
    if any(number < writes[0] for number in reads) and not all(_runs_alone(step.operation) for step in steps):
        return False
    return _is_elementwise(steps[writes[0]].operation, given, out)


def _element_bytes(views: Views) -> int:
    return element_bytes(ir.MemRefType(next(iter(views)).type).element_type)


def _stays_in_place(steps: Sequence[_Step], given: Views) -> bool:
    """True if each op that reads the argument uses identity maps; the output of a reduction may have another one."""
    for step in (step.operation for step in steps if step.uses(given)):
        kinds = [str(kind) for kind in step.attributes["iterator_types"]]
        identity = ir.AffineMap.get_identity(len(kinds))
        sums = any("parallel" not in kind for kind in kinds)
        maps = [attribute.value for attribute in linalg.get_indexing_maps(step)]
        outputs = list(step.opview.outputs)
        for operand, map_ in zip(step.operands, maps, strict=True):
            if map_ != identity and (operand in given or (operand in outputs and not sums)):
                return False
    return True


def _only_reads(step: ir.Operation, given: Views) -> bool:
    if step.name != "linalg.generic" or any(value in given for value in step.opview.outputs):
        return False
    return any(value in given for value in step.opview.inputs)


def _runs_alone(step: ir.Operation) -> bool:
    """True if an operation completes before the next begins. Contractions do not: they fuse with their epilogue."""
    if step.name == "linalg.generic":
        return match_contraction(step) is None
    return step.name in _SIMPLE or step.name.startswith(_WITHOUT_BUFFERS)


def _is_elementwise(step: ir.Operation, given: Views, out: Views) -> bool:
    """True if an operation reads the argument only where it writes the output: parallel loops with identity maps."""
    if step.name != "linalg.generic" or any(value in out for value in step.opview.inputs):
        return False
    written = [out[value] for value in step.opview.outputs if value in out]
    if len(written) != 1 or any("parallel" not in str(kind) for kind in step.attributes["iterator_types"]):
        return False
    if any(value in given or value in out for op in ops_of(step)[1:] for value in op.operands):
        return False
    identity = ir.AffineMap.get_identity(len(step.attributes["iterator_types"]))
    maps = [attribute.value for attribute in linalg.get_indexing_maps(step)]
    pairs = list(zip(step.operands, maps, strict=True))
    if any(value in given and given[value] != written[0] for value, _ in pairs):
        return False
    return all(map_ == identity for value, map_ in pairs if value in given or value in out)
