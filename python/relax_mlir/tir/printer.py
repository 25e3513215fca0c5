"""Print a prim func as ``@T.prim_func``: linalg functions as blocks, memref functions as loops."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from relax_mlir.analysis.structural_equal import structural_equal
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import (
    KERNEL,
    KERNEL_SEAL,
    PARAMS,
    PATTERN,
    PRIM_ATTRS,
    PRIM_FUNC,
    SCHEDULED_FROM,
)
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.prim_params import PrimParam, prim_params
from relax_mlir.error import RelaxError
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.script import parse
from relax_mlir.script.attribute_text import dictionary_text
from relax_mlir.symbolic import Dim, linear_definition
from relax_mlir.tir.print_blocks import BlockPrinter
from relax_mlir.tir.print_expressions import ExpressionPrinter
from relax_mlir.tir.print_loops import LoopPrinter
from relax_mlir.tir.templates import templates
from relax_mlir.tir.units import Cutter, NoForm
from relax_mlir.tir.values import INDEX

INDENT = "    "
KNOWN = frozenset(
    {PRIM_FUNC, PARAMS, PATTERN, PRIM_ATTRS, "sym_name", "function_type", "sym_visibility", "arg_attrs"}
)

CLAIMED = frozenset({SCHEDULED_FROM, KERNEL_SEAL})
"""Attributes of a schedule that are not printed: the parsed function is proved or checked like any prim func."""


def print_prim(function: func.FuncOp) -> list[str] | None:
    """The lines of a prim func in T form; None if it has no form that parses to the same function."""
    params = prim_params(function)
    names = {named.name for named in map(function.attributes.__getitem__, range(len(function.attributes)))}
    name = function.name.value
    if SCHEDULED_FROM in names:
        names -= CLAIMED
    if (
        params is None
        or function.is_external
        or names - KNOWN
        or KERNEL in names
        or not name.isidentifier()
        or keyword.iskeyword(name)
    ):
        return None
    try:
        lines = _lines(function, params)
    except NoForm:
        return None
    return lines if _reads_back(function, lines) else None


def _reads_back(function: func.FuncOp, lines: Sequence[str]) -> bool:
    """True if the lines parse to the same function; otherwise the function is printed as MLIR."""
    try:
        again = parse("\n".join(lines))
    except RelaxError:
        return False
    original = ir.Module.create(ir.Location.unknown(function.context))
    copy = function.operation.clone(ip=ir.InsertionPoint(original.body))
    if SCHEDULED_FROM in copy.attributes:
        for name in CLAIMED:
            del copy.attributes[name]
    return structural_equal(IRModule(original), again)


def _buffer_type(shape: Sequence[Dim], dtype: DType | None) -> str:
    items = ", ".join(str(d) if isinstance(d, int) else f'"{d}"' for d in shape)
    return f'(({items}{"," if len(shape) == 1 else ""}), "{dtype}")'


def _lines(function: func.FuncOp, params: Sequence[PrimParam]) -> list[str]:
    """The lines; raises `NoForm`."""
    kinds: dict[ir.Value, DType] = {}
    buffers: dict[ir.Value, DType] = {}
    names: dict[ir.Value, str] = {}
    for argument, param in zip(function.arguments, params, strict=True):
        names[argument] = param.name
        if param.dtype is None:
            kinds[argument] = INDEX
        else:
            buffers[argument] = param.dtype
    known = templates(
        tuple(sorted({"index", "bool", "int64", *map(str, buffers.values()), *_types_used(function)}))
    )
    cutter = Cutter(known, kinds, buffers)
    kind = BlockPrinter if len(function.type.results) else LoopPrinter
    printer = kind(function, params, cutter, names)
    printer.taken |= {p.name for p in params}
    ops = [view.operation for view in entry_block(function).operations]
    ops = ops[_symbols(printer, ops) : -1]
    body = printer.blocks(ops) if isinstance(printer, BlockPrinter) else printer.statements(ops)
    head = ", ".join(f"{p.name}: {_annotation(p)}" for p in params)
    first = ["@T.prim_func", f"def {function.name.value}({head}):"]
    body = body or ["pass"]
    if PRIM_ATTRS in function.attributes:
        if not isinstance(function.attributes[PRIM_ATTRS], ir.DictAttr):
            raise NoForm
        body.insert(0, f"T.func_attr({dictionary_text(function.attributes[PRIM_ATTRS])})")
    return [*first, *(INDENT + line for line in body)]


def _types_used(function: func.FuncOp) -> set[str]:
    """The possible dtypes of values of the function."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        for result in op.results:
            type_ = result.type
            text = str(type_.element_type if isinstance(type_, ir.ShapedType) else type_)
            found.update(d.name for d in dtypes.DTYPES.values() if d.mlir.removeprefix("u") == text)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    return found


def _annotation(param: PrimParam) -> str:
    return "T.int64" if param.shape is None else f"T.Buffer{_buffer_type(param.shape, param.dtype)}"


def _symbols(printer: ExpressionPrinter, ops: Sequence[ir.Operation]) -> int:
    """Name the sizes at the beginning of the function; return the number of their ops."""
    defined = {p.name for p in printer.params if p.shape is None}
    position = 0
    for number, param in enumerate(printer.params):
        for axis, dim in enumerate(param.shape or ()):
            name = linear_definition(dim)
            if name is None or name in defined:
                continue
            defined.add(name)
            if position + 2 > len(ops):
                raise NoForm
            constant, size = ops[position : position + 2]
            is_dim = size.name in ("memref.dim", "tensor.dim") and constant.name == "arith.constant"
            if not is_dim or size.operands[0] != printer.function.arguments[number]:
                raise NoForm
            if ir.IntegerAttr(constant.attributes["value"]).value != axis:
                raise NoForm
            printer.names[size.results[0]] = name
            printer.taken.add(name)
            printer.cutter.types[size.results[0]] = INDEX
            position += 2
    return position
