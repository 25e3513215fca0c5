"""Attributes and names that are reserved for the lowering: user functions must not have them (invariants 9 and 15)."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from relax_mlir.dialects import attributes as attr
from relax_mlir.mlir import func, ir

LOWERED = (attr.SIGNATURE, attr.CHECK, attr.CONSTANT, attr.PACKED)
"""Attributes that mark a module below level R1: it has one of them if it comes from Relax functions."""
ALLOWED = frozenset(
    {
        *(attr.PRIM_FUNC, attr.PARAMS, attr.FORCE_PURE, attr.DONATED, attr.PATTERN, attr.KERNEL),
        attr.KERNEL_ATTRS,
        *(attr.KERNEL_INPUTS, attr.KERNEL_SEAL, attr.SYMBOL_BOUNDS, attr.UNCHECKED, attr.PARAM_NAME),
        *(
            attr.PRIM_ATTRS,
            attr.EXPOSES,
            attr.COMPOSITE,
            attr.CODEGEN,
            attr.SCHEDULED_FROM,
            attr.INDICES_PROVED,
        ),
    }
)
"""The attributes with prefix ``relax.`` that functions may have above level T."""
PLAIN = frozenset(
    {"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs", "no_inline", "body"}
)
"""The attributes of ``func.func``."""
PREFIXES = ("relax.", "llvm.", "bufferization.")
NAME_PREFIXES = ("relax.", "__")
ENTRY_PREFIX = "__tvm_ffi_"
SHAPES_SUFFIX = ".shapes"


def is_lowered(tops: Sequence[ir.OpView]) -> bool:
    """True if a module is below level R1: it has functions with attributes of the lowering, and no Relax function."""
    marked = any(name in op.attributes for op in tops for name in LOWERED)
    return marked and not any(isinstance(op, func.FuncOp) and _is_relax(op) for op in tops)


def _is_relax(op: func.FuncOp) -> bool:
    """True if a function is written in Relax, judging by its types and the ops of its body."""
    if attr.PRIM_FUNC in op.attributes or op.is_external:
        return False
    types = [*op.type.inputs, *op.type.results]
    if any(isinstance(t, ir.TupleType) or _has_symbols(t) or str(t).startswith("!relax.") for t in types):
        return True
    return any(inner.operation.name.startswith("relax.") for inner in op.entry_block.operations)


def _has_symbols(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and type_.encoding is not None


@functools.cache
def _llvm_attributes() -> frozenset[str]:
    """Attributes that LLVM would act on (``passthrough``, ``noreturn``, ``target_cpu``, …): those of ``llvm.func``."""
    from relax_mlir.mlir import llvm

    found = {name for name, value in vars(llvm.LLVMFuncOp).items() if isinstance(value, property)}
    return frozenset(found - PLAIN)


def reserved_attributes(op: func.FuncOp) -> Iterator[str]:
    """The attributes of a function and of its parameters that are reserved for the lowering."""
    given = list(op.attributes)
    for key in ("arg_attrs", "res_attrs"):
        if key in op.attributes:
            given += [named.name for item in ir.ArrayAttr(op.attributes[key]) for named in ir.DictAttr(item)]
    for name in dict.fromkeys(given):
        if name in _llvm_attributes() or (name.startswith(PREFIXES) and name not in ALLOWED):
            yield name


def is_reserved_name(name: str) -> bool:
    """True if the name is reserved for functions that the lowering creates."""
    return name.endswith(SHAPES_SUFFIX) or name.startswith(NAME_PREFIXES) or ENTRY_PREFIX in name


def unusable_name(name: str) -> str:
    """The reason why a symbol or parameter cannot have the name, or ""."""
    if not name:
        return "is empty"
    if "\0" in name:
        return "has a NUL character, at which readers of C end"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "is no valid Unicode"
    return ""
