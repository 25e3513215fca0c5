"""Pass `outline-branches`: outline conditionals among implementations as prim funcs with branches (level R1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.dialects.attributes import BY_SIZE, PRIM_FUNC
from relax_mlir.dialects.calls import destinations
from relax_mlir.dialects.prim_funcs import SUFFIX, make_entry, on_memory
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Tensor, dims_from_attr, struct_info
from relax_mlir.ir_module import functions_of
from relax_mlir.ir_queries import callee_of, defining_op, fresh_name, ops_of, symbol_names
from relax_mlir.lowering.legalize.rules import Arg, call_prim
from relax_mlir.mlir import arith, func, ir, memref, scf
from relax_mlir.symbolic import Condition, Dim
from relax_mlir.symbolic.proofs import Relation
from relax_mlir.transform import ModulePass, PassContext, relax_functions

# A prim func that selects among implementations at run time, by conditions on sizes.
#
# It works on memrefs, because it calls prim funcs in either form. Those on tensors are called through an
# entry on memrefs (`prim_entries`).


RELATIONS: dict[Relation, str] = {"<=": "sle", "==": "eq", "!=": "ne"}
"""The predicates of `arith.cmpi` for conditions."""


def dispatch(
    module: ir.Module, name: str, inputs: Sequence[Arg], results: Sequence[Tensor], ways: Sequence[Way]
) -> list[Arg] | None:
    """Call a prim func that runs the first of `ways` whose conditions hold, at the insertion point.

    The last one is unconditional. None: one of them has other ops than calls of prim funcs, or returns an operand
    unchanged.
    """
    dispatcher = _Dispatcher(module, inputs, results)
    plans: list[tuple[Way, _Plan]] = []
    for way in ways:
        plan = dispatcher.plan(way)
        if plan is None:
            return None
        plans.append((way, plan))
    symbol = dispatcher.emit(fresh_name(name, symbol_names(module.body)), plans)
    return call_prim(symbol, inputs, results, dispatcher.sizes)


@dataclass(frozen=True)
class Way:
    """One of the implementations: its conditions, and the block that calls it."""

    conditions: tuple[Condition, ...]
    block: ir.Block


@dataclass(frozen=True)
class _Step:
    """A call of a prim func: the value numbers of its operands and results, and the sizes that it is passed."""

    callee: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    infos: tuple[Tensor, ...]
    sizes: tuple[Dim, ...]


@dataclass(frozen=True)
class _Plan:
    """The calls of an implementation, in order; values are numbered, the operands of the op first."""

    steps: tuple[_Step, ...]
    outputs: tuple[int, ...]


@dataclass
class _Dispatcher:
    module: ir.Module
    inputs: Sequence[Arg]
    results: Sequence[Tensor]
    sizes: list[Dim] = field(default_factory=list)
    """The sizes passed to the prim func: those in conditions, of buffers, and of its callees."""

    def plan(self, way: Way) -> _Plan | None:
        """The calls of one implementation; None if it has other ops."""
        numbers: dict[ir.Value, int] = {arg.ssa: i for i, arg in enumerate(self.inputs)}
        fields: dict[ir.Value, tuple[int, ...]] = {}
        count = len(numbers)
        steps: list[_Step] = []
        *ops, last = [view.operation for view in way.block.operations]
        for op in ops:
            if op.name in ("relax.tuple_get_item", "relax.call_tir") and op.operands[0] not in fields:
                outside = defining_op(op.operands[0])  # CSE merges equal tuples, before the branch
                if outside is None or outside.name != TUPLE or not numbers.keys() >= set(outside.operands):
                    return None
                fields[op.operands[0]] = tuple(numbers[v] for v in outside.operands)
            if op.name == TUPLE:
                if not numbers.keys() >= set(op.operands):
                    return None
                fields[op.results[0]] = tuple(numbers[v] for v in op.operands)
            elif op.name == "relax.tuple_get_item":
                numbers[op.results[0]] = fields[op.operands[0]][ir.IntegerAttr(op.attributes["index"]).value]
            elif op.name == "relax.call_tir":
                info = struct_info(op.results[0].type)
                tensors = tuple(each for each in destinations(info) if isinstance(each, Tensor))
                made = tuple(range(count, count + len(tensors)))
                count += len(tensors)
                if isinstance(info, Tensor):
                    numbers[op.results[0]] = made[0]
                fields[op.results[0]] = made
                sizes = tuple(dim for dim in dims_from_attr(op.attributes["tir_vars"]) if dim is not None)
                steps.append(_Step(callee_of(op), fields[op.operands[0]], made, tensors, sizes))
            else:
                return None
        if not all(value in numbers for value in last.operands):
            return None
        outputs = tuple(numbers[value] for value in last.operands)
        made_by_steps = {number for step in steps for number in step.results}
        if len(set(outputs)) != len(outputs) or not made_by_steps.issuperset(outputs):
            return None
        return _Plan(tuple(steps), outputs)

    def emit(self, name: str, plans: Sequence[tuple[Way, _Plan]]) -> str:
        """Define the prim func, and return its name."""
        for way, plan in plans:
            for condition in way.conditions:
                self._need(condition.left, condition.right)
            for step in plan.steps:
                self._need(*step.sizes)
                for number, info in zip(step.results, step.infos, strict=True):
                    if number not in plan.outputs:
                        self._need(*(info.known_shape or ()))
        index = ir.IndexType.get()
        buffers = [_memref(arg.info) for arg in self.inputs]
        outs = [_memref(info) for info in self.results]
        types = [*buffers, *outs, *[index] * len(self.sizes)]
        with ir.InsertionPoint(self.module.body):
            function = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private")
        function.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            self._ways(block, plans)
            func.ReturnOp([])
        return name

    def _need(self, *dims: Dim) -> None:
        self.sizes += [dim for dim in dict.fromkeys(dims) if not isinstance(dim, int) and dim not in self.sizes]

    def _ways(self, block: ir.Block, plans: Sequence[tuple[Way, _Plan]]) -> None:
        (way, plan), *others = plans
        if not others:
            self._run(block, plan)
            return
        clauses = [self._holds(block, clause) for clause in way.conditions]
        flag = clauses[0]
        for clause in clauses[1:]:
            flag = arith.andi(flag, clause)
        branch = scf.IfOp(flag, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self._run(block, plan)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self._ways(block, others)
            scf.YieldOp([])

    def _holds(self, block: ir.Block, clause: Condition) -> ir.Value:
        left, right = (self._size(block, dim) for dim in (clause.left, clause.right))
        return arith.cmpi(getattr(arith.CmpIPredicate, RELATIONS[clause.relation]), left, right)

    def _size(self, block: ir.Block, dim: Dim) -> ir.Value:
        if isinstance(dim, int):
            return arith.constant(ir.IndexType.get(), dim)
        first = len(self.inputs) + len(self.results)
        return block.arguments[first + self.sizes.index(dim)]

    def _run(self, block: ir.Block, plan: _Plan) -> None:
        """Emit the calls of an implementation."""
        inputs = len(self.inputs)
        values: dict[int, ir.Value] = dict(enumerate(block.arguments[:inputs]))
        outs = list(block.arguments)[inputs : inputs + len(self.results)]
        values |= dict(zip(plan.outputs, outs, strict=True))
        functions = {op.name.value: op for op in functions_of(self.module)}
        for step in plan.steps:
            for number, info in zip(step.results, step.infos, strict=True):
                if number not in values:
                    shape = info.known_shape or ()
                    dynamic = [self._size(block, dim) for dim in shape if not isinstance(dim, int)]
                    values[number] = memref.alloc(_memref(info), dynamic, [])
            callee = functions[step.callee]
            given = [values[number] for number in (*step.operands, *step.results)]
            given += [self._size(block, dim) for dim in step.sizes]
            name = step.callee if not callee.type.results else self._entry(callee, len(step.results))
            wanted = [on_memory(type_) for type_ in callee.type.inputs]
            arguments = [v if v.type == t else memref.cast(t, v) for v, t in zip(given, wanted, strict=True)]
            func.CallOp([], name, arguments)

    def _entry(self, callee: func.FuncOp, outputs: int) -> str:
        """Define the entry on memrefs of a prim func on tensors, and return its name."""
        name = callee.name.value + SUFFIX
        if name not in symbol_names(self.module.body):
            tensors = [i for i, t in enumerate(callee.type.inputs) if isinstance(t, ir.RankedTensorType)]
            make_entry(self.module.body, name, callee, tensors[len(tensors) - outputs :])
        return name


def _memref(info: Tensor) -> ir.Type:
    return on_memory(info.storage_type())


PREDICATES = {getattr(arith.CmpIPredicate, name): relation for relation, name in RELATIONS.items()}


@dataclass(frozen=True)
class OutlineBranches(ModulePass):
    """Outline the conditionals by which `legalize-ops` selects an implementation by size, as calls of prim funcs.

    The prim func has the branches, and their calls. Conditionals with other ops than calls of prim funcs, such as
    reshapes, stay in the Relax function. The pass runs after `fuse-ops`, which fuses the calls in the branches with
    those around them.
    """

    name: ClassVar[str] = "outline-branches"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in relax_functions(module):
            for op in _outermost(function.operation):
                _outline(module, op)


def _outermost(root: ir.Operation) -> list[ir.Operation]:
    """The conditionals among implementations that are not the else branch of another one."""
    found = [op for op in ops_of(root, "scf.if") if BY_SIZE in op.attributes]
    inner = {other for op in found if (other := _next(op)) is not None}
    return [op for op in found if op not in inner]


def _next(op: ir.Operation) -> ir.Operation | None:
    """The conditional that is the whole else branch of another one; None if there is none."""
    block = op.regions[1].blocks[0]
    *ops, last = [view.operation for view in block.operations]
    others = [each for each in ops if not _is_of_condition(each)]
    if len(others) != 1 or others[0].name != "scf.if" or BY_SIZE not in others[0].attributes:
        return None
    return others[0] if list(last.operands) == list(others[0].results) else None


def _is_of_condition(op: ir.Operation) -> bool:
    """True if an op is part of the computation of a condition on sizes."""
    return op.name == "relax.prim_value" or all(
        isinstance(result.type, ir.IntegerType) and result.type.width == 1 for result in op.results
    )


def _outline(module: ir.Module, op: ir.Operation) -> None:
    infos = [struct_info(result.type) for result in op.results]
    results = [info for info in infos if isinstance(info, Tensor) and info.known_shape is not None]
    ways = list(_ways(op))
    if len(results) != len(infos) or any(way is None for way in ways):
        return
    inputs = [Arg(value, info) for value, info in _inputs(op) if isinstance(info, Tensor)]
    if len(inputs) != len(list(_inputs(op))):
        return
    name = f"{ir.StringAttr(op.attributes[BY_SIZE]).value}_by_size"
    with ir.InsertionPoint(op), op.location:
        found = dispatch(module, name, inputs, results, [way for way in ways if way is not None])
    if found is None:
        return
    for result, arg in zip(op.results, found, strict=True):
        result.replace_all_uses_with(arg.ssa)
    op.erase()


def _ways(op: ir.Operation) -> Iterator[Way | None]:
    """The branches of a chain of conditionals; None for a condition that is not on sizes."""
    conditions = _conditions(op.operands[0])
    yield None if conditions is None else Way(conditions, op.regions[0].blocks[0])
    other = _next(op)
    if other is None:
        yield Way((), op.regions[1].blocks[0])
    else:
        yield from _ways(other)


def _conditions(flag: ir.Value) -> tuple[Condition, ...] | None:
    op = defining_op(flag)
    if op is not None and op.name == "arith.andi":
        parts = [_conditions(operand) for operand in op.operands]
        known = [part for part in parts if part is not None]
        return tuple(clause for part in known for clause in part) if len(known) == len(parts) else None
    if op is None or op.name != "arith.cmpi":
        return None
    relation = PREDICATES.get(ir.IntegerAttr(op.attributes["predicate"]).value)
    sides = [_size(operand) for operand in op.operands]
    if relation is None or sides[0] is None or sides[1] is None:
        return None
    return (Condition(relation, sides[0], sides[1], f"{sides[0]} {relation} {sides[1]}"),)


def _size(value: ir.Value) -> Dim | None:
    op = defining_op(value)
    if op is None or op.name != "relax.prim_value":
        return None
    return dims_from_attr(ir.ArrayAttr.get([op.attributes["value"]]))[0]


def _inputs(op: ir.Operation) -> Iterator[tuple[ir.Value, object]]:
    """The values from outside of a conditional that its calls use, each once."""
    inside = {result for inner in ops_of(op)[1:] for result in inner.results}
    found: dict[ir.Value, None] = {}
    called = (defining_op(call.operands[0]) for call in ops_of(op, "relax.call_tir"))
    for packed in (each for each in called if each is not None and each.name == TUPLE):
        found.update(dict.fromkeys(value for value in packed.operands if value not in inside))
    for value in found:
        yield value, struct_info(value.type)
