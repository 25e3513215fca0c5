"""The calls of prim funcs in Relax functions: sizes that are known at all of them, and destinations of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.analysis.declared_sizes import flat_infos
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.inplace import FRESH, inplace_indices, passed_results
from relax_mlir.dialects.prim_entries import prim_callees
from relax_mlir.dialects.prim_params import PrimParam
from relax_mlir.dialects.types import StructInfo, Tensor, struct_info
from relax_mlir.error import Diagnostic
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.shapes.buffer_sizes import own_shape
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
