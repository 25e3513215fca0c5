"""Tensors in another layout: by an index map, or between channels and spatial dimensions.

Index maps are invertible sums of quotients and remainders of indices.
"""

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.fields import Int, Operand
from relax_mlir.dialects.number_attributes import double_attr, int_attr
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.types import Tensor, dim_text, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnsupportedError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class PixelOp(RelaxOp):
    """Base of the ops on squares of pixels: the last three dimensions are channels, rows and columns."""

    op_pattern = OpPatternKind.INJECTIVE

    factor = ""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, side = args.tensor(0), args.int_attr(cls.factor)
        if side < 1:
            raise ArgumentError(f"{args.op}: {cls.factor} is {side}, expected at least 1")
        if data.ndim is not None and data.ndim < 3:
            raise ShapeError(f"{args.op}: operand 'data' is {data}, expected channels, rows and columns last")
        if data.shape is None:
            return data
        *outer, channels, rows, columns = data.shape
        return Tensor([*outer, *cls.moved(args, side, (channels, rows, columns))], data.dtype)

    @classmethod
    def moved(cls, args: OpArgs, side: int, sizes: tuple[Dim | None, ...]) -> list[Dim | None]:
        """The last three dimensions of the result."""
        raise NotImplementedError  # abstract


def _times(dim: Dim | None, factor: int) -> Dim | None:
    return None if dim is None else dim * factor


def _parts(args: OpArgs, what: str, dim: Dim | None, count: int) -> Dim | None:
    """A dimension divided by `count`; raises `ShapeError` if it is not provably divisible."""
    if dim is None:
        return None
    if not symbolic.prove_divisible(dim, count):
        raise ShapeError(
            f"{args.op}: the number of {what} of {shape_text(args.tensor(0).shape)} is {dim_text(dim)}, which is not "
            f"provably a multiple of {count}"
        )
    return symbolic.floordiv(dim, count)


class PixelShuffleOp(PixelOp, name="nn_pixel_shuffle", traits=[ext.Pure]):
    """Rearrange groups of ``r * r`` channels into squares of ``r`` rows and columns, `upscale_factor` being ``r``.

    Channel ``c * r * r + i * r + j`` becomes row ``i`` and column ``j`` of the squares of channel ``c``.

    Example: shape ``(n, 8, h, w)`` with upscale_factor 2 gives ``(n, 2, 2*h, 2*w)``.
    """

    data: Operand
    upscale_factor: Int
    result: ext.Result[Any]
    factor = "upscale_factor"

    @classmethod
    def moved(cls, args: OpArgs, side: int, sizes: tuple[Dim | None, ...]) -> list[Dim | None]:
        channels, rows, columns = sizes
        return [_parts(args, "channels", channels, side * side), _times(rows, side), _times(columns, side)]


class PixelUnshuffleOp(PixelOp, name="nn_pixel_unshuffle", traits=[ext.Pure]):
    """Rearrange squares of `downscale_factor` rows and columns into channels: the inverse of `PixelShuffleOp`.

    Example: shape ``(n, 2, 6, 4)`` with downscale_factor 2 gives ``(n, 8, 3, 2)``.
    """

    data: Operand
    downscale_factor: Int
    result: ext.Result[Any]
    factor = "downscale_factor"

    @classmethod
    def moved(cls, args: OpArgs, side: int, sizes: tuple[Dim | None, ...]) -> list[Dim | None]:
        channels, rows, columns = sizes
        whole = [_parts(args, what, dim, side) for what, dim in (("rows", rows), ("columns", columns))]
        return [_times(channels, side * side), *whole]


class BatchFlattenOp(RelaxOp, name="nn_batch_flatten", traits=[ext.Pure]):
    """`data` with all dimensions after the first merged: a view. Example: ``(n, 3, h, w)`` gives ``(n, 3*h*w)``."""

    op_pattern = OpPatternKind.INJECTIVE

    data: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = args.tensor(0)
        if data.ndim == 0:
            raise ShapeError(f"{args.op}: operand 'data' is {data}, expected at least one dimension")
        if data.shape is None:
            return Tensor(None, data.dtype, ndim=2)
        first, *rest = data.shape
        known = [dim for dim in rest if dim is not None]
        return Tensor([first, symbolic.product(known) if len(known) == len(rest) else None], data.dtype)


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
        raise ArgumentError(f"{what}: 'index_map' is {given!r:.60}, expected a function of indices, or its text")
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
    found = IndexMap(f"lambda {', '.join(names)}: ({shown}{',' if len(items) == 1 else ''})", names, tuple(results))
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
        return [replace(digit, lower=digit.lower * number, extent=None if extent is None else extent // number)]
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


class LayoutTransformOp(RelaxOp, name="layout_transform", traits=[ext.Pure]):
    """The elements of `x` at the positions to which `index_map` maps their indices.

    The map is text, ``"lambda i, j: (i // 4, j, i % 4)"``. Each result is a sum of terms, multiplied by constant
    factors: an index, its quotient by a number, or a remainder of these. The terms of an index must determine it, so
    that each position has at most one element. Positions without an element, which exist if a size is not a multiple of
    a divisor, get `pad_value`; ``unit`` requires a proof that no such position exists.

    Example: ``[1, 2, 3]`` with ``lambda i: (i // 2, i % 2)`` and pad_value 0 gives ``[[1, 2], [3, 0]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    index_map: ir.StringAttr
    pad_value: ir.IntegerAttr | ir.FloatAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, mapping = args.tensor(0), map_of(args)
        _check_padding(args, x)
        if x.shape is None:
            return Tensor((None,) * len(mapping.results), x.dtype)
        if len(x.shape) != len(mapping.names):
            raise ShapeError(
                f"{args.op}: operand 'x' is {x}, but index_map takes {len(mapping.names)} indices: {mapping.text}"
            )
        for axis, dim in enumerate(x.shape):
            limit = mapping.limit(axis)
            if dim is None:
                continue
            if limit is not None and not symbolic.prove_less_equal(dim, limit):
                raise ShapeError(
                    f"{args.op}: dimension {axis} of {x} is {dim}, not known to be at most {limit}, for which "
                    f"{mapping.text} has room"
                )
            if args.is_unit("pad_value") and not mapping.is_full(axis, dim):
                raise ShapeError(
                    f"{args.op}: dimension {axis} of {x} is {dim}, which {mapping.text} is not known to fill all "
                    "places with; give pad_value"
                )
        return Tensor(mapping.shape(x.shape), x.dtype)


def map_of(args: OpArgs) -> IndexMap:
    """The map of a `layout_transform`."""
    return parse_index_map(args.op, args.str_attr("index_map"))


def _check_padding(args: OpArgs, x: Tensor) -> None:
    given = args.attrs["pad_value"]
    if x.dtype is None or args.is_unit("pad_value"):
        return
    if isinstance(given, ir.FloatAttr) and not x.dtype.is_float:
        raise DTypeError(f"{args.op}: pad_value is {given}, operand 'x' has dtype {x.dtype}")


@exported()
def layout_transform(
    x: ValueLike,
    index_map: str | Callable[..., Any],
    pad_value: float | None = None,
    axis_separators: Sequence[int] | None = None,
    input_axis_separators: Sequence[int] | None = None,
) -> Value:
    """The elements of `x` in another layout (see `LayoutTransformOp`).

    `index_map` is a function of indices, such as ``lambda n, c: (c // 4, n, c % 4)``, or its text. Axis separators are
    accepted for TVM's devices with multi-dimensional memory, and have no effect.
    """
    require_insertion_point("layout_transform")
    if axis_separators or input_axis_separators:
        raise UnsupportedError(
            "layout_transform: axis separators are for memory of several dimensions, which CPUs do not have; "
            "leave them out"
        )
    padding: ir.Attribute = ir.UnitAttr.get()
    if pad_value is not None:
        number = double_attr if isinstance(pad_value, float) else int_attr
        padding = number(pad_value, "layout_transform: 'pad_value'")
    attributes = {
        "index_map": ir.StringAttr.get(index_map_text("layout_transform", index_map)),
        "pad_value": padding,
    }
    return create_one(LayoutTransformOp, [as_value(x)], attributes)
