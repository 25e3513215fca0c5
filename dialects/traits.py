"""Traits: properties of op classes (view-like, side-effecting, legal at a level) that passes query.

A class lists its traits together with MLIR's (``traits=[ext.Pure, IsView]``); ops of upstream dialects have theirs in
`UPSTREAM`. These traits are not registered with MLIR. Two more properties are class attributes: the fusion pattern
(`OpPatternKind`), and the effect of permuted dimensions on attributes and results (`Reordered`).

An order is a permutation: dimension i of the reordered tensor is dimension ``order[i]`` of the tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from relax_mlir.dialects.dialect import Relax, import_families
from relax_mlir.mlir import ir


class OpTrait:
    """Base of all traits."""

    @staticmethod
    def attach(op_name: str) -> None:
        """Do nothing; the bindings call this when the dialect is loaded."""


class IsView(OpTrait):
    """The result has the elements of the first operand in the same order, under another shape; no element moves."""


class IsLoop(OpTrait):
    """The op runs its regions repeatedly, with loop-carried values."""


class IsConditional(OpTrait):
    """The op runs one of its regions."""


class EndsBlock(OpTrait):
    """The op is a terminator of a block in a Relax function, and passes its operands on."""


class HasEffect(OpTrait):
    """The op may have side effects: it keeps its place in program order, and is never removed, merged or repeated."""


class OutsideDataflow(OpTrait):
    """The op is not allowed in a dataflow block, although it has no effects."""


class CallsFunction(OpTrait):
    """The attribute ``callee`` names a function of the module."""


class CallsPacked(OpTrait):
    """The op calls a packed function, which returns its results."""


class InvokesClosure(OpTrait):
    """The op calls the function value in its first operand."""


class CapturesTensors(OpTrait):
    """The operands may be retained after the op, by a packed function or by the caller."""


class ReadsTensors(OpTrait):
    """The results share no memory with the operands."""


class EndsLife(OpTrait):
    """The op ends the lifetime of the memory in its operand."""


class OnMemory(OpTrait):
    """The op works on storages and tensors in them, or on the shape heap: the forms of the virtual machine."""


class HasDestination(OpTrait):
    """The op allocates its results and passes them to a function that fills them."""


class TakesOwnership(OpTrait):
    """The results are in memory that nothing else references."""


class IsTransparent(OpTrait):
    """The op writes to no tensor that a prim func may read: calls of prim funcs may move past it."""


class IsInstant(OpTrait):
    """The op takes negligible time, regardless of sizes."""


class MultipliesMatrices(OpTrait):
    """The kernel of the op is or contains a matrix product."""


class IsAttention(OpTrait):
    """The kernel of the op is attention."""


class PassesOn(OpTrait):
    """The results are the operands with more precise struct info; the op gains nothing from named dimensions."""


class SizedByData(OpTrait):
    """The result size depends on elements of operands; native code determines it, given operands of known shape."""


class OnFunctionValues(OpTrait):
    """The op creates or calls a function value; `lambda-lift` and `specialize-closures` replace it."""


class HoldsFunctionValues(OpTrait):
    """The result may be or contain a function value; the op is removed with it if unused."""


class CopiedIntoFunctions(OpTrait):
    """`lambda-lift` clones the op into a lifted function, instead of passing its result."""


class ListsArguments(OpTrait):
    """The script form lists the fields of the tuple operand as arguments."""


class WrittenInside(OpTrait):
    """The script form inlines the op into the expression that uses it."""


class IsStatement(OpTrait):
    """The script form writes the op as a statement, never inside an expression."""


class KeptAtR1(OpTrait):
    """Legal at level R1: structure, calls, and views, which are free after shape lowering."""


class KeptInExplicitMemory(OpTrait):
    """Legal at level R1 with explicit memory."""


class KeptInShapeHeap(OpTrait):
    """Legal in the form that the virtual machine runs."""


EVERY_FORM: tuple[type[OpTrait], ...] = (KeptAtR1, KeptInExplicitMemory, KeptInShapeHeap)
"""The legality traits of ops that are allowed at level R1 and in all forms of the virtual machine."""

UPSTREAM: dict[str, tuple[type[OpTrait], ...]] = {
    "arith.cmpi": (WrittenInside,),
    "arith.constant": (CopiedIntoFunctions, IsTransparent),
    "arith.select": (HoldsFunctionValues,),
    "builtin.unrealized_conversion_cast": (HoldsFunctionValues, IsInstant, IsTransparent, WrittenInside),
    "func.return": (CapturesTensors, EndsBlock, IsInstant),
    "index.constant": (CopiedIntoFunctions, IsTransparent),
    "scf.condition": (EndsBlock,),
    "scf.for": (IsLoop,),
    "scf.forall": (IsLoop,),
    "scf.if": (IsConditional,),
    "scf.parallel": (IsLoop,),
    "scf.while": (IsLoop,),
    "scf.yield": (EndsBlock,),
    "tensor.cast": (IsView,),
    "tensor.collapse_shape": (IsView,),
    "tensor.expand_shape": (IsView,),
    "tensor.extract": (CopiedIntoFunctions, ReadsTensors, WrittenInside),
    "memref.cast": (IsView,),
    "memref.collapse_shape": (IsView,),
    "memref.expand_shape": (IsView,),
}
"""The traits of ops of upstream dialects."""


def ops_with(*traits: type[OpTrait]) -> frozenset[str]:
    """The names of all ops with at least one of the traits."""
    return _ops_with(frozenset(traits))


@functools.cache
def _ops_with(traits: frozenset[type[OpTrait]]) -> frozenset[str]:
    import_families()
    own = {op.OPERATION_NAME for op in Relax.operations if not traits.isdisjoint(op._traits)}
    return frozenset(own | {name for name, given in UPSTREAM.items() if not traits.isdisjoint(given)})


def has_trait(op: ir.Operation, *traits: type[OpTrait]) -> bool:
    """True if an op has at least one of the traits."""
    return op.name in ops_with(*traits)


class OpPatternKind(IntEnum):
    """The kind of an op, by the inputs of each result element; the values are TVM's.

    It describes the general use of the op: a call of `add` on equal shapes is elementwise, too. `fuse-ops` uses the
    ``relax.pattern`` of the prim func that a call is lowered to.
    """

    ELEMWISE = 0
    """Each element depends on the element at the same index."""
    BROADCAST = 1
    """Each element depends on elements at the same index along some axes, in order."""
    INJECTIVE = 2
    """Each element depends on one element of an input, at any index."""
    COMM_REDUCE = 3
    """Each element combines elements along some axes, in any order."""
    OUT_ELEMWISE_FUSABLE = 4
    """Each element depends on many elements; elementwise ops on the result can be fused into it."""
    TUPLE = 7
    """A tuple, without computation."""
    OPAQUE = 8
    """Anything else."""


Order = tuple[int, ...]


@dataclass(frozen=True)
class Reordered:
    """The call of an op that computes the same on permuted operands.

    `operands`: the indices of the operands to permute (all fields of a tuple); the others are unchanged. `results`: the
    order of the result, or one per field of a tuple; None if unchanged. `attributes`: the attributes that change.
    """

    operands: tuple[int, ...]
    results: tuple[Order | None, ...]
    attributes: Mapping[str, ir.Attribute]


def inverse(order: Sequence[int]) -> Order:
    """The inverse permutation."""
    return tuple(order.index(axis) for axis in range(len(order)))


def composed(first: Sequence[int], second: Sequence[int]) -> Order:
    """The permutation by `first`, then by `second`."""
    return tuple(first[axis] for axis in second)


def is_identity(order: Sequence[int]) -> bool:
    """True for the identity permutation."""
    return list(order) == sorted(order)


def moved_axis(attribute: ir.Attribute, order: Order) -> ir.IntegerAttr:
    """The permuted index of the dimension in an integer attribute."""
    given = ir.IntegerAttr(attribute)
    return ir.IntegerAttr.get(given.type, order.index(int(given.value) % len(order)))


def moved_axes(attribute: ir.Attribute, order: Order) -> ir.ArrayAttr:
    """The permuted indices of the dimensions in an array of integers."""
    return ir.ArrayAttr.get([moved_axis(item, order) for item in ir.ArrayAttr(attribute)])


def moved_letters(attribute: ir.Attribute, order: Order) -> ir.StringAttr:
    """A layout with permuted letters."""
    letters = ir.StringAttr(attribute).value
    return ir.StringAttr.get("".join(letters[axis] for axis in order))


def along_axis(attributes: Mapping[str, ir.Attribute], order: Order, operands: tuple[int, ...] = (0,)) -> Reordered:
    """The permuted call of an op with the attribute `axis`, whose result has the dimensions of the data."""
    return Reordered(operands, (order,), {"axis": moved_axis(attributes["axis"], order)})


def with_layouts(attributes: Mapping[str, ir.Attribute], order: Order) -> Reordered | None:
    """The permuted call of an op with layouts of data and result; None if the two differ."""
    layout, out = attributes["layout"], attributes["out_layout"]
    moved = moved_letters(layout, order)
    return Reordered((0,), (order,), {"layout": moved, "out_layout": moved}) if layout == out else None
