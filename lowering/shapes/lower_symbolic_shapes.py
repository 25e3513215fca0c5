"""Pass ``lower-symbolic-shapes``: Relax functions become functions on plain tensors (level R1 to T)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.dialects.bounds import read_bounds
from relax_mlir.dialects.types import StructInfo, Tensor, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.hooks import Hooks
from relax_mlir.lowering.shapes.body import BodyLowering, flatten, unflatten
from relax_mlir.lowering.shapes.entry import build_shapes_function, signature
from relax_mlir.lowering.shapes.leaves import Leaf, leaves
from relax_mlir.lowering.shapes.solve import check_bounds, define_symbols, leaf_dims
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import bufferization, func, ir, tensor
from relax_mlir.symbolic import assuming
from relax_mlir.transform import ModulePass, PassContext, relax_functions

VIEWS = frozenset({"tensor.cast", "tensor.collapse_shape", "tensor.expand_shape"})


HANDLERS = ("structure", "match", "compare", "views", "calls", "packed", "control")
"""Modules of this package that say how ops are lowered."""


@dataclass(frozen=True)
class LowerSymbolicShapes(ModulePass):
    """Make symbols index values, shapes of parameters run-time checks, and results destination arguments."""

    name: ClassVar[str] = "lower-symbolic-shapes"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `UnsupportedError` or `ShapeError` for what native code cannot express."""
        for handlers in HANDLERS:
            importlib.import_module(f"relax_mlir.lowering.shapes.{handlers}")
        hooks = Hooks(module)
        functions = relax_functions(module)
        _refuse_recursion(functions)
        callees = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        headers = []
        for op in functions:
            name = op.name.value
            op.attributes["sym_name"] = ir.StringAttr.get(f"{name}.relax")
            header = _header(op, name)
            callees[name] = header.new
            headers.append(header)
        for header in headers:
            _lower(hooks, header, callees)
        for op in functions:
            op.operation.erase()


def _refuse_recursion(functions: Sequence[func.FuncOp]) -> None:
    """Raise `UnsupportedError` if a function calls itself, over others or not."""
    callees = {op.name.value: _callees(op.operation) for op in functions}

    def follow(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            cycle = " -> ".join([*path[path.index(name) :], name])
            raise UnsupportedError(
                f"{name}: the function calls itself ({cycle}); native code has no recursion"
            )
        if name not in done:
            for callee in callees.get(name, ()):
                follow(callee, (*path, name))
            done.add(name)

    done: set[str] = set()
    for name in callees:
        follow(name, ())


def _callees(function: ir.Operation) -> list[str]:
    found: dict[str, None] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "relax.call":
            found[ir.FlatSymbolRefAttr(op.attributes["callee"]).value] = None
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    return list(found)


@dataclass(frozen=True)
class _Header:
    name: str
    old: func.FuncOp
    new: func.FuncOp
    param_infos: list[tuple[str, StructInfo]]
    params: list[Leaf]
    result_info: StructInfo
    results: list[Leaf]


def _header(op: func.FuncOp, name: str) -> _Header:
    infos = [struct_info(t) for t in op.type.inputs]
    named = list(zip(parameter_names(op), infos, strict=True))
    params = [leaf for param, info in named for leaf in leaves(name, param, info)]
    if len(op.type.results) != 1:
        raise UnsupportedError(f"{name}: a Relax function returns one value (a tuple for several)")
    result_info = struct_info(op.type.results[0])
    results = list(leaves(name, "result", result_info))
    for leaf in results:
        if not isinstance(leaf.info, Tensor):
            raise UnsupportedError(
                f"{name}: {leaf.name} is {leaf.info}; native code returns tensors (and tuples of them)"
            )
    outs = [t for leaf in results for t in leaf.types]
    inputs = [t for leaf in params for t in leaf.types] + outs
    is_private = "sym_visibility" in op.attributes
    with op.location, ir.InsertionPoint(op):
        new = func.FuncOp(
            name, ir.FunctionType.get(inputs, outs), visibility="private" if is_private else None
        )
        if not is_private:
            new.attributes[SIGNATURE] = signature(name, named, result_info)
    return _Header(name, op, new, named, params, result_info, results)


def _lower(hooks: Hooks, header: _Header, callees: dict[str, func.FuncOp]) -> None:
    location = header.old.location
    bounds = read_bounds(header.old)
    block = header.new.add_entry_block()
    with location, ir.InsertionPoint(block), assuming(bounds):
        arguments = list(block.arguments)
        given = [arguments.pop(0) for leaf in header.params for _ in leaf.types]
        symbols = SymbolTable(header.name, hooks)
        define_symbols(symbols, header.params, _parameter_dims(header.params, given))
        check_bounds(symbols, bounds)
        remaining = list(given)
        values = {
            old: unflatten(info, remaining)
            for old, (_, info) in zip(header.old.arguments, header.param_infos, strict=True)
        }
        body = BodyLowering(hooks, symbols, dict(values), callees)
        returned = [leaf for item in body.lower_block(header.old.entry_block) for leaf in flatten(item)]
        _return(body, returned, arguments)
    if SIGNATURE in header.new.attributes:
        build_shapes_function(hooks, header.name, header.params, header.results, bounds, location)


def _parameter_dims(params: Sequence[Leaf], given: Sequence[ir.Value]) -> list[list[ir.Value]]:
    remaining = list(given)
    dims = []
    for leaf in params:
        if isinstance(leaf.info, Tensor):
            value = remaining.pop(0)
            dims.append([tensor.dim(value, index_constant(axis)) for axis in range(len(leaf_dims(leaf)))])
        else:
            dims.append([remaining.pop(0) for _ in range(leaf.rank)])
    return dims


def _return(body: BodyLowering, values: Sequence[ir.Value], outs: Sequence[ir.Value]) -> None:
    """Write each result into its destination; a tensor that is returned twice is computed in one of them only.

    All copies are made before the first destination is written, which may hold what they read.
    """
    sources: list[ir.Value] = []
    taken: set[ir.Value] = set()
    for value, out in zip(values, outs, strict=True):
        base = _memory_of(value)
        if value in body.checked or base in taken:
            value = bufferization.alloc_tensor(value.type, [], copy=value)
        taken.add(base)
        sources.append(value if value.type == out.type else tensor.cast(out.type, value))
    func.ReturnOp(
        [
            bufferization.materialize_in_destination(out.type, source, out)
            for source, out in zip(sources, outs, strict=True)
        ]
    )


def _memory_of(value: ir.Value) -> ir.Value:
    """The tensor that `value` is a view of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in VIEWS:
        value = value.owner.operation.operands[0]
    return value
