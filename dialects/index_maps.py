"""Invertible index maps: sums of quotients and remainders of indices."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, expect
from relax_mlir.symbolic import Dim


@dataclass(frozen=True)
class Digit:
    """The term ``index // lower % extent * scale`` of an index; without an extent there is no remainder."""

    axis: int
    lower: int = 1
    extent: int | None = None
    scale: int = 1


@dataclass(frozen=True)
class IndexMap:
    """The digits whose sum each result is, by descending scale.

    Each digit of each index occurs exactly once, so that a result position determines the source index.
    """

    text: str
    names: tuple[str, ...]
    results: tuple[tuple[Digit, ...], ...]

    def digits(self, axis: int) -> list[Digit]:
        """The digits of an index, the lowest one first."""
        found = [digit for digits in self.results for digit in digits if digit.axis == axis]
        return sorted(found, key=lambda digit: digit.lower)

    def shape(self, given: Sequence[Dim | None]) -> list[Dim | None]:
        """The sizes of the results, for indices of the given sizes."""
        return [_size_of(digits, given) for digits in self.results]

    def limit(self, axis: int) -> int | None:
        """The maximum size of an index dimension; None if there is no limit."""
        top = self.digits(axis)[-1]
        return None if top.extent is None else top.lower * top.extent

    def is_full(self, axis: int, dim: Dim) -> bool:
        """True if every result position has a source element, for an index dimension of this size."""
        limit = self.limit(axis)
        if limit is None:
            return symbolic.prove_divisible(dim, self.digits(axis)[-1].lower)
        return symbolic.prove_equal(dim, limit)


def _size_of(digits: Sequence[Digit], given: Sequence[Dim | None]) -> Dim | None:
    if not digits:
        return 1
    top = digits[0]
    if top.extent is not None:
        return top.extent * top.scale
    dim = given[top.axis]
    return None if dim is None else symbolic.ceildiv(dim, top.lower) * top.scale


def index_map_text(what: str, given: str | Callable[..., Any]) -> str:
    """The text of a map that is given as a function of indices or as text."""
    if isinstance(given, str):
        return parse_index_map(what, given).text
    if not callable(given):
        raise ArgumentError(
            f"{what}: 'index_map' is {given!r:.60}, expected a function of indices, or its text"
        )
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError) as error:  # many builtins have none
        raise ArgumentError(f"{what}: the parameters of 'index_map' are not known: {error}") from None
    parameters = list(signature.parameters.values())
    kinds = {parameter.kind for parameter in parameters}
    if kinds - {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        raise ArgumentError(f"{what}: 'index_map' takes {signature}, expected one name for each dimension")
    names = [parameter.name for parameter in parameters]
    found = given(*map(symbolic.symbol, names))
    results = list(found) if isinstance(found, list | tuple) else [found]
    for item in results:
        expect(f"{what}: a result of 'index_map'", item, int | symbolic.Expr, "an expression of the indices")
    text = f"lambda {', '.join(names)}: ({''.join(f'{item}, ' for item in results)})"
    return parse_index_map(what, text).text


@functools.lru_cache(maxsize=256)
def parse_index_map(what: str, text: str) -> IndexMap:
    """Parse the text of a map.

    Raises:
        ArgumentError: the text is not a function of indices, or the map is not invertible.
    """
    where = f"{what}: index_map is '{text}'"
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ArgumentError(f"{where}, which is no expression of Python: {error.msg}") from None
    if not isinstance(tree, ast.Lambda) or not tree.args.args:
        raise ArgumentError(f"{where}, expected a lambda of indices: lambda i, j: (j, i)")
    names = tuple(argument.arg for argument in tree.args.args)
    items = list(tree.body.elts) if isinstance(tree.body, ast.Tuple | ast.List) else [tree.body]
    results: list[tuple[Digit, ...]] = []
    for item in items:
        digits = _digits(where, names, item)
        results.append(_told_apart(where, item, digits))
    shown = ", ".join(map(ast.unparse, items))
    found = IndexMap(
        f"lambda {', '.join(names)}: ({shown}{',' if len(items) == 1 else ''})", names, tuple(results)
    )
    _check_inputs(where, found)
    return found


def _digits(where: str, names: Sequence[str], node: ast.expr) -> list[Digit]:
    """The digits whose sum an expression is."""
    if isinstance(node, ast.Name) and node.id in names:
        return [Digit(names.index(node.id))]
    if isinstance(node, ast.Constant) and node.value == 0:
        return []
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add):
            return [*_digits(where, names, node.left), *_digits(where, names, node.right)]
        left, right = node.left, node.right
        if isinstance(node.op, ast.Mult) and isinstance(left, ast.Constant):
            left, right = right, left
        if isinstance(right, ast.Constant) and type(right.value) is int and right.value > 0:
            found = _combined(node.op, _digits(where, names, left), right.value)
            if found is not None:
                return found
    raise ArgumentError(
        f"{where}: '{ast.unparse(node)}' is no sum of indices, their quotients and remainders by numbers, times factors"
    )


def _combined(operator: ast.operator, digits: list[Digit], number: int) -> list[Digit] | None:
    """Digits times a number, or one digit divided by it; None if the result is not a sum of digits."""
    if isinstance(operator, ast.Mult):
        return [replace(digit, scale=digit.scale * number) for digit in digits]
    if not digits:
        return []
    if len(digits) > 1 or digits[0].scale != 1:
        return None
    (digit,) = digits
    extent = digit.extent
    if isinstance(operator, ast.FloorDiv):
        if extent is not None and extent % number:
            return None
        return [
            replace(digit, lower=digit.lower * number, extent=None if extent is None else extent // number)
        ]
    if not isinstance(operator, ast.Mod) or (extent is not None and extent % number):
        return None
    return [replace(digit, extent=number)]


def _check_inputs(where: str, mapping: IndexMap) -> None:
    """Raise `ArgumentError` unless the digits of each index determine it."""
    for axis, name in enumerate(mapping.names):
        lower = 1
        digits = mapping.digits(axis)
        for number, digit in enumerate(digits):
            is_last = number == len(digits) - 1
            if digit.lower != lower or (digit.extent is None and not is_last):
                raise ArgumentError(f"{where}, which does not have each part of '{name}' just once")
            lower *= digit.extent or 1
        if not digits:
            raise ArgumentError(f"{where}, which does not have '{name}'")


def _told_apart(where: str, item: ast.expr, digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """The digits of one result by descending scale, with extents that make their sum unique.

    Raises:
        ArgumentError: the sum is ambiguous, or skips positions.
    """
    found: list[Digit] = []
    for digit in sorted(digits, key=lambda digit: -digit.scale):
        if found:
            room, rest = divmod(found[-1].scale, digit.scale)
            if rest or room == 1 or digit.extent not in (None, room):
                raise ArgumentError(
                    f"{where}: '{ast.unparse(item)}' gives one number for several indices, or leaves numbers out"
                )
            digit = replace(digit, extent=room)
        found.append(digit)
    if found and found[-1].scale != 1:
        raise ArgumentError(f"{where}: '{ast.unparse(item)}' leaves numbers out")
    return tuple(found)
