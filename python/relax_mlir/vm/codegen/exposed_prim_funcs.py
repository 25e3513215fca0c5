"""Prim funcs exposed to users, names in the function table, copies of prim funcs, and shape functions as kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.bytecode.exec_builder import ExecBuilder
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, EXPOSES, PARAMS, PRIM_ATTRS, PRIM_FUNC
from relax_mlir.dialects.calls import CallTirInplaceOp
from relax_mlir.dialects.prim_funcs import PrimParam, entry_of, exposes, params_attr, prim_callees
from relax_mlir.dialects.structure import pack
from relax_mlir.dialects.traits import CallsPacked, HasDestination, has_trait
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, entry_block, fresh_name, ops_of, symbol_names
from relax_mlir.lowering.legalize.expose_prim_funcs import GLOBAL_SYMBOL, ExposePrimFuncs
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import update_type
from relax_mlir.transform import PassContext, relax_functions

# Prim funcs exposed to users: a VM function for each, which calls the native entry point.


@dataclass(frozen=True)
class Entry:
    """A prim func that users may call.

    Attributes:
        name: the name under which it is called.
        prim: the prim func in the module.
        params: its declared parameters.
    """

    name: str
    prim: str
    params: tuple[PrimParam, ...]

    @property
    def packed(self) -> str:
        """The packed function that the VM function calls: the native entry point, which checks the arguments."""
        return self.name + EXPOSED_SUFFIX

    def write(self, builder: ExecBuilder) -> None:
        """Emit the VM function."""
        names = [param.name for param in self.params]
        with builder.function(self.name, len(names), names, allow_unused=True):
            registers = [builder.r(number) for number in range(len(names))]
            result = builder.r(len(names))
            builder.emit_call(self.packed, args=registers, dst=result)
            builder.emit_ret(result)


def expose(module: ir.Module) -> list[Entry]:
    """Expose the prim funcs that users may call; see `take_entries`."""
    with module.context:
        ExposePrimFuncs().run(module, PassContext.current())
    return take_entries(module)


def take_entries(module: ir.Module) -> list[Entry]:
    """Remove the entries that `expose-prim-funcs` has added to a module, and return them.

    Raises `UnsupportedError` if the packed function of an entry has the name of another function.
    """
    names = {function.name.value for function in relax_functions(module)}
    entries = []
    for function in relax_functions(module):
        if EXPOSES not in function.attributes:
            continue
        prim = ir.FlatSymbolRefAttr(ir.DictAttr(function.attributes[EXPOSES])["callee"]).value
        entry = Entry(function.name.value, prim, tuple(_params(function)))
        if entry.packed in names:
            raise UnsupportedError(
                f"{location_text(function.location)}: prim func '{entry.name}' needs the name '{entry.packed}' in "
                "bytecode, which a function of the module has: rename that function"
            )
        entries.append(entry)
        function.operation.erase()
    return entries


def _params(entry: func.FuncOp) -> Iterator[PrimParam]:
    """Yield the parameters of an entry from its signature; a prim func that others call has lost its own list."""
    for name, argument in zip(parameter_names(entry), entry.arguments, strict=True):
        info = struct_info(argument.type)
        if isinstance(info, Tensor):
            assert info.known_shape is not None and info.dtype is not None
            yield PrimParam(name, info.known_shape, info.dtype)
        else:
            yield PrimParam(name, None, None)


def name_entry(prim: ir.Operation, entry: Entry) -> None:
    """Mark a prim func among the kernels, so that `expose-prim-funcs` gives it an entry when they are compiled."""
    prim.attributes[PARAMS] = params_attr(entry.params)
    given = prim.attributes[PRIM_ATTRS] if PRIM_ATTRS in prim.attributes else ir.DictAttr.get({})
    kept = {named.name: named.attr for named in ir.DictAttr(given)}
    prim.attributes[PRIM_ATTRS] = ir.DictAttr.get({**kept, GLOBAL_SYMBOL: ir.StringAttr.get(entry.name)})


# Calls of packed functions in a module, and the names used in its function table.


def packed_names(module: ir.Module, entries: Iterable[Entry]) -> set[str]:
    """Return the names of Relax functions, of their packed callees, and of prim funcs that users may call."""
    functions = relax_functions(module)
    calls = [
        op
        for function in functions
        for op in ops_of(function.operation)
        if has_trait(op, CallsPacked, HasDestination) and "func" in op.attributes
    ]
    found = {ir.StringAttr(op.attributes["func"]).value for op in calls}
    found |= {function.name.value for function in functions}
    return found | {name for entry in entries for name in (entry.name, entry.packed)}


def packed_attributes(name: str, operands: int) -> dict[str, ir.Attribute]:
    """Return the attributes of a call of the packed function `name` whose arguments are all values."""
    return {
        "func": ir.StringAttr.get(name),
        "arg_spec": ir.ArrayAttr.get([ir.UnitAttr.get()] * operands),
    }


# Copy prim funcs of a module to its kernels.


def with_callees(functions: Mapping[str, func.FuncOp], prims: Iterable[str]) -> list[str]:
    """Return the names of prim funcs and of their transitive callees."""
    found = dict.fromkeys(prims)
    todo = list(found)
    while todo:
        inner = prim_callees(functions[todo.pop()])
        todo += [name for name in inner if name not in found]
        found |= dict.fromkeys(inner)
    return list(found)


def add_prim_copies(
    functions: Mapping[str, func.FuncOp], prims: Iterable[str], kernels: ir.Module, taken: set[str]
) -> dict[str, ir.Operation]:
    """Copy prim funcs and their callees to the kernels, under names that are not in `taken`.

    Return the copies by prim func name, and add their new names to `taken`.
    """
    names: dict[str, str] = {}
    for name in with_callees(functions, prims):
        new = name
        while new in taken:
            new += EXPOSED_SUFFIX  # errors omit the suffix
        taken.add(new)
        names[name] = new
    copies = {}
    for name, new in names.items():
        with ir.InsertionPoint(kernels.body):
            copy = functions[name].operation.clone()
        copy.attributes["sym_name"] = ir.StringAttr.get(new)
        for call in ops_of(copy, "func.call"):
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee_of(call)])
        entry = entry_of(functions[name])
        if entry is not None:
            copy.attributes[EXPOSES] = exposes(names[entry.callee], entry.written)
        copies[name] = copy
    return copies


# Shape functions as kernels: they update the slots of a heap, an int64 tensor, in place.


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
