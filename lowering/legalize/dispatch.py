"""A prim func that selects among implementations at run time, by conditions on sizes.

It works on memrefs, because it calls prim funcs in either form. Those on tensors are called through an entry on memrefs
(`prim_entries`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.calls import destinations
from relax_mlir.dialects.prim_entries import SUFFIX, make_entry, on_memory
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Tensor, dims_from_attr, struct_info
from relax_mlir.ir_queries import callee_of, defining_op, fresh_name, symbol_names
from relax_mlir.lowering.legalize.rules import Arg, call_prim
from relax_mlir.mlir import arith, func, ir, memref, scf
from relax_mlir.module_functions import functions_of
from relax_mlir.symbolic import Condition, Dim
from relax_mlir.symbolic.condition import Relation

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
        self.sizes += [
            dim for dim in dict.fromkeys(dims) if not isinstance(dim, int) and dim not in self.sizes
        ]

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
