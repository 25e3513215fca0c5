"""Calls of prim funcs that write their arguments in place: their kernel is the prim func's entry point.

`call-tir-rewrite` has decided which arguments may be written, and copied the others. Only prim funcs on memrefs write
in place. The kernel of a prim func on tensors is a function that copies, as for any other call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.calls import CallPackedOp
from relax_mlir.dialects.dtypes import from_element_type
from relax_mlir.dialects.inplace import CallTirInplaceOp
from relax_mlir.dialects.prim_params import PrimParam, prim_params
from relax_mlir.dialects.structure import pack, prim_value, unpack
from relax_mlir.dialects.types import Shape, Tensor, Tuple, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, defining_op, fresh_name, ops_of, symbol_names
from relax_mlir.lowering.legalize.prim_call_sites import stores
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import erase_if_unused, functions_by_name
from relax_mlir.symbolic import Dim
from relax_mlir.transform import relax_functions
from relax_mlir.vm.codegen.exposed_prim_funcs import Entry, name_entry
from relax_mlir.vm.codegen.packed_names import packed_attributes, packed_names
from relax_mlir.vm.codegen.prim_copies import add_prim_copies

CALLS = ("relax.call_prim", "relax.vm_call_tir_dyn")
ALLOCATED = ("relax.memory_alloc_tensor", "relax.vm_alloc_tensor", "relax.vm_alloc_shape_heap")


def is_inplace(op: ir.Operation, callee: func.FuncOp) -> bool:
    """True if the kernel of a call at level R1 can write its arguments in place: all of them are tensors."""
    given = struct_info(op.operands[0].type)
    return (
        op.name == CallTirInplaceOp.OPERATION_NAME
        and isinstance(given, Tuple)
        and all(isinstance(info, Tensor) and info.dtype is not None for info in given.fields)
        and _is_on_memrefs(callee)
    )


def writes_inputs(op: ir.Operation, functions: Mapping[str, func.FuncOp]) -> bool:
    """True if the prim func of a call on explicit memory stores into inputs of the call."""
    return any(number < _inputs(op) for number in _stores(callee_of(op), functions))


def outline_inplace_calls(module: ir.Module, kernels: ir.Module, entries: Sequence[Entry]) -> None:
    """Replace the in-place calls, as `call-tir-rewrite` has lowered them, by calls of kernels added to `kernels`."""
    with module.context, ir.Location.unknown():
        outline = InplaceKernels(module, kernels, entries)
        for function in relax_functions(module):
            for op in ops_of(function.operation, *CALLS):
                outline.replace(op)
        outline.add()


@dataclass
class InplaceKernels:
    """The kernels of in-place calls, one per prim func."""

    module: ir.Module
    kernels: ir.Module
    entries: Sequence[Entry]
    names: dict[str, str] = field(default_factory=dict)
    """The kernel name of each prim func."""

    def __post_init__(self) -> None:
        self.functions = functions_by_name(self.module)
        self.taken = packed_names(self.module, self.entries) | symbol_names(self.kernels.body)

    def replace(self, op: ir.Operation, by_users: bool = False) -> None:
        """Replace a call by a call of its kernel.

        `by_users`: the written arguments have not been checked. Raises `UnsupportedError` if one of them is not a
        tensor allocated in the function, or if integers that the prim func takes are not known as symbolic expressions.
        """
        prim = callee_of(op)
        if prim not in self.names:
            self.names[prim] = fresh_name(prim, self.taken)
            self.taken.add(self.names[prim])
        with ir.InsertionPoint(op), op.location:
            values = list(self._arguments(op, by_users))
            ir.Operation.create(
                CallPackedOp.OPERATION_NAME,
                results=[ir.TupleType.get_tuple([])],
                operands=[pack(values, op.location)],
                attributes=packed_attributes(self.names[prim], len(values)),
                loc=op.location,
            )
        given = op.operands[0]
        op.erase()
        erase_if_unused(given)

    def add(self) -> None:
        """Add the prim funcs to the kernels, each marked to get an entry point."""
        names = symbol_names(self.kernels.body) | self.taken
        for prim, name in self.names.items():
            copies = add_prim_copies(self.functions, [prim], self.kernels, names)
            name_entry(copies[prim], Entry(name, prim, tuple(_params(self.functions[prim]))))

    def _arguments(self, op: ir.Operation, by_users: bool) -> Iterator[ir.Value]:
        fields = ir.TupleType(op.operands[0].type)
        values = unpack(op.operands[0], [fields.get_type(i) for i in range(fields.num_types)])
        if by_users:
            for number in sorted(_stores(callee_of(op), self.functions)):
                producer = defining_op(values[number]) if number < len(values) else None
                if producer is None or producer.name not in ALLOCATED:
                    raise UnsupportedError(
                        f"{where(op)}: '{callee_of(op)}' writes '{self._param(op, number)}', which is no tensor of "
                        "alloc_tensor; copy it into one with memory.copy and give that"
                    )
        yield from values
        if len(op.operands) > 1:
            for dim in _entries(op):
                yield prim_value(dim).ssa

    def _param(self, op: ir.Operation, number: int) -> str:
        return list(_params(self.functions[callee_of(op)]))[number].name


def _stores(name: str, functions: Mapping[str, func.FuncOp]) -> list[int]:
    if PRIM_FUNC not in functions[name].attributes or not _is_on_memrefs(functions[name]):
        return []
    return sorted(stores(name, dict(functions), {}))


def _is_on_memrefs(prim: func.FuncOp) -> bool:
    return not prim.type.results and not any(isinstance(t, ir.RankedTensorType) for t in prim.type.inputs)


def _inputs(op: ir.Operation) -> int:
    """Return the number of input arguments of a call on explicit memory."""
    return ir.TupleType(op.operands[0].type).num_types - ir.IntegerAttr(op.attributes["outputs"]).value


def _entries(op: ir.Operation) -> list[Dim]:
    info = struct_info(op.operands[1].type)
    known = [] if not isinstance(info, Shape) else [v for v in info.values or () if v is not None]
    if not isinstance(info, Shape) or info.values is None or len(known) != len(info.values):
        raise UnsupportedError(
            f"{where(op)}: '{callee_of(op)}' writes its arguments, and takes integers that are no formulas any more; "
            "build the module from the form before vm-shape-lower"
        )
    return known


def _params(prim: func.FuncOp) -> Iterator[PrimParam]:
    """Yield a prim func's declared parameters; without a declaration, dynamic dimensions get new symbols."""
    declared = prim_params(prim)
    if declared is not None:
        yield from declared
        return
    for number, type_ in enumerate(prim.type.inputs):
        name = f"argument_{number}"
        if not isinstance(type_, ir.MemRefType):
            yield PrimParam(name, None, None)
            continue
        dims = [
            symbolic.symbol(f"{name}_{axis}") if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
            for axis in range(type_.rank)
        ]
        yield PrimParam(name, tuple(dims), from_element_type(type_.element_type))
