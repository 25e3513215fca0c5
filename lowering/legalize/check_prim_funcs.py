"""Pass ``check-prim-funcs``: prim funcs of users can be lowered, stay in bounds and change no input (R0)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import (
    DTYPE,
    EXPOSES,
    INDICES_PROVED,
    KERNEL_SEAL,
    LOOP_KIND,
    PARAMS,
    PATTERN,
    PRIM_FUNC,
    UNCHECKED,
)
from relax_mlir.dialects.kernel_seals import OP_CLAIMS, claims, is_sealed, remove_claims, seal
from relax_mlir.dialects.prim_entries import against_entry, entry_of, prim_callees
from relax_mlir.dialects.prim_params import PrimParam, prim_params
from relax_mlir.error import Diagnostic, VerifyError
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.legality import NOT_ON, PRIM_OPS, PRIM_TYPES, instead_of
from relax_mlir.lowering.legalize.define_arithmetic import define_arithmetic
from relax_mlir.lowering.legalize.prim_call_sites import CallSites, called_by_prims
from relax_mlir.lowering.legalize.prim_writes import written_inputs
from relax_mlir.lowering.legalize.scheduled_prims import take_plain, unproved_kinds
from relax_mlir.lowering.shapes.check_bounds import bounds_mode, unproved
from relax_mlir.lowering.shapes.index_ranges import Ranges
from relax_mlir.lowering.shapes.requirements import BOUNDS_ERROR, is_rising_access
from relax_mlir.mlir import func, ir, linalg
from relax_mlir.module_functions import functions_of
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.native_pipeline import run_native
from relax_mlir.transform.upstream import known_passes

OP_ATTRIBUTES = frozenset({*OP_CLAIMS, LOOP_KIND, DTYPE})
"""Attributes starting with ``relax.`` that ops of prim funcs may have; the last two come from scripts."""
VIEWS = ("memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.subview")
BUFFERS = (*VIEWS, "memref.alloc", "memref.alloca")
"""The ops that may return memrefs."""

MAX_CONSTANT = 1 << 30
"""The maximum elements of a constant: constants are part of the code, and LLVM needs their memory several times."""


class CheckPrimFuncs(ModulePass):
    """Reject prim funcs that cannot be lowered, or that store into inputs of a pure call; mark those that need checks.

    A prim func that is not proved to stay in bounds gets an attribute, for which `check-bounds` checks it at run time.
    Integer arithmetic gets a result for all operands (a division by zero gives 0, for example). Stack buffers become
    heap buffers.
    """

    name: ClassVar[str] = "check-prim-funcs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Check and rewrite the module in place; raises `VerifyError` with up to 20 problems."""
        prims = {
            op.name.value: op
            for op in module.body.operations
            if isinstance(op, func.FuncOp) and PRIM_FUNC in op.attributes
        }
        if not prims:
            return
        for prim in prims.values():
            _settle_claims(prim)
        found = [problem for prim in prims.values() for problem in problems(prim, prims)]
        if found:
            raise VerifyError("prim funcs hold what cannot be compiled", found[:20])
        if any(op.name.startswith("affine.") for prim in prims.values() for op in ops_of(prim.operation)):
            known_passes("lower-affine").execute(module, ctx)
        sites = CallSites.of(module, prims)
        found = [*sites.problems(), *written_inputs(prims, sites)]
        if found:
            raise VerifyError("prim funcs do not fit their calls", found[:20])
        plain = {name: take_plain(prim) for name, prim in prims.items()}
        for prim in prims.values():
            define_arithmetic(prim)
            _use_memory(prim)
        forget_declared(prims)
        if bounds_mode(ctx) != "none":
            for name, prim in prims.items():
                _mark(prim, sites, name, plain[name])


def check_made(module: ir.Module, names: Sequence[str], ctx: PassContext) -> None:
    """Check prim funcs that legalisation has generated from tensor expressions, whose calls match their declarations.

    Raises `VerifyError` with up to 20 problems.
    """
    prims = {op.name.value: op for op in functions_of(module) if PRIM_FUNC in op.attributes}
    found = [problem for name in names for problem in problems(prims[name], prims)]
    if found:
        raise VerifyError("prim funcs hold what cannot be compiled", found[:20])
    sites = CallSites.of(module, prims)
    for name in names:
        is_as_made = is_sealed(prims[name])
        plain = take_plain(prims[name])
        define_arithmetic(prims[name])
        _use_memory(prims[name])
        if bounds_mode(ctx) != "none":
            _mark(prims[name], sites, name, plain)
        if is_as_made:
            seal(prims[name])


def forget_declared(prims: Mapping[str, func.FuncOp]) -> None:
    """Remove the declared parameters of prim funcs that others call: those calls are not checked against them."""
    for name in called_by_prims(prims):
        if PARAMS in prims[name].attributes:
            del prims[name].attributes[PARAMS]


def problems(prim: func.FuncOp, prims: dict[str, func.FuncOp]) -> Iterator[Diagnostic]:
    """Report what cannot be compiled in a prim func."""
    name = prim.name.value
    if prim.is_external:
        yield _problem(prim.operation, name, "it has no body: define it, or call a packed function")
        return
    yield from _parameters(prim)
    entry = entry_of(prim)
    if entry is not None and (reason := against_entry(prim, prims.get(entry.callee), entry.written)):
        message = f"has the attribute {EXPOSES}, but {reason}: leave it out"
        yield _problem(prim.operation, name, message)
    if KERNEL_SEAL not in prim.attributes and (found := claims(prim)):
        message = f"has the attribute {found[0]}, which legalize-ops makes: leave it out"
        yield _problem(prim.operation, name, message)
    for op in ops_of(prim.operation):
        yield from _attributes(op, name)
        if op.name not in PRIM_OPS:
            yield _problem(op, name, f"{op.name} is not part of prim funcs: {instead_of(op.name)}")
            continue
        for message in (*_types(op), *_shape_of(op)):
            yield _problem(op, name, f"{op.name}: {message}")
        if op.name == "func.call":
            yield from _call(op, prim, prims)


def _settle_claims(prim: func.FuncOp) -> None:
    """Remove results of an earlier run: claims about a body that has changed since, and marks for checks."""
    if KERNEL_SEAL in prim.attributes and not is_sealed(prim):
        remove_claims(prim)
    for mark in (UNCHECKED, INDICES_PROVED):
        if mark in prim.attributes:
            del prim.attributes[mark]


def _attributes(op: ir.Operation, name: str) -> Iterator[Diagnostic]:
    """Report attributes that only the lowering may give to ops of prim funcs."""
    for attribute in op.attributes if op.name != "func.func" else ():
        if attribute.startswith(("relax.", "llvm.")) and attribute not in OP_ATTRIBUTES:
            yield _problem(
                op, name, f"{op.name} has the attribute {attribute}, which the lowering makes: leave it out"
            )


def _problem(op: ir.Operation, name: str, message: str) -> Diagnostic:
    return Diagnostic("error", location_text(op.location), f"prim func '{name}': {message}")


def _parameters(prim: func.FuncOp) -> Iterator[Diagnostic]:
    """Report parameters that mix tensors and memrefs, have other layouts, or differ from the declared shapes."""
    name, types = prim.name.value, [*prim.type.inputs, *prim.type.results]
    if len(prim.regions[0].blocks) != 1:
        yield _problem(
            prim.operation, name, "its body has several blocks: write scf.if, scf.for and scf.while"
        )
    tensors = [t for t in types if isinstance(t, ir.RankedTensorType)]
    memrefs = [t for t in types if isinstance(t, ir.MemRefType)]
    if tensors and memrefs:
        yield _problem(prim.operation, name, "its parameters are tensors and memrefs: use one of both")
    if memrefs and prim.type.results:
        yield _problem(
            prim.operation, name, "it works on memrefs, and returns something: write to its last buffers"
        )
    for number, type_ in enumerate(types):
        if isinstance(type_, ir.MemRefType) and not is_plain(type_):
            message = (
                f"parameter {number} is {type_}: buffers are in row-major order, without strides or offsets"
            )
            yield _problem(prim.operation, name, message)
        elif not isinstance(type_, ir.MemRefType | ir.RankedTensorType | ir.IndexType):
            message = f"parameter {number} is {type_}, expected a tensor, a memref or an index"
            yield _problem(prim.operation, name, message)
    for number, param in enumerate(prim_params(prim) or ()):
        type_ = prim.type.inputs[number]
        if (param.shape is None) != isinstance(type_, ir.IndexType):
            yield _problem(
                prim.operation, name, f"'{param.name}' is {type_}, but is declared otherwise in {PARAMS}"
            )
        elif param.shape is not None:
            yield from _declared(prim, number, param.name, param.shape)


def _declared(prim: func.FuncOp, number: int, name: str, shape: Sequence[object]) -> Iterator[Diagnostic]:
    type_ = ir.ShapedType(prim.type.inputs[number])
    agree = len(shape) == type_.rank and all(
        type_.is_dynamic_dim(axis) or dim == type_.get_dim_size(axis) for axis, dim in enumerate(shape)
    )
    if not agree:
        shown = ", ".join(map(str, shape))
        yield _problem(
            prim.operation, prim.name.value, f"'{name}' is {type_}, but {PARAMS} declares ({shown})"
        )


def is_plain(type_: ir.MemRefType) -> bool:
    """True if a memref is in row-major order, in the default memory space."""
    return type_.memory_space is None and bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))


def _types(op: ir.Operation) -> Iterator[str]:
    """Report values of types that some level does not support, and buffers whose origin cannot be followed."""
    if op.name == "func.func":
        return
    for result in op.results:
        yield from _type(result.type)
        if op.name in NOT_ON and str(result.type) in NOT_ON[op.name]:
            yield f"it has no meaning for {result.type}: {NOT_ON[op.name][str(result.type)]}"
        if op.name == "arith.constant" and isinstance(result.type, ir.RankedTensorType):
            count = math.prod(result.type.shape)
            if count > MAX_CONSTANT:
                yield f"a constant of {count} elements is too large for code: use linalg.fill on tensor.empty"
        if isinstance(result.type, ir.MemRefType) and op.name not in BUFFERS:
            yield "gives a buffer that depends on the control flow: branch around what uses it instead"
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                yield from _type(argument.type)
                if isinstance(argument.type, ir.MemRefType):
                    yield "carries a buffer from round to round: carry numbers, or use one buffer"


def _type(type_: ir.Type) -> Iterator[str]:
    shaped = isinstance(type_, ir.MemRefType | ir.RankedTensorType)
    element = ir.ShapedType(type_).element_type if shaped else type_
    if str(element) not in PRIM_TYPES:
        yield f"{type_} is no type of prim funcs, whose numbers are {', '.join(PRIM_TYPES)}"
    if isinstance(type_, ir.RankedTensorType) and type_.encoding is not None:
        yield f"{type_} has an encoding"


def _shape_of(op: ir.Operation) -> Iterator[str]:
    """Report views and loops whose accesses cannot be followed."""
    if op.name in ("memref.collapse_shape", "memref.expand_shape"):
        if not is_plain(ir.MemRefType(op.operands[0].type)):
            yield "its operand has strides: copy it into a buffer of its own first"
    elif op.name == "memref.cast":
        source, target = op.operands[0].type, op.results[0].type
        if not (isinstance(source, ir.MemRefType) and isinstance(target, ir.MemRefType)) or (
            (source.affine_map, source.memory_space) != (target.affine_map, target.memory_space)
        ):
            yield "it changes the layout"
    elif op.name in ("memref.alloc", "memref.alloca"):
        if not is_plain(ir.MemRefType(op.results[0].type)) or len(op.operands) != _dynamic(
            op.results[0].type
        ):
            yield "a buffer has a plain layout"
    elif op.name.startswith("linalg.") and len(op.regions):
        maps = linalg.get_indexing_maps(op)
        results = [expr for item in maps or () for expr in item.value.results]
        if maps is not None and not all(is_rising_access(expr) for expr in results):
            yield (
                "an access is no sum of loop variables, times or floordiv positive numbers: read the element by "
                "tensor.extract"
            )
        elif not _covers(maps):
            yield "a loop has no length: no operand has it as a dimension of its own"


def _covers(maps: Sequence[ir.AffineMapAttr] | None) -> bool:
    if not maps:
        return True
    found = {
        ir.AffineDimExpr(expr).position
        for item in maps
        for expr in item.value.results
        if isinstance(expr, ir.AffineDimExpr)
    }
    return len(found) == int(maps[0].value.n_dims)


def _dynamic(type_: ir.Type) -> int:
    shaped = ir.ShapedType(type_)
    return sum(shaped.is_dynamic_dim(axis) for axis in range(shaped.rank))


def _call(op: ir.Operation, prim: func.FuncOp, prims: dict[str, func.FuncOp]) -> Iterator[Diagnostic]:
    """Report calls of functions that are no prim funcs, and recursion."""
    name = callee_of(op)
    if name not in prims:
        yield _problem(op, prim.name.value, f"calls '{name}', which is no prim func")
        return
    reached, waiting = set(), [name]
    while waiting:
        current = waiting.pop()
        if current == prim.name.value:
            yield _problem(op, prim.name.value, f"the call of '{name}' leads back here: write a loop")
            return
        if current in reached or current not in prims:
            continue
        reached.add(current)
        waiting += prim_callees(prims[current])


def _use_memory(prim: func.FuncOp) -> None:
    """Replace stack buffers by heap buffers: in loops, or if large, they overflow the stack. Drop alignments."""
    for op in ops_of(prim.operation, "memref.alloca", "memref.alloc", "memref.load", "memref.store"):
        if "alignment" in op.attributes:
            del op.attributes["alignment"]
        if op.name == "memref.alloca":
            with ir.InsertionPoint(op), op.location:
                new = ir.Operation.create(
                    "memref.alloc",
                    results=[op.results[0].type],
                    operands=list(op.operands),
                    attributes={"operandSegmentSizes": op.attributes["operandSegmentSizes"]},
                )
            op.results[0].replace_all_uses_with(new.results[0])
            op.erase()


def _mark(prim: func.FuncOp, sites: CallSites, name: str, plain: str | None) -> None:
    """Mark a prim func that is not fully proved, so that it is checked, and neither fused nor replaced."""
    # Calls that are not checked against the declared sizes may pass others, for which nothing is proved.
    is_declared = PARAMS in prim.attributes
    kinds = unproved_kinds(plain, sites, name) if plain is not None and is_declared else None
    if kinds is not None and not kinds:
        return
    destinations = sites.destinations(name)
    with prim.context:
        prim.attributes[UNCHECKED] = ir.DenseI64ArrayAttr.get(destinations)
        if kinds is not None and BOUNDS_ERROR not in kinds:
            prim.attributes[INDICES_PROVED] = ir.UnitAttr.get()
    if not _needs_checks(prim, sites.params(name)):
        for mark in (UNCHECKED, INDICES_PROVED):
            if mark in prim.attributes:
                del prim.attributes[mark]
        return
    remove_claims(prim)
    if PATTERN in prim.attributes:
        del prim.attributes[PATTERN]


def _needs_checks(prim: func.FuncOp, params: Sequence[PrimParam] | None) -> bool:
    """True if something is not proved, even after CSE."""
    if next(unproved(prim, Ranges(prim, params)), None) is None:
        return False
    run_native("func.func(cse)", prim.operation)
    return next(unproved(prim, Ranges(prim, params)), None) is not None
