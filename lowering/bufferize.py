"""From level T to M: one-shot bufferisation of whole modules, with the passes that prepare it and clean up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import EXPOSES, PRIM_FUNC, SIGNATURE
from relax_mlir.dialects.prim_funcs import exposed_prims
from relax_mlir.dialects.traits import IsLoop, has_trait
from relax_mlir.error import UnsupportedError, VerifyError
from relax_mlir.ir_module import functions_of
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, is_a, is_used, next_op, ops_of
from relax_mlir.lowering.base.signature import signature_of
from relax_mlir.lowering.memory.plan_memory import PlanMemory
from relax_mlir.lowering.shapes.body import memory_of
from relax_mlir.mlir import bufferization, func, ir, linalg, scf, tensor
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, Pass, PassContext
from relax_mlir.transform.pipeline import known_passes

# `protect-inputs`: bufferisation does not write into read-only arguments of callers.


WRITABLE = "bufferization.writable"


class ProtectInputs(ModulePass):
    """Mark tensor arguments as not writable, except destinations of results and donated tensors.

    This includes exposed prim funcs: their callers, which pass buffers, rely on the declared written arguments.
    """

    name: ClassVar[str] = "protect-inputs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        for function in table.values():
            if SIGNATURE not in function.attributes or is_declaration(function):
                continue
            signature = signature_of(function.operation)
            results = [leaf for result in signature.results for leaf in result.leaves()]
            tensors = sum(not leaf.returned for leaf in results)
            hidden = int(signature.recursive)
            inputs = len(function.type.inputs) - tensors - hidden
            _protect(function, set(range(inputs)) - set(signature.written))
        for name, written in exposed_prims(table.values()).items():
            if name in table and not is_declaration(table[name]):
                _protect(table[name], set(range(len(table[name].type.inputs))) - set(written))


def _protect(function: func.FuncOp, read: Collection[int]) -> None:
    function.arg_attrs = [
        ir.DictAttr.get({**{named.name: named.attr for named in old}, WRITABLE: ir.BoolAttr.get(False)})
        if number in read and isinstance(type_, ir.RankedTensorType)
        else old
        for number, (old, type_) in enumerate(zip(function.arg_attrs, function.type.inputs, strict=True))
    ]


# Pass ``materialize-results``: the results of prim funcs on tensors are written to their destinations.


ELSEWHERE = ("bufferization.alloc_tensor", "func.call", "tensor.empty")
"""Ops whose results have, or may have, separate memory."""
TARGETS = {"tensor.cast": 0, "tensor.insert": 1, "tensor.insert_slice": 1}
"""Ops whose result uses the memory of an operand, and the index of the operand."""


class MaterializeResults(ModulePass):
    """Copy a result of a prim func that is not computed in its destination (one of the last parameters) into it.

    Such results are new tensors, or results of calls. In exposed prim funcs they are also other parameters, because
    callers with buffers read only the destination.
    """

    name: ClassVar[str] = "materialize-results"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        table = functions(module)
        exposed = exposed_prims(table.values())
        for name, function in table.items():
            if PRIM_FUNC in function.attributes and not is_declaration(function):
                _materialize(function, name in exposed)


def _materialize(function: func.FuncOp, is_exposed: bool) -> None:
    end = entry_block(function).operations[-1].operation
    tensors = [a for a in function.arguments if isinstance(a.type, ir.RankedTensorType)]
    results = list(end.operands)
    destinations = tensors[len(tensors) - len(results) :]
    if [value.type for value in results] != [value.type for value in destinations]:
        return
    roots = [_root(value) for value in results]
    with ir.InsertionPoint(end), end.location:
        for number, root in enumerate(roots):
            if is_exposed and root in destinations and root != destinations[number]:
                # This result is in another one's destination, which must be read before it is overwritten.
                results[number] = bufferization.alloc_tensor(root.type, [], copy=results[number])
        for number, (value, root, destination) in enumerate(zip(results, roots, destinations, strict=True)):
            made = defining_op(root)
            is_elsewhere = made is not None and made.name in ELSEWHERE
            if is_elsewhere or (is_exposed and root != destination):
                end.operands[number] = bufferization.materialize_in_destination(destination.type, value, destination)


def _root(value: ir.Value) -> ir.Value:
    """The tensor whose memory a result would use, traced through destination operands."""
    while isinstance(value, ir.OpResult):
        source = _source(value, value.owner.operation)
        if source is None:
            break
        value = source
    return value


def _source(value: ir.OpResult, op: ir.Operation) -> ir.Value | None:
    if op.name in TARGETS:
        return op.operands[TARGETS[op.name]]
    if op.name == "scf.for":
        body = op.regions[0].blocks[0]
        carried = body.arguments[value.result_number + 1]
        same = _root(body.operations[len(body.operations) - 1].operation.operands[value.result_number]) == carried
        return op.operands[value.result_number + 3] if same else None
    if op.name.startswith("linalg."):
        return op.operands[len(op.operands) - len(op.results) + value.result_number]
    return None


# Pass ``place-results``: the results of a function are computed in their destinations.


MATERIALIZE = "bufferization.materialize_in_destination"
TENSOR_VIEWS = ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape")
"""Ops that view the elements of a tensor, in their order, as a tensor of another type."""


class PlaceResults(ModulePass):
    """Pass the destination of a result to the call that computes it, instead of an uninitialised tensor or buffer.

    A destination that is also read is a donated parameter: a prim func on buffers that reads it must not also write it.
    A result may be a reshape of the call's result; the destination is then passed in the shape that the call writes.

    Upstream's ``eliminate-empty-tensors`` also follows the inputs of calls, so two calls may write into one
    destination, which one-shot bufferisation then refuses. Calls in destination-passing style have one uninitialised
    operand per result, in the same order.
    """

    name: ClassVar[str] = "place-results"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        _drop_stray(module)
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == MATERIALIZE and is_parameter(op.operands[1]):
                found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        uninitialised: dict[ir.Value, list[int]] = {}
        for op in found:
            if not _is_read(op.operands[1]):
                _place(op.operands[0], op.operands[1], uninitialised)


def _drop_stray(module: ir.Module) -> None:
    """Drop materialisations whose target is not a destination, as inlined loops of one iteration leave them.

    A tensor materialised in a destination leaves the destination's block through its terminator (return or yield).
    """
    for op in list(ops_of(module.operation, MATERIALIZE)):
        if not op.results:
            continue  # into a buffer, without a result
        source, destination = op.operands
        block = destination.owner
        leaves = isinstance(block, ir.Block) and all(
            use.owner.operation.block == block and next_op(use.owner.operation) is None for use in op.results[0].uses
        )
        if not leaves:
            op.results[0].replace_all_uses_with(source)
            op.erase()


def is_parameter(value: ir.Value) -> bool:
    """True if `value` is a function argument; loop-carried values are read where they are written."""
    return isinstance(value, ir.BlockArgument) and value.owner.owner.operation.name == "func.func"


def _is_read(destination: ir.Value) -> bool:
    """True if an op needs the elements that a destination has at entry."""
    names = [use.owner.operation.name for use in destination.uses]
    return len([name for name in names if name != "tensor.dim"]) > 1


def _place(value: ir.Value, destination: ir.Value, uninitialised: dict[ir.Value, list[int]]) -> None:
    """Place one result; `uninitialised` maps the first result of a call to its uninitialised operands' indices."""
    views: list[ir.Operation] = []
    defining = defining_op(value)
    while defining is not None and defining.name in TENSOR_VIEWS and defining.block == destination.owner:
        views.append(defining)
        value = defining.operands[0]
        defining = defining_op(value)
    if defining is None or defining.block != destination.owner:
        return
    if defining.name == "func.call":
        _place_call(defining, value, views, destination, uninitialised)
    elif defining.name == "bufferization.to_tensor":
        _place_buffer(defining, views, destination)


def _place_call(
    call: ir.Operation,
    value: ir.Value,
    views: Sequence[ir.Operation],
    destination: ir.Value,
    uninitialised: dict[ir.Value, list[int]],
) -> None:
    """Pass the destination to a call of a prim func on tensors, viewed with the type of the call's result."""
    if call.results[0] not in uninitialised:
        numbers = [number for number, operand in enumerate(call.operands) if is_a(defining_op(operand), tensor.EmptyOp)]
        uninitialised[call.results[0]] = numbers
    empties, index = uninitialised[call.results[0]], ir.OpResult(value).result_number
    if len(empties) != len(call.results) or not is_a(defining_op(call.operands[empties[index]]), tensor.EmptyOp):
        return
    shapes = [view for view in views if view.name != "tensor.cast"]
    sizes = list(call.operands[empties[index]].owner.operands)
    with ir.InsertionPoint(call), call.location:
        if shapes and any(len(list(v.uses)) > 1 for v in (value, *(view.results[0] for view in views))):
            return
        seen = _seen_back(destination, views, value.type, sizes)
        if shapes and seen is not None:
            seen = _apart(seen)
    if seen is not None:
        call.operands[empties[index]] = seen


def _apart(tensor_: ir.Value) -> ir.Value:
    """Rebuild a tensor from its buffer, so that upstream does not track its memory.

    This is safe, because no other op reads what is written there. Upstream would copy a `tensor.collapse_shape`.
    """
    type_ = ir.RankedTensorType(tensor_.type)
    buffer = bufferization.to_buffer(ir.MemRefType.get(type_.shape, type_.element_type), tensor_)
    return bufferization.to_tensor(tensor_.type, buffer, restrict=True, writable=True)


def _place_buffer(made: ir.Operation, views: Sequence[ir.Operation], destination: ir.Value) -> None:
    """Pass the destination to a prim func on buffers, instead of a buffer that is allocated only for it.

    The result becomes read-only for its other users: upstream treats it as a separate buffer.
    """
    allocation = defining_op(made.operands[0])
    if allocation is None or allocation.name != "memref.alloc" or allocation.block != destination.owner:
        return
    buffer = allocation.results[0]
    users = [use.owner.operation for use in buffer.uses]
    if any(user != made and user.name != "func.call" for user in users):
        return
    with ir.InsertionPoint(allocation), allocation.location:
        seen = _seen_back(destination, views, made.results[0].type, list(allocation.operands))
        if seen is None:
            return
        taken = bufferization.to_buffer(buffer.type, seen)
    buffer.replace_all_uses_with(taken)
    if "writable" in made.attributes:
        del made.attributes["writable"]
    allocation.erase()


def _seen_back(
    destination: ir.Value, views: Sequence[ir.Operation], type_: ir.Type, sizes: Sequence[ir.Value]
) -> ir.Value | None:
    """The destination as the operand type of the innermost view; `views` lists the outermost view first.

    `sizes` are the dynamic sizes of that type. None if it would have to be expanded to sizes that are not known here.
    """
    seen = destination
    for number, view in enumerate(views):
        wanted, groups = view.operands[0].type, view.attributes.get("reassociation")
        result = view.results[0].type
        seen = seen if seen.type == result else tensor.cast(result, seen)
        if view.name == "tensor.cast":
            seen = tensor.cast(wanted, seen)
        elif view.name == "tensor.expand_shape":
            seen = tensor.collapse_shape(wanted, seen, groups)
        elif number + 1 == len(views):
            seen = tensor.expand_shape(wanted, seen, groups, list(sizes), list(ir.RankedTensorType(wanted).shape))
        else:
            return None
    return seen if seen.type == type_ else tensor.cast(type_, seen)


# Pass `protect-carried`: no loop iteration overwrites a yielded tensor before it is read.


class ProtectCarried(ModulePass):
    """Copy tensors that an iteration yields but does not compute, before the iteration writes anything.

    At its end an iteration writes the tensors that it yields into its iteration arguments. A yielded tensor may be one
    of these arguments, the result of an inner loop or branch (which may be one of them), or be yielded twice. One-shot
    bufferisation would then overwrite it before it is read, or refuse the loop. Calls may just return an argument:
    canonicalisation creates such functions, for example from ``maximum(x, x)``.
    """

    name: ClassVar[str] = "protect-carried"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        table = functions(module)
        first: dict[ir.Block, ir.Operation] = {}
        carried: dict[ir.Block, set[ir.Value]] = defaultdict(set)
        for op in ops_of(module.operation, MATERIALIZE):
            if not op.results or is_parameter(op.operands[1]):
                continue
            source, block = op.operands[0], op.block
            write = first.setdefault(block, op)
            base = _tensor_origin(source, table)
            if _was_there(base) or base in carried[block]:
                with ir.InsertionPoint(write), op.location:
                    op.operands[0] = bufferization.alloc_tensor(source.type, [], copy=source)
            carried[block].add(base)


def _tensor_origin(value: ir.Value, table: Mapping[str, ir.OpView]) -> ir.Value:
    """The tensor that `value` is, traced through views and calls that return an argument."""
    base = memory_of(value)
    while not isinstance(base, ir.BlockArgument) and base.owner.operation.name == "func.call":
        call = base.owner.operation
        number = _given(table[callee_of(call)], ir.OpResult(base).result_number)
        if number is None:
            return base
        base = memory_of(call.operands[number])
    return base


def _was_there(base: ir.Value) -> bool:
    """True if a tensor is a block argument or the result of a loop or branch."""
    return isinstance(base, ir.BlockArgument) or base.owner.operation.name.startswith("scf.")


def _given(function: ir.OpView, result: int) -> int | None:
    """The index of the argument that a function returns as this result; None if it computes the result."""
    if is_declaration(function):
        return None
    block = entry_block(function)
    base = memory_of(block.operations[len(block.operations) - 1].operands[result])
    return base.arg_number if isinstance(base, ir.BlockArgument) else None


# Pass `separate-empties`: give each call its own `tensor.empty`, so that its result gets its own buffer.


class SeparateEmpties(ModulePass):
    """Give each call that fills an uninitialised tensor a `tensor.empty` op for it alone.

    CSE merges `tensor.empty` ops of equal size, and bufferisation then reuses their buffer. `plan-memory`, which shares
    memory by live ranges, would see one buffer that is live from the first to the last call. A call in a loop keeps a
    tensor that is created outside of the loop.
    """

    name: ClassVar[str] = "separate-empties"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for empty in ops_of(module.operation, "tensor.empty"):
            uses = [(use.owner.operation, use.operand_number) for use in empty.results[0].uses]
            if len(uses) < 2:
                continue
            for user, number in uses:
                if user.name == "func.call" and not _in_loop(user, empty.block):
                    with ir.InsertionPoint(user), user.location:
                        types = [empty.results[0].type]
                        own = ir.Operation.create(empty.name, results=types, operands=list(empty.operands))
                        user.operands[number] = own.results[0]
            if not is_used(empty.results[0]):
                empty.erase()


def _in_loop(op: ir.Operation, outer: ir.Block) -> bool:
    """True if there is a loop between an operation and a block around it."""
    while op.block != outer:
        op = op.parent.operation
        if has_trait(op, IsLoop):
            return True
    return False


# Pass ``drop-destination-results``: functions on memrefs do not return buffers that are their arguments.


BUFFER_VIEWS = ("memref.cast", "memref.collapse_shape", "memref.expand_shape")
"""Ops that view all elements of a buffer in their order."""


class DropDestinationResults(ModulePass):
    """Drop memref results that are arguments, in functions and at their calls, and copies of a buffer to itself.

    Results are traced through loop-carried values and reshapes. An exposed prim func may return an input, as a copy
    does: the elements are then copied into the destination, which its callers read.

    Upstream's ``drop-equivalent-buffer-results`` would drop results of any type that are arguments.
    """

    name: ClassVar[str] = "drop-destination-results"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `UnsupportedError` for a function that returns a buffer which is not an argument."""
        exposed = exposed_prims(functions_of(module))
        dropped: dict[str, list[int | None]] = {}
        for function in module.body.operations:
            if isinstance(function, func.FuncOp) and not function.is_external:
                if function.name.value in exposed:
                    _fill_destinations(function)
                dropped[function.name.value] = _drop_results(function)
        for op in ops_of(module.operation, "func.call", "memref.copy"):
            if op.name == "func.call":
                _drop_call_results(op, dropped)
            elif _whole(op.operands[0]) == _whole(op.operands[1]):
                op.erase()


def _whole(value: ir.Value) -> ir.Value:
    """The buffer whose elements a view shows, all of them in their order."""
    while (defining := defining_op(value)) is not None and defining.name in BUFFER_VIEWS:
        value = defining.operands[0]
    return value


def _fill_destinations(function: func.FuncOp) -> None:
    """Copy a result of a prim func into its destination if it is another parameter."""
    terminator = entry_block(function).operations[-1].operation
    buffers = [a for a in function.arguments if isinstance(a.type, ir.MemRefType)]
    results = list(terminator.operands)
    if len(results) > len(buffers) or not all(isinstance(v.type, ir.MemRefType) for v in results):
        return
    destinations = buffers[len(buffers) - len(results) :]
    for number, (value, destination) in enumerate(zip(map(_buffer_origin, results), destinations, strict=True)):
        if value == destination or not isinstance(value, ir.BlockArgument) or value.type != destination.type:
            continue
        if value in destinations:
            raise UnsupportedError(
                f"{location_text(function.location)}: function '{function.name.value}': result {number} is in the "
                "destination of another one, but each is computed in its own"
            )
        with terminator.location, ir.InsertionPoint(terminator):
            linalg.copy(value, outs=[destination])


def _drop_results(function: func.FuncOp) -> list[int | None]:
    """Drop the results of `function` that are arguments; return the argument's index per result (None: not dropped)."""
    terminator = entry_block(function).operations[-1].operation
    positions: list[int | None] = []
    for index, value in enumerate(map(_buffer_origin, terminator.operands)):
        if not isinstance(value.type, ir.MemRefType):
            positions.append(None)
        elif isinstance(value, ir.BlockArgument) and value.owner == entry_block(function):
            positions.append(value.arg_number)
        else:
            raise UnsupportedError(
                f"{location_text(function.location)}: function '{function.name.value}': result {index} is a buffer "
                "of its own; results must be written into the destinations that the caller gives"
            )
    if all(position is None for position in positions):
        return positions
    kept = [v for v, position in zip(terminator.operands, positions, strict=True) if position is None]
    with terminator.location, ir.InsertionPoint(terminator):
        func.ReturnOp(kept)
    terminator.erase()
    inputs = list(function.type.inputs)
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [v.type for v in kept]))
    return positions


def _buffer_origin(value: ir.Value) -> ir.Value:
    """The buffer of `value`, traced through loop-carried values that no iteration changes and inverse reshapes."""
    while isinstance(value, ir.OpResult):
        source = _carried(value) if value.owner.name == "scf.for" else _seen(value)
        if source is None:
            break
        value = source
    return value


def _carried(result: ir.OpResult) -> ir.Value | None:
    loop: scf.ForOp = result.owner.operation.opview
    number = result.result_number
    same = loop.body.operations[-1].operation.operands[number] == loop.inner_iter_args[number]
    return loop.initArgs[number] if same else None


def _seen(result: ir.OpResult) -> ir.Value | None:
    if result.owner.name != "memref.collapse_shape":
        return None
    inner = result.owner.operands[0].owner
    if not isinstance(inner, ir.Operation | ir.OpView) or inner.operation.name != "memref.expand_shape":
        return None
    return inner.operation.operands[0] if inner.operation.operands[0].type == result.type else None


def _drop_call_results(call: ir.Operation, dropped: dict[str, list[int | None]]) -> None:
    positions = dropped.get(callee_of(call), [])
    if all(position is None for position in positions):
        return
    name = callee_of(call)
    kept = [r.type for r, position in zip(call.results, positions, strict=True) if position is None]
    with call.location, ir.InsertionPoint(call):
        new = func.CallOp(kept, name, list(call.operands))
    remaining = list(new.results)
    for result, position in zip(call.results, positions, strict=True):
        result.replace_all_uses_with(remaining.pop(0) if position is None else call.operands[position])
    call.erase()


# Pass ``call-exposed-prim-funcs``: the entries of prim funcs call them (level M).


class CallExposedPrimFuncs(ModulePass):
    """Make each function created by `expose-prim-funcs` call its prim func on the buffers that it receives."""

    name: ClassVar[str] = "call-exposed-prim-funcs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `VerifyError` for an attribute of other origin, `UnsupportedError` for types that have no entry."""
        functions = {op.name.value: op for op in functions_of(module)}
        for entry in functions.values():
            if EXPOSES in entry.attributes:
                _call(entry, _callee(entry, functions))
                del entry.attributes[EXPOSES]


def _callee(entry: func.FuncOp, functions: dict[str, func.FuncOp]) -> func.FuncOp:
    attribute = entry.attributes[EXPOSES]
    callee = attribute["callee"] if isinstance(attribute, ir.DictAttr) and "callee" in attribute else None
    prim = functions.get(callee.value) if isinstance(callee, ir.FlatSymbolRefAttr) else None
    if prim is None or PRIM_FUNC not in prim.attributes or entry.type.results or prim.type.results:
        raise VerifyError(
            f"{location_text(entry.location)}: function '{entry.name.value}' has an attribute {EXPOSES} that "
            "expose-prim-funcs has not made: leave it out"
        )
    return prim


def _call(entry: func.FuncOp, prim: func.FuncOp) -> None:
    given, wanted = [str(t) for t in entry.type.inputs], [str(t) for t in prim.type.inputs]
    if given != wanted:
        raise UnsupportedError(
            f"{location_text(prim.location)}: prim func '{entry.name.value}' cannot be called from outside: its "
            f"parameters are declared as ({', '.join(given)}), but it takes ({', '.join(wanted)})"
        )
    end = list(entry_block(entry.operation).operations)[-1]
    with entry.location, ir.InsertionPoint(end):
        func.CallOp([], prim.name.value, list(entry.arguments))


# From level T to M: one-shot bufferisation of whole modules, including functions in destination-passing style.


def bufferize() -> list[Pass]:
    """The passes that bufferise a module.

    Results of calls are written to their destinations or to new buffers, functions return no buffers, and memory of
    temporaries is planned.
    """
    return [
        ProtectInputs(),
        MaterializeResults(),
        ProtectCarried(),
        PlaceResults(),
        SeparateEmpties(),
        known_passes(
            "one-shot-bufferize{allow-return-allocs-from-loops=true bufferize-function-boundaries=true "
            "function-boundary-type-conversion=identity-layout-map}"
        ),
        DropDestinationResults(),
        CallExposedPrimFuncs(),
        known_passes("canonicalize,cse"),
        PlanMemory(),
    ]
