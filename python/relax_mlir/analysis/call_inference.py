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

    Dimensions that the callee alone knows are unknown to its callers. Arguments may be known less well than the
    parameters (of unknown dimension, rank or dtype): the call then checks them at run time, see `needs_checks`.

    Raises `ArgumentError`, `ShapeError` when the arguments contradict the signature.
    """
    mapping = call_mapping(callee, target, args)
    return substitute(_forget(struct_info(target.type.results[0]), set(mapping)), mapping)


def needs_checks(param: StructInfo, arg: StructInfo) -> bool:
    """Whether a parameter says more than is known of the argument: a dimension, a rank or a dtype."""
    if isinstance(param, Tuple) and isinstance(arg, Tuple):
        return any(map(needs_checks, param.fields, arg.fields))
    if isinstance(param, Tensor) and isinstance(arg, Tensor):
        return (param.dtype is not None and arg.dtype is None) or _says_more(param.shape, arg.shape)
    return isinstance(param, Shape) and isinstance(arg, Shape) and _says_more(param.values, arg.values)


def _says_more(wanted: tuple[Dim | None, ...] | None, given: tuple[Dim | None, ...] | None) -> bool:
    if wanted is None or given is None:
        return wanted is not None
    return any(want is not None and have is None for want, have in zip(wanted, given, strict=True))


def _forget(info: StructInfo, known: set[str]) -> StructInfo:
    """`info` with unknown dimensions for those of symbols that are not `known`."""

    def dims(shape: tuple[Dim | None, ...] | None) -> list[Dim | None] | None:
        if shape is None:
            return None
        return [d if d is None or known.issuperset(symbolic.symbols(d)) else None for d in shape]

    if isinstance(info, Tensor):
        return Tensor(dims(info.shape), info.dtype)
    if isinstance(info, Shape):
        return Shape(dims(info.values))
    if isinstance(info, Tuple):
        return Tuple([_forget(f, known) for f in info.fields])
    return info


def call_mapping(callee: str, target: func.FuncOp, args: Sequence[StructInfo]) -> dict[str, Dim]:
    """The dimensions that the symbols of the parameters of `target` stand for in a call with `args`.

    Raises `ArgumentError`, `ShapeError` when the arguments contradict the signature.
    """
    params = [struct_info(t) for t in target.type.inputs]
    if len(params) != len(args):
        raise ArgumentError(f"call of '{callee}': {len(args)} arguments given, {len(params)} expected")
    mapping: dict[str, Dim] = {}
    for index, (param, arg) in enumerate(zip(params, args, strict=True)):
        _bind(f"call of '{callee}': argument {index}", param, arg, mapping)
    return mapping


def _bind(what: str, param: StructInfo, arg: StructInfo, mapping: dict[str, Dim]) -> None:
    if isinstance(param, Tuple) and isinstance(arg, Tuple) and len(param.fields) == len(arg.fields):
        for index, (p, a) in enumerate(zip(param.fields, arg.fields, strict=True)):
            _bind(f"{what}, field {index}", p, a, mapping)
        return
    if type(param) is not type(arg):
        raise ArgumentError(f"{what} is {arg}, expected {param}")
    if isinstance(param, Tensor) and isinstance(arg, Tensor):
        if param.dtype is not None and arg.dtype is not None and param.dtype != arg.dtype:
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
    if wanted is None or given is None:
        return
    if len(given) != len(wanted):
        raise ShapeError(f"{what} is {arg}, expected {param}: the ranks differ")
    for axis, (want, have) in enumerate(zip(wanted, given, strict=True)):
        if want is None or have is None:
            continue
        name = symbolic.linear_definition(want)
        if name is not None and name not in mapping:
            mapping[name] = have
            continue
        if not set(mapping).issuperset(symbolic.symbols(want)):
            continue
        expected = symbolic.substitute(want, mapping)
        if not symbolic.prove_equal(expected, have):
            raise ShapeError(
                f"{what} is {arg}, expected {param}: dimension {axis} is {have}, which is not provably {expected}"
            )
