"""Pass ``bfloat16-bits``: in the LLVM dialect bfloat16 values travel as 16-bit integers."""

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
"""Ops that move values without looking at what the bits mean."""


class BFloat16Bits(ModulePass):
    """Make bf16 i16 where it is only stored, loaded and moved, as `expand-floats` leaves it.

    LLVM widens a scalar bf16 that lives across blocks, and narrows it again by a call of a runtime library that
    is not there. A module that still computes in bf16, for a target that can, stays as it is.
    """

    name: ClassVar[str] = "bfloat16-bits"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        if not any(NAME in str(type_) for type_ in _value_types(module)):
            return
        ops = [op for top in module.body.operations for op in ops_of(top.operation) if _mentions(op)]
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
                if _attribute_mentions(named.attr):
                    op.attributes[named.name] = _bits(named.attr, types)
        for op in ops:
            if op.name == "llvm.bitcast" and op.operands[0].type == op.results[0].type:
                op.results[0].replace_all_uses_with(op.operands[0])
                op.erase()


def _value_types(module: ir.Module) -> set[ir.Type]:
    """The types of all results and block arguments; functions of the LLVM dialect are flat."""
    found = {result.type for op in ops_of(module.operation) for result in op.results}
    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                found.update(argument.type for argument in block.arguments)
    return found


def _mentions(op: ir.Operation) -> bool:
    """Whether a type or attribute of `op` itself mentions bf16."""
    types = [v.type for v in op.operands] + [r.type for r in op.results]
    types += [a.type for region in op.regions for block in region.blocks for a in block.arguments]
    if any(NAME in str(t) for t in set(types)):
        return True
    return any(_attribute_mentions(op.attributes[i].attr) for i in range(len(op.attributes)))


def _attribute_mentions(attribute: ir.Attribute) -> bool:
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
    """The attribute with i16 for bf16: types, and constants by their bits."""
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
