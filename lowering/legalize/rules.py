"""Legalisation rules: each replaces a Relax op by calls of prim funcs (level R0 to R1).

A rule is a function ``rule(lz: Legalizer, op: OpCall) -> Sequence[Arg]``, registered with ``@lower(AddOp)`` in the file
with the name of the file of the op class. It calls `Legalizer.prim` once for most ops, several times for ops that
decompose, and returns the op's results. Tuples are flattened, as operands in `OpCall.operands` and as results.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import KERNEL, KERNEL_ATTRS, PATTERN, PRIM_FUNC, Pattern
from relax_mlir.dialects.base import OpArgs, RelaxOp
from relax_mlir.dialects.calls import inplace_call
from relax_mlir.dialects.prim_funcs import seal
from relax_mlir.dialects.structure import pack, unpack
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, dims_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.ir_queries import fresh_name, symbol_names
from relax_mlir.lowering.strategy.op_strategy import (
    DEFAULT_PLEVEL,
    PLAIN,
    Compute,
    KernelRequest,
    OpImplementation,
    OpStrategy,
    Schedule,
    registered_for,
)
from relax_mlir.mlir import arith, func, ir, tensor
from relax_mlir.scalars.arithmetic import compute_dtype
from relax_mlir.symbolic import Dim
from relax_mlir.target import Target

if TYPE_CHECKING:
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


@dataclass(frozen=True)
class Arg:
    """An SSA tensor of the function being legalised, with its struct info."""

    ssa: ir.Value
    info: Tensor

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Symbolic dimensions; ops on unknown ones are not legalised here."""
        return self.info.dims


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
            self._prims[signature] = self._build(name, in_infos, outs, body, pattern, kernel, kernel_attrs or {})
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
RuntimeRule = Callable[[ir.Operation, OpArgs], ir.Value]
"""Emits a call of the runtime in place of an op, whatever is known about its operands."""
Condition = Callable[["Attrs", Sequence["TETensor"], StructInfo], bool | str]
"""Decides if an implementation holds for a call: True, False, or the reason why not for reports."""


@dataclass(frozen=True)
class Implementation:
    """An implementation of an op among which strategies select: a rule with a condition, or a tensor expression."""

    name: str
    when: Condition | None
    priority: int
    rule: Rule | None = None
    compute: Compute | None = None
    schedule: Schedule | None = None
    kernel: Callable[[Attrs, Sequence[TETensor]], KernelRequest] | None = None

    def add_to(self, strategy: OpStrategy, attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> None:
        """Add the implementation to the strategy of a call, unless it is not one of the op's."""
        holds = True if self.when is None else self.when(attrs, inputs, out_type)
        if holds is False:
            return
        unless = holds if isinstance(holds, str) else ""
        kernel = None if self.kernel is None else self.kernel(attrs, inputs)
        strategy.add(
            OpImplementation(self.name, self.compute, self.schedule, self.priority, unless, self.rule, kernel=kernel)
        )


_rules: dict[str, Rule] = {}
_runtime_rules: dict[str, RuntimeRule] = {}
_implementations: dict[str, list[Implementation]] = {}


def lower(
    *ops: type[RelaxOp] | str, name: str = "", when: Condition | None = None, priority: int = DEFAULT_PLEVEL
) -> Callable[[Rule], Rule]:
    """Register the rule of ops, given by class or name (``relax.add``).

    With `name` and `when`, the rule is one of several implementations: it is taken for the calls for which the
    condition holds, if none of a higher `priority` does.
    """

    def register(rule: Rule) -> Rule:
        for op in map(_name, ops):
            if when is None:
                _rules[op] = rule
            else:
                _implementations.setdefault(op, []).append(Implementation(name, when, priority, rule))
        return rule

    return register


def expression(
    *ops: type[RelaxOp],
    name: str = PLAIN,
    when: Condition | None = None,
    priority: int = DEFAULT_PLEVEL,
    schedule: Schedule | None = None,
    kernel: Callable[[Attrs, Sequence[TETensor]], KernelRequest] | None = None,
) -> Callable[[Compute], Compute]:
    """Register a tensor expression as an implementation of ops: of their only one, or of those whose `when` holds.

    `kernel` returns the generated kernel that may replace it for a call.
    """

    def register(compute: Compute) -> Compute:
        made = Implementation(name, when, priority, compute=compute, schedule=schedule, kernel=kernel)
        for op in map(_name, ops):
            _implementations.setdefault(op, []).append(made)
        return compute

    return register


def by_topi(op: type[RelaxOp], function: str, *attributes: str) -> None:
    """Register ``topi.<function>(*operands, *attributes)`` as the implementation of an op."""

    @expression(op)
    def compute(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> Sequence[TETensor] | TETensor:
        from relax_mlir import topi  # most modules have no tensor expressions

        found = operator.attrgetter(function)(topi)(*inputs, *(getattr(attrs, name) for name in attributes))
        return cast("Sequence[TETensor] | TETensor", found)


def widened(tensor: TETensor) -> TETensor:
    """Convert 16-bit floats to float32."""
    from relax_mlir import topi  # most modules have no tensor expressions

    wide = compute_dtype(dtypes.dtype(tensor.dtype)).name
    return tensor if wide == tensor.dtype else topi.cast(tensor, wide)


def narrowed(tensor: TETensor, dtype: str) -> TETensor:
    """Convert a tensor to `dtype`."""
    from relax_mlir import topi

    return tensor if tensor.dtype == dtype else topi.cast(tensor, dtype)


def runtime_call(*ops: type[RelaxOp]) -> Callable[[RuntimeRule], RuntimeRule]:
    """Register a rule that calls the runtime in place of ops."""

    def register(rule: RuntimeRule) -> RuntimeRule:
        _runtime_rules.update({_name(op): rule for op in ops})
        return rule

    return register


def _name(op: type[RelaxOp] | str) -> str:
    return op if isinstance(op, str) else op.OPERATION_NAME


@functools.cache
def _import_family(module: str) -> None:
    """Import the lowering of the op classes of `module`: the file of the same name in this folder."""
    package, _, family = module.rpartition(".")
    if package == "relax_mlir.dialects" and importlib.util.find_spec(f"relax_mlir.lowering.legalize.{family}"):
        importlib.import_module(f"relax_mlir.lowering.legalize.{family}")


def rule_for(op: type[RelaxOp]) -> Rule | None:
    """The rule of an op, or None."""
    _import_family(op.__module__)
    return _rules.get(op.OPERATION_NAME)


def runtime_rule_for(op: type[RelaxOp]) -> RuntimeRule | None:
    """The rule that calls the runtime in place of an op, or None."""
    _import_family(op.__module__)
    return _runtime_rules.get(op.OPERATION_NAME)


def built_in(op: type[RelaxOp]) -> list[Implementation]:
    """The built-in implementations of an op in addition to its rule."""
    _import_family(op.__module__)
    return _implementations.get(op.OPERATION_NAME, [])


def is_lowered(op: type[RelaxOp]) -> bool:
    """True if the op has any built-in implementation."""
    return bool(rule_for(op) or runtime_rule_for(op) or built_in(op))


def has_implementations(op: type[RelaxOp], target: Target) -> bool:
    """True if strategies select among implementations of the op, built-in ones or those of a user."""
    return bool(built_in(op)) or bool(registered_for(op.OPERATION_NAME, target))


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
