"""Legalisation rules: each replaces a Relax op by calls of prim funcs (level R0 to R1).

A rule is a function ``rule(lz: Legalizer, op: OpCall) -> Sequence[Arg]``, registered with
``@legalization("relax.add")``. It calls `Legalizer.prim` once for most ops, several times for ops that decompose, and
returns the op's results. Tuples are flattened, as operands in `OpCall.operands` and as results.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import KERNEL, KERNEL_ATTRS, PATTERN, PRIM_FUNC, Pattern
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.calls import inplace_call
from relax_mlir.dialects.prim_funcs import seal
from relax_mlir.dialects.structure import pack, unpack
from relax_mlir.dialects.types import Tensor, Tuple, dims_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.ir_queries import fresh_name, symbol_names
from relax_mlir.mlir import arith, func, ir, tensor
from relax_mlir.symbolic import Dim

FAMILIES: tuple[str, ...] = (
    "elementwise",
    "nn",
    "reduce",
    "linear_algebra",
    "manipulate",
    "create",
    "convolution",
    "pooling",
    "indexing",
    "memory",
)
"""Modules of `relax_mlir.lowering.legalize` that register rules, the most frequent ones first."""


@dataclass(frozen=True)
class Arg:
    """An SSA tensor of the function being legalised, with its struct info."""

    ssa: ir.Value
    info: Tensor

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Symbolic dimensions; ops on unknown ones are not legalised here."""
        shape = self.info.known_shape
        assert shape is not None
        return shape


@dataclass(frozen=True)
class OpCall:
    """The op being legalised: tensor operands, attributes and result infos, with tuples flattened."""

    args: OpArgs
    operands: tuple[Arg, ...]
    results: tuple[Tensor, ...]


class PrimBody:
    """The builder of a prim func's body: its tensors at level T, and its index arguments."""

    def __init__(self, block: ir.Block, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> None:
        arguments: list[ir.Value] = list(block.arguments)
        self._block = block
        self.ins = arguments[: len(ins)]
        self.outs = arguments[len(ins) : len(ins) + len(outs)]
        self.in_infos = tuple(ins)
        self.out_infos = tuple(outs)
        self.index_exprs: list[Dim] = []
        self._index_values: dict[str, ir.Value] = {}

    def index(self, dim: Dim) -> ir.Value:
        """`dim` as an ``index`` value: a constant, or an argument that the caller passes (a tir_var)."""
        if isinstance(dim, int):
            return arith.constant(ir.IndexType.get(), dim)
        key = str(dim)
        if key not in self._index_values:
            self._index_values[key] = self._block.add_argument(ir.IndexType.get(), ir.Location.unknown())
            self.index_exprs.append(dim)
        return self._index_values[key]

    def dim(self, value: ir.Value, axis: int) -> ir.Value:
        """Size of dimension `axis` of a tensor of this body as ``index``."""
        return tensor.dim(value, arith.constant(ir.IndexType.get(), axis))

    def empty(self, shape: Sequence[Dim], element: ir.Type) -> ir.Value:
        """An uninitialised tensor of symbolic `shape`."""
        return tensor.empty([d if isinstance(d, int) else self.index(d) for d in shape], element)


Body = Callable[[PrimBody], Sequence[ir.Value]]


@dataclass
class _Prim:
    symbol: str
    index_exprs: list[Dim]


@dataclass
class Legalizer:
    """Emits prim funcs into a module, each distinct one once, and calls of them at the current insertion point."""

    module: ir.Module
    takes_kernels: bool = True
    """True if prim funcs may request a generated kernel."""

    _prims: dict[Hashable, _Prim] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._used |= symbol_names(self.module.body)

    def prim(
        self,
        name: str,
        ins: Sequence[Arg],
        outs: Sequence[Tensor],
        body: Body,
        *,
        pattern: Pattern = "opaque",
        key: Hashable = (),
        kernel: str | None = None,
        kernel_attrs: Mapping[str, ir.Attribute] | None = None,
    ) -> list[Arg]:
        """Call a prim func on `ins`; return its results, of shapes and dtypes `outs`.

        `body` builds the prim func at level T and returns one tensor per result, written into `PrimBody.outs`
        (destination-passing style). Two calls with the same name, types and `key` share one function: `key`
        must contain everything else that `body` depends on. `kernel` names a generated kernel that may replace the
        body, with `kernel_attrs`.
        """
        in_infos = [arg.info for arg in ins]
        kernel = kernel if self.takes_kernels else None
        signature = (
            name,
            kernel,
            *(_signature(i) for i in in_infos),
            None,
            *(_signature(o) for o in outs),
            key,
        )
        if signature not in self._prims:
            self._prims[signature] = self._build(
                name, in_infos, outs, body, pattern, kernel, kernel_attrs or {}
            )
        prim = self._prims[signature]
        return call_prim(prim.symbol, ins, outs, prim.index_exprs)

    def prim_inplace(self, name: str, ins: Sequence[Arg], body: Body, *, key: Hashable = ()) -> Arg:
        """Call a prim func that writes its one result to the memory of the first of `ins`, which has the same type.

        `body` returns the first input, updated. If its old elements are still needed, the call gets a copy.
        """
        in_infos = [arg.info for arg in ins]
        signature = (name, "in place", *(_signature(info) for info in in_infos), key)
        if signature not in self._prims:
            self._prims[signature] = self._build(
                name, in_infos, in_infos[:1], body, "opaque", None, {}, is_inplace=True
            )
        prim = self._prims[signature]
        result = inplace_call(
            prim.symbol,
            Value(pack([arg.ssa for arg in ins], ir.Location.current)),
            0,
            ins[0].info,
            prim.index_exprs,
        )
        return Arg(result.ssa, ins[0].info)

    def _build(
        self,
        name: str,
        ins: Sequence[Tensor],
        outs: Sequence[Tensor],
        body: Body,
        pattern: Pattern,
        kernel: str | None,
        kernel_attrs: Mapping[str, ir.Attribute],
        is_inplace: bool = False,
    ) -> _Prim:
        """`is_inplace`: the function has no parameters for its results."""
        symbol = fresh_name(name, self._used)
        self._used.add(symbol)
        out_types = [out.storage_type() for out in outs]
        types = [info.storage_type() for info in ins] + ([] if is_inplace else out_types)
        with ir.InsertionPoint(self.module.body):
            function = func.FuncOp(symbol, ir.FunctionType.get(types, out_types), visibility="private")
            block = function.add_entry_block()
            prim_body = PrimBody(block, ins, [] if is_inplace else outs)
            with ir.InsertionPoint(block):
                func.ReturnOp(list(body(prim_body)))
            inputs = [argument.type for argument in block.arguments]
            function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, out_types))
            function.attributes[PRIM_FUNC] = ir.UnitAttr.get()
            function.attributes[PATTERN] = ir.StringAttr.get(pattern)
            if kernel is not None:
                function.attributes[KERNEL] = ir.StringAttr.get(kernel)
                function.attributes[KERNEL_ATTRS] = ir.DictAttr.get(dict(kernel_attrs))
            seal(function)
        return _Prim(symbol, prim_body.index_exprs)


def call_prim(symbol: str, ins: Sequence[Arg], outs: Sequence[Tensor], integers: Sequence[Dim]) -> list[Arg]:
    """Call a prim func at the insertion point; return its results, of shapes and dtypes `outs`."""
    location = ir.Location.current
    many = len(outs) != 1
    types = [out.to_type() for out in outs]
    call = ir.Operation.create(
        "relax.call_tir",
        results=[ir.TupleType.get_tuple(types) if many else types[0]],
        operands=[pack([arg.ssa for arg in ins], location)],
        attributes={"callee": ir.FlatSymbolRefAttr.get(symbol), "tir_vars": dims_attr(list(integers))},
        loc=location,
    )
    results = unpack(call.results[0], types) if many else [call.results[0]]
    return [Arg(result, info) for result, info in zip(results, outs, strict=True)]


def _signature(info: Tensor) -> str:
    """The properties that a prim func's type and body may depend on: dtype (with signedness), rank, static sizes."""
    assert info.shape is not None
    sizes = ["?" if d is None or not isinstance(d, int) else str(d) for d in info.shape]
    return f"{info.dtype}[{','.join(sizes)}]"


Rule = Callable[[Legalizer, OpCall], Sequence[Arg]]
_rules: dict[str, Rule] = {}


def legalization(*op_names: str) -> Callable[[Rule], Rule]:
    """Register a rule for the ops called `op_names` ("relax.add")."""

    def register(rule: Rule) -> Rule:
        for op_name in op_names:
            _rules[op_name] = rule
        return rule

    return register


def rule_for(op_name: str, first: str = "") -> Rule | None:
    """The rule of an op, or None. `first`: the family to search first; the others are imported on demand."""
    for family in sorted(FAMILIES, key=lambda each: each != first):
        if op_name in _rules:
            break
        importlib.import_module(f"relax_mlir.lowering.legalize.{family}")
    return _rules.get(op_name)


def op_call(op: ir.Operation, args: OpArgs) -> OpCall:
    """The tensors of an op to be legalised; tuple operands are unpacked at the current insertion point."""
    operands: list[Arg] = []
    for value in op.operands:
        info = struct_info(value.type)
        fields = info.fields if isinstance(info, Tuple) else [info]
        parts = unpack(value, [f.to_type() for f in fields]) if isinstance(info, Tuple) else [value]
        for field_info, part in zip(fields, parts, strict=True):
            if isinstance(field_info, Tensor):
                operands.append(Arg(part, field_info))
    results: list[Tensor] = []
    for value in op.results:
        info = struct_info(value.type)
        fields = info.fields if isinstance(info, Tuple) else [info]
        results += [field_info for field_info in fields if isinstance(field_info, Tensor)]
    return OpCall(args, tuple(operands), tuple(results))
