"""Outline calls of prim funcs on explicit memory as kernels, which write the given output tensors.

A kernel is derived from the tensor types as long as these have symbols. After symbols have moved to the shape heap, it
is derived from the prim func's declaration. Shape functions are left to `shape_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.analysis.declared_sizes import declared_params
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.calls import CallPackedOp
from relax_mlir.dialects.prim_params import PrimParam
from relax_mlir.dialects.structure import pack, shape_of, unpack
from relax_mlir.dialects.traits import KeptInExplicitMemory, OnMemory, ops_with
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, dims_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import erase_if_unused, functions_by_name
from relax_mlir.symbolic import Dim
from relax_mlir.transform import relax_functions
from relax_mlir.vm.codegen.exposed_prim_funcs import Entry
from relax_mlir.vm.codegen.inplace_calls import InplaceKernels, writes_inputs
from relax_mlir.vm.codegen.outline_kernels import Outline, Site
from relax_mlir.vm.codegen.packed_names import packed_attributes

DYNAMIC = "relax.vm_call_tir_dyn"


def form_of(module: ir.Module) -> str | None:
    """Return the level of a module in explicit memory: "explicit-memory", or "vm" with a shape heap; else None."""
    names = {op.name for function in relax_functions(module) for op in ops_of(function.operation)}
    if not names & ops_with(OnMemory):
        return None
    return "vm" if names & (ops_with(OnMemory) - ops_with(KeptInExplicitMemory)) else "explicit-memory"


def outline_memory_calls(module: ir.Module, entries: Sequence[Entry] = ()) -> ir.Module:
    """Outline the calls of prim funcs of a module in explicit memory; return the module of their kernels.

    `entries`: the prim funcs that users may call, which become kernels as well.

    Raises `UnsupportedError` for a call that writes a tensor which it also reads, and for one of unknown sizes.
    """
    functions = functions_by_name(module)
    with module.context, ir.Location.unknown():
        outline = Outline(module, ir.Module.create(), entries)
        inplace = []
        for function in relax_functions(module):
            for op in ops_of(function.operation, "relax.call_prim", DYNAMIC):
                if _is_shape_function(op, functions[callee_of(op)]):
                    continue
                if writes_inputs(op, functions):
                    inplace.append(op)
                else:
                    _replace(outline, op, functions[callee_of(op)])
        kernels = InplaceKernels(module, outline.kernels, entries)
        for op in inplace:
            kernels.replace(op, by_users=True)
        kernels.add()
        outline.add_prim_funcs()
        return outline.kernels


def _is_shape_function(op: ir.Operation, callee: func.FuncOp) -> bool:
    """True if a call is that of a shape function: its only argument is a heap, which it reads and writes in order."""
    inputs = callee.type.inputs
    if op.name == DYNAMIC or PRIM_FUNC not in callee.attributes or len(inputs) != 1:
        return False
    heap = inputs[0]
    if not isinstance(heap, ir.MemRefType) or heap.rank != 1 or str(heap.element_type) != "i64":
        return False
    return not any(len(view.operation.regions) for view in entry_block(callee).operations)


def _replace(outline: Outline, op: ir.Operation, callee: func.FuncOp) -> None:
    tuple_ = op.operands[0]
    fields = ir.TupleType(tuple_.type)
    with ir.InsertionPoint(op), op.location:
        values = unpack(tuple_, [fields.get_type(i) for i in range(fields.num_types)])
        split = len(values) - ir.IntegerAttr(op.attributes["outputs"]).value
        inputs, outs = values[:split], values[split:]
        if any(out in inputs for out in outs):
            raise UnsupportedError(
                f"{where(op)}: the call of '{callee_of(op)}' fills a tensor that it reads; give it a copy to read"
            )
        site = _site(op, callee, inputs, outs)
        name = outline.kernel(site)
        given = [*site.arguments(), *outs]
        ir.Operation.create(
            CallPackedOp.OPERATION_NAME,
            results=[ir.TupleType.get_tuple([])],
            operands=[pack(given, op.location)],
            attributes=packed_attributes(name, len(given)),
            loc=op.location,
        )
    op.erase()
    erase_if_unused(tuple_)


def _site(op: ir.Operation, callee: func.FuncOp, inputs: list[ir.Value], outs: list[ir.Value]) -> Site:
    """Return the call as a destination-passing call."""
    infos, results = ([struct_info(value.type) for value in values] for values in (inputs, outs))
    sizes = op.operands[1] if op.name == DYNAMIC else None
    tir_vars = () if sizes is None else _entries(sizes)
    if tir_vars is not None and all(map(_is_known, [*infos, *results])):
        return Site.made(op, "relax.call_tir", _attributes(op, tir_vars), inputs, infos, _one(results))
    params = declared_params(callee)
    known = [*infos, *results]
    declared = [_declared(param, info) for param, info in zip(params, known, strict=False)]
    given, filled = declared[: len(inputs)], declared[len(inputs) :]
    names = [param.name.replace(" ", "_") for param in params[len(known) :]]  # not a symbol: "argument 2"
    integers = [symbolic.symbol(name) for name in names]
    attributes = _attributes(op, integers)
    shapes = [] if sizes is None else [(sizes, Shape(integers))]
    site = Site.made(op, "relax.call_tir", attributes, inputs, given, _one(filled), shapes)
    if site.extra:  # sizes that occur only in output tensors
        shapes += [
            (shape_of(Value(out)).ssa, Shape(info.shape))
            for out, info in zip(outs, filled, strict=True)
            if isinstance(info, Tensor)
        ]
        site = Site.made(op, "relax.call_tir", attributes, inputs, given, _one(filled), shapes)
    if site.extra:
        raise UnsupportedError(
            f"{where(op)}: no tensor of the call of '{callee_of(op)}' tells its size {site.extra[0]}; let the "
            "prim func take it, and give it by vm.call_tir_dyn"
        )
    return site


def _declared(param: PrimParam, info: StructInfo) -> StructInfo:
    """Return the struct info of an argument whose sizes are in the shape heap."""
    if param.shape is None or not isinstance(info, Tensor):
        return info
    return Tensor(param.shape, param.dtype or info.dtype)


def _entries(sizes: ir.Value) -> tuple[Dim, ...] | None:
    """Return the entries of a shape value, or None if they are not all known."""
    info = struct_info(sizes.type)
    assert isinstance(info, Shape)
    known = tuple(value for value in info.values or () if value is not None)
    return known if info.values is not None and len(known) == len(info.values) else None


def _is_known(info: StructInfo) -> bool:
    return not isinstance(info, Tensor) or (info.known_shape is not None and info.dtype is not None)


def _one(infos: list[StructInfo]) -> StructInfo:
    return infos[0] if len(infos) == 1 else Tuple(infos)


def _attributes(op: ir.Operation, tir_vars: Sequence[Dim]) -> dict[str, ir.Attribute]:
    return {"callee": op.attributes["callee"], "tir_vars": dims_attr(tir_vars)}
