"""Functions for third-party libraries: `fuse-ops-by-pattern`, `merge-composite-functions`, `run-codegen`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from relax_mlir.analysis.call_graph import impure_functions, recursion
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import CODEGEN, COMPOSITE, PARAM_NAME, SYMBOL_BOUNDS
from relax_mlir.dialects.calls import CallOp, call_dps_packed, require_destinations
from relax_mlir.dialects.closures import ExternFunc
from relax_mlir.dialects.location import replacing
from relax_mlir.dialects.number_attributes import literal_attr
from relax_mlir.dialects.structure import TUPLE, ConstantOp, TupleGetItemOp, is_pure, pack
from relax_mlir.dialects.symbols import bounds_around, bounds_attr
from relax_mlir.dialects.traits import CopiedIntoFunctions, EndsBlock, has_trait
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.dialects.value import Value, Var
from relax_mlir.dpl.fusion import FusionPattern, PatternCheckContext, patterns_named
from relax_mlir.dpl.pattern_context import Uses
from relax_mlir.dpl.patterns import (
    CallPattern,
    ExprPattern,
    Found,
    Matcher,
    TupleGetItemPattern,
    TuplePattern,
    definition_of,
)
from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.expr.bindings import Program, is_hidden, is_inside
from relax_mlir.expr.compound import BindingBlock
from relax_mlir.ir_queries import (
    callee_of,
    defining_op,
    entry_block,
    fresh_name,
    is_used,
    ops_of,
    symbol_names,
)
from relax_mlir.mlir import func, ir
from relax_mlir.op.op_registry import Op
from relax_mlir.passes.calls import inline_call, remove_uncalled
from relax_mlir.passes.lambda_lift import distinct_names, missing_symbols, shape_of_symbols
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.rewrite.function_editing import (
    Graph,
    functions_by_name,
    is_private,
    is_relax_function,
    needs_with_effects,
    sort_block,
    symbols_of,
)
from relax_mlir.rewrite.replace import fit
from relax_mlir.symbolic import assuming
from relax_mlir.transform import ModulePass, PassContext, relax_functions
from relax_mlir.transform.codegen_region import CodegenRegion
from relax_mlir.transform.codegens import codegen_called

# Pass `fuse-ops-by-pattern`: outline pattern matches into composite functions.


MAX_NAME = 80


@dataclass
class Outline:
    """The outlining of ops into a function.

    `ops` are pure ops of one block, in block order. `outputs` are their values with other users. Argument tuples,
    shapes and constants that only these ops use move with them. The call replaces the last op; the caller of this class
    must move users of other outputs that come before it.
    """

    ops: Sequence[ir.Operation]
    outputs: Sequence[ir.Value]
    bind_constants: bool = True
    """True if constants move into the function instead of becoming arguments."""

    _inner: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _inputs: list[ir.Value] = field(default_factory=list)

    def build(self, module: ir.Module, wanted: str, attributes: Mapping[str, ir.Attribute]) -> ir.Operation:
        """Create the function, named `wanted` or a free variant, and return its call; the ops are erased."""
        last = self.ops[-1]
        order = self._with_parts()
        self._inputs = [value for value in self._operands(order) if not self._is_copied(value)]
        infos = [struct_info(value.type) for value in self._inputs]
        results = [value.type for value in self.outputs]
        result = results[0] if len(results) == 1 else Tuple(list(map(struct_info, results))).to_type()
        name = fresh_name(wanted[:MAX_NAME], symbol_names(module.body))
        function = self._declare(module, name, infos, result)
        self._fill(function, order)
        missing = missing_symbols(function.operation, infos, [])
        if missing:
            self._add_sizes(function, Shape(missing))
        for key, value in attributes.items():
            function.attributes[key] = value
        self._bound(function, last)
        call = self._call(last, name, result, missing)
        self._hand_over(call)
        return call

    def _with_parts(self) -> list[ir.Operation]:
        """The ops, each preceded by the `tuple` ops of its operands."""
        found: dict[ir.Operation, None] = {}

        def add(op: ir.Operation) -> None:
            for operand in op.operands:
                maker = defining_op(operand)
                if maker is not None and maker.name == TUPLE and maker not in self.ops:
                    add(maker)
            found[op] = None

        for op in self.ops:
            add(op)
        return list(found)

    @staticmethod
    def _operands(order: Sequence[ir.Operation]) -> list[ir.Value]:
        made = {result for op in order for result in op.results}
        used = dict.fromkeys(operand for op in order for operand in op.operands)
        return [value for value in used if value not in made]

    def _is_copied(self, value: ir.Value) -> bool:
        """True if the function recreates `value` instead of taking it as an argument."""
        maker = defining_op(value)
        if maker is None or len(maker.operands):
            return False
        if maker.name == ConstantOp.OPERATION_NAME:
            return self.bind_constants
        return has_trait(maker, CopiedIntoFunctions) or is_inside(maker)

    def _declare(self, module: ir.Module, name: str, infos: Sequence[StructInfo], result: ir.Type) -> func.FuncOp:
        program = Program(self.ops[0])
        names = [getattr(program.expression(value), "name", "") or "value" for value in self._inputs]
        with ir.InsertionPoint(module.body), self.ops[-1].location:
            types = [info.to_type() for info in infos]
            function = func.FuncOp(name, ir.FunctionType.get(types, [result]), visibility="private")
        function.attributes["arg_attrs"] = _named(distinct_names(names))
        return function

    def _fill(self, function: func.FuncOp, order: Sequence[ir.Operation]) -> None:
        entry = function.add_entry_block()
        self._inner = dict(zip(self._inputs, entry.arguments, strict=True))
        with ir.InsertionPoint(entry):
            for op in order:
                for operand in op.operands:
                    if operand not in self._inner:
                        maker = defining_op(operand)
                        assert maker is not None, "parameters are inputs"
                        self._inner[operand] = maker.clone().operation.results[0]
                copy = op.clone().operation
                for index, operand in enumerate(op.operands):
                    copy.operands[index] = self._inner[operand]
                self._inner.update(zip(op.results, copy.results, strict=True))
            outputs = [self._inner[value] for value in self.outputs]
            location = self.ops[-1].location
            with location:
                func.ReturnOp([outputs[0] if len(outputs) == 1 else pack(outputs, location)])

    @staticmethod
    def _add_sizes(function: func.FuncOp, info: Shape) -> None:
        """Add a shape parameter for symbols that no other parameter defines."""
        names = [
            ir.StringAttr(ir.DictAttr(item)[PARAM_NAME]).value
            for item in ir.ArrayAttr(function.attributes["arg_attrs"])
        ]
        entry_block(function).add_argument(info.to_type(), ir.Location.unknown())
        kinds = [argument.type for argument in entry_block(function).arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, list(function.type.results)))
        function.attributes["arg_attrs"] = _named(distinct_names([*names, "sizes"]))

    def _bound(self, function: func.FuncOp, op: ir.Operation) -> None:
        """Copy the bounds of the caller's symbols to the function."""
        used = {name for kind in function.type.inputs for name in struct_info(kind).symbols()}
        bounds = {name: pair for name, pair in bounds_around(op).items() if name in used}
        if bounds:
            function.attributes[SYMBOL_BOUNDS] = bounds_attr(bounds)

    def _call(self, last: ir.Operation, name: str, result: ir.Type, missing: list[str]) -> ir.Operation:
        arguments, location = list(self._inputs), last.location
        exact: Any = ir.Location.from_attr(location.attr, location.context)
        if len(self.outputs) > 1 and isinstance(exact, ir.NameLoc):
            location = exact.child_loc  # the fields have names
        with ir.InsertionPoint(last), location:
            if missing:
                arguments.append(shape_of_symbols(missing))
            return ir.Operation.create(
                CallOp.OPERATION_NAME,
                results=[result],
                operands=[pack(arguments, location)],
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            )

    def _hand_over(self, call: ir.Operation) -> None:
        """Replace the outputs by the results of the call, and erase the ops."""
        values = [call.results[0]]
        if len(self.outputs) > 1:
            with ir.InsertionPoint.after(call):
                values = [
                    ir.Operation.create(
                        TupleGetItemOp.OPERATION_NAME,
                        results=[value.type],
                        operands=[call.results[0]],
                        attributes={"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)},
                        loc=_location(value),
                    ).results[0]
                    for index, value in enumerate(self.outputs)
                ]
        for old, new in zip(self.outputs, values, strict=True):
            old.replace_all_uses_with(new)
        parts = self._with_parts()
        copied = dict.fromkeys(
            maker
            for op in parts
            for value in op.operands
            if self._is_copied(value) and (maker := defining_op(value)) is not None
        )
        for op in dict.fromkeys((*reversed(parts), *copied)):
            if not any(is_used(value) for value in op.results):
                op.erase()


def _named(names: Sequence[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.DictAttr.get({PARAM_NAME: ir.StringAttr.get(name)}) for name in names])


def _location(value: ir.Value) -> ir.Location:
    maker = defining_op(value)
    assert maker is not None, "outputs are made by ops"
    return maker.location


def readable_name(ops: Sequence[ir.Operation]) -> str:
    """The name for these ops, such as ``fused_matmul_add``; a call is named by its callee."""
    parts = []
    for op in ops:
        if "callee" in op.attributes:
            parts.append(ir.FlatSymbolRefAttr(op.attributes["callee"]).value.removeprefix("fused_"))
        elif op.name not in (TUPLE, TupleGetItemOp.OPERATION_NAME, ConstantOp.OPERATION_NAME):
            parts.append(op.name.removeprefix("relax."))
    return "_".join(["fused", *parts])


def composites(module: ir.Module) -> dict[str, str]:
    """Name of the pattern by name of the composite function."""
    return _marked(module, COMPOSITE, 'a pattern\'s name, such as "openblas.matmul"')


def codegens(module: ir.Module) -> dict[str, str]:
    """Name of the code generator by name of the function."""
    return _marked(module, CODEGEN, 'a code generator\'s name, such as "openblas"')


def library_of(pattern: str) -> str:
    """The library of a pattern: the part of its name before the first dot."""
    return pattern.partition(".")[0]


def is_marked(function: func.FuncOp) -> bool:
    """True if a function is composite, or for a code generator."""
    return COMPOSITE in function.attributes or CODEGEN in function.attributes


def _marked(module: ir.Module, attribute: str, what: str) -> dict[str, str]:
    found = {}
    for name, function in functions_by_name(module).items():
        if attribute not in function.attributes:
            continue
        value = function.attributes[attribute]
        if not isinstance(value, ir.StringAttr) or not value.value:
            raise ArgumentError(f"function '{name}': the attribute {attribute} is {value}, expected {what}")
        if not is_relax_function(function):
            raise ArgumentError(f"function '{name}' has {attribute}, but is no Relax function with a body")
        found[name] = value.value
    return found


STRUCTURE = (CallPattern, TuplePattern, TupleGetItemPattern)
"""Patterns whose matched ops move into the function; values that other patterns match become arguments."""


@dataclass(frozen=True)
class FuseOpsByPattern(ModulePass):
    """Outline each match of a pattern into a private function, with the pattern's name as ``relax.composite``.

    `patterns`: `FusionPattern`s, tuples ``(name, pattern, annotation_patterns, check)``, or names of registered ones
    (``openblas``: all of that library). Earlier patterns take precedence; among overlapping matches of one pattern, the
    one with the later result does, so that optional trailing ops are included. A match is accepted if its ops are in
    one block, its intermediate values have no other users, and the pattern's check returns True. Matched calls, tuples
    and tuple fields move into the function; other matched values become arguments, except constants, which move unless
    `bind_constants` is off. With `annotate_codegen`, each function is wrapped into one for its library's code generator
    (``relax.codegen``); otherwise ``merge-composite-functions`` does that. `entry_functions` restricts the pass to
    these functions. Follows TVM's FuseOpsByPattern.
    """

    name: ClassVar[str] = "fuse-ops-by-pattern"
    patterns: tuple[str | FusionPattern, ...]
    bind_constants: bool = True
    annotate_codegen: bool = False
    entry_functions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given: Any = self.patterns
        expect(f"{self.name}: 'patterns'", given, list | tuple, "a list of patterns, or names of registered ones")
        if not given:
            raise ArgumentError(f"{self.name}: 'patterns' is empty: there is nothing to look for")
        kept = tuple(item if isinstance(item, str) else FusionPattern.of(item) for item in given)
        object.__setattr__(self, "patterns", kept)
        object.__setattr__(self, "entry_functions", tuple(self.entry_functions))

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        known = functions_by_name(module)
        for name in self.entry_functions:
            if name not in known:
                raise ArgumentError(f"{self.name}: there is no function '{name}'; the module has {', '.join(known)}")
        patterns = [found for item in self.patterns for found in _resolved(item)]
        for function in list(relax_functions(module)):
            if is_marked(function):
                continue
            if not self.entry_functions or function.name.value in self.entry_functions:
                make_effects_explicit(function)
                with assuming(bounds_around(function.operation)):
                    self._fuse(function, module, patterns)

    def _fuse(self, function: func.FuncOp, module: ir.Module, patterns: Sequence[FusionPattern]) -> None:
        impure = impure_functions(functions_by_name(module))
        for pattern in patterns:
            candidates = _candidates(function)
            numbers = {op: number for number, op in enumerate(candidates)}
            gone: set[int] = set()
            for number in reversed(range(len(candidates))):
                if number in gone:
                    continue
                program = Program(function)
                found = _find(pattern, candidates[number], program, impure)
                if found is not None:
                    gone |= {numbers[op] for op in found[0] if op in numbers}
                    self._outline(pattern, *found, module)
                program.retire()

    def _outline(
        self,
        pattern: FusionPattern,
        ops: Sequence[ir.Operation],
        attributes: Mapping[str, ir.Attribute],
        module: ir.Module,
    ) -> None:
        outline = Outline(ops, [ops[-1].results[0]], self.bind_constants)
        marks = {COMPOSITE: ir.StringAttr.get(pattern.name), **attributes}
        call = outline.build(module, readable_name(ops), marks)
        if self.annotate_codegen:
            wrap([call], [call.results[0]], pattern.library, module)


def wrap(ops: Sequence[ir.Operation], outputs: Sequence[ir.Value], library: str, module: ir.Module) -> ir.Operation:
    """Outline calls of composite functions into a function for the code generator of `library`; returns its call."""
    marks = {CODEGEN: ir.StringAttr.get(library)}
    return Outline(ops, outputs).build(module, f"{readable_name(ops)}_{library}", marks)


def _resolved(item: str | FusionPattern) -> list[FusionPattern]:
    return patterns_named(item) if isinstance(item, str) else [item]


def _candidates(function: func.FuncOp) -> list[ir.Operation]:
    """The ops whose results a pattern may match, in order.

    Tuples, shapes and constants are excluded: they are copied to their users.
    """
    return [
        op
        for op in ops_of(function.operation)
        if len(op.results) and not len(op.regions) and len(op.operands) and op.name != TUPLE and not is_hidden(op)
    ]


def _find(
    pattern: FusionPattern, root: ir.Operation, program: Program, impure: Collection[str]
) -> tuple[list[ir.Operation], Mapping[str, ir.Attribute]] | None:
    """The ops of a match with the result of `root`, and the attributes of the new function; None if no match counts."""
    subject = program.variable(root.results[0])
    for found in Matcher().match(pattern.pattern, subject, {}):
        ops = _ops_of(found)
        if ops is None or not _is_closed(ops, root):
            continue
        annotated = {name: found[part] for name, part in pattern.annotation_patterns.items() if part in found}
        if not _counts(pattern, _seen(subject, annotated, ops, program)):
            continue
        _require_pure(pattern, ops, impure)
        return ops, _attributes(pattern, annotated)
    return None


def _ops_of(found: Found) -> list[ir.Operation] | None:
    """The ops that structural sub-patterns match, in block order; None if there are none."""
    ops: dict[ir.Operation, None] = {}
    for part, expression in found.items():
        is_call = isinstance(part, ExprPattern) and isinstance(part.expr, Op) and not isinstance(expression, Op)
        if not (isinstance(part, STRUCTURE) or is_call):
            continue
        node = definition_of(expression)
        if node is not None and node.is_view and not _is_composite_call(node.operation):
            ops[node.operation] = None
    if not ops:
        return None
    block = next(iter(ops)).block
    order = {view.operation: index for index, view in enumerate(block.operations)}
    if any(op not in order for op in ops):
        return None
    return sorted(ops, key=lambda op: order[op])


def _is_composite_call(op: ir.Operation) -> bool:
    """True if an op calls a composite function or a function for a code generator."""
    if op.name != "relax.call":
        return False
    top = op
    while top.parent is not None and top.parent.operation.name != "builtin.module":
        top = top.parent.operation
    module = top.parent
    assert module is not None
    for view in module.operation.regions[0].blocks[0].operations:
        if isinstance(view, func.FuncOp) and view.name.value == callee_of(op):
            return is_marked(view)
    return False


def _is_closed(ops: Sequence[ir.Operation], root: ir.Operation) -> bool:
    """True if `root` is the last of the ops, and the results of the others have no users outside of the ops."""
    if ops[-1] != root:
        return False
    return all(
        use.owner.operation in ops or (is_hidden(use.owner.operation) and _feeds(use.owner.operation, ops))
        for op in ops
        if op != root
        for result in op.results
        for use in result.uses
    )


def _feeds(op: ir.Operation, ops: Sequence[ir.Operation]) -> bool:
    """True if all users of an inline tuple are among `ops`."""
    users = [use.owner.operation for result in op.results for use in result.uses]
    return all(not has_trait(user, EndsBlock) and (user in ops or _feeds(user, ops)) for user in users)


def _seen(
    subject: Value, annotated: Mapping[str, Any], ops: Sequence[ir.Operation], program: Program
) -> PatternCheckContext:
    """The context that is passed to the check of a pattern."""
    block = BindingBlock.view(list(ops), program)
    uses = Uses(block)
    variables: list[Var] = [program.variable(op.results[0]) for op in ops if not is_hidden(op)]
    bindings = {variable: program.node(op) for variable, op in zip(variables, _visible(ops), strict=True)}
    users = {variable: [user for user in uses.users(variable) if isinstance(user, Var)] for variable in variables}
    return PatternCheckContext(subject, annotated, bindings, users)


def _visible(ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    return [op for op in ops if not is_hidden(op)]


def _counts(pattern: FusionPattern, seen: PatternCheckContext) -> bool:
    if pattern.check is None:
        return True
    verdict = pattern.check(seen)
    expect(f"pattern '{pattern.name}': what its check gives", verdict, bool, "True or False")
    return verdict


def _require_pure(pattern: FusionPattern, ops: Sequence[ir.Operation], impure: Collection[str]) -> None:
    for op in ops:
        if not is_pure(op) or (op.name == "relax.call" and callee_of(op) in impure):
            raise ArgumentError(
                f"pattern '{pattern.name}' finds {op.name.removeprefix('relax.')} at {location_text(op.location)}, "
                "which has effects: only what computes can become a composite function; if the packed function has "
                "none, call it by call_pure_packed"
            )


def _attributes(pattern: FusionPattern, annotated: Mapping[str, Any]) -> dict[str, ir.Attribute]:
    if pattern.attrs_getter is None:
        return {}
    given = pattern.attrs_getter(annotated)
    where = f"pattern '{pattern.name}': what its attrs_getter gives"
    expect(where, given, Mapping, "a dictionary of attributes")
    found: dict[str, ir.Attribute] = {}
    for name, value in given.items():
        expect(f"{where}: a name", name, str, "a string")
        found[name] = literal_attr(name, value)
    return found


# Pass `merge-composite-functions`: merge neighbouring calls of one library's composite functions.


class MergeCompositeFunctions(ModulePass):
    """Outline connected calls of composite functions of one library into one private function.

    The attribute ``relax.codegen`` of the function names the library, by which ``run-codegen`` selects the code
    generator. A call joins the calls whose results it uses, unless an op outside of the function would have to run in
    between. A call that joins none gets a separate function. Bindings are moved after operands that are now defined
    later; effects keep their order. Follows TVM's MergeCompositeFunctions.
    """

    name: ClassVar[str] = "merge-composite-functions"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in list(relax_functions(module)):
            if is_marked(function):
                continue
            libraries = {name: library_of(pattern) for name, pattern in composites(module).items()}
            blocks = dict.fromkeys(
                op.block for op in ops_of(function.operation, "relax.call") if callee_of(op) in libraries
            )
            if blocks:
                make_effects_explicit(function)
            for block in blocks:
                _merge(block, module, libraries)


def _merge(block: ir.Block, module: ir.Module, libraries: Mapping[str, str]) -> None:
    impure = impure_functions(functions_by_name(module))
    ops = [view.operation for view in block.operations][:-1]
    for members in _Groups(ops, impure, libraries).found():
        calls = [ops[number] for number in members]
        outputs = [call.results[0] for call in calls if _is_used_outside(call, calls)]
        wrap(calls, outputs or [calls[-1].results[0]], libraries[callee_of(calls[0])], module)
    sort_block(block, impure)


def _is_used_outside(call: ir.Operation, calls: Sequence[ir.Operation]) -> bool:
    return any(not _is_part(use.owner.operation, calls) for use in call.results[0].uses)


def _is_part(user: ir.Operation, calls: Sequence[ir.Operation]) -> bool:
    """True if a user is one of the calls, or an argument tuple that only they use."""
    if user in calls:
        return True
    users = [use.owner.operation for result in user.results for use in result.uses]
    return user.name == TUPLE and bool(users) and all(_is_part(item, calls) for item in users)


class _Groups:
    """The partition of the calls of a block into functions.

    Ops are identified by position. The first member of a group identifies it; every other op is a group by itself. A
    call may join a group whose result it uses, unless another operand of it depends on that group.
    """

    def __init__(self, ops: Sequence[ir.Operation], impure: Collection[str], libraries: Mapping[str, str]) -> None:
        self._needs = _past_arguments(ops, needs_with_effects(ops, impure))
        self._libraries = [libraries.get(callee_of(op)) if op.name == "relax.call" else None for op in ops]
        self._leader = list(range(len(ops)))
        self._members: dict[int, list[int]] = {}
        for number, library in enumerate(self._libraries):
            if library is not None:
                self._join(number, library)

    def found(self) -> list[list[int]]:
        """The members of each group of calls, in order."""
        return [sorted(members) for _, members in sorted(self._members.items())]

    def _join(self, number: int, library: str) -> None:
        needed = {self._leader[item] for item in self._needs[number]}
        between: set[int] = set()
        for each in needed:
            between |= self._behind(each)
        joined = {each for each in needed - between if self._libraries[each] == library}
        members = [number, *(item for each in joined for item in self._members.pop(each))]
        leader = min(members)
        self._members[leader] = members
        for item in members:
            self._leader[item] = leader

    def _behind(self, group: int) -> set[int]:
        """The groups that a group depends on, transitively."""
        found: set[int] = set()
        waiting = [group]
        while waiting:
            current = waiting.pop()
            for member in self._members.get(current, [current]):
                for needed in self._needs[member]:
                    other = self._leader[needed]
                    if other != current and other not in found:
                        found.add(other)
                        waiting.append(other)
        return found


def _past_arguments(ops: Sequence[ir.Operation], needs: Graph) -> Graph:
    """The graph `needs` in which ops depend on the fields of tuples rather than on the tuples."""

    def makers(number: int) -> set[int]:
        if ops[number].name != TUPLE:
            return {number}
        return set().union(*(makers(item) for item in needs[number]))

    return [sorted(set().union(*(makers(item) for item in row))) for row in needs]


# Pass `run-codegen`: run the code generators of libraries on the functions outlined for them.


class RunCodegen(ModulePass):
    """Run registered code generators on functions with ``relax.codegen``, and inline the generated bodies.

    `register_codegen` registers a code generator under the name in the attribute. Its output, usually calls of packed
    functions, replaces the calls of the function, so that later passes optimise across it. Composite functions without
    a code generator are inlined back into their original ops. Follows TVM's RunCodegen.
    """

    name: ClassVar[str] = "run-codegen"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        functions = functions_by_name(module)
        found, generators = composites(module), codegens(module)
        for name, library in generators.items():
            _generate(functions[name], library, {each: functions[each] for each in found})
        _warn_of_left(module, found, ctx)
        _inline(module, {*found, *generators})
        for name in (CODEGEN, COMPOSITE):
            for function in functions_by_name(module).values():
                if name in function.attributes:
                    del function.attributes[name]


def _generate(function: func.FuncOp, library: str, composites: Mapping[str, func.FuncOp]) -> None:
    """Replace the body of a function by the output of its code generator."""
    generate = codegen_called(library)
    old = function.operation.clone(ip=False)
    view = old.opview
    assert isinstance(view, func.FuncOp)
    block = entry_block(function)
    for op in reversed([item.operation for item in block.operations]):
        op.erase()
    with ir.InsertionPoint(block), function.location:
        region = CodegenRegion(view, block, composites)
        try:
            given = generate(region)
            with replacing(function.location):
                made = _as_value(library, region, given)
        except RelaxError as error:
            error.add_hint(f"in the code generator '{library}', for function '{region.name}'")
            raise
        with replacing(function.location):
            result = fit(made, region.result, f"what the code generator '{library}' gives for '{region.name}'")
        func.ReturnOp([result.ssa])
    if {*impure_functions({region.name: function})}:
        raise ArgumentError(
            f"code generator '{library}' emits effects for function '{region.name}', which only computes: call packed "
            "functions by call_dps_packed or call_pure_packed"
        )


def _as_value(library: str, region: CodegenRegion, given: Any) -> Value:  # noqa: ANN401 - returned by user code
    """The value that a code generator returns, or a call of the packed function that it names."""
    what = f"what the code generator '{library}' gives"
    expect(what, given, Value | ExternFunc | str, "a value, or the name of a packed function")
    if isinstance(given, Value) and not isinstance(given, ExternFunc):
        return given
    require_destinations(f"{what}, {given!r}", region.result)
    result = region.result
    out = list(result.fields) if isinstance(result, Tuple) else result
    assert isinstance(out, list | Tensor)
    return call_dps_packed(given, list(region.params), out)  # type: ignore[arg-type]  # the fields are tensors


def _warn_of_left(module: ir.Module, found: Mapping[str, str], ctx: PassContext) -> None:
    """Warn of calls of composite functions that are not part of a function for a code generator."""
    for function in functions_by_name(module).values():
        for op in ops_of(function.operation, "relax.call"):
            if callee_of(op) in found:
                ctx.warning(
                    f"no code generator is asked for '{found[callee_of(op)]}', which is compiled as any other ops: run "
                    "merge-composite-functions first, or fuse-ops-by-pattern with annotate_codegen",
                    op,
                )


def _inline(module: ir.Module, marked: set[str]) -> None:
    """Inline calls of the private functions among `marked`, and remove these functions."""
    marked -= {name for group in recursion(module) for name in group}
    again = True
    while again:
        again = False
        functions = functions_by_name(module)
        for caller in functions.values():
            calls = [op for op in ops_of(caller.operation, "relax.call") if callee_of(op) in marked]
            known = symbols_of(caller) if calls else []
            for call in calls:
                callee = functions[callee_of(call)]
                if is_private(callee):
                    again |= inline_call(call, callee, caller, known, mark=False)
    remove_uncalled(module)
