"""What is true of all ops of a class, said once on the class, for passes to ask.

A trait stands in the class's list of traits, beside those of MLIR (``traits=[ext.Pure, IsView]``); ops that upstream
dialects define have theirs in `UPSTREAM`. Nothing of a trait reaches MLIR.
"""

from __future__ import annotations

import functools

from relax_mlir.dialects.dialect import Relax, import_families
from relax_mlir.mlir import ir


class OpTrait:
    """Base of all traits."""

    @staticmethod
    def attach(op_name: str) -> None:
        """Called by the bindings when the dialect is loaded; there is nothing to tell MLIR."""


class IsView(OpTrait):
    """The result has the elements of the first operand in the same order, under another shape; no element moves."""


class IsLoop(OpTrait):
    """The op runs its regions several times, and carries values from one to the next."""


class IsConditional(OpTrait):
    """The op runs one of its regions."""


class EndsBlock(OpTrait):
    """The op ends a block of a Relax function, and hands its operands on."""


class HasEffect(OpTrait):
    """The op acts, or may act: it runs in the order of the program, and is never dropped, merged or repeated."""


class OutsideDataflow(OpTrait):
    """The op may not stand in a dataflow block, though it only computes."""


class CallsFunction(OpTrait):
    """The attribute ``callee`` names a function of the module."""


class CallsPacked(OpTrait):
    """The op calls a packed function, which returns its results."""


class InvokesClosure(OpTrait):
    """The op calls the function value that is its first operand."""


class CapturesTensors(OpTrait):
    """The operands may be held beyond the op, by a packed function or by the caller."""


class ReadsTensors(OpTrait):
    """The results share no memory with the operands."""


class EndsLife(OpTrait):
    """The op ends the life of the memory that it is given."""


class OnMemory(OpTrait):
    """The op works on storages and on tensors in them, or on the shape heap: the forms of the virtual machine."""


class HasDestination(OpTrait):
    """The op allocates its results and passes them to a function that fills them."""


class TakesOwnership(OpTrait):
    """The results are memory that nothing else holds."""


class IsTransparent(OpTrait):
    """The op writes to no tensor that a prim func may read: calls of these may move past it."""


class IsInstant(OpTrait):
    """The op takes no time, whatever the sizes."""


class MultipliesMatrices(OpTrait):
    """The kernel of the op is a matrix product, or has matrix products in it."""


class IsAttention(OpTrait):
    """The kernel of the op is that of attention."""


class PassesOn(OpTrait):
    """The results are the operands, with more known of them; names of unknown dimensions gain them nothing."""


class SizedByData(OpTrait):
    """How large the result is depends on elements of operands; native code finds it out where it knows their shapes."""


class OnFunctionValues(OpTrait):
    """The op makes or calls a function as a value; `lambda-lift` and `specialize-closures` replace it."""


class HoldsFunctionValues(OpTrait):
    """The result may be, or hold, a function value; without uses the op is dropped with it."""


class CopiedIntoFunctions(OpTrait):
    """`lambda-lift` makes the op anew inside a lifted function, rather than passing its result to it."""


class ListsArguments(OpTrait):
    """The script writes the fields of the tuple operand one by one, as arguments."""


class WrittenInside(OpTrait):
    """The script writes the op inside the expression that uses it: it reads better there."""


class IsStatement(OpTrait):
    """The script writes the op as a statement, never inside an expression."""


class KeptAtR1(OpTrait):
    """Legal at level R1: structure, calls, and views, which cost nothing after shape lowering."""


class KeptInExplicitMemory(OpTrait):
    """Legal at level R1 with explicit memory."""


class KeptInShapeHeap(OpTrait):
    """Legal in the form that the virtual machine runs."""


EVERY_FORM: tuple[type[OpTrait], ...] = (KeptAtR1, KeptInExplicitMemory, KeptInShapeHeap)
"""The traits of structure that level R1 and the forms of the virtual machine have in common."""

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
    """The names of all ops that have one of some traits."""
    return _ops_with(frozenset(traits))


@functools.cache
def _ops_with(traits: frozenset[type[OpTrait]]) -> frozenset[str]:
    import_families()
    own = {op.OPERATION_NAME for op in Relax.operations if not traits.isdisjoint(op._traits)}
    return frozenset(own | {name for name, given in UPSTREAM.items() if not traits.isdisjoint(given)})


def has_trait(op: ir.Operation, *traits: type[OpTrait]) -> bool:
    """Whether an op has one of some traits."""
    return op.name in ops_with(*traits)
