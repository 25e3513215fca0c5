"""The calls of prim funcs: sizes known at all of them, destinations of results, and stores into arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.analysis.invariants import flat_infos
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.calls import FRESH, inplace_indices, passed_results
from relax_mlir.dialects.prim_funcs import PrimParam, entry_of, prim_callees, prim_params
from relax_mlir.dialects.types import StructInfo, Tensor, struct_info
from relax_mlir.error import Diagnostic
from relax_mlir.ir_queries import callee_of, defining_op, ops_of
from relax_mlir.lowering.analysis.index_ranges import own_shape
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim


def called_by_prims(prims: Mapping[str, func.FuncOp]) -> set[str]:
    """The names of the prim funcs that others call."""
    return {name for prim in prims.values() for name in prim_callees(prim)}


@dataclass(frozen=True)
class Site:
    """A call: its arguments and destinations, and the argument that is the destination of each result."""

    op: ir.Operation
    given: Sequence[StructInfo | Dim]
    inputs: int
    destinations: Sequence[int]

    @classmethod
    def of(cls, op: ir.Operation) -> Site:
        inputs = list(flat_infos(struct_info(op.operands[0].type)))
        passed = list(passed_results(op))
        fresh = iter(range(len(inputs), len(inputs) + len(passed)))
        indices = inplace_indices(op)
        return cls(op, [*inputs, *passed], len(inputs), [next(fresh) if i == FRESH else i for i in indices])

    @property
    def is_inplace(self) -> bool:
        return bool(self.op.name == "relax.call_tir_inplace")


@dataclass(frozen=True)
class CallSites:
    """All calls of the prim funcs of a module."""

    prims: dict[str, func.FuncOp]
    sites: dict[str, list[Site]]
    called_by_prims: frozenset[str]

    @classmethod
    def of(cls, module: ir.Module, prims: dict[str, func.FuncOp]) -> CallSites:
        found: dict[str, list[Site]] = {}
        for op in ops_of(module.operation, "relax.call_tir", "relax.call_tir_inplace"):
            found.setdefault(callee_of(op), []).append(Site.of(op))
        return cls(prims, found, frozenset(called_by_prims(prims)))

    def problems(self) -> Iterator[Diagnostic]:
        """Report calls whose results are not those of the prim func."""
        for name, sites in self.sites.items():
            prim = self.prims.get(name)
            if prim is None:
                continue
            tensors = any(isinstance(t, ir.RankedTensorType) for t in prim.type.inputs)
            for site in sites:
                if tensors and len(prim.type.results) != len(site.destinations):
                    yield Diagnostic(
                        "error",
                        location_text(site.op.location),
                        f"call of prim func '{name}', which works on tensors and returns {len(prim.type.results)}, "
                        f"where {len(site.destinations)} are expected: it returns what it writes, in order",
                    )

    def destinations(self, name: str) -> list[int]:
        """The index of the argument that is the destination of each tensor that a prim func returns."""
        prim = self.prims[name]
        results = sum(isinstance(t, ir.RankedTensorType) for t in prim.type.results)
        if not results:
            return []
        sites = self.sites.get(name, [])
        if sites:
            return list(sites[0].destinations)
        tensors = [n for n, t in enumerate(prim.type.inputs) if isinstance(t, ir.RankedTensorType)]
        return tensors[len(tensors) - results :]

    def params(self, name: str) -> list[PrimParam] | None:
        """Shapes of the parameters, in which sizes that are equal at all calls are equal; None if nothing is known."""
        sites = self.sites.get(name, [])
        arguments = list(self.prims[name].arguments)
        if not sites or name in self.called_by_prims:
            return None
        names: list[tuple[list[Dim | None], str]] = []

        def dim(number: int, axis: int, own: Dim) -> Dim:
            if isinstance(own, int):
                return own
            values = [_size(site, number, axis) for site in sites]
            first = values[0]
            if isinstance(first, int) and all(value == first for value in values):
                return first
            for others, symbol in names:
                if all(_equal(a, b) for a, b in zip(values, others, strict=True)):
                    return symbolic.symbol(symbol)
            names.append((values, f"arg{number}_{axis}"))
            return own

        found = []
        for number, argument in enumerate(arguments):
            if isinstance(argument.type, ir.IndexType):
                found.append(PrimParam(f"arg{number}", None, None))
                continue
            shape = own_shape(argument, number)
            dims = tuple(dim(number, axis, own) for axis, own in enumerate(shape))
            found.append(PrimParam(f"arg{number}", dims, None))
        return found


def _size(site: Site, number: int, axis: int) -> Dim | None:
    info = site.given[number] if number < len(site.given) else None
    known = isinstance(info, Tensor) and info.shape is not None and axis < len(info.shape)
    return info.shape[axis] if known and isinstance(info, Tensor) and info.shape is not None else None


def _equal(a: Dim | None, b: Dim | None) -> bool:
    return a is not None and b is not None and symbolic.prove_equal(a, b)


# The arguments that a prim func on memrefs stores into, and calls that do not allow it.


TARGETS = {"memref.store": 1, "affine.store": 1, "memref.copy": 1}
"""Ops that store, and the index of the operand that is the buffer."""


def written_inputs(prims: dict[str, func.FuncOp], sites: CallSites) -> Iterator[Diagnostic]:
    """Report stores into arguments that a call passes as inputs."""
    known: dict[str, dict[int, ir.Operation]] = {}
    for name, calls in sites.sites.items():
        if name not in prims:
            continue
        places = stores(name, prims, known)
        for site in calls:
            for number, op in places.items():
                if number < site.inputs and number not in site.destinations:
                    yield _problem(prims[name], number, op, site)


def stores(
    name: str, prims: dict[str, func.FuncOp], known: dict[str, dict[int, ir.Operation]]
) -> dict[int, ir.Operation]:
    """The indices of the arguments that a prim func stores into, each with an op that does so."""
    if name in known:
        return known[name]
    found: dict[int, ir.Operation] = {}
    known[name] = found
    arguments = list(prims[name].arguments)
    entry = entry_of(prims[name])
    if entry is not None:
        found.update(dict.fromkeys(entry.written, prims[name].operation))
    for op in ops_of(prims[name].operation):
        for value in _targets(op, prims, known):
            root = _root(value)
            if root in arguments:
                found.setdefault(arguments.index(root), op)
    return found


def _targets(
    op: ir.Operation, prims: dict[str, func.FuncOp], known: dict[str, dict[int, ir.Operation]]
) -> Iterator[ir.Value]:
    """The buffers that an op stores into."""
    if op.name in TARGETS:
        yield op.operands[TARGETS[op.name]]
    elif op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        outs = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[1]
        yield from _memrefs(list(op.operands)[len(op.operands) - outs :])
    elif op.name.startswith("linalg.") and len(op.regions):
        yield from _memrefs(list(op.operands))  # linalg.map and others do not mark their output
    elif op.name == "func.call":
        written = stores(callee_of(op), prims, known)
        yield from _memrefs([value for number, value in enumerate(op.operands) if number in written])


def _memrefs(values: list[ir.Value]) -> Iterator[ir.Value]:
    yield from (value for value in values if isinstance(value.type, ir.MemRefType))


def _root(value: ir.Value) -> ir.Value:
    """The root buffer of a view."""
    op = defining_op(value)
    while op is not None and op.name.startswith("memref.") and op.name not in ("memref.alloc", "memref.alloca"):
        value = op.operands[0]
        op = defining_op(value)
    return value


def _problem(prim: func.FuncOp, number: int, op: ir.Operation, site: Site) -> Diagnostic:
    declared = prim_params(prim)
    name = f"'{declared[number].name}'" if declared is not None else f"argument {number}"
    call = site.op.name.removeprefix("relax.")
    message = (
        f"prim func '{prim.name.value}' stores into {name} by {op.name}, but {call} at "
        f"{location_text(site.op.location)} gives it as an input, whose elements stay: pass {name} by "
        f"call_tir_inplace with its number, {number}, in inplace_indices, or store into a copy of it in a buffer of "
        "its own"
    )
    return Diagnostic("error", location_text(op.location), message)
