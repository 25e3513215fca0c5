"""Parse a ``@T.prim_func`` into a function of the module: linalg if it is in block form, else loops."""

from __future__ import annotations

import ast

from relax_mlir.dialects.attributes import PARAMS, PRIM_FUNC
from relax_mlir.mlir import arith, func, ir, memref
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Source
from relax_mlir.tir.block_syntax import Located
from relax_mlir.tir.blocks import linalg_form
from relax_mlir.tir.expressions import Expressions
from relax_mlir.tir.prim_attributes import set_attributes
from relax_mlir.tir.prim_signature import Head, read_head
from relax_mlir.tir.statements import Body
from relax_mlir.tir.values import INDEX, Buffer, Scalar


def parse_prim(source: Source, scope: Scope, node: ast.FunctionDef, block: ir.Block) -> func.FuncOp | None:
    """Add the prim func of `node` to `block`; return None if errors were reported in `source`.

    Raises `Problem` for an error in its signature.
    """
    head = read_head(node, scope)
    line, begin, _ = source.span(node)
    with Located(source.filename, line, begin + 1):
        function = linalg_form(source, scope, head, block) or _loops(source, scope, head, block)
        if function is not None:
            set_attributes(node, function, head.attributes)
        return function


def _loops(source: Source, scope: Scope, head: Head, block: ir.Block) -> func.FuncOp | None:
    """The prim func on memrefs."""
    types: list[ir.Type] = []
    for parameter in head.parameters:
        if parameter.dtype is None:
            types.append(ir.IndexType.get())
        else:
            types.append(ir.MemRefType.get(parameter.sizes(), parameter.dtype.storage_type()))
    with ir.InsertionPoint(block):
        function = func.FuncOp(head.name, ir.FunctionType.get(types, []), visibility="private")
    function.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    function.attributes[PARAMS] = ir.ArrayAttr.get([p.attribute() for p in head.parameters])
    count = len(source.frames)
    with ir.InsertionPoint(function.add_entry_block()):
        inner = scope.inner()
        arguments = list(function.arguments)
        for parameter, argument in zip(head.parameters, arguments, strict=True):
            if parameter.dtype is None or parameter.shape is None:
                inner.values[parameter.name] = Scalar(argument, INDEX)
            else:
                inner.values[parameter.name] = Buffer(
                    parameter.name, argument, parameter.shape, parameter.dtype, len(parameter.shape)
                )
        for name, origin in head.symbols.items():
            if isinstance(origin, tuple):
                number, axis = origin
                place = arith.constant(ir.IndexType.get(), axis)
                inner.values[name] = Scalar(memref.dim(arguments[number], place), INDEX)
        Body(source, Expressions(inner)).run(head.body)
        func.ReturnOp([])
    if len(source.frames) > count:
        function.operation.erase()
        return None
    return function
