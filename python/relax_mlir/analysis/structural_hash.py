"""Structural hashes: equal modules, and equal functions, have equal hashes (see `structural_equal`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.analysis.structural_equal import DIM_KINDS, NAME_ATTRIBUTES, Comparable, tops_of
from relax_mlir.dialects.attributes import PARAMS, SYMBOL_BOUNDS
from relax_mlir.dialects.constants import byte_pieces
from relax_mlir.dialects.prim_params import prim_params
from relax_mlir.dialects.symbolic_attributes import dim_attribute_names, dims_in
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func, ir
from relax_mlir.module_weights import content
from relax_mlir.symbolic import Dim

SAID_BY_TYPES = ("function_type", "arg_attrs", SYMBOL_BOUNDS)
"""Attributes of functions that follow from their bodies, contain names, or are hashed last."""
UPSTREAM = ("value", "predicate", "iterator_types")
"""Attributes of upstream ops that are always printed; others may be omitted at their default value."""


def structural_hash(given: Comparable, map_free_vars: bool = False) -> int:
    """A 64-bit hash, equal for structurally equal modules or functions, and the same in every process.

    Args:
        given: an `IRModule`, or a function of one.
        map_free_vars: as for `assert_structural_equal`.

    Raises:
        ArgumentError: `given` is neither.
    """
    tops = tops_of(given)
    if isinstance(given, func.FuncOp) or map_free_vars:
        names = {name: f"#{number}" for number, name in enumerate(tops)}
        texts = [_digest(op, names, map_free_vars, hide=True) for op in tops.values()]
    else:
        texts = [name + _digest(tops[name], {}, False, hide=False) for name in sorted(tops)]
    return int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:8], "big")


def _digest(op: ir.Operation, names: dict[str, str], rename: bool, *, hide: bool) -> str:
    writer = _Writer(names, rename, hide)
    found = hashlib.sha256()
    for text in writer.op(op):
        found.update(text.encode() + b"\0")
    return found.hexdigest()


@dataclass
class _Writer:
    """Writes an op such that equal ones have the same text: values, symbols and, on request, functions are numbered."""

    names: dict[str, str]
    rename: bool
    hide: bool
    values: dict[ir.Value, int] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)

    def op(self, op: ir.Operation) -> Iterator[str]:
        yield op.name
        yield from (str(self.values.get(operand)) for operand in op.operands)
        yield from self.attributes(op)
        yield from self.bind(op.results)
        for region in op.regions:
            blocks = list(region.blocks)
            for block in blocks:
                yield from self.bind(block.arguments)
            for block in blocks:
                for view in block.operations:
                    yield from self.op(view.operation)
                yield "end"
        if SYMBOL_BOUNDS in op.attributes:
            yield from self.bounds(ir.DictAttr(op.attributes[SYMBOL_BOUNDS]))

    def bind(self, values: Iterable[ir.Value]) -> Iterator[str]:
        for value in values:
            self.values[value] = len(self.values)
            yield self.type(value.type)

    def attributes(self, op: ir.Operation) -> Iterator[str]:
        is_own = op.name.startswith("relax.") or op.name == func.FuncOp.OPERATION_NAME
        found = {a.name: a.attr for a in map(op.attributes.__getitem__, range(len(op.attributes)))}
        for name in sorted(found):
            attribute = found[name]
            if name in SAID_BY_TYPES or (self.hide and name in NAME_ATTRIBUTES):
                continue
            if isinstance(attribute, ir.FlatSymbolRefAttr):
                yield f"{name}={self.function(attribute.value)}"
            elif name == PARAMS and op.name == func.FuncOp.OPERATION_NAME:
                yield f"{name}={self.params(op, attribute)}"
            elif is_own or name in UPSTREAM:
                yield f"{name}={self.attribute(op, name, attribute)}"

    def function(self, name: str) -> str:
        if self.rename and name not in self.names:
            self.names[name] = f"#{len(self.names)}"
        return self.names.get(name, name)

    def attribute(self, op: ir.Operation, name: str, attribute: ir.Attribute) -> str:
        if name in dim_attribute_names(op) and isinstance(attribute, DIM_KINDS):
            return self.dims(list(dims_in(attribute)))
        if op.name == "relax.constant" and name == "value":
            digest = hashlib.sha256()
            for piece in byte_pieces(attribute):
                digest.update(piece)
            return f"{attribute.type}{digest.hexdigest()}"
        return content(attribute)

    def params(self, op: ir.Operation, attribute: ir.Attribute) -> str:
        """The parameter declarations of a prim func, without parameter names."""
        view = op.opview
        assert isinstance(view, func.FuncOp)
        try:
            given = prim_params(view)
        except RelaxError:
            return str(attribute)
        items = (
            self.dim(symbolic.symbol(item.name))
            if item.dtype is None
            else f"{item.dtype}{self.dims(item.shape)}"
            for item in given or ()
        )
        return "; ".join(items)

    def bounds(self, given: ir.DictAttr) -> Iterator[str]:
        items = map(given.__getitem__, range(len(given)))
        yield from sorted(f"{self.symbols.get(item.name, item.name)}: {item.attr}" for item in items)

    def type(self, given: ir.Type) -> str:
        try:
            return self.info(struct_info(given))
        except RelaxError:
            return str(given)

    def info(self, info: StructInfo) -> str:
        if isinstance(info, Tensor):
            return f"Tensor({self.dims(info.shape)}, {info.dtype})"
        if isinstance(info, Shape):
            return f"Shape({self.dims(info.values)})"
        if isinstance(info, Tuple):
            return f"Tuple({', '.join(map(self.info, info.fields))})"
        return str(info)

    def dims(self, dims: Iterable[Dim | None] | None) -> str:
        return "?" if dims is None else f"({', '.join(map(self.dim, dims))})"

    def dim(self, dim: Dim | None) -> str:
        if dim is None or isinstance(dim, int):
            return str(dim)
        alone = symbolic.linear_definition(dim)
        if alone is not None:
            return self.symbols.setdefault(alone, f"s{len(self.symbols)}")
        names = symbolic.symbols(dim)
        if any(name not in self.symbols for name in names):
            return str(dim)
        return str(symbolic.substitute(dim, {name: symbolic.symbol(self.symbols[name]) for name in names}))
