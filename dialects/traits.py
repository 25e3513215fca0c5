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


class KeptAtR1(OpTrait):
    """Legal at level R1: structure, calls, and views, which cost nothing after shape lowering."""


class KeptInExplicitMemory(OpTrait):
    """Legal at level R1 with explicit memory."""


class KeptInShapeHeap(OpTrait):
    """Legal in the form that the virtual machine runs."""


EVERY_FORM: tuple[type[OpTrait], ...] = (KeptAtR1, KeptInExplicitMemory, KeptInShapeHeap)
"""The traits of structure that level R1 and the forms of the virtual machine have in common."""

UPSTREAM: dict[str, tuple[type[OpTrait], ...]] = {
    "func.return": (EndsBlock, CapturesTensors),
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
    "tensor.extract": (ReadsTensors,),
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
