"""Legalisation of op calls by the implementations that strategies select: rules, kernels, and tensor expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from relax_mlir import symbolic, te
from relax_mlir.builder import BlockBuilder
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import BY_SIZE, KERNEL, KERNEL_ATTRS, PRIM_FUNC
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.location import replacing
from relax_mlir.dialects.prim_funcs import seal
from relax_mlir.dialects.structure import prim_value
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, shape_text
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.expr import Attrs
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.ir_queries import enclosing_function, ops_of, symbol_names
from relax_mlir.lowering.kernels.gemm.gemm import FLOATS
from relax_mlir.lowering.kernels.nest.loop_nest import loops_of
from relax_mlir.lowering.kernels.select_kernels import Request, generator_of
from relax_mlir.lowering.kernels.windows.window_match import lie_apart, terms_of
from relax_mlir.lowering.legalize.outline_branches import RELATIONS
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, Rule, built_in
from relax_mlir.lowering.strategy.op_strategy import (
    DEFAULT_PLEVEL,
    PLAIN,
    KernelRequest,
    OpImplementation,
    OpStrategy,
    Selection,
    SpecializedCondition,
    StrategyDecision,
    current_report,
    registered_for,
    select,
)
from relax_mlir.lowering.strategy.tuned import Template, made_schedules
from relax_mlir.mlir import arith, func, ir, linalg
from relax_mlir.mlir_text import symbol_name
from relax_mlir.passes.fusion.prim_merging import is_contraction
from relax_mlir.symbolic import Condition
from relax_mlir.target import Target
from relax_mlir.te.emit_te import emit_by_size, emit_tensors

# The built-in implementations of an op call: its rule, with the generated kernel if one applies, and without.


KERNEL_PLEVEL = 15
"""The priority of generated kernels."""
LINALG = "linalg"
PRODUCT = "matrix product"
WINDOWS = "windows"


def builtin_strategy(call: OpCall, rule: Rule, target: Target) -> OpStrategy:
    """The implementations of a call that `rule` legalises, from the prim funcs that it builds in a scratch module."""
    strategy = OpStrategy()
    scratch = _legalized(call, rule)
    prims = [op for op in functions_of(scratch) if PRIM_FUNC in op.attributes]
    asking = next((prim for prim in prims if KERNEL in prim.attributes), None)
    product = next((prim for prim in prims if is_contraction(prim) and _multiplies(prim)), None)
    windows = next((prim for prim in prims if _over_windows(prim)), None)
    if asking is not None:
        name = ir.StringAttr(asking.attributes[KERNEL]).value
        unless = _against_kernel(name, asking, target)
        strategy.add(OpImplementation(f"kernel {name}", plevel=KERNEL_PLEVEL, rule=rule, unless=unless))
    elif windows is not None:
        unless = _against_windows(windows)
        strategy.add(OpImplementation(f"kernel {WINDOWS}", plevel=KERNEL_PLEVEL, rule=rule, unless=unless))
        if not unless:
            return strategy
    elif product is not None:
        unless = _against_product(product)
        strategy.add(OpImplementation(f"kernel {PRODUCT}", plevel=KERNEL_PLEVEL, rule=rule, unless=unless))
        if not unless:
            return strategy  # the kernel is recognised by the linalg op
    strategy.add(OpImplementation(LINALG, plevel=DEFAULT_PLEVEL, rule=rule, takes_kernel=False))
    return strategy


def _legalized(call: OpCall, rule: Rule) -> ir.Module:
    """A module with the prim funcs that the rule builds for a call, and a function that calls them."""
    legalizer = Legalizer(ir.Module.create(ir.Location.unknown()))
    types = [arg.ssa.type for arg in call.operands]
    with ir.InsertionPoint(legalizer.module.body):
        caller = func.FuncOp("caller", ir.FunctionType.get(types, []))
    block = caller.add_entry_block()
    operands = [Arg(value, arg.info) for value, arg in zip(block.arguments, call.operands, strict=True)]
    with ir.InsertionPoint(block):
        rule(legalizer, OpCall(call.args, tuple(operands), call.results))
        func.ReturnOp([])
    return legalizer.module


def _against_kernel(name: str, prim: func.FuncOp, target: Target) -> str:
    """The reason why the generator of a kernel declines a prim func; "" if it accepts."""
    generator = generator_of(name)
    if generator is None:
        return "there is no generator of this name"
    attributes = {named.name: named.attr for named in prim.attributes.get(KERNEL_ATTRS, ())}
    types = [t for t in prim.type.inputs if isinstance(t, ir.RankedTensorType)]
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        buffers = [ir.MemRefType.get(t.shape, t.element_type) for t in types]
        block = func.FuncOp("buffers", ir.FunctionType.get(buffers, [])).add_entry_block()
    request = Request(name, target, scratch.body, list(block.arguments), attributes)
    shown = ", ".join(dict.fromkeys(str(t.element_type) for t in types))
    return "" if generator(request) else f"no kernel for these axes, layouts or dtypes ({shown})"


def _multiplies(prim: func.FuncOp) -> bool:
    """True if a contraction adds products, and not elements as poolings do."""
    return bool(ops_of(prim.operation, "linalg.matmul", "arith.mulf", "arith.muli", "arith.andi"))


def _over_windows(prim: func.FuncOp) -> ir.Operation | None:
    """The reduction of a prim func that reads its data at sums of loop indices; None if there is none."""
    for op in ops_of(prim.operation, "linalg.generic"):
        if len(op.operands) == 3 and any("reduction" in str(kind) for kind in op.attributes["iterator_types"]):
            maps = linalg.get_indexing_maps(op)
            if loops_of(maps[0].value) is None and None not in map(loops_of, (x.value for x in list(maps)[1:])):
                return op
    return None


def _against_windows(prim: func.FuncOp) -> str:
    """The reason why no kernel over windows takes a contraction; "" if one does."""
    operation = _over_windows(prim)
    assert operation is not None
    data, sizes, total = (ir.RankedTensorType(x.type) for x in operation.operands)
    maps = [attribute.value for attribute in linalg.get_indexing_maps(operation)]
    element = str(data.element_type)
    if element not in FLOATS or (not _multiplies(prim) and str(total.element_type) not in FLOATS):
        return f"no kernel for {element}"
    taps = dict(zip(loops_of(maps[1]) or (), sizes.shape, strict=True))
    padded = bool(ops_of(prim.operation, "tensor.insert_slice"))
    if ops_of(operation, "arith.maximumf") and not padded and lie_apart(maps[0], taps):
        return "windows have no elements in common"
    added = [terms for expression in maps[0].results if len(terms := terms_of(expression)) > 1]
    *_, last = loops_of(maps[2]) or (None,)
    return "" if any(last in dict(terms) for terms in added) else "channels are the last dimension"


def _against_product(prim: func.FuncOp) -> str:
    """The reason why the generated GEMM kernels do not take a contraction; "" if they do."""
    names = {str(ir.RankedTensorType(t).element_type) for t in prim.type.inputs[:2]}
    taken = len(names) == 1 and names <= FLOATS.keys()
    return "" if taken else f"no kernel for {' and '.join(sorted(names))}"


# Conditionals that select an implementation of an op by conditions on sizes.


Emit = Callable[[OpCall], Sequence[Arg]]
"""Emits the calls of an implementation for the given operands."""


@dataclass(frozen=True)
class Way:
    """One of the implementations: its name, its condition, and a function that emits its call."""

    name: str
    condition: SpecializedCondition
    emit: Emit


def branch(call: OpCall, ways: Sequence[Way]) -> list[Arg]:
    """The results of the first of `ways` whose condition holds, by nested conditionals at the insertion point.

    The last one is unconditional. The conditionals have the attribute `BY_SIZE`, the name of the op.
    """
    (way, *others), types = ways, [info.to_type() for info in call.results]
    if not others:
        return [_of_type(arg, info) for arg, info in zip(way.emit(call), call.results, strict=True)]
    clauses = [_holds(clause) for clause in way.condition.open_clauses()]
    flag = clauses[0]
    for clause in clauses[1:]:
        flag = arith.andi(flag, clause)
    made = ir.Operation.create("scf.if", results=types, operands=[flag], regions=2)
    made.attributes[BY_SIZE] = ir.StringAttr.get(call.args.op.removeprefix("relax."))
    for region, inner in zip(made.regions, ([way], others), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            values = [arg.ssa for arg in branch(call, inner)]
            ir.Operation.create("scf.yield", operands=values)
    return [Arg(value, info) for value, info in zip(made.results, call.results, strict=True)]


def _of_type(arg: Arg, info: Tensor) -> Arg:
    assert arg.ssa.type == info.to_type(), f"{arg.ssa.type} is not {info}"
    return arg


def _holds(clause: Condition) -> ir.Value:
    left, right = (prim_value(dim).ssa for dim in (clause.left, clause.right))
    return arith.cmpi(getattr(arith.CmpIPredicate, RELATIONS[clause.relation]), left, right)


# Implementations as tensor expressions: their prim funcs, and calls of these.


def placeholders(call: OpCall) -> list[te.Tensor]:
    """The tensors of a call's operands, as strategies get them."""
    names = [*call.args.operand_names] if len(call.args.operand_names) == len(call.operands) else []
    names = names or [f"x{number}" for number in range(len(call.operands))]
    infos = [arg.info for arg in call.operands]
    return [te.placeholder(_shape(info), str(info.dtype), name) for info, name in zip(infos, names, strict=True)]


def _shape(info: Tensor) -> Sequence[symbolic.Dim]:
    shape = info.dims
    return shape


def out_type(call: OpCall) -> StructInfo:
    """The struct info of the result of a call, as strategies get it."""
    return call.results[0] if len(call.results) == 1 else Tuple(list(call.results))


def computed(
    what: str, implementation: OpImplementation, attrs: Attrs, inputs: Sequence[te.Tensor], call: OpCall
) -> list[te.Tensor]:
    """The tensors that the tensor expression of an implementation computes for a call.

    Raises:
        ArgumentError: it returns anything but computed tensors. ShapeError, DTypeError: they do not match the op's.
    """
    assert implementation.compute is not None
    what = f"{what}: implementation '{implementation.name}'"
    given = implementation.compute(attrs, list(inputs), out_type(call))
    outputs: list[te.Tensor] = []
    for output in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(output, te.Tensor) or output in inputs:
            raise ArgumentError(f"{what}: 'compute' gives {output!r}, expected computed te.Tensors")
        outputs.append(output)
    if len(outputs) != len(call.results):
        raise ArgumentError(f"{what}: 'compute' gives {len(outputs)} tensors, the op has {len(call.results)}")
    for output, wanted in zip(outputs, call.results, strict=True):
        shape = _shape(wanted)
        equal = len(output.shape) == len(shape) and all(map(symbolic.prove_equal, output.shape, shape))
        if not equal:
            raise ShapeError(f"{what}: 'compute' gives {output}, but the op's result is of shape {shape_text(shape)}")
        if output.dtype != str(wanted.dtype):
            raise DTypeError(f"{what}: 'compute' gives {output}, but the op's result is {wanted.dtype}")
    return outputs


OWN = "relax_mlir.lowering.legalize."
"""Name prefix of the modules with built-in schedules."""


def _template(
    name: str,
    implementation: OpImplementation,
    attrs: Attrs,
    inputs: Sequence[te.Tensor],
    outputs: Sequence[te.Tensor],
) -> Template | None:
    """The key of the knob values that ship with the package; None for a user's schedule."""
    if not getattr(implementation.schedule, "__module__", "").startswith(OWN):
        return None
    window = attrs["pool_size"] if "pool_size" in attrs else inputs[-1].shape[2:]
    given = {"window": window, **{key: attrs[key] for key in ("strides", "dilation") if key in attrs}}
    facts = {key: tuple(value) for key, value in given.items() if value and all(type(v) is int for v in value)}
    return Template(name, outputs[0].dtype, facts)


def _ask(kernel: KernelRequest | None, function: func.FuncOp) -> None:
    """Request a kernel that replaces a prim func."""
    if kernel is None:
        return
    given = {
        name: ir.StringAttr.get(value) if isinstance(value, str) else ir.FloatAttr.get(ir.F64Type.get(), value)
        for name, value in kernel.attributes.items()
    }
    function.attributes[KERNEL] = ir.StringAttr.get(kernel.name)
    function.attributes[KERNEL_ATTRS] = ir.DictAttr.get(given)
    seal(function)


@dataclass
class TEImplementations:
    """Generates prim funcs from tensor expressions in a module, each distinct one once."""

    module: ir.Module
    target: Target
    made: dict[str, None] = field(default_factory=dict)
    """The names of the prim funcs."""
    notes: list[str] = field(default_factory=list)
    """Notes for reports on the schedules that were created since the list was last cleared."""

    def call(self, what: str, implementation: OpImplementation, attrs: Attrs, call: OpCall) -> list[Arg]:
        """Call the computation of an implementation at the insertion point.

        Raises:
            ArgumentError: its schedule does not belong to its tensors.
        """
        with replacing(ir.Location.current):
            return self._call(what, implementation, attrs, call)

    def _call(self, what: str, implementation: OpImplementation, attrs: Attrs, call: OpCall) -> list[Arg]:
        inputs = placeholders(call)
        outputs = computed(what, implementation, attrs, inputs, call)
        name = call.args.op.removeprefix("relax.")
        if implementation.name != PLAIN:
            kind = "".join(c if c.isascii() and c.isalnum() else "_" for c in implementation.name)
            name = f"{name}_{kind}"
        builder = BlockBuilder(IRModule(self.module))
        pairs = [(tensor, Value(arg.ssa)) for tensor, arg in zip(inputs, call.operands, strict=True)]
        before = symbol_names(self.module.body)
        if implementation.schedule is None:
            values = emit_tensors(builder, pairs, outputs, name, partial(_ask, implementation.kernel))
        else:
            make = partial(implementation.schedule, attrs, outputs, self.target)
            template = _template(name, implementation, attrs, inputs, outputs)
            schedules = made_schedules(name, inputs, outputs, make, self.target, template)
            for _, schedule in schedules.ways:
                self._check(f"{what}: implementation '{implementation.name}'", schedule, outputs)
            self.notes += [f"{implementation.name}: {note}" for note in schedules.notes]
            given = emit_by_size(builder, pairs, schedules.ways, name)
            values = given if isinstance(given, tuple) else (given,)
        self.made |= dict.fromkeys(sorted(symbol_names(self.module.body) - before))
        return [Arg(value.ssa, info) for value, info in zip(values, call.results, strict=True)]

    def _check(self, what: str, schedule: object, outputs: Sequence[te.Tensor]) -> None:
        if not isinstance(schedule, te.Schedule):
            raise ArgumentError(f"{what}: 'schedule' gives {schedule!r}, expected a te.Schedule")
        given = [tensor for op in schedule.outputs for tensor in op.outputs]
        if [id(tensor) for tensor in given] != [id(tensor) for tensor in outputs]:
            shown = ", ".join(tensor.name for tensor in given)
            raise ArgumentError(
                f"{what}: 'schedule' gives a schedule of {shown}, expected one of what 'compute' gives: "
                "te.create_schedule([t.op for t in outs])"
            )


# Legalisation of op calls by the implementations that strategies select.


@dataclass
class SelectingLegalizer:
    """Legalises the calls of a module for a target."""

    legalizer: Legalizer
    target: Target

    def __post_init__(self) -> None:
        self._expressions = TEImplementations(self.legalizer.module, self.target)

    @property
    def made(self) -> list[str]:
        """The names of the prim funcs that were generated from tensor expressions."""
        return list(self._expressions.made)

    def legalize(self, op: ir.Operation, call: OpCall, rule: Rule | None) -> Sequence[Arg]:
        """The results of `op`, emitted at the insertion point."""
        what, attrs, report = f"{where(op)}: {op.name}", Attrs.of(op), current_report()
        selection = select(what, strategies_of(op, call, rule, self.target))
        self._expressions.notes = []
        if report is not None:
            report.decisions.append(_decision(op, call, selection, self._expressions.notes))
        taken = selection.taken
        if len(taken) == 1:
            return self._emit(what, taken[0].implementation, attrs, call)
        ways = [
            Way(c.implementation.name, c.condition, partial(self._emit, what, c.implementation, attrs)) for c in taken
        ]
        return branch(call, ways)

    def _emit(self, what: str, implementation: OpImplementation, attrs: Attrs, call: OpCall) -> Sequence[Arg]:
        if implementation.rule is None:
            return self._expressions.call(what, implementation, attrs, call)
        self.legalizer.takes_kernels = implementation.takes_kernel
        try:
            results: Sequence[Arg] = implementation.rule(self.legalizer, call)
        finally:
            self.legalizer.takes_kernels = True
        return results


def strategies_of(op: ir.Operation, call: OpCall, rule: Rule | None, target: Target) -> list[OpStrategy]:
    """The implementations that strategies give for a call: users' strategies, the last one first, then built-in ones.

    Raises:
        ArgumentError: a strategy returns something else.
    """
    given: list[OpStrategy] = []
    attrs, inputs, info = Attrs.of(op), placeholders(call), out_type(call)
    for strategy in registered_for(op.name, target):
        found = strategy(attrs, inputs, info, target)
        if not isinstance(found, OpStrategy):
            name = getattr(strategy, "__name__", repr(strategy))
            raise ArgumentError(
                f"{where(op)}: {op.name}: the strategy '{name}' returns {found!r}, expected an OpStrategy"
            )
        given.append(found)
    own, cls = OpStrategy(), op_class(op)
    for implementation in () if cls is None else built_in(cls):
        implementation.add_to(own, attrs, inputs, info)
    given.append(own)
    return given if rule is None else [*given, builtin_strategy(call, rule, target)]


def _decision(op: ir.Operation, call: OpCall, selection: Selection, notes: list[str]) -> StrategyDecision:
    """`notes` are filled when the call is emitted."""
    function = enclosing_function(op)
    name = "" if function is None else symbol_name(function)
    operands = ", ".join(str(arg.info) for arg in call.operands)
    return StrategyDecision(name, op.name, operands, where(op), selection, notes)
