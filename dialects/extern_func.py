"""`ExternFunc`: a packed function by its registered name, as a callee and as a value."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.base import OpArgs, RelaxOp
from relax_mlir.dialects.closures import invocation_result
from relax_mlir.dialects.nodes import Node
from relax_mlir.dialects.traits import (
    CopiedIntoFunctions,
    HoldsFunctionValues,
    IsInstant,
    OnFunctionValues,
    WrittenInside,
)
from relax_mlir.dialects.types import Callable, StructInfo
from relax_mlir.dialects.value import Value, create
from relax_mlir.error import ArgumentError, expect
from relax_mlir.mlir import ext, ir


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
        from relax_mlir.dialects import calls  # they take an `ExternFunc`

        builder = calls.call_pure_packed if self.signature.pure else calls.call_packed
        return builder(self, *args, out=result_of(self, args))

    def described(self) -> str:
        return f'<ExternFunc "{self.global_symbol}">'


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
