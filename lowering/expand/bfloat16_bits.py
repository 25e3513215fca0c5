"""Pass ``bfloat16-bits``: in the LLVM dialect bfloat16 values are stored and moved as 16-bit integers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.constants import dense_elements
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext

NAME = "bf16"
MOVES = frozenset(
    {
        *("llvm.alloca", "llvm.bitcast", "llvm.br", "llvm.call", "llvm.cond_br", "llvm.extractelement"),
        *("llvm.func", "llvm.getelementptr", "llvm.insertelement", "llvm.intr.masked.load"),
        *(
            "llvm.intr.masked.store",
            "llvm.load",
            "llvm.mlir.constant",
            "llvm.mlir.global",
            "llvm.mlir.poison",
        ),
        *("llvm.mlir.undef", "llvm.mlir.zero", "llvm.return", "llvm.select", "llvm.shufflevector"),
        *("llvm.store", "llvm.switch"),
    }
)
"""Ops that move values without interpreting their bits."""
TYPED = {
    "llvm.alloca": "elem_type",
    "llvm.func": "function_type",
    "llvm.getelementptr": "elem_type",
    "llvm.mlir.global": "global_type",
}
"""Ops with a type attribute that their values need not have, and the name of the attribute."""


class BFloat16Bits(ModulePass):
    """Replace bf16 by i16 where it is only stored, loaded and moved, as `expand-floats` leaves it.

    LLVM widens a scalar bf16 that lives across blocks, and narrows it again with a call of a runtime library that is
    not available. A module that still computes in bf16, for a target with such instructions, is unchanged.
    """

    name: ClassVar[str] = "bfloat16-bits"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        ops = _ops_with(module)
        if any(op.name not in MOVES for op in ops):
            return
        types: dict[ir.Type, ir.Type] = {}
        for op in ops:
            for result in op.results:
                result.set_type(_integers(result.type, types))
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        argument.set_type(_integers(argument.type, types))
            for index in range(len(op.attributes)):
                named = op.attributes[index]
                if _mentions(named.attr):
                    op.attributes[named.name] = _bits(named.attr, types)
        for op in ops:
            if op.name == "llvm.bitcast" and op.operands[0].type == op.results[0].type:
                op.results[0].replace_all_uses_with(op.operands[0])
                op.erase()


def _ops_with(module: ir.Module) -> list[ir.Operation]:
    """The ops of a module of level L that mention bf16 in an operand, result or attribute."""
    ops = ops_of(module.operation)
    functions = [op for op in ops if op.name == "llvm.func"]
    arguments = {function: _block_arguments(function) for function in functions}
    types = {result.type for op in ops for result in op.results}
    types.update(argument.type for group in arguments.values() for argument in group)
    narrow = {type_ for type_ in types if NAME in str(type_)}
    if not narrow:
        return []
    values: list[ir.Value] = []
    found: dict[ir.Operation, None] = {}
    for op in ops:
        own = [value for value in (*op.results, *arguments.get(op, ())) if value.type in narrow]
        values += own
        attribute = TYPED.get(op.name)
        if own or (attribute is not None and NAME in str(op.attributes[attribute].value)):
            found[op] = None
    found.update((use.owner.operation, None) for value in values for use in value.uses)
    return list(found)


def _block_arguments(function: ir.Operation) -> list[ir.Value]:
    return [argument for block in function.regions[0].blocks for argument in block.arguments]


def _mentions(attribute: ir.Attribute) -> bool:
    if isinstance(attribute, ir.TypeAttr):
        return NAME in str(attribute.value)
    return isinstance(attribute, ir.FloatAttr | ir.DenseElementsAttr) and NAME in str(attribute.type)


def _integers(type_: ir.Type, known: dict[ir.Type, ir.Type]) -> ir.Type:
    """`type_` with i16 for bf16."""
    if type_ not in known:
        text = str(type_)
        known[type_] = ir.Type.parse(text.replace(NAME, "i16")) if NAME in text else type_
    return known[type_]


def _bits(attribute: ir.Attribute, known: dict[ir.Type, ir.Type]) -> ir.Attribute:
    """The attribute with i16 for bf16: types are replaced, constants by their bits."""
    bfloat16 = dtypes.dtype("bfloat16")
    if isinstance(attribute, ir.TypeAttr):
        return ir.TypeAttr.get(_integers(attribute.value, known))
    if isinstance(attribute, ir.FloatAttr):
        bits = np.asarray(attribute.value, bfloat16.numpy).view(np.int16)
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(16), int(bits))
    if isinstance(attribute, ir.DenseElementsAttr):
        shaped = ir.ShapedType(attribute.type)
        bits = dense_elements(attribute, bfloat16, tuple(shaped.shape)).view(np.int16)
        i16 = ir.IntegerType.get_signless(16)
        items = [ir.IntegerAttr.get(i16, int(item)) for item in bits.reshape(-1)]
        type_ = _integers(attribute.type, known)
        return ir.DenseElementsAttr.get(items, type_) if items else ir.Attribute.parse(f"dense<> : {type_}")
    return attribute
