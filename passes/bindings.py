"""Bound values: `bind-params`, `bind-symbolic-vars`, `fold-constant`, `canonicalize-bindings`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from relax_mlir import symbolic
from relax_mlir.analysis.evaluate import EVALUATORS, Array, evaluate
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.attributes import SYMBOL_BOUNDS
from relax_mlir.dialects.base import implies, op_class
from relax_mlir.dialects.structure import TUPLE, ConstantOp, TupleGetItemOp, pack
from relax_mlir.dialects.symbols import bounds_attr, read_bounds
from relax_mlir.dialects.types import Shape, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    ParseError,
    RelaxError,
    ShapeError,
    UnknownNameError,
    expect,
)
from relax_mlir.files import load_arrays
from relax_mlir.ir_queries import defining_op, entry_block, is_used, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.shapes import Normalize
from relax_mlir.rewrite import Binding, ExprMutator
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.function_editing import (
    arguments_of,
    calls_of,
    functions_by_name,
    remove_parameters,
    set_arguments,
    substitute_symbols,
    symbols_of,
    update_type,
)
from relax_mlir.transform import FunctionPass, ModulePass, PassContext, relax_functions
from relax_mlir.transform.passes import dataflow_blocks, optimized_functions

# Pass `bind-params`: bind parameters to constants.


def checked(params: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays by name; raises `ArgumentError` for other keys and values."""
    expect("BindParams: 'params'", params, Mapping, "a dictionary of arrays by the parameters' names")
    for name, value in params.items():
        expect("BindParams: a key of 'params'", name, str, "the name of a parameter")
        if not hasattr(value, "__array__"):
            raise ArgumentError(f"BindParams: params[{name!r}] is of type {type(value).__name__}, expected an array")
    return dict(params)


@dataclass(frozen=True)
class BindParams(ModulePass):
    """Bind parameters of `function` to constants: the arrays of the ``.npz`` file `file`, by parameter name.

    In Python, a dictionary of arrays may replace the file, ``BindParams("main", {"w": w})``; large C-contiguous arrays
    are referenced, not copied. A symbol that is a whole dimension of a bound parameter is bound to the size of the
    array. Calls of the function in the module lose the argument. Follows TVM's BindParams.

    Raises:
        UnknownNameError: no such function or parameter.
        ArgumentError: a parameter that is not a tensor; an unreadable file.
        DTypeError, ShapeError: an array that does not match the parameter.
    """

    name: ClassVar[str] = "bind-params"
    function: str = "main"
    file: str = ""
    params: Mapping[str, Array] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        given: object = self.file
        if isinstance(given, Mapping):
            object.__setattr__(self, "file", "")
            object.__setattr__(self, "params", checked(given))

    @classmethod
    def of(cls, params: Mapping[str, Array], function: str = "main") -> BindParams:
        """The pass that binds the parameters of `function` named in `params` to constants."""
        made = cls(function)
        object.__setattr__(made, "params", checked(params))
        return made

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        functions = {op.name.value: op for op in relax_functions(module)}
        if self.function not in functions:
            raise UnknownNameError("Relax function", self.function, functions)
        target, arrays = functions[self.function], self._arrays()
        names = parameter_names(target)
        for name in arrays:
            if name not in names:
                raise UnknownNameError(f"parameter of function '{self.function}'", name, names)
        positions = {names.index(name): np.asarray(array) for name, array in arrays.items()}
        bind(target, self._sizes(target, names, positions))
        block = entry_block(target)
        with ir.InsertionPoint.at_block_begin(block):
            for index, array in positions.items():
                argument = block.arguments[index]
                constant = ir.Operation.create(
                    ConstantOp.OPERATION_NAME,
                    results=[Tensor(array.shape, dtypes.dtype(array.dtype)).to_type()],
                    attributes={"value": constants.to_attribute(array)},
                    loc=ir.Location.name(names[index], target.location),
                )
                argument.replace_all_uses_with(constant.results[0])
        for call in calls_of(module).get(self.function, ()):
            kept = [value for i, value in enumerate(arguments_of(call)) if i not in positions]
            set_arguments(call, kept)
        remove_parameters(target, list(positions))
        check_calls(module, [self.function])
        Normalize().transform(module, ctx)

    def _arrays(self) -> Mapping[str, Array]:
        if self.params is not None:
            return self.params
        if not self.file:
            raise ArgumentError("bind-params: give 'file', an .npz file of arrays by the parameters' names")
        try:
            stored = load_arrays(self.file)
        except (OSError, ValueError) as error:
            raise ArgumentError(f"bind-params: cannot read '{self.file}': {error}") from None
        if isinstance(stored, np.ndarray):
            raise ArgumentError(f"bind-params: '{self.file}' is one array, expected arrays by name (.npz)")
        return stored

    def _sizes(self, target: func.FuncOp, names: list[str], positions: Mapping[int, Array]) -> dict[str, int]:
        """The values of symbols that the arrays determine; raises if an array does not match its parameter."""
        found: dict[str, tuple[int, str]] = {}
        tensors = {i: self._tensor(target, names[i], i, array) for i, array in positions.items()}
        for index, info in tensors.items():
            for axis, dim in enumerate(info.shape or ()):
                symbol = None if dim is None else symbolic.linear_definition(dim)
                size = positions[index].shape[axis]
                if symbol is None:
                    continue
                known, source = found.setdefault(symbol, (size, f"'{names[index]}' dimension {axis}"))
                if known != size:
                    raise ShapeError(
                        f"bind-params: function '{self.function}': '{names[index]}' dimension {axis} is {size}, but "
                        f"{symbol} = {known}, taken from {source}"
                    )
        values = {symbol: size for symbol, (size, _) in found.items()}
        for index, info in tensors.items():
            for axis, dim in enumerate(info.shape or ()):
                if dim is not None:
                    self._check_size(names[index], info, axis, positions[index].shape[axis], values)
        return values

    def _check_size(self, name: str, info: Tensor, axis: int, size: int, values: dict[str, int]) -> None:
        """Raise `ShapeError` unless dimension `axis` of the parameter is `size`, given the values of symbols."""
        dim = (info.shape or ())[axis]
        assert dim is not None
        wanted = symbolic.substitute(dim, dict(values))
        if wanted == size:
            return
        what = f"bind-params: function '{self.function}': '{name}' dimension {axis} is {size}"
        if isinstance(wanted, int):
            raise ShapeError(f"{what}, but the parameter is {info} ({dim} = {wanted})")
        raise ShapeError(f"{what}; whether that is {wanted} is not known: bind-symbolic-vars first")

    def _tensor(self, target: func.FuncOp, name: str, index: int, array: Array) -> Tensor:
        what = f"bind-params: function '{self.function}': parameter '{name}'"
        info = struct_info(target.type.inputs[index])
        if not isinstance(info, Tensor):
            raise ArgumentError(f"{what} is {info}; only tensors can be bound")
        dtype = dtypes.dtype(array.dtype)
        if info.dtype is not None and info.dtype != dtype:
            raise DTypeError(f"{what} is {info}, but the array has dtype {dtype}")
        if info.shape is not None and len(info.shape) != array.ndim:
            raise ShapeError(f"{what} is {info}, but the array has rank {array.ndim}: {array.shape}")
        return info


# Pass `bind-symbolic-vars`: bind symbols to integers.


@dataclass(frozen=True)
class BindSymbolicVars(ModulePass):
    """Bind symbols to the values in `bindings` (``n=4,m=8``), in `function`, or in every function that has them.

    Shapes are specialised: a dimension ``2*n`` becomes 8. A later call of the function with other sizes raises
    `ShapeError`, and so does this pass if the module contains such a call. Follows TVM's BindSymbolicVars.

    Raises:
        UnknownNameError: no such function, or a symbol that the function does not have.
        ShapeError: a negative value, or a call in the module whose arguments have another size.
    """

    name: ClassVar[str] = "bind-symbolic-vars"
    bindings: tuple[str, ...]
    function: str | None = None

    @classmethod
    def of(cls, values: Mapping[str, int], function: str | None = None) -> BindSymbolicVars:
        """The pass that binds symbols, by name, to the integers `values`."""
        return cls(tuple(f"{name}={value}" for name, value in values.items()), function)

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        values = _parsed(self.bindings)
        targets = _targets(module, self.function)
        known = {op.name.value: symbols_of(op) for op in targets}
        for name in values:
            if not any(name in names for names in known.values()):
                owner = f"symbol of function '{self.function}'" if self.function else "symbol"
                raise UnknownNameError(owner, name, {n for names in known.values() for n in names})
        bound = []
        for op in targets:
            mapping = {name: values[name] for name in known[op.name.value] if name in values}
            if mapping:
                bind(op, mapping)
                bound.append(op.name.value)
        check_calls(module, bound)
        Normalize().transform(module, ctx)


def bind(function: func.FuncOp, mapping: Mapping[str, int]) -> None:
    """Replace symbols of one function by integers; raises `ShapeError` for a value out of the symbol's bounds."""
    bounds = read_bounds(function)
    for name, value in mapping.items():
        low, high = bounds.get(name, (0, None))
        if value < low or (high is not None and value > high):
            limit = f"from {low}" if high is None else f"from {low} to {high}"
            raise ShapeError(f"function '{function.name.value}': symbol '{name}' cannot be {value}: it goes {limit}")
    if bounds:
        kept = {name: pair for name, pair in bounds.items() if name not in mapping}
        function.attributes[SYMBOL_BOUNDS] = bounds_attr(kept)
    substitute_symbols(function.operation, mapping)
    update_type(function)


def check_calls(module: ir.Module, callees: Sequence[str]) -> None:
    """Raise `ShapeError` if a call in the module no longer matches the signature of one of `callees`."""
    functions, calls = functions_by_name(module), calls_of(module)
    for name in callees:
        for call in calls.get(name, ()):
            arguments = struct_info(call.operands[0].type)
            assert isinstance(arguments, Tuple)
            try:
                infer_call(name, functions[name], arguments.fields)
            except RelaxError as error:
                raise ShapeError(f"{where(call)}: {error}; bind the symbols of the caller, too") from None


def _parsed(bindings: Sequence[str]) -> dict[str, int]:
    values: dict[str, int] = {}
    for binding in bindings:
        name, _, text = (part.strip() for part in binding.partition("="))
        try:
            value = int(text)
        except ValueError:
            raise ParseError(f"binding '{binding}' is not SYMBOL=INTEGER") from None
        if not name:
            raise ParseError(f"binding '{binding}' is not SYMBOL=INTEGER")
        if value < 0:
            raise ShapeError(f"symbol '{name}' cannot be {value}: symbols are not negative")
        if values.setdefault(name, value) != value:
            raise ArgumentError(f"symbol '{name}' is bound to {values[name]} and to {value}")
    return values


def _targets(module: ir.Module, function: str | None) -> list[func.FuncOp]:
    functions = relax_functions(module)
    if function is None:
        return functions
    found = [op for op in functions if op.name.value == function]
    if not found:
        raise UnknownNameError("Relax function", function, [op.name.value for op in functions])
    return found


# Pass `fold-constant`: evaluate pure ops on constants at compile time.


@dataclass(frozen=True)
class FoldConstant(ModulePass):
    """Evaluate ops whose operands are all constants.

    An op is folded if `relax_mlir.analysis.evaluate` supports it, its shape and dtype are static, and its result has at
    most `max_elements` elements. Constants that become unused are removed.
    """

    name: ClassVar[str] = "fold-constant"
    opt_level: ClassVar[int] = 1
    max_elements: int = 16384

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Fold in program order, so that chains fold in one run."""
        make_all_effects_explicit(module)
        for function in optimized_functions(module):
            for op in ops_of(function.operation):
                if op.name.removeprefix("relax.") in EVALUATORS:
                    self._fold(op)

    def _fold(self, op: ir.Operation) -> None:
        defining_ops = [defining for defining in map(_constant, op.operands) if defining is not None]
        if len(defining_ops) != len(op.operands):
            return
        value = self._value(op, defining_ops)
        if value is None:
            return
        with ir.InsertionPoint(op), op.location:
            attribute = constants.to_attribute(value)
            folded = ir.Operation.create(
                ConstantOp.OPERATION_NAME, results=[op.results[0].type], attributes={"value": attribute}
            )
        op.results[0].replace_all_uses_with(folded.results[0])
        op.erase()
        for defining in [
            defining for index, defining in enumerate(defining_ops) if defining not in defining_ops[:index]
        ]:
            if not is_used(defining.results[0]):
                defining.erase()

    def _value(self, op: ir.Operation, defining_ops: list[ir.Operation]) -> Array | None:
        info, cls = struct_info(op.results[0].type), op_class(op)
        if cls is None or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:
            return None
        sizes = [dim for dim in info.known_shape if isinstance(dim, int)]
        if len(sizes) != len(info.known_shape) or math.prod(sizes) > self.max_elements:
            return None
        operands = [constants.to_numpy(defining.attributes["value"]) for defining in defining_ops]
        return evaluate(cls.args_of(op), operands, info.dtype)


def _constant(value: ir.Value) -> ir.Operation | None:
    """The `relax.constant` that defines `value`, or None."""
    if isinstance(value.owner, ir.Block):
        return None
    defining = value.owner.operation
    return defining if defining.name == ConstantOp.OPERATION_NAME else None


# Pass `canonicalize-bindings`: remove bindings that only rename a value.


class CanonicalizeBindings(FunctionPass):
    """Remove bindings that only rename a value, and redundant outputs of dataflow blocks.

    Such bindings are: a field of a tuple whose fields are known; a tuple of all fields of another tuple, in order; a
    `match_shape` that is already proved. A dataflow block outputs each value once, and only values that it defines and
    that are used after it. A block without outputs is removed unless it holds ops that must stay.
    """

    name: ClassVar[str] = "canonicalize-bindings"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        _DropNames().visit(function)
        for block in dataflow_blocks(function):
            clean_outputs(block)
        _DropNames().visit(function)


class _DropNames(ExprMutator):
    def visit_tuple_get_item(self, binding: Binding) -> Value | None:
        made = self.definition(binding.operands[0])
        return made.operands[binding.attrs["index"]] if made is not None and made.op == "tuple" else None

    def visit_tuple(self, binding: Binding) -> Value | None:
        fields = [self.definition(field) for field in binding.operands]
        sources = [f.operands[0] for f in fields if f is not None and f.op == "tuple_get_item"]
        if not sources or len(sources) != len(fields) or binding.result.struct_info != sources[0].struct_info:
            return None
        in_order = all(
            field is not None and field.attrs["index"] == index and self.same(source, sources[0])
            for index, (field, source) in enumerate(zip(fields, sources, strict=True))
        )
        return sources[0] if in_order else None

    def visit_match_shape(self, binding: Binding) -> Value | None:
        value, pattern = binding.operands[0], dims_from_attr(binding.operation.attributes["pattern"])
        given = value.struct_info
        if isinstance(given, Shape):
            return value if implies(given, Shape(pattern)) else None
        if not isinstance(given, Tensor):
            return None  # it names an integer, or casts an object to a tensor
        dtype = binding.result.tensor_info.dtype
        return value if implies(given, Tensor(pattern, dtype)) else None


def clean_outputs(block: ir.Operation) -> None:
    """Remove outputs of the dataflow block `block` that are unused after it, duplicates, or defined before it.

    A result that is used as a whole tuple is unchanged.
    """
    result, end = block.results[0], entry_block(block).operations[-1].operation
    users = [use.owner.operation for use in result.uses]
    defining = defining_op(end.operands[0])
    several = defining is not None and defining.name == TUPLE and _is_inside(defining, block)
    if not several:
        if users and not _is_inside(defining, block):
            result.replace_all_uses_with(end.operands[0])
        return
    assert defining is not None
    if any(user.name != TupleGetItemOp.OPERATION_NAME for user in users):
        return
    given = list(defining.operands)
    wanted: list[ir.Value] = []
    for user in users:
        value = given[ir.IntegerAttr(user.attributes["index"]).value]
        if not _is_inside(defining_op(value), block):
            user.results[0].replace_all_uses_with(value)
            user.erase()
    readers = [use.owner.operation for use in result.uses]
    for value in given:
        used = any(given[ir.IntegerAttr(user.attributes["index"]).value] == value for user in readers)
        if used and value not in wanted:
            wanted.append(value)
    if wanted != given:
        _give_out(block, end, defining, wanted, readers)


def _give_out(
    block: ir.Operation,
    end: ir.Operation,
    defining: ir.Operation,
    wanted: list[ir.Value],
    readers: list[ir.Operation],
) -> None:
    given = list(defining.operands)
    positions = [wanted.index(given[ir.IntegerAttr(user.attributes["index"]).value]) for user in readers]
    with ir.InsertionPoint(end):
        end.operands[0] = wanted[0] if len(wanted) == 1 else pack(wanted, defining.location)
    block.results[0].set_type(end.operands[0].type)
    if not is_used(defining.results[0]):
        defining.erase()
    for user, position in zip(readers, positions, strict=True):
        if len(wanted) == 1:
            user.results[0].replace_all_uses_with(block.results[0])
            user.erase()
        else:
            user.attributes["index"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), position)
    assert isinstance(struct_info(block.results[0].type), Tuple) or len(wanted) == 1


def _is_inside(op: ir.Operation | None, block: ir.Operation) -> bool:
    return op is not None and op.parent is not None and bool(op.parent.operation == block)
