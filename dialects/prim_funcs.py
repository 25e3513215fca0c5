"""Prim funcs: declared parameters, buffer-level entries, kernels that may replace bodies, and provenance hashes.

An entry is a prim func with the attribute `EXPOSES`, which names a tensor-level prim func and the arguments that it
writes; prim funcs on buffers call it until bufferisation. It has no body before level M, where
`call-exposed-prim-funcs` adds a call of the prim func.

A prim func with ``relax.kernel = "NAME"`` has the semantics of NAME; its body is the reference implementation. The
generators are in `relax_mlir.lowering.kernels`. Unknown names are ignored: the body is compiled.

`relax.kernel` and `relax.arg_reduce` state the semantics of a body, which a kernel may then replace; `relax.proved`
states that the accesses of a body are in bounds. `te.lower` proves this on the unscheduled loops, which access the same
elements, because less can be proved on scheduled loops. These claims are trusted only for bodies created by this
project, which carry a provenance hash (seal): a digest of the function. A pass that changes the body invalidates it.
Seals distinguish prim funcs of the lowering from those of users in parsed modules.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import (
    ARG_REDUCE,
    BY_SIZE,
    DTYPE,
    EPILOGUE,
    EXPOSES,
    KERNEL,
    KERNEL_ATTRS,
    KERNEL_INPUTS,
    KERNEL_SEAL,
    LOOP_KIND,
    LOOP_KINDS,
    PARAMS,
    PRIM_FUNC,
    PROLOGUE,
    PROVED,
    SCOPE,
)
from relax_mlir.dialects.types import dims_attr, dims_from_attr
from relax_mlir.error import VerifyError
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim


@dataclass(frozen=True)
class PrimParam:
    """A declared parameter of a prim func: a buffer, or an integer (shape None)."""

    name: str
    shape: tuple[Dim, ...] | None
    dtype: dtypes.DType | None


def prim_params(function: func.FuncOp) -> list[PrimParam] | None:
    """The declared parameters of a prim func; None if there are none, or they do not match its type.

    Raises `VerifyError`, `ParseError` or `UnknownNameError` for a malformed attribute.
    """
    if PARAMS not in function.attributes:
        return None
    try:
        found = [_prim_param(item) for item in ir.ArrayAttr(function.attributes[PARAMS])]
    except (KeyError, ValueError):
        raise VerifyError(
            f"@{function.name.value}: {PARAMS} is {function.attributes[PARAMS]}; expected a list of parameters like "
            '{name = "A", shape = ["n", 4], dtype = "float32"}, or {name = "i"} for an integer'
        ) from None
    return found if len(found) == len(function.type.inputs) else None


def params_attr(params: Sequence[PrimParam]) -> ir.ArrayAttr:
    """The attribute that declares parameters."""
    entries = []
    for param in params:
        entry: dict[str, ir.Attribute] = {"name": ir.StringAttr.get(param.name)}
        if param.shape is not None:
            assert param.dtype is not None, f"buffer {param.name} has no dtype"
            entry |= {"shape": dims_attr(param.shape), "dtype": ir.StringAttr.get(str(param.dtype))}
        entries.append(ir.DictAttr.get(entry))
    return ir.ArrayAttr.get(entries)


def _prim_param(item: ir.Attribute) -> PrimParam:
    """Raises `KeyError` or `ValueError` if malformed, and the errors of `dims_from_attr` and `dtypes.dtype`."""
    entry = {named.name: named.attr for named in ir.DictAttr(item)}
    name = ir.StringAttr(entry["name"]).value
    if "shape" not in entry:
        return PrimParam(name, None, None)
    dims = tuple(d for d in dims_from_attr(entry["shape"]) if d is not None)
    return PrimParam(name, dims, dtypes.dtype(ir.StringAttr(entry["dtype"]).value))


SUFFIX = ".memory"


@dataclass(frozen=True)
class PrimEntry:
    """The prim func `callee`, and the positions of the arguments that it writes."""

    callee: str
    written: tuple[int, ...]


def entry_of(function: func.FuncOp) -> PrimEntry | None:
    """The prim func of an entry; None for other functions."""
    if PRIM_FUNC not in function.attributes or EXPOSES not in function.attributes:
        return None
    return _entry(function) or PrimEntry("", ())


def exposed_prims(functions: Iterable[func.FuncOp]) -> dict[str, tuple[int, ...]]:
    """The names of prim funcs with entries, each with the positions of the arguments that it writes."""
    entries = (_entry(function) for function in functions if EXPOSES in function.attributes)
    return {entry.callee: entry.written for entry in entries if entry is not None}


def _entry(function: func.FuncOp) -> PrimEntry | None:
    """The parsed attribute of an entry; None if it is malformed."""
    given = function.attributes[EXPOSES]
    callee = given["callee"] if isinstance(given, ir.DictAttr) and "callee" in given else None
    written = given["written"] if isinstance(given, ir.DictAttr) and "written" in given else None
    if not isinstance(callee, ir.FlatSymbolRefAttr) or not isinstance(written, ir.DenseI64ArrayAttr):
        return None
    return PrimEntry(str(callee.value), tuple(written))


def exposes(callee: str, written: Sequence[int]) -> ir.DictAttr:
    """The attribute of an entry."""
    symbol, numbers = ir.FlatSymbolRefAttr.get(callee), ir.DenseI64ArrayAttr.get(list(written))
    return ir.DictAttr.get({"callee": symbol, "written": numbers})


def make_entry(block: ir.Block, name: str, callee: func.FuncOp, written: Sequence[int]) -> func.FuncOp:
    """Create an entry of a tensor-level prim func at the end of the module's body `block`."""
    types = [on_memory(type_) for type_ in callee.type.inputs]
    with ir.InsertionPoint(block):
        entry = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private")
    entry.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    entry.attributes[EXPOSES] = exposes(callee.name.value, written)
    with ir.InsertionPoint(entry.add_entry_block()):
        func.ReturnOp([])
    return entry


def against_entry(function: func.FuncOp, callee: func.FuncOp | None, written: tuple[int, ...]) -> str:
    """The reason why a function is not a valid entry of a prim func; "" if it is."""
    if callee is None or PRIM_FUNC not in callee.attributes or callee.is_external:
        return "it names no prim func"
    if [on_memory(type_) for type_ in callee.type.inputs] != list(function.type.inputs):
        return "its parameters are not those of the prim func"
    tensors = [i for i, t in enumerate(callee.type.inputs) if isinstance(t, ir.RankedTensorType)]
    if not callee.type.results or list(written) != tensors[len(tensors) - len(callee.type.results) :]:
        return "the prim func works on tensors, and writes its last ones"
    ops = [] if function.is_external else [view.operation.name for view in function.entry_block.operations]
    return "" if ops == ["func.return"] and not function.type.results else "it has a body of its own"


def prim_callees(function: func.FuncOp) -> list[str]:
    """The names of the functions that a prim func calls, now or from level M on."""
    called = [callee_of(op) for op in ops_of(function.operation, "func.call")]
    entry = entry_of(function)
    return called if entry is None else [*called, entry.callee]


def on_memory(type_: ir.Type) -> ir.Type:
    """The memref type of a tensor type; other types are unchanged."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    return ir.MemRefType.get(type_.shape, type_.element_type)


class InPlace(Enum):
    """The conditions under which a kernel may write its result into the memory of its first input."""

    NEVER = "never"
    ROWS = "rows"
    """It reads a whole row or group before writing it, and per-element inputs right where it writes."""
    ELEMENTS = "elements"
    """It reads each element, or the running total before it, right before writing the element, for any body."""


class Fusible(Enum):
    """The elementwise loops that a kernel can fuse, row by row."""

    NOTHING = "nothing"
    EPILOGUE = "epilogue"
    """Loops over the result."""
    BOTH = "both"
    """Loops over the first input, too, which the kernel traverses by rows, its last axes."""


@dataclass(frozen=True)
class KernelSpec:
    """The properties of a kernel.

    Args:
        name: the value of ``relax.kernel``.
        in_place: the conditions for a result in the memory of the first input.
        fusible: the elementwise loops that may be fused with it.
        has_axes: True if ``relax.kernel_attrs`` must hold its axes.
        optimise: True if LLVM's optimisations gain anything; False for code that is generated in final form.
    """

    name: str
    in_place: InPlace = InPlace.NEVER
    fusible: Fusible = Fusible.NOTHING
    has_axes: bool = False
    optimise: bool = True


KERNEL_SPECS: dict[str, KernelSpec] = {
    spec.name: spec
    for spec in (
        KernelSpec("attention", optimise=False),
        KernelSpec("attention_var_len", optimise=False),
        KernelSpec("cumprod", in_place=InPlace.ELEMENTS),
        KernelSpec("cumsum", in_place=InPlace.ELEMENTS),
        KernelSpec("group_norm", in_place=InPlace.ROWS, fusible=Fusible.EPILOGUE, has_axes=True),
        KernelSpec("layer_norm", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
        KernelSpec("log_softmax", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
        KernelSpec("rms_norm", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
        KernelSpec("softmax", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
    )
}


def kernel_spec(function: Any) -> KernelSpec | None:  # noqa: ANN401 - a view of a function of any dialect
    """The kernel of a function; None if it has none, or an unknown one."""
    if KERNEL not in function.attributes:
        return None
    return KERNEL_SPECS.get(ir.StringAttr(function.attributes[KERNEL]).value)


CLAIMS = (KERNEL, KERNEL_ATTRS, KERNEL_INPUTS, KERNEL_SEAL, PROVED)
"""Attributes of prim funcs that make claims about the body."""
OP_CLAIMS = (ARG_REDUCE, PROLOGUE, EPILOGUE)
"""Attributes of ops in prim funcs that make such claims."""
_NAME = re.compile(r"sym_name = \"[^\"]*\"")


def claims(function: Any) -> list[str]:  # noqa: ANN401 - a view of a function of any dialect
    """The attributes of a prim func and its ops that make claims about its body, without the seal."""
    own = [name for name in CLAIMS if name != KERNEL_SEAL and name in function.attributes]
    inner = [name for op in ops_of(function.operation) for name in OP_CLAIMS if name in op.attributes]
    return [*own, *dict.fromkeys(inner)]


def seal(function: Any) -> None:  # noqa: ANN401 - see `claims`
    """Seal a prim func of the lowering, if it makes claims."""
    if claims(function):
        function.attributes[KERNEL_SEAL] = ir.StringAttr.get(_digest(function))


def is_sealed(function: Any) -> bool:  # noqa: ANN401 - see `claims`
    """True if a prim func is unchanged since the lowering created it."""
    if KERNEL_SEAL not in function.attributes:
        return False
    given = function.attributes[KERNEL_SEAL]
    return isinstance(given, ir.StringAttr) and given.value == _digest(function)


def inherit_seal(function: Any, other: Any) -> None:  # noqa: ANN401 - see `claims`
    """Seal a function derived from the prim func `other`, if that is sealed; an invalid seal is copied unchanged."""
    if is_sealed(other):
        seal(function)
    elif KERNEL_SEAL in other.attributes:
        function.attributes[KERNEL_SEAL] = other.attributes[KERNEL_SEAL]


def remove_claims(function: Any) -> None:  # noqa: ANN401 - see `claims`
    """Remove all claims of a prim func, so that only its body defines its semantics."""
    for name in CLAIMS:
        if name in function.attributes:
            del function.attributes[name]
    for op in ops_of(function.operation):
        for name in OP_CLAIMS:
            if name in op.attributes:
                del op.attributes[name]


def _digest(function: Any) -> str:  # noqa: ANN401 - see `claims`
    """The digest of everything except the name and the locations."""
    given = function.attributes.get(KERNEL_SEAL)
    if given is not None:
        del function.attributes[KERNEL_SEAL]
    text = function.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
    if given is not None:
        function.attributes[KERNEL_SEAL] = given
    return hashlib.sha256(_NAME.sub("", text).encode()).hexdigest()[:16]


ALLOCATIONS = ("memref.alloc", "memref.alloca", "tensor.empty")


def against_attributes(op: ir.Operation) -> str:
    """The reason why an attribute of an op is invalid; "" if all are valid."""
    if op.name == "scf.if" and BY_SIZE in op.attributes:
        name = op.attributes[BY_SIZE]
        if not isinstance(name, ir.StringAttr) or not name.value:
            return f"{op.name}: {BY_SIZE} is {name}, expected the name of an op"
    if op.name == "scf.for" and LOOP_KIND in op.attributes:
        kind = op.attributes[LOOP_KIND]
        if not isinstance(kind, ir.StringAttr) or kind.value not in LOOP_KINDS:
            known = ", ".join(f'"{each}"' for each in LOOP_KINDS)
            return f"{op.name}: {LOOP_KIND} is {kind}, expected one of {known}"
    if op.name in ALLOCATIONS and DTYPE in op.attributes:
        given, element = op.attributes[DTYPE], ir.ShapedType(op.results[0].type).element_type
        dtype = dtypes.DTYPES.get(given.value) if isinstance(given, ir.StringAttr) else None
        if dtype is None or dtype.storage_type() != element:
            return f"{op.name}: {DTYPE} is {given}, expected the name of a dtype with elements of {element}"
    if op.name in ALLOCATIONS and SCOPE in op.attributes and not isinstance(op.attributes[SCOPE], ir.StringAttr):
        return f"{op.name}: {SCOPE} is {op.attributes[SCOPE]}, expected the name of a memory scope"
    return ""
