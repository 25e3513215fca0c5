"""Shape functions as kernels: they update the slots of a heap, an int64 tensor, in place."""

from __future__ import annotations

from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.inplace import CallTirInplaceOp
from relax_mlir.dialects.structure import pack
from relax_mlir.ir_queries import callee_of, entry_block, fresh_name, ops_of, symbol_names
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import update_type
from relax_mlir.transform import relax_functions

_BODY = ".body"


def move_shape_functions(module: ir.Module, kernels: ir.Module) -> None:
    """Turn the shape functions of a module in the form of ``vm-shape-lower`` into kernels, in the same context."""
    called = {
        callee_of(op)
        for function in relax_functions(module)
        for op in ops_of(function.operation, "relax.call_prim")
    }
    taken = symbol_names(kernels.body)
    with module.context, ir.Location.unknown():
        for op in list(module.body.operations):
            if isinstance(op, func.FuncOp) and PRIM_FUNC in op.attributes and op.name.value in called:
                _rename(op, module, taken)
                _emit(op, kernels)
                taken |= {op.name.value, op.name.value + _BODY}


def _rename(op: func.FuncOp, module: ir.Module, taken: set[str]) -> None:
    """Rename a shape function if a kernel has its name, for example a copy of it made for an entry."""
    name = op.name.value
    fresh = fresh_name(name, taken)
    if fresh != name:
        op.attributes["sym_name"] = ir.StringAttr.get(fresh)
        ir.SymbolTable.replace_all_symbol_uses(name, fresh, module.operation)


def _emit(shape_function: func.FuncOp, kernels: ir.Module) -> None:
    name = shape_function.name.value
    heap = ir.MemRefType(shape_function.type.inputs[0])
    tensor = ir.RankedTensorType.get(heap.shape, heap.element_type)
    with ir.InsertionPoint(kernels.body), shape_function.location:
        body = func.FuncOp(name + _BODY, ir.FunctionType.get([tensor], [tensor]), visibility="private")
        body.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        kernel = func.FuncOp(name, ir.FunctionType.get([tensor], [tensor]))
        _write_body(shape_function, body)
        block = kernel.add_entry_block()
    with ir.InsertionPoint(block), shape_function.location:
        index = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        call = ir.Operation.create(
            CallTirInplaceOp.OPERATION_NAME,
            results=[tensor],
            operands=[pack([block.arguments[0]], shape_function.location)],
            attributes={
                "callee": ir.FlatSymbolRefAttr.get(name + _BODY),
                "inplace_indices": ir.ArrayAttr.get([index]),
                "tir_vars": ir.ArrayAttr.get([]),
            },
        )
        func.ReturnOp([call.results[0]])
    update_type(kernel, ["heap"])


def _write_body(shape_function: func.FuncOp, body: func.FuncOp) -> None:
    """Emit the same computation on tensors: a load becomes an extract, a store an insert into the heap value."""
    old = entry_block(shape_function)
    block = body.add_entry_block()
    values: dict[ir.Value, ir.Value] = {}
    current = block.arguments[0]
    with ir.InsertionPoint(block):
        for view in old.operations:
            op = view.operation
            operands = [current if v == old.arguments[0] else values[v] for v in op.operands]
            if op.name == "memref.load":
                made = ir.Operation.create(
                    "tensor.extract", results=[op.results[0].type], operands=operands, loc=op.location
                )
            elif op.name == "memref.store":
                made = ir.Operation.create(
                    "tensor.insert", results=[current.type], operands=operands, loc=op.location
                )
                current = made.results[0]
                continue
            elif op.name == "func.return":
                func.ReturnOp([current])
                return
            else:
                made = op.clone()
                for index, operand in enumerate(operands):
                    made.operands[index] = operand
            values.update(zip(op.results, made.results, strict=True))
