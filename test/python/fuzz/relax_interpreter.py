"""An interpreter of Relax modules on NumPy, op by op, with rounding noise as in `difference`.

Unknown ops raise `UnknownMeaningError`. A failing pure op returns a `Failed` value: only a result, condition or effect
that needs it fails, as unused values need not be computed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import paths  # noqa: F401 - the next imports need it
from difference import Frame, Noise, Program, TooLargeError
from op_semantics import SEMANTICS, FailsError, Sizes, UnknownMeaningError, expression
from reference import Array, is_float
from relax_mlir import symbolic
from relax_mlir.analysis.call_graph import impure_functions
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.constants import to_numpy
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.mlir import func, ir

MAX_STEPS = 20_000
TUPLE = "builtin.unrealized_conversion_cast"
_UNFIT = re.compile("broadcast|mismatch in its core dimension")
"""NumPy's message for operands of mismatched sizes; sizes may be known at the call only."""
_INTEGERS = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
}


class EndlessError(Exception):
    """More steps than a test may take, possibly an endless loop."""


@dataclass(frozen=True)
class Failed:
    """A value that cannot be computed, and why."""

    why: str


@dataclass(frozen=True)
class Closure:
    """A nested function with its captured scope, or a function of the module with captured values."""

    op: ir.Operation | None
    scope: Scope | None
    callee: str = ""
    captured: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ExternFunc:
    """A packed function as a value."""

    name: str


@dataclass
class Scope:
    """Values by SSA value, and symbols; other ones are in `outer`."""

    outer: Scope | None = None
    values: dict[ir.Value, Any] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)

    def value(self, name: ir.Value) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise UnknownMeaningError("a value that is not in scope")

    def symbol(self, name: str) -> int:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.symbols:
                return scope.symbols[name]
            scope = scope.outer
        raise UnknownMeaningError(f"symbol {name}")


class Interpreter:
    """Evaluates functions of one module; `noise` as in `difference.evaluate`."""

    def __init__(self, module: ir.Module, noise: Noise | None = None) -> None:
        self.functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        self.noise = Frame(Program("noise"), (), noise)
        self.steps = 0
        self.failures: list[str] = []
        """The reasons of failing ops, whether or not another op needs their values."""

    def call(self, name: str, arguments: Sequence[Any], depth: int = 0) -> Any:
        """The result of a function on values; raises `FailsError` where it fails."""
        function = self.functions.get(name)
        if function is None or function.is_external or PRIM_FUNC in function.attributes or depth > 20:
            raise UnknownMeaningError(f"function {name}")
        block = function.regions[0].blocks[0]
        scope = Scope()
        infos = [struct_info(argument.type) for argument in block.arguments]
        self._bind(scope, infos, arguments)
        for symbol, (low, high) in read_bounds(function).items():
            size = scope.symbols.get(symbol)
            if size is not None and (size < low or (high is not None and size > high)):
                raise FailsError(f"{symbol} is {size}, out of its bounds")
        for name_, value in zip(block.arguments, arguments, strict=True):
            scope.values[name_] = value
        result = self._block(block, scope, depth)[0]
        _demand([result])
        return result

    def _bind(self, scope: Scope, infos: Sequence[StructInfo], values: Sequence[Any]) -> None:
        """Symbols from arguments; raises where an argument does not fit."""
        pairs = [pair for info, value in zip(infos, values, strict=True) for pair in _dims(info, value)]
        wanted = [dim for dim, _ in pairs if dim is not None]
        sizes = [size for dim, size in pairs if dim is not None]
        for definition in symbolic.definitions(wanted):
            scale, offset = self._dim(scope, definition.scale), self._dim(scope, definition.offset)
            rest = sizes[definition.index] - offset
            if scale == 0 or rest % scale or rest // scale < 0:
                raise FailsError(f"{definition.symbol} in {wanted[definition.index]}")
            scope.symbols[definition.symbol] = rest // scale
        for dim, size in zip(wanted, sizes, strict=True):
            if size < 0 or self._dim(scope, dim) != size:
                raise FailsError(f"{dim} is not {size}")

    def _dim(self, scope: Scope, dim: Any) -> int:
        value = expression(dim)
        if isinstance(value, int):
            return value
        mapping = {name: scope.symbol(name) for name in set(symbolic.symbols(value))}
        try:
            found = symbolic.substitute(value, mapping)
        except (ZeroDivisionError, ValueError, ArithmeticError) as error:
            raise UnknownMeaningError(f"{value}: {error}") from None
        if not isinstance(found, int) or not -(2**63) <= found < 2**63:
            raise UnknownMeaningError(f"{value} is {found}")
        return found

    def _block(self, block: ir.Block, scope: Scope, depth: int) -> list[Any]:
        """The operands of the terminator."""
        for view in block.operations:
            op = view.operation
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise EndlessError
            if op.name in (
                "func.return",
                "scf.yield",
                "relax.output",
                "relax.lambda_return",
                "scf.condition",
            ):
                return [scope.value(operand) for operand in op.operands]
            results = self._op(op, [scope.value(operand) for operand in op.operands], scope, depth)
            for name, value in zip(op.results, results, strict=True):
                scope.values[name] = value
        raise UnknownMeaningError("a block without an end")

    def _op(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> list[Any]:
        handler = getattr(self, "_" + op.name.replace(".", "_"), None)
        if handler is not None:
            found = handler(op, operands, scope, depth)
            return found if isinstance(found, list) else [found]
        if op.name in _INTEGERS:
            a, b = operands
            if not isinstance(a, int) or not isinstance(b, int):
                raise UnknownMeaningError(f"{op.name} of {a} and {b}")
            return [(_INTEGERS[op.name](a, b) + 2**63) % 2**64 - 2**63]  # it wraps around
        cls = op_class(op)
        meaning = SEMANTICS.get(op.name.removeprefix("relax."))
        if cls is None or meaning is None:
            raise UnknownMeaningError(op.name)
        if any(isinstance(v, Failed) for v in _flat(operands)):
            return [Failed("an operand")]
        try:
            found = meaning(cls.args_of(op), operands, lambda dim: self._dim(scope, dim))
        except FailsError as error:
            self.failures.append(str(error))
            return [Failed(str(error))]
        except ValueError as error:
            if not _UNFIT.search(str(error)):
                raise
            self.failures.append(str(error))
            return [Failed(str(error))]
        except TypeError as error:
            infos = [struct_info(operand.type) for operand in op.operands]
            if not any(isinstance(info, Tensor) and info.dtype is None for info in infos):
                raise
            raise UnknownMeaningError(f"dtypes that NumPy does not mix: {error}") from None
        return [self._settled(found, struct_info(op.results[0].type))]

    def _settled(self, found: Any, info: StructInfo) -> Any:
        if isinstance(info, Tuple):
            return tuple(self._settled(f, i) for f, i in zip(found, info.fields, strict=True))
        if not isinstance(info, Tensor):
            return found
        if info.dtype is None:
            raise UnknownMeaningError("an unknown dtype")
        return self.noise.settle(found, info.dtype.name)

    # -- structure

    def _relax_constant(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        array = np.asarray(to_numpy(op.attributes["value"]))
        return array.astype(np.float64) if is_float(_dtype_name(op.results[0].type)) else array

    def _builtin_unrealized_conversion_cast(
        self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int
    ) -> Any:
        return tuple(operands)

    def _relax_tuple_get_item(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        (value,) = operands
        return value if isinstance(value, Failed) else value[ir.IntegerAttr(op.attributes["index"]).value]

    def _relax_match_shape(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        _demand(operands)
        value = operands[0]
        sizes = value.shape if isinstance(value, np.ndarray) else [value] if isinstance(value, int) else value
        pattern = list(ir.ArrayAttr(op.attributes["pattern"]))
        if len(sizes) != len(pattern):
            raise FailsError("rank")
        _match_dtype(value, op.results[0].type)
        unknown = []
        for item, size in zip(pattern, sizes, strict=True):
            text = ir.StringAttr(item).value if isinstance(item, ir.StringAttr) else ""
            if text == "?":
                continue
            dim = expression(item)
            name = symbolic.linear_definition(dim) if isinstance(dim, symbolic.Expr) else None
            if name is not None and text == name:
                try:
                    scope.symbol(name)
                except UnknownMeaningError:
                    if size < 0:
                        raise FailsError("a negative size") from None
                    scope.symbols[name] = size
            unknown.append((dim, size))
        for dim, size in unknown:
            if self._dim(scope, dim) != size:
                raise FailsError(f"{dim} is not {size}")
        return value

    def _relax_dataflow(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        return self._block(op.regions[0].blocks[0], scope, depth)[0]

    def _scf_if(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        _demand(operands)
        region = op.regions[0 if operands[0] else 1]
        if not list(region.blocks):
            return []
        return self._block(region.blocks[0], Scope(scope), depth)

    def _scf_for(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        lower, upper, step, *carried = operands
        _demand([lower, upper, step])
        if step <= 0:
            raise UnknownMeaningError("a step that is not positive")
        block = op.regions[0].blocks[0]
        for i in range(lower, upper, step):
            inner = Scope(scope, dict(zip(block.arguments, [i, *carried], strict=True)))
            carried = self._block(block, inner, depth)
        return carried

    def _scf_while(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        before, after = (region.blocks[0] for region in op.regions)
        while True:
            flag, *values = self._block(before, Scope(scope, dict(zip(before.arguments, operands, strict=True))), depth)
            _demand([flag])
            if not flag:
                return values
            operands = self._block(after, Scope(scope, dict(zip(after.arguments, values, strict=True))), depth)

    def _tensor_extract(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        _demand(operands)
        value = operands[0]
        if not isinstance(value, np.ndarray) or value.shape or value.dtype.kind not in "bi":
            raise UnknownMeaningError("tensor.extract")
        return bool(value) if value.dtype == bool else int(value)

    def _tensor_from_elements(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        dtype = _dtype_name(op.results[0].type)
        return np.asarray(operands[0], bool if dtype == "bool" else np.int64).reshape(())

    def _arith_constant(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        value = op.attributes["value"]
        if not isinstance(value, ir.IntegerAttr):
            raise UnknownMeaningError(f"constant {value}")
        return bool(value.value) if str(value.type) == "i1" else int(value.value)

    def _arith_floordivsi(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        if operands[1] == 0:
            raise UnknownMeaningError("division by zero")
        return operands[0] // operands[1]

    def _arith_cmpi(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        a, b = operands
        relations = (a == b, a != b, a < b, a <= b, a > b, a >= b)
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        if predicate >= len(relations):
            raise UnknownMeaningError("unsigned numbers")
        return relations[predicate]

    # -- calls and effects

    def _relax_call(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        return self._called(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, operands[0], depth)

    def _called(self, name: str, arguments: Sequence[Any], depth: int) -> Any:
        """A call of a function without effects that fails is a failing op: it may be dropped."""
        try:
            return self.call(name, arguments, depth + 1)
        except FailsError as error:
            if name in impure_functions(self.functions):
                raise
            self.failures.append(str(error))
            return Failed(str(error))

    def _relax_lambda(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        return Closure(op, scope)

    def _relax_make_closure(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        return Closure(None, None, name, tuple(operands[0]))

    def _relax_extern_func(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        return ExternFunc(ir.StringAttr(op.attributes["func"]).value)

    def _invoke(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        closure, arguments = operands
        _demand([closure])
        if isinstance(closure, ExternFunc):
            return _packed(closure.name, list(arguments))
        if closure.op is None:
            return self._called(closure.callee, (*arguments, *closure.captured), depth)
        block = closure.op.regions[0].blocks[0]
        inner = Scope(closure.scope)
        infos = [struct_info(argument.type) for argument in block.arguments]
        if any(True for info in infos for _ in info.symbols()):
            raise UnknownMeaningError("symbols of a function in a function")
        for info, value in zip(infos, arguments, strict=True):
            for dim, size in _dims(info, value):
                if dim is not None and dim != size:
                    raise FailsError("an argument")
        inner.values.update(zip(block.arguments, arguments, strict=True))
        return self._block(block, inner, depth)

    _relax_invoke_closure = _relax_invoke_pure_closure = _invoke

    def _relax_assert_op(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        _demand(operands)
        if isinstance(op.attributes["relation"], ir.UnitAttr):
            holds = bool(operands[0][0])
        else:
            a, b = (self._dim(scope, item) for item in ir.ArrayAttr(op.attributes["values"]))
            relation = ir.StringAttr(op.attributes["relation"]).value
            holds = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[relation]
        if not holds:
            raise FailsError("assert_op")
        return []

    def _relax_call_packed(self, op: ir.Operation, operands: list[Any], scope: Scope, depth: int) -> Any:
        name = ir.StringAttr(op.attributes["func"]).value
        spec = list(ir.ArrayAttr(op.attributes["arg_spec"]))
        _demand(operands)
        if not all(isinstance(item, ir.UnitAttr) for item in spec):
            raise UnknownMeaningError(f"packed function {name} with literals")
        return _packed(name, list(operands[0]))

    _relax_call_pure_packed = _relax_call_packed


def _packed(name: str, arguments: Sequence[Any]) -> Any:
    """The result of a packed function that has no side effects and does not fail."""
    _demand(arguments)
    if name == "differential.copy" and len(arguments) == 1 and isinstance(arguments[0], np.ndarray):
        return arguments[0]
    raise UnknownMeaningError(f"packed function {name}")


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, tuple) and not isinstance(value, Sizes):
            yield from _flat(value)
        else:
            yield value


def _demand(values: Iterable[Any]) -> None:
    """Raise if one of the values could not be computed."""
    for value in _flat(values):
        if isinstance(value, Failed):
            raise FailsError(value.why)


def _dtype_name(type_: ir.Type) -> str:
    info = struct_info(type_)
    if not isinstance(info, Tensor) or info.dtype is None:
        raise UnknownMeaningError(f"type {type_}")
    return info.dtype.name


def _match_dtype(value: Any, type_: ir.Type) -> None:
    """Check only that floats match floats, as these are computed in many widths."""
    info = struct_info(type_)
    if not isinstance(value, np.ndarray) or not isinstance(info, Tensor) or info.dtype is None:
        return
    if info.dtype.is_float != is_float(value.dtype.name):
        raise FailsError(f"{value.dtype} is not {info.dtype}")


def _dims(info: StructInfo, value: Any) -> Iterable[tuple[Any, int]]:
    """Dimensions of a parameter with those of an argument; raises if rank or kind do not match."""
    if isinstance(info, Tensor) and isinstance(value, np.ndarray):
        if info.shape is None:
            return
        if len(info.shape) != value.ndim:
            raise FailsError("rank")
        yield from zip(info.shape, value.shape, strict=True)
    elif isinstance(info, Shape) and isinstance(value, Sizes):
        if info.values is None:
            return
        if len(info.values) != len(value):
            raise FailsError("rank")
        yield from zip(info.values, value, strict=True)
    elif isinstance(info, Prim) and isinstance(value, int):
        return
    elif isinstance(info, Tuple) and isinstance(value, tuple) and len(value) == len(info.fields):
        for item, part in zip(info.fields, value, strict=True):
            yield from _dims(item, part)
    else:
        raise UnknownMeaningError(f"an argument for {info}")


def run(module: ir.Module, name: str, arguments: Sequence[Any], noise: Noise | None = None) -> list[Any]:
    """The flattened results of function `name`, floats as float64."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(_flat([Interpreter(module, noise).call(name, arguments)]))


def fails_unused(module: ir.Module, name: str, arguments: Sequence[Any]) -> bool:
    """True if an executed op fails whose value is unused; native code may drop it, or raise."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interpreter = Interpreter(module)
        interpreter.call(name, arguments)
        return bool(interpreter.failures)


__all__ = [
    "Array",
    "EndlessError",
    "FailsError",
    "TooLargeError",
    "UnknownMeaningError",
    "fails_unused",
    "run",
]
