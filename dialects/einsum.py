"""Sums of products over named axes: einsum."""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.gather import tuple_of
from relax_mlir.dialects.number_attributes import text_attr
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

ELLIPSIS = "..."


class EinsumOp(RelaxOp, name="einsum", traits=[ext.Pure]):
    """The sum of products of elements of a tuple of tensors, as ``numpy.einsum``.

    `subscripts` names the axes of each tensor by letters, and after ``->`` those of the result. Axes of the same name
    have the same size; a name repeated in one tensor selects its diagonal; names missing in the result are summed over.
    ``...`` denotes all other axes, which are broadcast. Without ``->``, the result has the axes of the ellipsis, then
    the names that occur once, in alphabetical order. Three or more tensors are combined pairwise from the left;
    intermediate results of 16-bit floats are float32.

    Example: ``"ij,jk->ik"`` is the matrix product, ``"ii->i"`` the diagonal, ``"ij->"`` the sum.
    """

    tensors: ext.Operand[Any]
    subscripts: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        tensors = args.tuple_of_tensors(0)
        dtype = _dtype(args, tensors)
        found = parsed(args.str_attr("subscripts"), len(tensors))
        sizes: dict[str, Dim | None] = {}
        is_known = True
        for number, (text, tensor) in enumerate(zip(found.operands, tensors, strict=True)):
            if tensor.shape is None:
                is_known = False
                continue
            what = f"operand 'tensors[{number}]', which is {tensor}"
            for name, dim in zip(axis_names(text, len(tensor.shape), what), tensor.shape, strict=True):
                sizes[name] = _same_size(name, sizes[name], dim) if name in sizes else dim
        if not is_known and ELLIPSIS in found.result:
            return Tensor(None, dtype)
        broadcast = sorted((name for name in sizes if name.isdigit()), key=int, reverse=True)
        names = [*found.before(), *(broadcast if ELLIPSIS in found.result else ()), *found.after()]
        return Tensor([sizes.get(name) for name in names], dtype)


@dataclass(frozen=True)
class Subscripts:
    """The axes of each operand and of the result, as text with letters and ellipses."""

    operands: tuple[str, ...]
    result: str

    def before(self) -> str:
        """The letters of the result before its ellipsis."""
        return self.result.partition(ELLIPSIS)[0]

    def after(self) -> str:
        """The letters of the result after its ellipsis."""
        return self.result.partition(ELLIPSIS)[2]


def parsed(subscripts: str, count: int) -> Subscripts:
    """Parse `subscripts` for `count` operands; a missing result is inferred.

    Raises:
        ArgumentError: the subscripts are malformed, or do not match the operands.
    """
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    operands = tuple(given.split(","))
    if len(operands) != count:
        raise ArgumentError(
            f"einsum: '{subscripts}' names the axes of {len(operands)} tensors, {count} are given"
        )
    for text in (*operands, result):
        before, _, after = text.partition(ELLIPSIS)
        if not all(c in string.ascii_letters for c in before + after):
            raise ArgumentError(f"einsum: '{text}' of '{subscripts}' has more than letters and one '...'")
    letters = "".join(operands).replace(ELLIPSIS, "")
    if not arrow:
        single = sorted(c for c in set(letters) if letters.count(c) == 1)
        has_ellipsis = any(ELLIPSIS in text for text in operands)
        return Subscripts(operands, (ELLIPSIS if has_ellipsis else "") + "".join(single))
    own = result.replace(ELLIPSIS, "")
    unknown = [c for c in own if c not in letters]
    if unknown or len(set(own)) != len(own):
        raise ArgumentError(f"einsum: the result '{result}' names an axis twice, or one that no tensor has")
    return Subscripts(operands, result)


def axis_names(text: str, rank: int, what: str) -> list[str]:
    """A name for each axis of a tensor; axes of the ellipsis are numbered from the last one."""
    before, ellipsis, after = text.partition(ELLIPSIS)
    rest = rank - len(before) - len(after)
    if rest < 0 or (rest and not ellipsis):
        raise ShapeError(f"einsum: '{text}' does not fit {what}")
    return [*before, *(str(rest - 1 - number) for number in range(rest)), *after]


def _same_size(name: str, first: Dim | None, second: Dim | None) -> Dim | None:
    """The common size of an axis of two tensors; axes of the ellipsis broadcast."""
    if name.isdigit() and first == 1:
        return second
    if first is None or second is None:
        return second if first is None else first
    if (name.isdigit() and second == 1) or symbolic.prove_equal(first, second):
        return first
    label = "of the ellipsis" if name.isdigit() else f"'{name}'"
    hint = "" if symbolic.prove_not_equal(first, second) else ", not known to be equal; match_shape one first"
    raise ShapeError(f"einsum: the axis {label} is {first} and {second}{hint}")


def _dtype(args: OpArgs, tensors: Sequence[Tensor]) -> DType | None:
    dtype: DType | None = None
    for number, tensor in enumerate(tensors):
        if tensor.dtype is not None and tensor.dtype.kind == "bool":
            raise DTypeError(
                f"{args.op}: operand 'tensors[{number}]' has dtype bool, expected a number; use astype"
            )
        if dtype is not None and tensor.dtype is not None:
            promote(dtype, tensor.dtype, args.op)
        dtype = dtype or tensor.dtype
    return dtype


def einsum(operands: Value | Sequence[ValueLike], subscripts: str) -> Value:
    """The sum of products over named axes (see `EinsumOp`)."""
    require_insertion_point("einsum")
    attributes = {"subscripts": text_attr(subscripts, "einsum: 'subscripts'")}
    return create_one(EinsumOp, [tuple_of("einsum", operands, "operands")], attributes)
