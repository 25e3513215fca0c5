"""What a call of a Relax function gives: the callee's signature with the call's dimensions substituted."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.types import Callable, Shape, StructInfo, Tensor, Tuple, struct_info, substitute
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import func
from relax_mlir.symbolic import Dim


def infer_call(callee: str, target: func.FuncOp, args: Sequence[StructInfo]) -> StructInfo:
    """Info of the result of calling `target` with `args`: its signature with the call's dimensions substituted.

    Raises `ArgumentError`, `ShapeError` when the arguments contradict the signature.
    """
    params = [struct_info(t) for t in target.type.inputs]
    if len(params) != len(args):
        raise ArgumentError(f"call of '{callee}': {len(args)} arguments given, {len(params)} expected")
    mapping: dict[str, Dim] = {}
    for index, (param, arg) in enumerate(zip(params, args, strict=True)):
        _bind(f"call of '{callee}': argument {index}", param, arg, mapping)
    result = struct_info(target.type.results[0])
    for symbol in result.symbols():
        if symbol not in mapping:
            raise ShapeError(
                f"call of '{callee}': its result {result} has the size '{symbol}', which no parameter of "
                f"'{callee}' defines: its callers cannot know it"
            )
    return substitute(result, mapping)


def _bind(what: str, param: StructInfo, arg: StructInfo, mapping: dict[str, Dim]) -> None:
    if isinstance(param, Tuple) and isinstance(arg, Tuple) and len(param.fields) == len(arg.fields):
        for index, (p, a) in enumerate(zip(param.fields, arg.fields, strict=True)):
            _bind(f"{what}, field {index}", p, a, mapping)
        return
    if type(param) is not type(arg):
        raise ArgumentError(f"{what} is {arg}, expected {param}")
    if isinstance(param, Tensor) and isinstance(arg, Tensor):
        if param.dtype is not None and param.dtype != arg.dtype:
            raise ArgumentError(f"{what} is {arg}, expected {param}: the dtypes differ")
        _bind_dims(what, param, param.shape, arg, arg.shape, mapping)
    elif isinstance(param, Callable) and not implies(arg, param):
        raise ArgumentError(f"{what} is {arg}, expected {param}")
    elif isinstance(param, Shape) and isinstance(arg, Shape):
        _bind_dims(what, param, param.values, arg, arg.values, mapping)


def _bind_dims(
    what: str,
    param: StructInfo,
    wanted: tuple[Dim | None, ...] | None,
    arg: StructInfo,
    given: tuple[Dim | None, ...] | None,
    mapping: dict[str, Dim],
) -> None:
    if wanted is None:
        return
    if given is None or len(given) != len(wanted):
        raise ShapeError(f"{what} is {arg}, expected {param}: the ranks differ")
    for axis, (want, have) in enumerate(zip(wanted, given, strict=True)):
        if want is None:
            continue
        if have is None:
            raise ShapeError(
                f"{what} is {arg}, expected {param}: dimension {axis} is unknown; match_shape it first"
            )
        name = symbolic.linear_definition(want)
        if name is not None and name not in mapping:
            mapping[name] = have
            continue
        expected = symbolic.substitute(want, mapping)
        if not symbolic.prove_equal(expected, have):
            raise ShapeError(
                f"{what} is {arg}, expected {param}: dimension {axis} is {have}, which is not provably {expected}"
            )
