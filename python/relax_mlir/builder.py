"""`BlockBuilder`: builds Relax modules from Python, with shapes and dtypes deduced as ops are emitted."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import Counter, abc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from relax_mlir.analysis.call_graph import acts, impure_functions
from relax_mlir.analysis.invariants import unusable_name
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.dialects import call_forms, calls, closures, structure
from relax_mlir.dialects.attributes import PARAM_NAME, SYMBOL_BOUNDS
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.call_forms import ShapeLike
from relax_mlir.dialects.construction import Frame
from relax_mlir.dialects.dialect import pooled_context
from relax_mlir.dialects.location import user_location
from relax_mlir.dialects.symbols import bounds_attr, building, checked_bounds, parameter_symbols
from relax_mlir.dialects.types import Callable, DimLike, Prim, StructInfo, Tensor, struct_info
from relax_mlir.dialects.value import Scalar, Value, ValueLike, Var, as_value
from relax_mlir.error import ArgumentError, ShapeError, UnknownNameError, expect
from relax_mlir.ir_module import GlobalVar, IRModule, put
from relax_mlir.ir_queries import defining_op, fresh_name, has_symbol, symbol_names
from relax_mlir.lazy import Hook
from relax_mlir.memory_left import STEP, require
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import assume, assuming

Nested = Union[ValueLike, Sequence["Nested"]]  # noqa: UP007 - a forward reference has no operator |


@dataclass
class _Function:
    name: str
    op: func.FuncOp
    body: ir.Block
    private: bool
    declared: StructInfo | None = None
    result: Value | None = None
    dataflow: ir.Operation | None = None
    outputs: list[list[Value]] = field(default_factory=list)
    """The handles of each output of the dataflow block."""


_emit_computed: Hook[[BlockBuilder, Any, str | None], Any] = Hook("BlockBuilder.emit")
_emit_te: Hook[[BlockBuilder, abc.Callable[..., Any], Sequence[Any], Mapping[str, Any], str | None], Any] = Hook(
    "BlockBuilder.emit_te"
)


class BlockBuilder:
    """Builds a module function by function.

    >>> import relax_mlir as rx
    >>> from relax_mlir import op as R
    >>> bb = rx.BlockBuilder()
    >>> x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    >>> with bb.function("main", [x]):
    ...     with bb.dataflow():
    ...         y = bb.emit_output(R.add(x, x))
    ...     bb.emit_func_output(y)
    >>> mod = bb.get()
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        expect("BlockBuilder: 'mod'", mod, IRModule | None, "an IRModule or None")
        if mod is None:
            context = pooled_context()
            with context, ir.Location.unknown():
                mod = IRModule(ir.Module.create())
        self._mod = mod
        self._function: _Function | None = None
        self._lambdas = 0
        self._frames: dict[str, weakref.ref[Frame]] = {}
        """The frames of functions by name; live values keep them alive."""

    @property
    def mod(self) -> IRModule:
        """The module in its current state, which may be invalid; `get` verifies it."""
        return self._mod

    # -- functions

    @contextlib.contextmanager
    def function(
        self,
        name: str,
        params: Sequence[Var] = (),
        *,
        private: bool = False,
        result: StructInfo | None = None,
        bounds: Mapping[str, tuple[int, int | None]] | None = None,
    ) -> Iterator[None]:
        """Build the function `name`: in the context, `params` are its values, and `emit_func_output` ends it.

        `private` functions are not callable from outside the module. `result` is the struct info of the result, which
        lets the function call itself; the argument of `emit_func_output` must fit it. `bounds` gives symbols of the
        parameters inclusive bounds, ``{"n": (1, 4096), "m": (2, None)}``: proofs use them, and each call checks them.
        An integer parameter ``Prim(value="n")`` defines the symbol n, by a `match_shape`. If the body raises, the
        function is removed.
        """
        if self._function is not None:
            raise ArgumentError(f"function '{name}': function '{self._function.name}' is still being built")
        expect("function: 'name'", name, str, "a string")
        if why := unusable_name(name):
            raise ArgumentError(f"function: 'name' {name!r} {why}")
        expect("function: 'result'", result, StructInfo | None, "a struct info or None")
        self._check_free(name)
        _check_params(name, params)
        require(f"function '{name}'", STEP)
        with self._mod.context, user_location():
            op = func.FuncOp(
                name,
                ir.FunctionType.get(
                    [p.struct_info.to_type() for p in params], [] if result is None else [result.to_type()]
                ),
                visibility="private" if private else None,
                ip=ir.InsertionPoint(self._mod.mlir.body),
            )
            op.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [ir.DictAttr.get({PARAM_NAME: ir.StringAttr.get(p.name)}) for p in params]
            )
            body = op.add_entry_block([ir.Location.name(p.name, user_location()) for p in params])
            contexts = (self._mod.context, user_location(), assuming({}), building(op.operation))
        frame = Frame(f"function '{name}'", body, unfinished=op.operation, module=self._mod, contexts=contexts)
        self._function = _Function(name, op, body, private, result)
        try:
            with frame:
                for param, argument in zip(params, body.arguments, strict=True):
                    param.bind(argument)
                self.bound_symbols(bounds or {})
                _match_integers(params)
                yield
                self._end_function(self._function)
            self._frames[name] = weakref.ref(frame)
        finally:
            self._function = None

    @contextlib.contextmanager
    def editing(self, function: func.FuncOp) -> Iterator[None]:
        """Edit an existing function in the context: `emit`, `emit_te` and the other methods add to it."""
        outer, name = self._function, function.name.value
        self._function = _Function(name, function, function.regions[0].blocks[0], private=False)
        try:
            yield
        finally:
            self._function = outer

    def bound_symbols(self, bounds: Mapping[str, tuple[int, int | None]]) -> None:
        """Set bounds of symbols of the function's parameters, as `function` does; call it before any op is emitted."""
        current = self._current("bound_symbols")
        checked = checked_bounds(f"function '{current.name}'", bounds)
        defined = parameter_symbols([struct_info(argument.type) for argument in current.body.arguments])
        for name in checked:
            if name not in defined:
                raise UnknownNameError(f"symbol of function '{current.name}'", name, defined)
        if checked:
            current.op.attributes[SYMBOL_BOUNDS] = bounds_attr(checked)
        assume(checked)

    def _end_function(self, current: _Function) -> None:
        if current.result is None:
            raise ArgumentError(f"function '{current.name}' has no result; call bb.emit_func_output")
        given, declared = current.result.struct_info, current.declared
        if declared is not None and not implies(given, declared):
            raise ShapeError(f"function '{current.name}': its result is {given}, declared is {declared}")
        inputs = [argument.type for argument in current.body.arguments]
        current.op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [current.result.ssa.type]))

    def emit_func_output(self, output: Nested) -> None:
        """Return `output` from the function: a value, or a (nested) tuple or list of values."""
        current = self._current("emit_func_output")
        if current.dataflow is not None:
            raise ArgumentError("emit_func_output: a dataflow block is open; leave it first")
        if current.result is not None:
            raise ArgumentError(f"emit_func_output: function '{current.name}' has its result already")
        current.result = _tuple_of(output)
        with user_location():
            if self._lambdas:
                ir.Operation.create(closures.LambdaReturnOp.OPERATION_NAME, operands=[current.result.ssa])
            else:
                func.ReturnOp([current.result.ssa])

    @contextlib.contextmanager
    def dataflow(self) -> Iterator[None]:
        """A dataflow block of pure ops only; the values marked by `emit_output` are visible after it."""
        current = self._current("dataflow")
        if current.dataflow is not None:
            raise ArgumentError("dataflow: dataflow blocks do not nest")
        location = user_location()
        scratch = func.FuncOp("dataflow", ir.FunctionType.get([], []), visibility="private")
        block = scratch.add_entry_block()
        current.dataflow, current.outputs = scratch.operation, []
        try:
            with Frame("a dataflow block", block, unfinished=scratch.operation):
                yield
                output = self._output(current.outputs, location)
        finally:
            current.dataflow = None
        final = ir.Operation.create(
            "relax.dataflow", results=[output.type], regions=1, loc=location, ip=ir.InsertionPoint(scratch)
        )
        block.append_to(final.regions[0])
        scratch.operation.erase()
        whole = Value(final.results[0])
        for index, handles in enumerate(current.outputs):
            result = whole if len(current.outputs) == 1 else structure.tuple_get_item(whole, index)
            for handle in handles:
                handle.bind(result.ssa)
        current.outputs = []

    @staticmethod
    def _output(outputs: Sequence[Sequence[Value]], location: ir.Location) -> ir.Value:
        """End a dataflow block: its output, or the tuple of its outputs."""
        values = [handles[0].ssa for handles in outputs]
        value = values[0] if len(values) == 1 else structure.pack(values, location)
        ir.Operation.create("relax.output", operands=[value], loc=location)
        return value

    # -- functions as values

    @contextlib.contextmanager
    def lambda_function(self, name: str, params: Sequence[Var] = (), *, pure: bool | None = None) -> Iterator[Value]:
        """Build a nested function, which sees the values around it; the context yields the function as a value.

        `emit_func_output` ends it; afterwards the value can be called (`op.invoke_closure`), passed and returned.
        `pure`: true if it has no side effects; None: inferred from its body.
        """
        current = self._current("lambda_function")
        expect("lambda_function: 'name'", name, str, "a string")
        _check_params(name, params)
        location = user_location()
        handle = Var(name, Callable())
        scratch = func.FuncOp("lambda", ir.FunctionType.get([], []), visibility="private", loc=location)
        block = ir.Block.create_at_start(scratch.regions[0], [p.struct_info.to_type() for p in params])
        saved = current.result, current.dataflow, current.outputs
        current.result, current.dataflow, current.outputs = None, None, []
        self._lambdas += 1
        try:
            with Frame(f"function '{name}'", block, unfinished=scratch.operation):
                for param, argument in zip(params, block.arguments, strict=True):
                    param.bind(argument)
                _match_integers(params)
                yield handle
                result = current.result
                if result is None:
                    raise ArgumentError(f"function '{name}' has no result; call bb.emit_func_output")
        finally:
            self._lambdas -= 1
            current.result, current.dataflow, current.outputs = saved
        pure = self._is_pure(scratch.operation) if pure is None else pure
        info = Callable([p.struct_info for p in params], result.struct_info, pure)
        with location:
            op = ir.Operation.create(
                closures.LambdaOp.OPERATION_NAME,
                results=[info.to_type()],
                attributes={"names": ir.ArrayAttr.get([ir.StringAttr.get(p.name) for p in params])},
                regions=1,
                loc=ir.Location.name(name, location),
                ip=ir.InsertionPoint.current,
            )
        block.append_to(op.regions[0])
        scratch.operation.erase()
        handle.bind(op.results[0])
        handle._info = info

    def _is_pure(self, function: ir.Operation) -> bool:
        """True if the ops of a function under construction have no side effects."""
        functions = {op.name.value: op for op in self._mod.mlir.body.operations if isinstance(op, func.FuncOp)}
        return acts(function, impure_functions(functions)) is None

    def make_closure(self, callee: str, *captured: Value) -> Value:
        """The function `callee` of this module as a closure, with its last parameters bound to `captured`."""
        current = self._current("make_closure")
        if callee == current.name:
            raise ArgumentError(f"make_closure: '{callee}' is still being built; its result type is not known yet")
        target = self.lookup(callee)
        for index, value in enumerate(captured):
            expect(f"make_closure of '{callee}': captured value {index}", value, Value, "a Relax value")
        return closures.make_closure(callee, target, structure.make_tuple(*captured), self._purity(callee))

    def _purity(self, callee: str) -> bool:
        functions = {op.name.value: op for op in self._mod.mlir.body.operations if isinstance(op, func.FuncOp)}
        return callee not in impure_functions(functions)

    # -- emitting

    def emit(self, value: Any, name: str | None = None) -> Any:  # noqa: ANN401 - see below
        """Bind `value`, which its op has already emitted, to `name` (stored as the name of its location)."""
        self._current("emit")
        expect("emit: 'name'", name, str | None, "a string or None")
        if _is_computed(value):
            return _emit_computed(self, value, name)
        if value is None:
            raise ArgumentError("emit: there is no value; a call_packed without 'out' is written without emit")
        bound = as_value(value)
        owner = defining_op(bound.ssa)
        if name is not None and owner is not None:
            with self._mod.context:
                owner.location = ir.Location.name(name, owner.location)
        return bound

    def emit_output(self, value: Nested, name: str | None = None) -> Value:
        """Like `emit`, but make `value` an output of the dataflow block; `value` stays valid after the block."""
        current = self._current("emit_output")
        if current.dataflow is None:
            raise ArgumentError("emit_output: no dataflow block is open; use emit outside of one")
        handle = Value(self.emit(_tuple_of(value), name).ssa)
        current.outputs.append([handle])
        if isinstance(value, Value) and not isinstance(value, Var):
            current.outputs[-1].append(value)
        return handle

    def match_shape(self, value: Value, pattern: Sequence[DimLike], dtype: str | None = None) -> Value:
        """`value` (tensor or shape) with shape `pattern`: new symbols are bound, known ones are checked at run time."""
        self._current("match_shape")
        return structure.match_shape(value, pattern, dtype)

    match_cast = match_shape

    def const(self, value: np.ndarray | Scalar, dtype: str | None = None, name: str | None = None) -> Value:
        """A constant; a large C-contiguous array is referenced, not copied. `name` is for printed modules."""
        self._current("const")
        return structure.constant(value, dtype, name)

    def emit_te(
        self,
        function: abc.Callable[..., Any],
        *args: Any,  # noqa: ANN401 - arguments of `function`
        primfunc_name_hint: str | None = None,
        **kwargs: Any,  # noqa: ANN401 - arguments of `function`
    ) -> Any:  # noqa: ANN401 - a value, or a tuple of values
        """Call a prim func built from tensor expressions (`relax_mlir.te`).

        `function` is called with the arguments. Tensors, also in lists and tuples, are passed as placeholders of the
        same shape and dtype, shapes as tuples of dimensions, NumPy arrays as constants, and everything else unchanged.
        It returns a `te.Tensor`, or a list or tuple of them. Symbols that are not by themselves a dimension of some
        tensor are passed as integers. Equal prim funcs are shared; `primfunc_name_hint` names the prim func (default:
        the name of `function`).

        Raises:
            ShapeError, DTypeError: a tensor of unknown shape or dtype; and what `function` raises.
            ArgumentError: `function` returns something else.
        """
        self._current("emit_te")
        return _emit_te(self, function, args, kwargs, primfunc_name_hint)

    call_te = emit_te

    def call_tir(
        self,
        callee: calls.Callee | ShapeLike | Sequence[ShapeLike],
        args: Value | Sequence[Value | calls.StaticArg] | calls.Callee,
        out: Tensor | Sequence[Tensor] | Value | Sequence[Value | calls.StaticArg],
        tir_vars: Sequence[DimLike] = (),
    ) -> Value:
        """Call a prim func of the module in destination-passing style; see `relax_mlir.op.call_tir`."""
        self._current("call_tir")
        return call_forms.call_tir(callee, args, out, tir_vars)

    call_tir_dyn = call_tir

    def call(self, callee: str, *args: Value) -> Value:
        """Call the Relax function `callee` of this module; the result's shape follows from its signature."""
        current = self._current("call")
        if callee == current.name and current.declared is None:
            raise ArgumentError(f"call: '{callee}' is still being built; bb.function(…, result=…) says what it returns")
        target = self.lookup(callee)
        for index, arg in enumerate(args):
            expect(f"call of '{callee}': argument {index}", arg, Value, "a Relax value")
        result = infer_call(callee, target, [a.struct_info for a in args])
        return calls.call(callee, args, result)

    # -- the module

    def add_func(self, source: IRModule | func.FuncOp, name: str) -> GlobalVar:
        """Add a copy of the function called `name` from another module (or a function of this context).

        Returns its name in this module, which differs from `name` if that is taken.
        """
        expect("add_func: 'source'", source, IRModule | func.FuncOp, "an IRModule or a function")
        expect("add_func: 'name'", name, str, "a string")
        op = source[name] if isinstance(source, IRModule) else source
        fresh = fresh_name(name, self.symbol_names())
        put(self._mod.mlir, fresh, op)
        return GlobalVar(fresh)

    def update_func(self, name: str, source: IRModule | func.FuncOp) -> None:
        """Replace the function `name` by `source`, or by the function of the same name if `source` is a module."""
        expect("update_func: 'source'", source, IRModule | func.FuncOp, "an IRModule or a function")
        old = self.lookup(name)
        new = source[name] if isinstance(source, IRModule) else source
        if new.operation == old.operation:
            return
        reference = self._frames.pop(name, None)
        frame = None if reference is None else reference()
        if frame is not None:
            frame.replaced(old.operation)
        put(self._mod.mlir, name, new)

    def lookup(self, name: str) -> func.FuncOp:
        """The function called `name`; raises `UnknownNameError`."""
        return self._mod[name]

    def get(self) -> IRModule:
        """The module built so far, verified; raises `VerifyError`, or `ArgumentError` inside a function."""
        if self._function is not None:
            raise ArgumentError(f"get: function '{self._function.name}' is still being built")
        self._mod.verify()
        return self._mod

    finalize = get

    def _current(self, what: str) -> _Function:
        if self._function is None:
            raise ArgumentError(f"{what}: no function is being built; use it inside `with bb.function(...)`")
        return self._function

    def symbol_names(self) -> set[str]:
        """Names of all functions of the module, prim funcs included."""
        return symbol_names(self._mod.mlir.body)

    def _check_free(self, name: str) -> None:
        if has_symbol(self._mod.mlir, name):
            raise ArgumentError(f"function '{name}' is defined already; use update_func to replace it")


def _check_params(function: str, params: Sequence[Var]) -> None:
    expect(f"function '{function}': 'params'", params, list | tuple, "a list or tuple of Vars")
    for param in params:
        expect(f"function '{function}': parameter {param!r}", param, Var, "a Var")
    counts = Counter(p.name for p in params)
    for param in params:
        if why := unusable_name(param.name):
            raise ArgumentError(f"function '{function}': the name of parameter {param.name!r} {why}")
        if counts[param.name] > 1:
            raise ArgumentError(f"function '{function}': two parameters are called '{param.name}'")


def _match_integers(params: Sequence[Var]) -> None:
    """Define the symbols that the struct infos of integer parameters name."""
    for param in params:
        if isinstance(param.struct_info, Prim) and param.struct_info.value is not None:
            structure.match_shape(param, (param.struct_info.value,))


def _is_computed(value: object) -> bool:
    """True if a value is a computed tensor expression, or a sequence of them."""
    tensors = sys.modules.get("relax_mlir.te.tensors")  # not imported: no tensor expressions
    items = value if isinstance(value, list | tuple) and value else [value]
    return tensors is not None and all(isinstance(item, tensors.Tensor) for item in items)


def _tuple_of(value: Nested) -> Value:
    if isinstance(value, list | tuple):
        return structure.make_tuple(*(_tuple_of(v) for v in value))
    return as_value(value)  # type: ignore[arg-type]  # a sequence has been handled
