"""Infer the result of a call of a Relax function: the callee's signature with the call's dimensions substituted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.bounds import read_bounds
from relax_mlir.dialects.types import Callable, Shape, StructInfo, Tensor, Tuple, struct_info, substitute
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import func
from relax_mlir.symbolic import Dim


def infer_call(callee: str, target: func.FuncOp, args: Sequence[StructInfo]) -> StructInfo:
    """The struct info of the result of calling `target` with `args`: its signature, with the call's dimensions.

    Dimensions whose symbols only the callee defines are unknown to its callers. Arguments may be less precise than the
    parameters (of unknown dimension, rank or dtype): the call then checks them at run time, see `needs_checks`.

    Raises `ArgumentError`, `ShapeError` if the arguments contradict the signature, or the bounds of its symbols.
    """
    mapping = call_mapping(callee, target, args)
    return substitute(_forget(struct_info(target.type.results[0]), set(mapping)), mapping)


def needs_checks(param: StructInfo, arg: StructInfo) -> bool:
    """True if the parameter is more precise than the argument: in a dimension, the rank or the dtype."""
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
    """`info` with None for the dimensions that use a symbol outside of `known`."""

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
    """The dimensions of the symbols of the parameters of `target` in a call with `args`.

    Raises `ArgumentError`, `ShapeError` if the arguments contradict the signature.
    """
    params = [struct_info(t) for t in target.type.inputs]
    if len(params) != len(args):
        raise ArgumentError(f"call of '{callee}': {len(args)} arguments given, {len(params)} expected")
    pairs = [
        pair
        for index, (param, arg) in enumerate(zip(params, args, strict=True))
        for pair in _pairs(f"call of '{callee}': argument {index}", param, arg)
    ]
    mapping = _solved(pairs, any(map(needs_checks, params, args)))
    _check(pairs, mapping)
    _check_bounds(callee, target, mapping)
    return mapping


@dataclass(frozen=True)
class _Pair:
    """A dimension of a parameter and that of its argument; `what` describes both in messages."""

    what: str
    axis: int
    want: Dim
    have: Dim


def _pairs(what: str, param: StructInfo, arg: StructInfo) -> Iterator[_Pair]:
    if isinstance(param, Tuple) and isinstance(arg, Tuple) and len(param.fields) == len(arg.fields):
        for index, (p, a) in enumerate(zip(param.fields, arg.fields, strict=True)):
            yield from _pairs(f"{what}, field {index}", p, a)
        return
    if type(param) is not type(arg):
        raise ArgumentError(f"{what} is {arg}, expected {param}")
    if isinstance(param, Tensor) and isinstance(arg, Tensor):
        if param.dtype is not None and arg.dtype is not None and param.dtype != arg.dtype:
            raise ArgumentError(f"{what} is {arg}, expected {param}: the dtypes differ")
        yield from _dims(what, param, param.shape, arg, arg.shape)
    elif isinstance(param, Callable) and not implies(arg, param):
        raise ArgumentError(f"{what} is {arg}, expected {param}")
    elif isinstance(param, Shape) and isinstance(arg, Shape):
        yield from _dims(what, param, param.values, arg, arg.values)


def _dims(
    what: str,
    param: StructInfo,
    wanted: tuple[Dim | None, ...] | None,
    arg: StructInfo,
    given: tuple[Dim | None, ...] | None,
) -> Iterator[_Pair]:
    if wanted is None or given is None:
        return
    if len(given) != len(wanted):
        raise ShapeError(f"{what} is {arg}, expected {param}: the ranks differ")
    for axis, (want, have) in enumerate(zip(wanted, given, strict=True)):
        if want is not None and have is not None:
            yield _Pair(f"{what} is {arg}, expected {param}", axis, want, have)


def _solved(pairs: Sequence[_Pair], is_checked: bool) -> dict[str, Dim]:
    """The callee's symbols as expressions of the caller's.

    An undetermined symbol is an error, unless the call checks its arguments at run time.
    """
    mapping: dict[str, Dim] = {}
    for definition, value in symbolic.solutions([(pair.want, pair.have) for pair in pairs]):
        if value is not None:
            mapping[definition.symbol] = value
        elif not is_checked:
            pair = pairs[definition.index]
            raise ShapeError(
                f"{pair.what}: dimension {pair.axis} is {pair.have}, which is not provably {pair.want} for a "
                f"{definition.symbol} that is zero or positive; match_shape it to a number that is, or "
                "declare it as such an expression"
            )
    return mapping


def _check(pairs: Sequence[_Pair], mapping: dict[str, Dim]) -> None:
    for pair in pairs:
        if not set(mapping).issuperset(symbolic.symbols(pair.want)):
            continue
        expected = symbolic.substitute(pair.want, mapping)
        if not symbolic.prove_equal(expected, pair.have):
            raise ShapeError(
                f"{pair.what}: dimension {pair.axis} is {pair.have}, which is not provably {expected}"
            )


def _check_bounds(callee: str, target: func.FuncOp, mapping: dict[str, Dim]) -> None:
    """Raise `ShapeError` if no value of the call's dimensions is within the callee's bounds.

    If only some values are, the callee checks the bounds on entry.
    """
    for name, (low, high) in read_bounds(target).items():
        dim = mapping.get(name)
        if dim is None:
            continue
        lowest, highest = symbolic.bounds(dim)
        is_below = highest is not None and highest < low
        if is_below or (high is not None and lowest is not None and lowest > high):
            limit = f"at least {low}" if is_below else f"at most {high}"
            raise ShapeError(
                f"call of '{callee}': its symbol '{name}' is {dim} here, but must be {limit} "
                f"(bounds of '{callee}')"
            )
