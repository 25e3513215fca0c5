"""Pass ``lower-symbolic-shapes``: Relax functions become functions on builtin tensors (level R1 to T)."""

from __future__ import annotations

import importlib
from typing import ClassVar

from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.dialects.bounds import read_bounds
from relax_mlir.dialects.location import name_of, renamed
from relax_mlir.dialects.prim_entries import entry_of
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.abi.runtime_declarations import RuntimeDeclarations
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, unflatten
from relax_mlir.lowering.shapes.calls import note_destinations
from relax_mlir.lowering.shapes.entry import build_shapes_function, leaf_sizes
from relax_mlir.lowering.shapes.headers import Header, make_header, recursive_functions
from relax_mlir.lowering.shapes.latency_critical import is_latency_critical
from relax_mlir.lowering.shapes.leaves import leaves
from relax_mlir.lowering.shapes.recursion import check_stack
from relax_mlir.lowering.shapes.results import give_results
from relax_mlir.lowering.shapes.solve import check_bounds, define_symbols
from relax_mlir.lowering.shapes.symbols import SymbolTable
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import assuming
from relax_mlir.transform import ModulePass, PassContext, relax_functions

HANDLERS = (
    "structure",
    "match",
    "compare",
    "views",
    "calls",
    "packed",
    "control",
    "loops",
    "integers",
    "shape_values",
    "inplace",
    "asserts",
)
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
