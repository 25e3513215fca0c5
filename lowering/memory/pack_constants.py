"""The pass `pack-constants`: pack constant matrices for GEMMs once, at load time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import CONSTANT, CONSTANT_PANELS, CONSTANT_VALUE, PRIM_FUNC
from relax_mlir.ir_queries import callee_of, has_one_use, is_used
from relax_mlir.lowering.base.constant_table import Layout
from relax_mlir.lowering.base.module_parts import own_ops
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm.contraction import Contraction
from relax_mlir.lowering.kernels.gemm.gemm import tiling_of
from relax_mlir.lowering.kernels.gemm.gemm_prepacked import emit_gemm_panels, has_panels, panels_name
from relax_mlir.lowering.kernels.gemm.lower_contractions import (
    emit_contraction,
    fill_before,
    match_contraction,
)
from relax_mlir.mlir import func, ir, memref
from relax_mlir.mlir_text import functions
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext

_MAX_COPIES = 4
"""Matrices with few columns stay unpacked if panels would take more than this many times their memory."""


@dataclass(frozen=True)
class PackConstants(ModulePass):
    """Pack constant matrices that prim funcs multiply by as panels of columns.

    Applies to floating-point GEMMs in a private prim func whose right operand is an argument that has no other use
    there and is a constant (`@relax.constant.K`) of the same type in every call. Such a constant gets a declaration
    with `relax.constant_panels`, so it is packed when the executable is loaded: once per constant and layout,
    independent of the number of calls. The unpacked constant is removed unless it has other uses.
    """

    name: ClassVar[str] = "pack-constants"
    opt_level: ClassVar[int] = 2

    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Transform the module in place."""
        table = functions(module)
        declarations = {name for name, op in table.items() if CONSTANT in op.attributes}
        if not declarations:
            return
        target, calls = Target.parse(self.target), _calls(module)
        packed: dict[tuple[str, Layout], str] = {}
        for name, function in table.items():
            users, marks = calls.get(name, []), function.attributes
            if PRIM_FUNC not in marks or "sym_visibility" not in marks or function.is_external or not users:
                continue
            found = _product(function, target)
            if found is None:
                continue
            operation, contraction, position = found
            sources = [_constant_read(call.operands[position], declarations) for call in users]
            if None in sources:
                continue
            sizes = tiling_of(contraction.kernel, target)
            transposed = contraction.b.dims == (*contraction.columns, *contraction.depth)
            layout = Layout(sizes.columns, transposed, sizes.group)
            type_ = _packed_type(contraction, layout)
            _rewrite(module, function, operation, contraction, position, type_, target)
            for call, source in zip(users, sources, strict=True):
                key = (str(source), layout)
                if key not in packed:
                    packed[key] = _declare(module, table[key[0]], type_, layout)
                with ir.InsertionPoint(call), call.location:
                    call.operands[position] = func.CallOp([type_], packed[key], []).results[0]
        if packed:
            _drop_unused(module, {table[key[0]] for key in packed}, calls)


def _calls(module: ir.Module) -> dict[str, list[ir.Operation]]:
    found: dict[str, list[ir.Operation]] = {}
    for op in own_ops(module, "func.call"):
        found.setdefault(callee_of(op), []).append(op)
    return found


def _product(function: func.FuncOp, target: Target) -> tuple[ir.Operation, Contraction, int] | None:
    """A GEMM in the function by an argument of static shape with no other use, and the index of the argument."""
    for op in function.entry_block.operations:
        contraction = match_contraction(op.operation)
        if contraction is None or contraction.windows is not None or not has_panels(contraction.kernel, target):
            continue
        b, buffer = contraction.b, contraction.b.buffer
        groups = {contraction.columns, contraction.depth}
        if len(b.axes) != 2 or any(len(group) != 1 for group in groups):
            continue
        if b.dims not in (contraction.columns + contraction.depth, contraction.depth + contraction.columns):
            continue
        narrow = tiling_of(contraction.kernel, target).columns // _MAX_COPIES
        if not isinstance(buffer.owner, ir.Block) or not b.contiguous or not buffer.type.has_static_shape:
            continue
        width = buffer.type.shape[b.axes.index(contraction.columns[0])]
        if 0 in buffer.type.shape or width < narrow or not has_one_use(buffer):
            continue
        return op.operation, contraction, ir.BlockArgument(buffer).arg_number
    return None


def _constant_read(value: ir.Value, declarations: set[str]) -> str | None:
    """The name of the constant declaration whose call returns a value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "func.call":
        return None
    name = str(owner.opview.callee.value)
    return name if name in declarations else None


def _round_up(size: int, step: int) -> int:
    return -(-size // step) * step


def _packed_type(contraction: Contraction, layout: Layout) -> ir.MemRefType:
    type_ = contraction.b.buffer.type
    depth, width = type_.shape[::-1] if layout.transposed else type_.shape
    size = _round_up(width, layout.columns) * _round_up(depth, layout.group)
    return ir.MemRefType.get([size], type_.element_type)


def _rewrite(
    module: ir.Module,
    function: func.FuncOp,
    operation: ir.Operation,
    contraction: Contraction,
    position: int,
    type_: ir.MemRefType,
    target: Target,
) -> None:
    """Replace the GEMM by a call of the kernel for packed operands; argument `position` becomes `type_`."""
    fill = None if contraction.sums_outside else fill_before(operation, 0.0)
    with ir.InsertionPoint(operation), operation.location:
        buffer = ir.BlockArgument(contraction.b.buffer)
        buffer.set_type(type_)
        flat = memref.cast(e.flat_memref(type_.element_type), buffer)
    panels = (panels_name(contraction.kernel), flat)
    emit_contraction(module.body, operation, contraction, fill is not None, target, panels)
    for op in (contraction.end, operation, fill):
        if op is not None:
            op.erase()
    inputs = [argument.type for argument in function.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, function.type.results))
    with function.location:
        emit_gemm_panels(module.body, contraction.kernel, target)


def _declare(module: ir.Module, plain: func.FuncOp, type_: ir.MemRefType, layout: Layout) -> str:
    """Add the declaration of a packed constant next to that of the plain one."""
    pairs = f"x{layout.group}" if layout.group > 1 else ""
    name = f"{plain.name.value}.panels_{layout.columns}{pairs}{'_transposed' if layout.transposed else ''}"
    word = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(plain), plain.location:
        declaration = func.FuncOp(name, ir.FunctionType.get([], [type_]), visibility="private")
        declaration.attributes[CONSTANT] = plain.attributes[CONSTANT]
        declaration.attributes[CONSTANT_VALUE] = plain.attributes[CONSTANT_VALUE]
        fields = {field: ir.IntegerAttr.get(word, int(value)) for field, value in asdict(layout).items()}
        declaration.attributes[CONSTANT_PANELS] = ir.DictAttr.get(fields)
    return name


def _drop_unused(module: ir.Module, plain: set[func.FuncOp], calls: Mapping[str, Sequence[ir.Operation]]) -> None:
    """Remove plain constants without uses, and renumber the declarations from 0; `calls` are their calls."""
    for declaration in plain:
        reads = calls.get(declaration.name.value, [])
        if all(not is_used(read.results[0]) for read in reads):
            for read in reads:
                read.erase()
            declaration.operation.erase()
    word = ir.IntegerType.get_signless(64)
    left = [op for op in functions(module).values() if CONSTANT in op.attributes]
    for number, declaration in enumerate(left):
        declaration.attributes[CONSTANT] = ir.IntegerAttr.get(word, number)
