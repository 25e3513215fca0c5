"""Headers of Relax functions at level T: their types, results, and recursion."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.attributes import DONATED, EXPOSES, LATENCY_CRITICAL, SIGNATURE
from relax_mlir.dialects.type_queries import parameter_symbols
from relax_mlir.dialects.types import StructInfo, Tensor, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.shapes.body import is_handle
from relax_mlir.lowering.shapes.donation import donated_results
from relax_mlir.lowering.shapes.entry import DROPPED, signature
from relax_mlir.lowering.shapes.leaves import Leaf, handle_types, leaves
from relax_mlir.mlir import func, ir


@dataclass(frozen=True)
class Result:
    """A leaf of a result. `returned`: the function returns it; otherwise it writes it into a tensor of its caller.

    `donated`: that tensor is the parameter leaf with this index, not a destination argument.
    """

    leaf: Leaf
    returned: bool
    donated: int | None = None

    @property
    def types(self) -> list[ir.Type]:
        """The types of the values that represent it in the results; a returned tensor is a handle."""
        return handle_types() if self.returned and isinstance(self.leaf.info, Tensor) else self.leaf.types


@dataclass(frozen=True)
class Header:
    """A function before (`old`) and after (`new`) shape lowering."""

    name: str
    old: func.FuncOp
    new: func.FuncOp
    param_infos: list[tuple[str, StructInfo]]
    params: list[Leaf]
    result_info: StructInfo
    results: list[Result]
    recursive: bool

    @property
    def destinations(self) -> list[Leaf]:
        """The results that are written into tensors of the caller other than parameters."""
        return [r.leaf for r in self.results if not r.returned and r.donated is None]

    def places(self, given: Sequence[ir.Value], outs: Sequence[ir.Value]) -> list[ir.Value]:
        """The tensor that each result not returned is written into: a parameter, or one of `outs`."""
        starts = [0, *itertools.accumulate(len(leaf.types) for leaf in self.params)]
        own = iter(outs)
        written = [result for result in self.results if not result.returned]
        return [next(own) if r.donated is None else given[starts[r.donated]] for r in written]


def make_header(op: func.FuncOp, name: str, recursive: bool, short: bool) -> Header:
    """Add the function `name` of level T, without a body.

    Its arguments are the parameters, the destinations of results, and, if it is `recursive`, the address that stack
    depth is measured from. A recursive function returns its results, because their sizes are not known before the call.
    `short`: see `is_latency_critical`.
    """
    infos = [struct_info(t) for t in op.type.inputs]
    named = list(zip(parameter_names(op), infos, strict=True))
    params = [leaf for param, info in named for leaf in leaves(param, info)]
    if len(op.type.results) != 1:
        raise UnsupportedError(f"{name}: a Relax function returns one value (a tuple for several)")
    result_info = struct_info(op.type.results[0])
    known = set(parameter_symbols(infos))
    results = [
        Result(leaf, recursive or not _has_size(leaf, known)) for leaf in leaves("result", result_info)
    ]
    if DONATED in op.attributes:
        results = donated_results(op, name, params, results)
    inputs = [t for leaf in params for t in leaf.types]
    inputs += [t for r in results if not r.returned and r.donated is None for t in r.types]
    if recursive:
        inputs.append(ir.IntegerType.get_signless(64))
    outs = [t for result in results for t in result.types]
    is_private = "sym_visibility" in op.attributes
    with op.location, ir.InsertionPoint(op):
        new = func.FuncOp(
            name, ir.FunctionType.get(inputs, outs), visibility="private" if is_private else None
        )
        if not is_private:
            flags = [DROPPED if r.donated is not None else r.returned for r in results]
            exposed = op.attributes.get(EXPOSES)
            starts = [0, *itertools.accumulate(len(leaf.types) for leaf in params)]
            written = sorted(starts[r.donated] for r in results if r.donated is not None)
            new.attributes[SIGNATURE] = signature(
                name, named, result_info, flags, recursive, exposed, written
            )
            if exposed is not None:
                new.attributes[EXPOSES] = exposed
            if short:
                new.attributes[LATENCY_CRITICAL] = ir.UnitAttr.get()
    return Header(name, op, new, named, params, result_info, results, recursive)


def _has_size(leaf: Leaf, known: set[str]) -> bool:
    """True if the size of a result is a formula of the parameters' symbols."""
    if not isinstance(leaf.info, Tensor) or is_handle(leaf.info) or leaf.info.known_shape is None:
        return False
    return known.issuperset(leaf.info.symbols())


def recursive_functions(functions: Sequence[func.FuncOp]) -> set[str]:
    """The names of functions that call themselves, directly or indirectly."""
    called = {
        op.name.value: {callee_of(call) for call in ops_of(op.operation, "relax.call")} for op in functions
    }

    def reaches(start: str) -> bool:
        waiting, seen = list(called[start]), set(called[start])
        while waiting:
            name = waiting.pop()
            if name == start:
                return True
            new = called.get(name, set()) - seen
            seen |= new
            waiting += new
        return False

    return {name for name in called if reaches(name)}
