"""Function values: `specialize-closures` makes their calls direct, `lower-closures` keeps unknown ones for the VM."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir import symbolic
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.calls import CallPackedOp, CallPurePackedOp
from relax_mlir.dialects.closures import InvokePureClosureOp, MakeClosureOp, bind_symbols
from relax_mlir.dialects.structure import TUPLE, converted, is_convertible, pack, tuple_get_item, unpack
from relax_mlir.dialects.traits import CallsPacked, HoldsFunctionValues, InvokesClosure, has_trait, ops_with
from relax_mlir.dialects.types import Callable as CallableInfo
from relax_mlir.dialects.types import Object, Shape, StructInfo, Tensor, Tuple, struct_info, substitute
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, ShapeError, UnsupportedError
from relax_mlir.ir_queries import (
    callee_of,
    defining_op,
    enclosing_function,
    entry_block,
    fresh_name,
    ops_of,
    symbol_names,
)
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import symbol_name
from relax_mlir.passes.dataflow import ToNonDataflow
from relax_mlir.passes.lambda_lift import used_symbols
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.symbolic import Dim
from relax_mlir.transform import ModulePass, PassContext, relax_functions

# Pass `specialize-closures`: replace calls of function values by direct calls.


Path = tuple[int, ...]
"""Indices of nested tuple fields; empty for the value itself."""


@dataclass(frozen=True)
class Known:
    """A closure of the function `callee`, with its captured values."""

    callee: str
    captured: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Choice:
    """One of two values, selected at run time by the flag (i1) of the conditional `op`."""

    flag: ir.Value
    taken: ir.Value
    other: ir.Value
    op: ir.Operation


def source_of(value: ir.Value, path: Path = ()) -> Known | Choice | None:
    """The origin of the function at `path` in `value`; None if it is unknown."""
    defining = defining_op(value)
    if defining is None:
        return None
    if defining.name == MakeClosureOp.OPERATION_NAME:
        packed = defining_op(defining.operands[0])
        if packed is None or packed.name != TUPLE:
            return None  # see `unpack_captured`
        return Known(callee_of(defining), tuple(packed.operands))
    if defining.name == TUPLE and path:
        return source_of(defining.operands[path[0]], path[1:])
    if defining.name == "relax.tuple_get_item":
        index = ir.IntegerAttr(defining.attributes["index"]).value
        return source_of(defining.operands[0], (index, *path))
    if defining.name == "arith.select" and not path:
        return Choice(defining.operands[0], defining.operands[1], defining.operands[2], defining)
    if defining.name == "scf.if" and not path:
        number = ir.OpResult(value).result_number
        ends = [region.blocks[0].operations[-1].operation for region in defining.regions]
        return Choice(defining.operands[0], ends[0].operands[number], ends[1].operands[number], defining)
    return None


def unpack_captured(op: ir.Operation) -> None:
    """Rebuild the captured tuple of a closure with a `tuple` op, from whose operands `source_of` reads the values."""
    packed = op.operands[0]
    defining = defining_op(packed)
    if defining is not None and defining.name == TUPLE:
        return
    info = struct_info(packed.type)
    assert isinstance(info, Tuple)
    with op.location, ir.InsertionPoint(op):
        op.operands[0] = pack(unpack(packed, [item.to_type() for item in info.fields]), op.location)


def callable_paths(info: StructInfo) -> list[Path]:
    """The paths of all functions in a value described by `info`."""
    if isinstance(info, CallableInfo):
        return [()]
    if not isinstance(info, Tuple):
        return []
    return [(index, *path) for index, item in enumerate(info.fields) for path in callable_paths(item)]


def has_callables(type_: ir.Type) -> bool:
    """True if values of this type are or contain functions."""
    try:
        return bool(callable_paths(struct_info(type_)))
    except RelaxError:
        return False  # a type of upstream ops


def replaced(info: StructInfo, parts: dict[Path, Sequence[StructInfo]], path: Path = ()) -> StructInfo:
    """`info` with the functions at the paths in `parts` replaced by tuples of their captured values."""
    if path in parts:
        return Tuple(parts[path])
    if not isinstance(info, Tuple):
        return info
    return Tuple([replaced(item, parts, (*path, index)) for index, item in enumerate(info.fields)])


def in_terms_of(target: func.FuncOp, arguments: Tuple, known: dict[Path, Known]) -> dict[Path, Sequence[StructInfo]]:
    """Struct infos of the captured values of closures, for `target`, which is called with `arguments`.

    A size that the call binds to a symbol of `target` is expressed by that symbol, so that equalities of the caller
    hold in the function. An expression over the function's symbols is kept; any other size is a new symbol.
    """
    captured = [_info(value) for source in known.values() for value in source.captured]
    mapping = bind_symbols([struct_info(type_) for type_ in target.type.inputs], arguments.fields)
    names = {str(dim): name for name, dim in reversed(mapping.items())}
    alone = {name for info in captured for dim in _dims(info) if (name := symbolic.linear_definition(dim))}
    taken = used_symbols(target.operation)

    def rename(dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        if str(dim) not in names:
            symbols = symbolic.symbols(dim)
            wanted = symbolic.linear_definition(dim)
            if wanted is None and all(name in alone or name in names for name in symbols):
                return symbolic.substitute(dim, {name: rename(symbolic.symbol(name)) for name in symbols})
            wanted = wanted or "size"
            names[str(dim)] = fresh_name(wanted, taken)
            taken.add(names[str(dim)])
        return symbolic.symbol(names[str(dim)])

    return {path: [_map_dims(_info(value), rename) for value in source.captured] for path, source in known.items()}


def _info(value: ir.Value) -> StructInfo:
    return struct_info(value.type)


def _dims(info: StructInfo) -> Iterator[Dim]:
    """The dimensions in a value, from which its symbols are read."""
    if isinstance(info, Tuple):
        for item in info.fields:
            yield from _dims(item)
    elif isinstance(info, Tensor | Shape):
        dims = info.shape if isinstance(info, Tensor) else info.values
        yield from (dim for dim in dims or () if dim is not None)


def _map_dims(info: StructInfo, rename: Callable[[Dim], Dim]) -> StructInfo:
    if isinstance(info, Tensor) and info.shape is not None:
        return Tensor([None if dim is None else rename(dim) for dim in info.shape], info.dtype)
    if isinstance(info, Shape) and info.values is not None:
        return Shape([None if dim is None else rename(dim) for dim in info.values])
    if isinstance(info, Tuple):
        return Tuple([_map_dims(item, rename) for item in info.fields])
    if isinstance(info, CallableInfo):
        return substitute(info, {name: rename(symbolic.symbol(name)) for name in info.symbols()})
    return info


DROPPED = ops_with(HoldsFunctionValues)


def clean(module: ir.Module) -> bool:
    """Remove unused closures and uncalled private functions over function values; True if anything changed."""
    changed, again = False, True
    while again:
        again = False
        for function in list(relax_functions(module)):
            again |= _drop_unused(entry_block(function))
        again |= _drop_functions(module)
        changed |= again
    return changed


def _is_unused(value: ir.Value) -> bool:
    return not any(True for _ in value.uses)


def _drop_unused(block: ir.Block) -> bool:
    changed = False
    for view in reversed(list(block.operations)):
        op = view.operation
        for region in op.regions:
            for nested in region.blocks:
                changed |= _drop_unused(nested)
        if op.name in DROPPED and all(map(_is_unused, op.results)) and len(op.results):
            op.erase()
            changed = True
        elif op.name == "scf.if":
            changed |= _strip(op)
    return changed


def _strip(op: ir.Operation) -> bool:
    """Remove unused function results of a conditional; True if there were any."""
    kept = [not (has_callables(result.type) and _is_unused(result)) for result in op.results]
    if all(kept):
        return False
    types = [result.type for result, keep in zip(op.results, kept, strict=True) if keep]
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create("scf.if", results=types, operands=list(op.operands), regions=2)
    for index, region in enumerate(op.regions):
        block = region.blocks[0]
        block.append_to(new.regions[index])
        end = block.operations[-1].operation
        with end.location, ir.InsertionPoint(end):
            ir.Operation.create("scf.yield", operands=[v for v, keep in zip(end.operands, kept, strict=True) if keep])
        end.erase()
    remaining = list(new.results)
    for result, keep in zip(op.results, kept, strict=True):
        if keep:
            result.replace_all_uses_with(remaining.pop(0))
    op.erase()
    return True


def _drop_functions(module: ir.Module) -> bool:
    functions = list(relax_functions(module))
    called = {
        callee_of(op)
        for function in functions
        for op in ops_of(function.operation)
        if op.name in ("relax.call", MakeClosureOp.OPERATION_NAME)
    }
    dropped = [
        function
        for function in functions
        if "sym_visibility" in function.attributes
        and function.name.value not in called
        and any(map(has_callables, [*function.type.inputs, *function.type.results]))
    ]
    for function in dropped:
        function.operation.erase()
    return bool(dropped)


def check(module: ir.Module) -> None:
    """Raise `UnsupportedError` if a function value is left."""
    for function in list(relax_functions(module)):
        name = function.name.value
        public = "sym_visibility" not in function.attributes
        for parameter, type_ in zip(parameter_names(function), function.type.inputs, strict=True):
            if public and has_callables(type_):
                raise UnsupportedError(
                    f"{where(function.operation)}: {name}: parameter '{parameter}' is a function; native functions are "
                    f"not called with functions: make '{name}' private, and call it with functions of the module"
                )
        if public and any(map(has_callables, function.type.results)):
            raise UnsupportedError(
                f"{where(function.operation)}: {name}: its result holds a function; native functions return no "
                "functions: return what it computes"
            )
    for function in list(relax_functions(module)):
        for op in ops_of(function.operation):
            if any(has_callables(value.type) for value in (*op.operands, *op.results)):
                raise UnsupportedError(
                    f"{where(op)}: {op.name} in '{function.name.value}': which function it is about is known only when "
                    "the program runs; make the function where it is called, or choose between calls by a conditional"
                )


LIMIT = 64
"""Maximum number of clones; more of them indicate a recursion that creates a new closure at every step."""


ELSE = 'or run it as bytecode, build(mod, exec_mode="bytecode")'


@dataclass(frozen=True)
class SpecializeClosures(ModulePass):
    """Replace calls of function values by direct calls of the functions that they hold.

    The call of a known closure becomes a call of its function, with the captured values after the arguments. Functions
    that take closures are cloned per closure, with the captured values as parameters; functions that return closures
    return the captured values. A call of one of two closures that a condition selects becomes a conditional. Runs
    after ``lambda-lift``.

    With `keep_unknown`, a module with a function value that is unknown at compile time is left unchanged, for
    ``lower-closures``.
    """

    name: ClassVar[str] = "specialize-closures"
    keep_unknown: bool = False

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `UnsupportedError` for a function value that is unknown at compile time."""
        before = module.operation.clone() if self.keep_unknown else None
        try:
            self._specialize(module, ctx)
        except UnsupportedError as error:
            if before is None:
                raise UnsupportedError(f"{error}; {ELSE}") from None
            _restore(module, before)

    def _specialize(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        functions = [f for f in relax_functions(module) if _uses_callables(f)]
        for function in functions:
            ToNonDataflow().run_on_function(function, module, ctx)
        if functions:
            _Specializer(module).run()


def _restore(module: ir.Module, before: ir.Operation) -> None:
    """Replace the contents of a module by those of a copy."""
    for op in list(module.body.operations):
        op.operation.erase()
    with ir.InsertionPoint(module.body), ir.Location.unknown(module.context):
        for op in list(before.operation.regions[0].blocks[0].operations):
            op.operation.clone()


def _uses_callables(function: func.FuncOp) -> bool:
    types = [*function.type.inputs, *function.type.results]
    types += [result.type for op in ops_of(function.operation) for result in op.results]
    return any(map(has_callables, types))


def _callee(op: ir.Operation) -> str:
    return callee_of(op)


@dataclass
class _Specializer:
    module: ir.Module
    clones: dict[Hashable, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    """The name of the original function, by the name of the clone."""

    def run(self) -> None:
        """Resolve function values to a fixed point; a remaining function value is an error."""
        for function in relax_functions(self.module):
            for op in list(ops_of(function.operation)):
                if op.name == MakeClosureOp.OPERATION_NAME:
                    unpack_captured(op)
        while self.step():
            pass
        check(self.module)

    def functions(self) -> dict[str, func.FuncOp]:
        return {op.name.value: op for op in self.module.body.operations if isinstance(op, func.FuncOp)}

    def step(self) -> bool:
        """Resolve what can be resolved; True if anything changed."""
        changed = clean(self.module)
        for function in list(relax_functions(self.module)):
            for op in ops_of(function.operation):
                if op.name == "relax.tuple_get_item":
                    changed |= _forward(op)
        for function in list(relax_functions(self.module)):
            for op in _calls(function):
                changed |= self.invoke(op) if has_trait(op, InvokesClosure) else self.call(op)
        clean(self.module)
        for function in list(relax_functions(self.module)):
            changed |= self.returned(function)
        return changed

    # -- calls of function values

    def invoke(self, op: ir.Operation) -> bool:
        """Replace the call of a known closure by a call of its function."""
        source = source_of(op.operands[0])
        if isinstance(source, Choice):

            def again(closure: ir.Value) -> ir.Operation:
                copy: ir.Operation = op.clone().operation
                copy.operands[0] = closure
                return copy

            return _split(op, source, again)
        if source is None:
            return False
        with op.location, ir.InsertionPoint(op):
            given = struct_info(op.operands[1].type)
            assert isinstance(given, Tuple)
            arguments = unpack(op.operands[1], [f.to_type() for f in given.fields])
            new = self.emit_call(op, source.callee, arguments, source.captured)
        op.results[0].replace_all_uses_with(new)
        op.erase()
        return True

    def emit_call(
        self, op: ir.Operation, callee: str, given: Sequence[ir.Value], captured: Sequence[ir.Value]
    ) -> ir.Value:
        """Emit a call in place of `op`, with the struct info that the result of `op` claims.

        The callee declares shapes of its captured values. If their types in a cloned function do not match, the values
        are passed with unknown dimensions, and the call checks them at run time.
        """
        functions = self.functions()
        if callee not in functions:
            raise UnsupportedError(f"{where(op)}: {op.name}: the module has no function '{callee}'")
        arguments = [*given, *captured]
        try:
            inferred = self._inferred(callee, arguments)
        except RelaxError as error:
            if not self._is_clone(op):
                raise ShapeError(f"{where(op)}: {error}") from None
            arguments = [*given, *map(_with_unknown_dims, captured)]
            try:
                inferred = self._inferred(callee, arguments)
            except RelaxError:
                raise ShapeError(f"{where(op)}: {error}") from None
        wanted = struct_info(op.results[0].type)
        if implies(inferred, wanted):
            return _call(callee, pack(arguments, op.location), op.results[0].type)
        if captured and is_convertible(inferred, wanted):
            return converted(_call(callee, pack(arguments, op.location), inferred.to_type()), wanted)
        raise ShapeError(f"{where(op)}: {op.name} gives {wanted}, but '{callee}' returns {inferred}")

    def _is_clone(self, op: ir.Operation) -> bool:
        """True if an op is in a function that this pass has cloned."""
        function = enclosing_function(op)
        return function is not None and symbol_name(function) in self.origins

    def _inferred(self, callee: str, arguments: Sequence[ir.Value]) -> StructInfo:
        return infer_call(callee, self.functions()[callee], [struct_info(value.type) for value in arguments])

    # -- functions that take closures

    def call(self, op: ir.Operation) -> bool:
        """Replace a call with closures among its arguments by a call of a clone specialised for them."""
        arguments = struct_info(op.operands[0].type)
        target = self.functions().get(_callee(op))
        if target is None or not callable_paths(arguments):
            return False
        assert isinstance(arguments, Tuple)
        known: dict[Path, Known] = {}
        for path in callable_paths(arguments):
            source = source_of(op.operands[0], path)
            if isinstance(source, Choice):
                return _split_argument(op, path, source)
            if source is None:
                return False
            known[path] = source
        parts = in_terms_of(target, arguments, known)
        key = (
            target.name.value,
            tuple((path, known[path].callee, tuple(map(str, parts[path]))) for path in known),
        )
        if key not in self.clones:
            self.clones[key] = self.clone(op, target, known, parts)
        with op.location, ir.InsertionPoint(op):
            operands = unpack(op.operands[0], [f.to_type() for f in arguments.fields])
            given = [
                _without_closures(value, info, known, (index,))
                for index, (value, info) in enumerate(zip(operands, arguments.fields, strict=True))
            ]
            new = _call(self.clones[key], pack(given, op.location), op.results[0].type)
        op.results[0].replace_all_uses_with(new)
        op.erase()
        return True

    def clone(
        self,
        op: ir.Operation,
        target: func.FuncOp,
        known: dict[Path, Known],
        parts: dict[Path, Sequence[StructInfo]],
    ) -> str:
        """Clone `target` with captured values as parameters in place of closures; returns its name."""
        origin = self.origins.get(target.name.value, target.name.value)
        if len(self.clones) >= LIMIT:
            raise UnsupportedError(
                f"{where(op)}: '{origin}' is called with more than {LIMIT} different functions; a recursion "
                "that makes a new function at every step has no native form"
            )
        wanted = "_".join([origin, *(source.callee for source in known.values())])
        copy = target.operation.clone(ip=ir.InsertionPoint(self.module.body)).opview
        copy.attributes["sym_name"] = ir.StringAttr.get(fresh_name(wanted, symbol_names(self.module.body)))
        self.origins[copy.name.value] = origin
        copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        block = entry_block(copy)
        first = block.operations[0]
        for index, argument in enumerate(block.arguments):
            info = struct_info(argument.type)
            if not callable_paths(info):
                continue
            uses = list(argument.uses)
            argument.set_type(replaced(info, parts, (index,)).to_type())
            with target.location, ir.InsertionPoint(first):
                again = _with_closures(argument, info, known, (index,))
            for use in uses:
                use.owner.operation.operands[use.operand_number] = again
        copy.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([argument.type for argument in block.arguments], list(copy.type.results))
        )
        return str(copy.name.value)

    # -- functions that return closures

    def returned(self, function: func.FuncOp) -> bool:
        """Return captured values of closures from a private function, and rebuild the closures in its callers."""
        terminator = entry_block(function).operations[-1].operation
        result = terminator.operands[0]
        info = struct_info(result.type)
        name = function.name.value
        if not callable_paths(info) or "sym_visibility" not in function.attributes:
            return False
        users = [op for caller in relax_functions(self.module) for op in _users(caller, name)]
        if any(op.name == MakeClosureOp.OPERATION_NAME for op in users):
            return False
        known: dict[Path, Known] = {}
        for path in callable_paths(info):
            source = source_of(result, path)
            if not isinstance(source, Known):
                return False
            known[path] = source
        with terminator.location, ir.InsertionPoint(terminator):
            terminator.operands[0] = _without_closures(result, info, known, ())
        inputs = list(function.type.inputs)
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(inputs, [terminator.operands[0].type])
        )
        for op in users:
            self.receive(op, function, known)
        return True

    def receive(self, op: ir.Operation, function: func.FuncOp, known: dict[Path, Known]) -> None:
        """Rebuild the closures from the result of a call."""
        arguments = struct_info(op.operands[0].type)
        assert isinstance(arguments, Tuple)
        name = function.name.value
        try:
            given = infer_call(name, function, arguments.fields)
        except RelaxError as error:
            raise UnsupportedError(f"{where(op)}: what the function that '{name}' returns captures: {error}") from None
        with op.location, ir.InsertionPoint(op):
            new = _call(name, op.operands[0], given.to_type())
            again = _with_closures(new, struct_info(op.results[0].type), known, ())
        op.results[0].replace_all_uses_with(again)
        op.erase()


def _calls(function: func.FuncOp) -> list[ir.Operation]:
    return [op for op in ops_of(function.operation) if has_trait(op, InvokesClosure) or op.name == "relax.call"]


def _users(function: func.FuncOp, name: str) -> list[ir.Operation]:
    """The ops that call `name` or create closures of it."""
    ops = (op for op in ops_of(function.operation) if op.name in ("relax.call", MakeClosureOp.OPERATION_NAME))
    return [op for op in ops if _callee(op) == name]


def _with_unknown_dims(value: ir.Value) -> ir.Value:
    """A value whose symbolic dimensions are forgotten; static ones remain."""
    return converted(value, _forget_dims(struct_info(value.type)))


def _forget_dims(info: StructInfo) -> StructInfo:
    if isinstance(info, Tensor) and info.shape is not None:
        return Tensor([d if isinstance(d, int) else None for d in info.shape], info.dtype)
    if isinstance(info, Shape) and info.values is not None:
        return Shape([d if isinstance(d, int) else None for d in info.values])
    return Tuple([*map(_forget_dims, info.fields)]) if isinstance(info, Tuple) else info


def _call(callee: str, arguments: ir.Value, result: ir.Type) -> ir.OpResult:
    return ir.Operation.create(
        "relax.call",
        results=[result],
        operands=[arguments],
        attributes={"callee": ir.FlatSymbolRefAttr.get(callee)},
    ).results[0]


def _forward(op: ir.Operation) -> bool:
    """Replace the field of a `tuple` op by its operand."""
    defining = defining_op(op.operands[0])
    if defining is None or defining.name != TUPLE:
        return False
    op.results[0].replace_all_uses_with(defining.operands[ir.IntegerAttr(op.attributes["index"]).value])
    op.erase()
    return True


def _split(op: ir.Operation, choice: Choice, again: Callable[[ir.Value], ir.Operation]) -> bool:
    """Replace `op` by a conditional with one call per closure; `again` emits the call of one of them."""
    for value in (choice.taken, choice.other):
        source = source_of(value)
        outside = isinstance(source, Known) and not any(_is_made_in(v, choice.op) for v in source.captured)
        if _is_made_in(value, choice.op) and not outside:
            raise UnsupportedError(
                f"{where(op)}: {op.name}: the function that the conditional at {where(choice.op)} chooses depends on "
                "what is computed in a branch; make it, and what it captures, before the conditional"
            )
    if has_callables(op.results[0].type):
        raise UnsupportedError(
            f"{where(op)}: {op.name}: the conditional at {where(choice.op)} chooses a function that returns a "
            "function; native code knows all functions before it runs: call either function inside the branches"
        )
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create("scf.if", results=[op.results[0].type], operands=[choice.flag], regions=2)
        for region, value in zip(new.regions, (choice.taken, choice.other), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                source = source_of(value)
                if _is_made_in(value, choice.op):
                    assert isinstance(source, Known)
                    value = _closure(source.callee, pack(source.captured, op.location), value.type)
                ir.Operation.create("scf.yield", operands=list(again(value).results))
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()
    return True


def _split_argument(op: ir.Operation, path: Path, choice: Choice) -> bool:
    defining = defining_op(op.operands[0])
    if len(path) != 1 or defining is None or defining.name != TUPLE:
        raise UnsupportedError(
            f"{where(op)}: {op.name}: a conditional chooses a function that is in a tuple; pass it as an "
            "argument of its own"
        )

    def again(closure: ir.Value) -> ir.Operation:
        fields = [closure if index == path[0] else value for index, value in enumerate(defining.operands)]
        call = _call(_callee(op), pack(fields, op.location), op.results[0].type)
        return call.owner.operation

    return _split(op, choice, again)


def _is_made_in(value: ir.Value, ancestor: ir.Operation) -> bool:
    """True if `value` is computed inside the regions of `ancestor`."""
    current = value.owner.owner.operation if isinstance(value.owner, ir.Block) else value.owner.operation.parent
    while current is not None:
        if current.operation == ancestor:
            return True
        current = current.operation.parent
    return False


def _closure(callee: str, captured: ir.Value, type_: ir.Type) -> ir.Value:
    return ir.Operation.create(
        MakeClosureOp.OPERATION_NAME,
        results=[type_],
        operands=[captured],
        attributes={"callee": ir.FlatSymbolRefAttr.get(callee)},
    ).results[0]


def _without_closures(value: ir.Value, info: StructInfo, known: dict[Path, Known], path: Path) -> ir.Value:
    """`value` with its closures replaced by tuples of their captured values."""
    if path in known:
        return pack(known[path].captured, ir.Location.current)
    if not callable_paths(info):
        return value
    assert isinstance(info, Tuple)
    fields = unpack(value, [item.to_type() for item in info.fields])
    parts = [
        _without_closures(item, sub, known, (*path, index))
        for index, (item, sub) in enumerate(zip(fields, info.fields, strict=True))
    ]
    return pack(parts, ir.Location.current)


def _with_closures(value: ir.Value, info: StructInfo, known: dict[Path, Known], path: Path) -> ir.Value:
    """The value described by `info`, rebuilt from `value`, in which closures are tuples of their captured values."""
    given = struct_info(value.type)
    if path in known:
        assert isinstance(given, Tuple)
        captured = unpack(value, [item.to_type() for item in given.fields])
        return _closure(known[path].callee, pack(captured, ir.Location.current), info.to_type())
    if not callable_paths(info):
        return value
    assert isinstance(info, Tuple) and isinstance(given, Tuple)
    fields = unpack(value, [item.to_type() for item in given.fields])
    parts = [
        _with_closures(item, sub, known, (*path, index))
        for index, (item, sub) in enumerate(zip(fields, info.fields, strict=True))
    ]
    return pack(parts, ir.Location.current)


# Pass `lower-closures`: lower function values that are unknown at compile time, for the virtual machine.


INVOKE = "vm.builtin.invoke_closure"
CHECK = "vm.builtin.check_func_info"


class LowerClosures(ModulePass):
    """Lower calls of function values to calls of a builtin of the virtual machine, which takes functions as objects.

    `make_closure` remains and returns an object. Functions that users pass and that packed functions return are checked
    at run time. Runs after ``specialize-closures`` with ``keep-unknown``.
    """

    name: ClassVar[str] = "lower-closures"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in relax_functions(module):
            _check_parameters(function)
            _check_results(function)
            for op in [op for op in ops_of(function.operation) if has_trait(op, InvokesClosure)]:
                with op.location, ir.InsertionPoint(op):
                    _invoke(op)
        for function in relax_functions(module):
            _erase_types(function)


def _check_parameters(function: func.FuncOp) -> None:
    if "sym_visibility" in function.attributes:
        return
    block = entry_block(function)
    with function.location, ir.InsertionPoint.at_block_begin(block):
        for name, argument in zip(parameter_names(function), block.arguments, strict=True):
            _check_functions(argument, f"{function.name.value}: parameter '{name}'")


def _check_results(function: func.FuncOp) -> None:
    """Check at run time that results of packed functions declared as functions are functions."""
    for op in list(ops_of(function.operation)):
        if has_trait(op, CallsPacked):
            name = ir.StringAttr(op.attributes["func"]).value
            with op.location, ir.InsertionPoint.after(op):
                _check_functions(op.results[0], f"{function.name.value}: result of '{name}' at {where(op)}")


def _check_functions(value: ir.Value, context: str) -> None:
    """Check that a value is a function, or that the callable fields of a tuple are."""
    info = struct_info(value.type)
    if isinstance(info, CallableInfo):
        _check_type(value, context)
    elif isinstance(info, Tuple):
        for index, item in enumerate(info.fields):
            if has_callables(item.to_type()):
                _check_functions(tuple_get_item(Value(value), index).ssa, f"{context}[{index}]")


def _check_type(value: ir.Value, context: str) -> None:
    spec: list[ir.Attribute] = [ir.UnitAttr.get(), ir.StringAttr.get(context)]
    _call_runtime(CallPackedOp.OPERATION_NAME, CHECK, [value], spec, Tuple().to_type())


def _invoke(op: ir.Operation) -> None:
    given = struct_info(op.operands[1].type)
    assert isinstance(given, Tuple)
    values = [op.operands[0], *unpack(op.operands[1], [item.to_type() for item in given.fields])]
    is_pure = op.name == InvokePureClosureOp.OPERATION_NAME
    name = CallPurePackedOp.OPERATION_NAME if is_pure else CallPackedOp.OPERATION_NAME
    unused = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)  # in the position of the VM state
    spec = [unused, *[ir.UnitAttr.get()] * len(values)]
    result = _call_runtime(name, INVOKE, values, spec, op.results[0].type)
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _call_runtime(
    name: str, callee: str, values: list[ir.Value], spec: list[ir.Attribute], result: ir.Type
) -> ir.Value:
    return ir.Operation.create(
        name,
        results=[result],
        operands=[pack(values, ir.Location.current)],
        attributes={"func": ir.StringAttr.get(callee), "arg_spec": ir.ArrayAttr.get(spec)},
    ).results[0]


def _erase_types(function: func.FuncOp) -> None:
    """Replace function types by the object type in the types of all values."""
    for op in list(ops_of(function.operation)):
        for result in op.results:
            result.set_type(_erased(result.type))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_type(_erased(argument.type))
        if _is_needless(op):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    inputs = [argument.type for argument in entry_block(function).arguments]
    results = [_erased(type_) for type_ in function.type.results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _is_needless(op: ir.Operation) -> bool:
    """True if an op converts a value to the type that it already has."""
    return (
        op.name == "builtin.unrealized_conversion_cast"
        and len(op.operands) == len(op.results) == 1
        and op.operands[0].type == op.results[0].type
    )


def _erased(type_: ir.Type) -> ir.Type:
    return _without_callables(struct_info(type_)).to_type() if has_callables(type_) else type_


def _without_callables(info: StructInfo) -> StructInfo:
    if isinstance(info, CallableInfo):
        return Object()
    return Tuple([_without_callables(item) for item in info.fields]) if isinstance(info, Tuple) else info
