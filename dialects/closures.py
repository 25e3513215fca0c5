"""Functions as values: nested functions, closures of functions of the module, packed functions by name, and calls."""

from collections.abc import Iterator, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import FUNCTION_ATTRS
from relax_mlir.dialects.base import OpArgs, RelaxOp, implies
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.nodes import Node
from relax_mlir.dialects.structure import make_tuple
from relax_mlir.dialects.traits import (
    EVERY_FORM,
    CallsFunction,
    CapturesTensors,
    CopiedIntoFunctions,
    EndsBlock,
    HasEffect,
    HoldsFunctionValues,
    InvokesClosure,
    IsInstant,
    OnFunctionValues,
    WrittenInside,
)
from relax_mlir.dialects.types import (
    Callable,
    Object,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    struct_info,
    substitute,
)
from relax_mlir.dialects.value import Value, builder, create, require_insertion_point
from relax_mlir.error import ArgumentError, RelaxError, ShapeError, expect
from relax_mlir.ir_queries import fresh_name
from relax_mlir.mlir import ext, func, ir
from relax_mlir.symbolic import Dim


class LambdaReturnOp(RelaxOp, name="lambda_return", traits=[ir.IsTerminatorTrait, EndsBlock, OnFunctionValues]):
    """Terminator of `relax.lambda`: the value that the function returns."""

    value: ext.Operand[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Sequence[StructInfo]:
        return []


class LambdaOp(RelaxOp, name="lambda", traits=[ext.Pure, OnFunctionValues]):
    """A nested function as a value. It may use values and symbols of the enclosing function.

    The body is one block: its arguments are the parameters, named `names`; `relax.lambda_return` ends it. The pass
    ``lambda-lift`` makes it a function of the module with the attributes of the dictionary ``function_attrs``.
    """

    names: ir.ArrayAttr
    result: ext.Result[Any]
    body: ext.Region

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        if not isinstance(results[0], Callable) or results[0].params is None:
            raise ArgumentError(f"{args.op}: its result is {results[0]}, expected a Callable with parameters")

    @staticmethod
    def verify_region_invariants(op: Any) -> bool:  # noqa: ANN401 - called by the bindings with the op's own view
        """Verify the op after the ops of its body; called by MLIR's verifier."""
        try:
            _check_lambda(op.operation)
        except RelaxError as error:
            op.operation.location.emit_error(str(error))
            return False
        return True


def _check_lambda(op: ir.Operation) -> None:
    blocks = list(op.regions[0].blocks)
    body = list(blocks[0].operations) if len(blocks) == 1 else []
    if not body or body[-1].operation.name != LambdaReturnOp.OPERATION_NAME:
        raise ArgumentError("lambda: the body is one block that ends in relax.lambda_return")
    params = [struct_info(argument.type) for argument in blocks[0].arguments]
    declared = struct_info(op.results[0].type)
    assert isinstance(declared, Callable)
    given = Callable(params, struct_info(body[-1].operation.operands[0].type), pure=declared.pure)
    if not implies(given, declared):
        raise ShapeError(f"lambda: its type is {declared}, but its body gives {given}")
    if FUNCTION_ATTRS in op.attributes and not isinstance(op.attributes[FUNCTION_ATTRS], ir.DictAttr):
        raise ArgumentError(
            f"lambda: {FUNCTION_ATTRS} is {op.attributes[FUNCTION_ATTRS]}, expected a dictionary of attributes"
        )
    names = list(ir.ArrayAttr(op.attributes["names"]))
    if len(names) != len(params):
        raise ArgumentError(f"lambda: {len(names)} names for {len(params)} parameters")
    for name in names:
        if not isinstance(name, ir.StringAttr):
            raise ArgumentError(f"lambda: 'names' has {name}, expected the name of a parameter")


class MakeClosureOp(
    RelaxOp,
    name="make_closure",
    traits=[
        *(ext.Pure, CallsFunction, CapturesTensors, HoldsFunctionValues, IsInstant, OnFunctionValues),
        *EVERY_FORM,
    ],
):
    """The function `callee` of the module as a value; its last parameters are bound to the fields of `captured`.

    After `lower-closures` the result is an object.
    """

    captured: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        args.tuple(0)
        if not isinstance(results[0], Callable | Object):
            raise ArgumentError(f"{args.op}: its result is {results[0]}, expected a Callable")


class InvokeClosureOp(RelaxOp, name="invoke_closure", traits=[HasEffect, InvokesClosure, OnFunctionValues]):
    """Call of a function value; it may have effects. `args` is a tuple."""

    closure: ext.Operand[Any]
    args: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        check_invocation(args)


class InvokePureClosureOp(RelaxOp, name="invoke_pure_closure", traits=[ext.Pure, InvokesClosure, OnFunctionValues]):
    """Call of a function value without effects. `args` is a tuple."""

    closure: ext.Operand[Any]
    args: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        info = check_invocation(args)
        if not info.pure:
            raise ArgumentError(f"{args.op}: the function is {info}, which may have effects: use invoke_closure")


def check_invocation(args: OpArgs) -> Callable:
    """Check the number of arguments, and return the type of the called function."""
    info, given = args.infos[0], args.tuple(1).fields
    if not isinstance(info, Callable):
        raise ArgumentError(f"{args.op}: operand 'closure' is {info}, expected a function")
    if info.params is not None and len(info.params) != len(given):
        raise ArgumentError(f"{args.op}: {len(given)} arguments given, the function takes {len(info.params)}")
    return info


def bind_symbols(params: Sequence[StructInfo], args: Sequence[StructInfo]) -> dict[str, Dim]:
    """The dimensions of `args` that the symbols of `params` are bound to, as far as these are determined."""
    found = symbolic.solutions(list(_pairs(params, args)))
    return {definition.symbol: value for definition, value in found if value is not None}


def _pairs(params: Sequence[StructInfo], args: Sequence[StructInfo]) -> Iterator[tuple[Dim, Dim]]:
    """Pairs of a parameter's dimension and the corresponding dimension of the argument, if both are known."""
    for param, arg in zip(params, args, strict=False):
        if isinstance(param, Tuple) and isinstance(arg, Tuple):
            yield from _pairs(param.fields, arg.fields)
            continue
        for want, have in zip(_dims(param), _dims(arg), strict=False):
            if want is not None and have is not None:
                yield want, have


def _dims(info: StructInfo) -> Sequence[Dim | None]:
    if isinstance(info, Tensor):
        return info.shape or ()
    return info.values or () if isinstance(info, Shape) else ()


def invocation_result(op: str, info: Callable, args: Sequence[StructInfo]) -> StructInfo:
    """Struct info of the result of a call of a function; raises `ShapeError` if it is unknown."""
    if info.params is None or info.result is None:
        raise ShapeError(f"{op}: the function is {info}: give 'out', the info of the result")
    mapping = bind_symbols(info.params, args)
    missing = sorted(info.own_symbols() - set(mapping))
    result = substitute(info.result, mapping)
    if any(name in missing for name in result.symbols()):
        raise ShapeError(f"{op}: the size '{missing[0]}' of the result {info.result} is not known: give 'out'")
    return result


def closure_info(
    params: Sequence[StructInfo], result: StructInfo, captured: Sequence[StructInfo], pure: bool
) -> Callable:
    """Struct info of a closure of a function with these parameters, the last of which are bound to `captured`."""
    free = len(params) - len(captured)
    if free < 0:
        raise ArgumentError(f"make_closure: {len(captured)} values are captured, the function takes {len(params)}")
    mapping: dict[str, Any] = {**bind_symbols(params[free:], captured)}
    taken = {symbol for info in captured for symbol in info.symbols()}
    for symbol in {s for info in params[:free] for s in info.symbols()} - set(mapping):
        if symbol in taken:
            mapping[symbol] = fresh_name(symbol, taken | set(mapping))
    whole = substitute(Tuple([*params[:free], result]), mapping)
    assert isinstance(whole, Tuple)
    return Callable(whole.fields[:-1], whole.fields[-1], pure=pure)


def make_closure(callee: str, target: func.FuncOp, captured: Value, pure: bool) -> Value:
    """A closure of the function `target`, named `callee`; `captured` is a tuple."""
    bound = captured.struct_info
    if not isinstance(bound, Tuple):
        raise ArgumentError(f"make_closure: the captured values are {bound}, expected a tuple")
    params = [struct_info(type_) for type_ in target.type.inputs]
    info = closure_info(params, struct_info(target.type.results[0]), bound.fields, pure)
    return create(MakeClosureOp, [captured], {"callee": ir.FlatSymbolRefAttr.get(callee)}, [info])[0]


@exported()
def invoke_closure(closure: Value, args: Sequence[Value], out: StructInfo | None = None) -> Value:
    """Call the function value `closure`; `out` is the result's struct info if the function's type does not have it."""
    return _invoke(InvokeClosureOp, closure, args, out)


@exported()
def invoke_pure_closure(closure: Value, args: Sequence[Value], out: StructInfo | None = None) -> Value:
    """Call the function value `closure`, which has no effects; see `invoke_closure`."""
    return _invoke(InvokePureClosureOp, closure, args, out)


def _invoke(cls: type[RelaxOp], closure: Value, args: Sequence[Value], out: StructInfo | None) -> Value:
    what = cls.OPERATION_NAME.removeprefix("relax.")
    require_insertion_point(what)
    expect(f"{what}: 'closure'", closure, Value, "a Relax value")
    expect(f"{what}: 'args'", args, list | tuple, "a list of values")
    return invoke_with(cls, closure, make_tuple(*args), out)


def invoke_with(cls: type[RelaxOp], closure: Value, args: Value, out: StructInfo | None) -> Value:
    """Call a function value with a tuple of arguments, by the op `cls`."""
    info, given = closure.struct_info, args.struct_info
    if out is None and isinstance(info, Callable) and isinstance(given, Tuple):
        out = invocation_result(cls.OPERATION_NAME.removeprefix("relax."), info, given.fields)
    return create(cls, [closure, args], {}, [Tuple() if out is None else out])[0]


class ExternFuncOp(
    RelaxOp,
    name="extern_func",
    traits=[ext.Pure, CopiedIntoFunctions, HoldsFunctionValues, IsInstant, OnFunctionValues, WrittenInside],
):
    """The packed function registered as `func`, as a value.

    Its type gives the signature and purity. ``lambda-lift`` wraps it into a private function, for which the type needs
    parameters. The registration is checked when the function is called.
    """

    func: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        if not isinstance(results[0], Callable):
            raise ArgumentError(f"{args.op}: its result is {results[0]}, expected a Callable")


@exported()
class ExternFunc(Node):
    """A packed function by its registered name: ``ExternFunc("my.packed")``.

    It may replace names of packed functions (`call_packed`, `call_dps_packed`, `call_pure_packed`, `call_tir`). Calling
    it emits a call. As a value, passed on or returned, it needs a `Callable` with its signature.
    """

    def __init__(self, global_symbol: str, struct_info: Callable | None = None) -> None:
        super().__init__()
        expect("ExternFunc: 'global_symbol'", global_symbol, str, "the name of a packed function")
        if not global_symbol:
            raise ArgumentError("ExternFunc: 'global_symbol' is empty")
        expect("ExternFunc: 'struct_info'", struct_info, Callable | None, "a Callable, or None")
        self._symbol = global_symbol
        self._info = Callable() if struct_info is None else struct_info

    @property
    def global_symbol(self) -> str:
        """The registered name of the function."""
        if self.is_view:
            return str(ir.StringAttr(self.operation.attributes["func"]).value)
        return self._symbol

    @property
    def signature(self) -> Callable:
        """The known part of the function's signature."""
        info = self.struct_info
        assert isinstance(info, Callable)
        return info

    def emit(self) -> Value:
        return extern_func(self.global_symbol, self.signature)

    def __call__(self, *args: Any) -> Value | None:  # noqa: ANN401 - values and literals
        """Emit a call of the function: `call_packed`, or `call_pure_packed` if it is pure."""
        call = builder("call_pure_packed" if self.signature.pure else "call_packed")
        value: Value | None = call(self, *args, out=result_of(self, args))
        return value

    def described(self) -> str:
        return f'<ExternFunc "{self.global_symbol}">'


@exported()
def extern_func(func: str | ExternFunc, signature: Callable | None = None) -> Value:
    """The packed function registered as `func`, as a value with the type `signature`."""
    name = function_name("extern_func", func)
    expect("extern_func: 'signature'", signature, Callable | None, "a Callable, or None")
    return create(ExternFuncOp, [], {"func": ir.StringAttr.get(name)}, [signature or Callable()])[0]


def result_of(function: ExternFunc, args: Sequence[Any]) -> StructInfo | None:
    """Struct info of a call of `function` by its signature, or None. Raises like a call."""
    info = function.signature
    if info.params is None:
        return None
    for index, arg in enumerate(args):
        expect(
            f"call of '{function.global_symbol}': argument {index}",
            arg,
            Value,
            "a value, as its signature says",
        )
    return invocation_result(f"call of '{function.global_symbol}'", info, [arg.struct_info for arg in args])


def function_name(op: str, func: str | ExternFunc) -> str:
    """The name of the packed function passed to the builder `op`."""
    expect(f"{op}: 'func'", func, str | ExternFunc, "the name of a packed function, or an ExternFunc")
    return func if isinstance(func, str) else func.global_symbol
