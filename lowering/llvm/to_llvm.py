"""From level V (kernels: vector, scf, memref) through level F (flat functions) to level L (LLVM dialect)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import AS_GENERATED, JOB, PRIM_FUNC, STRAIGHT_LOOPS
from relax_mlir.dialects.constants import dense_elements
from relax_mlir.ir_queries import ancestors, callee_of, ops_of
from relax_mlir.lowering.analysis.buffers import constant, static_bytes
from relax_mlir.lowering.analysis.loop_annotations import body_of
from relax_mlir.lowering.base.module_parts import Internalize, Part, own_ops
from relax_mlir.lowering.base.runtime_declarations import OWN_PREFIX, SHAPES_SUFFIX
from relax_mlir.lowering.checks import LowerChecks
from relax_mlir.lowering.entry.emit_ffi_wrappers import EmitFFIWrappers
from relax_mlir.lowering.entry.emit_lifecycle import EmitLifecycle, LowerConstants
from relax_mlir.lowering.entry.lower_objects import LowerObjects
from relax_mlir.lowering.entry.lower_packed_calls import LowerPackedCalls
from relax_mlir.lowering.expand import ExpandFloats, ExpandFma, ExpandMath, ExpandRounding
from relax_mlir.lowering.kernels.core.emit import is_as_written
from relax_mlir.lowering.loops.parallelize_loops import OutlineParallelLoops
from relax_mlir.lowering.loops.skip_empty_loops import SkipEmptyLoops, SkipEmptyResults
from relax_mlir.lowering.memory.pool_buffers import PoolBuffers
from relax_mlir.mlir import arith, func, ir, llvm, memref
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.passes import Pass
from relax_mlir.transform.pipeline import MLIRPass, known_passes

# `lower-copies`: `memref.copy` between contiguous buffers is one memcpy.


class LowerCopies(ModulePass):
    """Lower copies between row-major buffers to memcpy; copies with other layouts stay."""

    name: ClassVar[str] = "lower-copies"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for op in own_ops(module, "memref.copy"):
            if all(_row_major(v.type) for v in op.operands):
                _lower(op)


def _row_major(type: ir.Type) -> bool:
    return isinstance(type, ir.MemRefType) and ir.MemRefType(type).affine_map == ir.AffineMap.get_identity(
        ir.MemRefType(type).rank
    )


def _address(value: ir.Value, pointer: ir.Type, word: ir.Type) -> ir.Value:
    at = memref.ExtractAlignedPointerAsIndexOp(value).result
    return llvm.IntToPtrOp(pointer, arith.IndexCastOp(word, at).result).result


def _lower(op: ir.Operation) -> None:
    source, target = op.operands
    type = ir.MemRefType(source.type)
    pointer, word = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(op), op.location:
        size = constant(static_bytes(type))
        for i in range(type.rank):
            if type.is_dynamic_dim(i):
                size = arith.MulIOp(size, memref.DimOp(source, constant(i)).result).result
        to, from_ = (_address(value, pointer, word) for value in (target, source))
        llvm.intr_memcpy(to, from_, arith.IndexCastOp(word, size).result, False)
    op.erase()


# `mangle-names`: prefix function names, so that they do not clash with C library functions that the code calls.


FUNCTION_PREFIX = "relax.fn."


class MangleNames(ModulePass):
    """Prefix the names of all functions that have a body; signatures keep the names of entry points.

    Otherwise a function called ``exp`` or ``malloc`` would replace that of the C library.
    """

    name: ClassVar[str] = "mangle-names"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        renamed: dict[str, ir.Attribute] = {}
        for op in module.body.operations:
            if isinstance(op, func.FuncOp) and not op.is_external:
                old = op.name.value
                if not old.removesuffix(SHAPES_SUFFIX).startswith(OWN_PREFIX):
                    op.attributes["sym_name"] = ir.StringAttr.get(FUNCTION_PREFIX + old)
                    renamed[old] = ir.FlatSymbolRefAttr.get(FUNCTION_PREFIX + old)
        for call in own_ops(module, "func.call"):
            callee = callee_of(call)
            if callee in renamed:
                call.attributes["callee"] = renamed[callee]


# Pass `mark-straight-loops`: mark functions whose loops LLVM should not optimise.


_ACCESSES = frozenset(
    ("memref.load", "memref.store", "vector.load", "vector.store", "vector.maskedload", "vector.maskedstore")
)
_CONVERSIONS = frozenset(("arith.extf", "arith.truncf"))
_LOOPS = ("scf.for", "scf.while", "scf.parallel", "scf.forall")


class MarkStraightLoops(ModulePass):
    """Mark prim funcs and thread jobs whose innermost loops are straight-line code that LLVM should not change.

    They get `relax.straight_loops`: LLVM's optimisations gain nothing there and double its time. Other loops are left
    to LLVM: those that users wrote, those that no generator has vectorised or that LLVM should unroll, those with
    branches (its code generator sees one block at a time), those with addresses of several indices, which are mostly
    loop-invariant, and those that widen floats, which is unnecessary on CPUs with f16.
    """

    name: ClassVar[str] = "mark-straight-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Set the attribute."""
        for function in module.body.operations:
            marks = function.attributes
            if AS_GENERATED in marks or not (PRIM_FUNC in marks or JOB in marks):
                continue
            loops = _innermost_loops(function.operation)
            if loops and all(is_as_written(loop) and _is_straight(loop) for loop in loops):
                marks[STRAIGHT_LOOPS] = ir.UnitAttr.get(module.context)


def _innermost_loops(function: ir.Operation) -> list[ir.Operation]:
    """The loops of a function that contain no loop."""
    found: list[ir.Operation] = []
    for loop in ops_of(function, *_LOOPS):
        if found and found[-1] in ancestors(loop):
            found.pop()
        found.append(loop)
    return found


def _is_straight(loop: ir.Operation) -> bool:
    return not any(op.regions or op.name in _CONVERSIONS or _has_several_indices(op) for op in body_of(loop))


def _has_several_indices(op: ir.Operation) -> bool:
    """True for a load or store with more than one index."""
    return op.name in _ACCESSES and sum(isinstance(operand.type, ir.IndexType) for operand in op.operands) > 1


# Pass ``bfloat16-bits``: in the LLVM dialect bfloat16 values are stored and moved as 16-bit integers.


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


def boundary(hand_on: Callable[[list[Part]], None] | None = None) -> list[Pass]:
    """Define entry points, declarations and support functions; `hand_on` receives separately compiled ones."""
    return [
        PoolBuffers(),
        LowerCopies(),
        LowerPackedCalls(),
        LowerObjects(),
        MangleNames(),
        EmitFFIWrappers.handing_on(hand_on),
        LowerConstants(),
        EmitLifecycle(),
    ]


def flat_control_flow() -> list[MLIRPass]:
    """Lower to vectors of rank at most 1, and loops to branches between blocks, one function at a time."""
    return [
        known_passes("fold-memref-alias-ops"),
        known_passes("expand-strided-metadata"),
        known_passes("convert-vector-to-scf{full-unroll=true}"),
        known_passes("lower-affine"),
        known_passes("cse"),
        known_passes("convert-scf-to-cf"),
    ]


def expanded_kernel(target: str, low_precision: bool) -> list[Pass]:
    """The passes on a kernel of the library that modules run on their own functions at level V."""
    return [
        ExpandMath(target),
        *([ExpandFloats(target)] if low_precision else []),
        ExpandFma(target),
        ExpandRounding(target),
    ]


def kernel_to_flat(target: str, low_precision: bool, is_simple: bool) -> list[Pass]:
    """The passes to level F for a kernel of the library, which declares the support functions common to all modules.

    `low_precision`: True if it has f16 or bf16; `is_simple`: True if it neither takes memory nor has parallel loops.
    """
    support = [OutlineParallelLoops(target), PoolBuffers(), LowerCopies(), EmitFFIWrappers(separate=True)]
    return [
        *expanded_kernel(target, low_precision),
        known_passes("canonicalize,cse"),
        *([] if is_simple else support),
        *flat_control_flow(),
        *([] if is_simple else [LowerChecks()]),
        Internalize(),
    ]


def to_llvm_dialect(low_precision: bool = True, all_vectors: bool = True, has_math: bool = True) -> list[Pass]:
    """The passes F → L, which work on one function at a time.

    Without `low_precision` there is no bf16. Without `all_vectors`, all vector ops are ones that `convert-to-llvm`
    converts. Without `has_math` there are no ops of the math dialect (see `Part`).
    """
    maths = [
        known_passes("convert-math-to-llvm{approximate-log1p=false}"),
        known_passes("convert-math-to-libm"),
    ]
    return [
        *([known_passes("convert-vector-to-llvm{enable-x86=true}")] if all_vectors else []),
        known_passes("arith-expand{include-bf16=true}"),
        *(maths if has_math else []),
        known_passes("convert-to-llvm"),
        known_passes("reconcile-unrealized-casts"),
        *([BFloat16Bits()] if low_precision else []),
        known_passes("canonicalize{region-simplify=aggressive}"),
        known_passes("cse"),
    ]


def code_to_flat() -> list[MLIRPass]:
    """The passes to level F for code of the runtime without checks."""
    return [known_passes("canonicalize,cse"), *flat_control_flow()]


def support_to_flat(is_hot: bool = False) -> list[Pass]:
    """The passes to level F for support functions that are compiled separately (`SEPARATE_SUPPORT`).

    Their locations are dropped, because they mean nothing to users.
    """
    return [known_passes("strip-debuginfo"), *code_to_flat(), LowerChecks(), Internalize(is_hot)]


def flatten(target: str = "cpu", hand_on: Callable[[list[Part]], None] | None = None) -> list[Pass]:
    """The passes V → F, where functions of a module no longer depend on each other's bodies.

    If `hand_on` receives the separately compiled code, the module declares the support functions common to all modules,
    and the entry points in that code.
    """
    return [
        SkipEmptyResults(),
        SkipEmptyLoops(),
        OutlineParallelLoops(target),
        MarkStraightLoops(),
        *boundary(hand_on),
        *flat_control_flow(),
        LowerChecks(),
        known_passes("symbol-dce"),
        Internalize(),
    ]


def lower_to_llvm(target: str = "cpu") -> list[Pass]:
    """The passes V → L."""
    return [*flatten(target), *to_llvm_dialect()]
