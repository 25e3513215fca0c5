"""Pass ``lower-symbolic-shapes``: Relax functions become functions on builtin tensors (level R1 to T)."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

from relax_mlir.dialects.attributes import PATTERN, PRIM_FUNC, SIGNATURE
from relax_mlir.dialects.location import name_of, renamed
from relax_mlir.dialects.prim_funcs import entry_of
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.traits import IsInstant, has_trait
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, struct_info
from relax_mlir.ir_queries import callee_of
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.base.runtime_declarations import RuntimeDeclarations
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, leaves, unflatten
from relax_mlir.lowering.shapes.calls import note_destinations
from relax_mlir.lowering.shapes.functions import (
    Header,
    build_shapes_function,
    check_bounds,
    check_stack,
    define_symbols,
    give_results,
    leaf_sizes,
    make_header,
    recursive_functions,
)
from relax_mlir.lowering.shapes.symbols import SymbolTable
from relax_mlir.mlir import func, ir, linalg
from relax_mlir.passes.fusion.prim_loops import AROUND, over_rows
from relax_mlir.symbolic import assuming
from relax_mlir.transform import ModulePass, PassContext, relax_functions

# Latency-critical functions: calls with small arguments take microseconds, whatever the arguments contain.
#
# Such calls can hold the GIL: releasing and reacquiring it costs a third of a small call.


MAX_CALLS = 16
MAX_STATIC = 1024
"""Maximum number of elements of a static tensor whose size is not that of an argument."""

_LINEAR = frozenset({"elementwise", "broadcast", "injective", "reduction"})
"""Patterns of prim funcs whose time may be linear in their tensors; their loops decide."""

_BESIDE_LOOPS = AROUND | {"linalg.fill"}
"""Other ops of prim funcs, no slower than the loops; a linalg op reads or accumulates into the result of a fill."""


def is_latency_critical(function: func.FuncOp, callees: Mapping[str, func.FuncOp]) -> bool:
    """True if a Relax function of level R1 performs a few linear steps, on tensors no larger than its arguments.

    Sizes are compared by their dimensions. A tensor that may be larger than all arguments, or whose size is unknown,
    makes the function long. So do all other ops: loops, calls of functions, GEMMs.
    """
    params = [struct_info(type_) for type_ in function.type.inputs]
    allowed = {_size(info) for info in params if isinstance(info, Tensor)}
    if None in allowed or len(params) != sum(isinstance(info, Tensor) for info in params):
        return False
    calls = 0
    for op in (view.operation for view in function.entry_block.operations):
        if op.name == "relax.call_tir":
            calls += 1
            if not _is_linear(callees[callee_of(op)]):
                return False
        elif not has_trait(op, IsInstant):
            return False
        for info in (leaf for result in op.results for leaf in _leaves(struct_info(result.type))):
            size = _size(info) if isinstance(info, Tensor) else None
            if size is None or not (size in allowed or (not size[1] and size[0] <= MAX_STATIC)):
                return False
    return calls <= MAX_CALLS


def _is_linear(prim: func.FuncOp) -> bool:
    """True if the run time of a prim func is linear in the size of its arguments and results."""

    if PRIM_FUNC not in prim.attributes or prim.is_external:
        return False
    if over_rows(prim):
        return True
    pattern = ir.StringAttr(prim.attributes[PATTERN]).value if PATTERN in prim.attributes else ""
    ops = (view.operation for view in prim.entry_block.operations)
    return pattern in _LINEAR and all(op.name in _BESIDE_LOOPS or _is_over_argument(op) for op in ops)


def _is_over_argument(loop: ir.Operation) -> bool:
    """True if a loop nest has one iteration per element of an argument; other reductions may have more."""
    maps = linalg.get_indexing_maps(loop)
    return maps is not None and any(
        isinstance(value.owner, ir.Block) and map_.value.is_permutation
        for value, map_ in zip(loop.operands, maps, strict=True)
    )


def _leaves(info: StructInfo) -> Iterator[StructInfo]:
    if isinstance(info, Tuple):
        for field in info.fields:
            yield from _leaves(field)
    else:
        yield info


def _size(info: Tensor) -> tuple[int, tuple[str, ...]] | None:
    """The number of elements as an integer and dynamic dimensions; None if it is not known."""
    if info.known_shape is None or info.dtype is None:
        return None
    static = [dim for dim in info.known_shape if isinstance(dim, int)]
    return math.prod(static), tuple(sorted(str(dim) for dim in info.known_shape if not isinstance(dim, int)))


HANDLERS = ("structure", "calls")
"""Modules of this package that register lowerings of ops."""


class LowerSymbolicShapes(ModulePass):
    """Replace symbols by index values, and shapes of parameters by run-time checks.

    Results whose size is a formula of the parameters become destination arguments; functions return the others.
    """

    name: ClassVar[str] = "lower-symbolic-shapes"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `UnsupportedError` or `ShapeError` for programs that native code cannot express."""
        for handlers in HANDLERS:
            importlib.import_module(f"relax_mlir.lowering.shapes.{handlers}")
        declarations = RuntimeDeclarations(module)
        functions = relax_functions(module)
        recursive = recursive_functions(functions)
        callees = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        headers: dict[str, Header] = {}
        for function in callees.values():
            entry = entry_of(function)
            if entry is not None:
                note_destinations(callees[entry.callee], entry.written)
        for op in functions:
            name, short = op.name.value, is_latency_critical(op, callees)
            op.attributes["sym_name"] = ir.StringAttr.get(f"{name}.relax")
            headers[name] = make_header(op, name, name in recursive, short)
            callees[name] = headers[name].new
        entry_checks: set[str] = set()
        for header in headers.values():
            _lower(declarations, header, callees, headers, entry_checks)
        for name, header in headers.items():
            if name in entry_checks or SIGNATURE in header.new.attributes:
                _shapes_function(declarations, header)
        for op in functions:
            op.operation.erase()


def _lower(
    declarations: RuntimeDeclarations,
    header: Header,
    callees: dict[str, func.FuncOp],
    headers: dict[str, Header],
    entry_checks: set[str],
) -> None:
    location = header.old.location
    bounds = read_bounds(header.old)
    block = header.new.add_entry_block(_argument_locations(header))
    with location, ir.InsertionPoint(block), assuming(bounds):
        arguments = list(block.arguments)
        given = [arguments.pop(0) for leaf in header.params for _ in leaf.types]
        stack = check_stack(declarations, header.name, arguments.pop()) if header.recursive else None
        symbols = SymbolTable(verbatim(header.name), declarations)
        define_symbols(symbols, header.params, leaf_sizes(declarations, header.params, given))
        check_bounds(symbols, bounds)
        remaining = list(given)
        values: dict[ir.Value, Lowered] = {
            old: unflatten(info, remaining)
            for old, (_, info) in zip(header.old.arguments, header.param_infos, strict=True)
        }
        body = BodyLowering(declarations, symbols, values, callees, headers, stack, entry_checks=entry_checks)
        (result,) = body.lower_block(header.old.entry_block)
        give_results(body, header, result, header.places(given, arguments))


def _argument_locations(header: Header) -> list[ir.Location]:
    """Locations that name the arguments: parameters by their names, destinations by their results."""
    params = zip(header.old.arguments, header.param_infos, strict=True)
    flat = [
        *(leaf for old, (name, info) in params for leaf in leaves(name_of(old.location) or name, info)),
        *header.destinations,
    ]
    names = [leaf.name for leaf in flat for _ in leaf.types] + ["stack"] * header.recursive
    return [renamed(name, header.old.location) for name in names]


def _shapes_function(declarations: RuntimeDeclarations, header: Header) -> None:
    bounds, location = read_bounds(header.old), header.old.location
    build_shapes_function(declarations, header.name, header.params, header.destinations, bounds, location)
