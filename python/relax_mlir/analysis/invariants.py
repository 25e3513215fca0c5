"""Single invariants of `relax_mlir.analysis.well_formed`: prim funcs, the sizes of their calls, reserved names."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.dialects import attributes as attr
from relax_mlir.dialects.attributes import PATTERN, PATTERNS
from relax_mlir.dialects.calls import passed_results
from relax_mlir.dialects.control import known_integer
from relax_mlir.dialects.prim_funcs import PrimParam, against_attributes, prim_params
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.ir_queries import defining_op, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

# The invariants of a single prim func (invariant 8 of `relax_mlir.analysis.well_formed`).


def prim_violations(prim: func.FuncOp) -> Iterator[tuple[ir.Operation | ir.OpView, str]]:
    """The ops of a prim func that violate invariant 8, with messages; raises the errors of `prim_params`."""
    name = prim.name.value
    if "sym_visibility" not in prim.attributes:
        yield prim, f"prim func '{name}' is public"
    if PATTERN in prim.attributes:
        pattern = prim.attributes[PATTERN]
        if not isinstance(pattern, ir.StringAttr) or pattern.value not in PATTERNS:
            known = ", ".join(f'"{each}"' for each in PATTERNS)
            yield prim, f"prim func '{name}': {PATTERN} is {pattern}, expected one of {known}"
    for parameter, dim, symbol in _undetermined(prim):
        yield (
            prim,
            f"prim func '{name}': the dimension '{dim}' of parameter '{parameter}' uses symbol '{symbol}', which no "
            "dimension of a parameter defines, by being the symbol alone or a linear expression of it; add an integer "
            f"parameter '{symbol}'",
        )
    types = [*prim.type.inputs, *prim.type.results]
    if any(isinstance(t, ir.RankedTensorType) and t.encoding is not None for t in types):
        yield prim, f"prim func '{name}' has symbolic shapes in its type"
    for op in ops_of(prim.operation):
        if wrong := against_attributes(op):
            yield op, f"prim func '{name}': {wrong}"
        if op.name.startswith("relax."):
            yield (op, f"prim func '{name}' contains {op.name}: write linalg, or the op in a Relax function")


def _undetermined(prim: func.FuncOp) -> Iterator[tuple[str, Dim, str]]:
    """The symbols that no parameter defines, once each, with the first parameter and dimension that use them."""
    params = prim_params(prim) or []
    known = {param.name for param in params if param.shape is None}
    dims = [dim for param in params for dim in param.shape or ()]
    known.update(definition.symbol for definition in symbolic.definitions(dims, known))
    for param in params:
        for dim in param.shape or ():
            for symbol in symbolic.symbols(dim):
                if symbol not in known:
                    known.add(symbol)
                    yield param.name, dim, symbol


# Compare the sizes of calls of prim funcs with the declared shapes of their buffers.


def filled_buffers(function: func.FuncOp) -> int | None:
    """The number of output buffers of a prim func; None unless those are its last buffers.

    On tensors these are its results, on memrefs the arguments to which its body stores.
    """
    if function.type.results:
        return len(function.type.results)
    arguments = list(function.arguments)
    buffers = [n for n, argument in enumerate(arguments) if isinstance(argument.type, ir.MemRefType)]
    stored = {
        arguments.index(op.operands[1])
        for op in ops_of(function.operation, "memref.store")
        if op.operands[1] in arguments
    }
    return len(stored) if sorted(stored) == buffers[len(buffers) - len(stored) :] else None


def declared_params(function: func.FuncOp) -> list[PrimParam]:
    """The parameters of a prim func: as declared, else derived from their types."""
    return prim_params(function) or _typed_params(function)


def _typed_params(function: func.FuncOp) -> list[PrimParam]:
    """Parameters derived from their types: integers, and buffers with a new symbol for each dynamic size."""
    found = []
    for number, type_ in enumerate(function.type.inputs):
        if not isinstance(type_, ir.RankedTensorType | ir.MemRefType):
            found.append(PrimParam(f"argument {number}", None, None))
            continue
        dims = tuple(
            symbolic.symbol(f"arg{number}_{axis}") if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
            for axis in range(type_.rank)
        )
        found.append(PrimParam(f"argument {number}", dims, None))
    return found


@dataclass(frozen=True)
class Unproved:
    """A size of a call that is not proved equal to the declared one."""

    argument: int
    axis: int
    given: Dim | None
    expected: Dim | None
    message: str

    @property
    def is_wrong(self) -> bool:
        """True if the two sizes can never be equal."""
        if self.given is None or self.expected is None:
            return False
        return symbolic.prove_not_equal(self.given, self.expected)


@dataclass
class PrimCall:
    """The arguments of a call of a prim func, destinations and tir_vars included, against the declared parameters."""

    params: Sequence[PrimParam]
    given: Sequence[StructInfo | Dim]
    """A struct info for each argument; for an integer its value, if known."""
    symbols: dict[str, Dim] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, op: ir.Operation, function: func.FuncOp) -> PrimCall | None:
        """The arguments of `op`; None if their number differs. Undeclared sizes are taken from the parameter types."""
        params = declared_params(function)
        given = [*_given(op.operands[0]), *passed_results(op)]
        given += [d for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
        return None if len(params) != len(given) else cls(params, given)

    def unproved(self) -> Iterator[Unproved]:
        """The sizes that are not proved equal to the declared ones; arguments count from 0, destinations included."""
        for param, value in zip(self.params, self.given, strict=True):
            if param.shape is None and not isinstance(value, StructInfo):
                self._bind(param.name, value, f"argument '{param.name}'")
        buffers = [
            (number, param, value)
            for number, (param, value) in enumerate(zip(self.params, self.given, strict=True))
            if param.shape is not None and isinstance(value, Tensor) and value.shape is not None
        ]
        for _, param, value in buffers:
            for axis, (dim, size) in enumerate(zip(param.shape or (), value.shape or (), strict=False)):
                name = symbolic.linear_definition(dim)
                if name is not None and size is not None:
                    self._bind(name, size, f"'{param.name}' dimension {axis}")
        for number, param, value in buffers:
            for axis, (dim, size) in enumerate(zip(param.shape or (), value.shape or (), strict=False)):
                found = self._compare(number, axis, param, dim, size)
                if found is not None:
                    yield found

    def _bind(self, name: str, value: Dim, origin: str) -> None:
        self.symbols.setdefault(name, value)
        self.origins.setdefault(name, origin)

    def _compare(self, number: int, axis: int, param: PrimParam, dim: Dim, size: Dim | None) -> Unproved | None:
        names = symbolic.symbols(dim)
        if not all(name in self.symbols for name in names):
            return Unproved(number, axis, size, None, f"'{param.name}' dimension {axis} is not known to be {dim}")
        expected = symbolic.substitute(dim, self.symbols)
        if size is not None and symbolic.prove_equal(size, expected):
            return None
        where = ", ".join(f"{name} = {self.symbols[name]} by {self.origins[name]}" for name in names)
        message = f"'{param.name}' dimension {axis} is {size}, but it is declared {dim}" + (
            f" ({where})" if where else ""
        )
        return Unproved(number, axis, size, expected, message)


def _given(arguments: ir.Value) -> Iterator[StructInfo | Dim]:
    """The struct infos of a tuple of arguments; if the tuple op is visible, also the values of its integers."""
    defining = defining_op(arguments)
    if defining is None or defining.name != TUPLE:
        yield from flat_infos(struct_info(arguments.type))
        return
    for operand in defining.operands:
        value = known_integer(Value(operand))
        yield from flat_infos(struct_info(operand.type)) if value is None else [value]


def flat_infos(info: StructInfo) -> Iterator[StructInfo | Dim]:
    """The arguments of a prim func for one value: tensors, and integers with their values if known."""
    if isinstance(info, Tuple):
        for item in info.fields:
            yield from flat_infos(item)
    elif isinstance(info, Shape):
        for value in info.values or ():
            yield Prim() if value is None else value
    else:
        yield info


def wrong_dtypes(function: func.FuncOp, infos: Sequence[StructInfo]) -> Iterator[str]:
    """Messages on tensors whose dtype differs in signedness from the declared one, which the types do not express."""
    params = prim_params(function)
    for param, info in zip(params or (), infos, strict=False):
        if param.dtype is not None and isinstance(info, Tensor) and info.dtype not in (None, param.dtype):
            yield f"'{param.name}' is {info.dtype}, but it is declared {param.dtype}"


# Attributes and names that are reserved for the lowering: user functions must not have them (invariants 9 and 15).

LOWERED = (attr.SIGNATURE, attr.CHECK, attr.CONSTANT, attr.PACKED)
"""Attributes that mark a module below level R1: it has one of them if it comes from Relax functions."""
ALLOWED = frozenset(
    {
        *(attr.PRIM_FUNC, attr.PARAMS, attr.FORCE_PURE, attr.DONATED, attr.PATTERN, attr.KERNEL),
        attr.KERNEL_ATTRS,
        *(attr.KERNEL_INPUTS, attr.KERNEL_SEAL, attr.SYMBOL_BOUNDS, attr.UNCHECKED, attr.PARAM_NAME),
        *(attr.PRIM_ATTRS, attr.EXPOSES, attr.COMPOSITE, attr.CODEGEN, attr.PROVED, attr.INDICES_PROVED),
    }
)
"""The attributes with prefix ``relax.`` that functions may have above level T."""
PLAIN = frozenset({"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs", "no_inline", "body"})
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
