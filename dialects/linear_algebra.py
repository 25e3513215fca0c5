"""Linear algebra: matrix products with NumPy's batching and broadcasting on symbolic shapes, and einsum."""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.elementwise import common_dtype
from relax_mlir.dialects.fields import DTypeName, PeerOperand
from relax_mlir.dialects.number_attributes import text_attr
from relax_mlir.dialects.structure import tuple_of
from relax_mlir.dialects.traits import MultipliesMatrices, OpPatternKind
from relax_mlir.dialects.types import Tensor, dim_text, shape_text
from relax_mlir.dialects.value import Value, ValueLike, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

MaybeDim = Dim | None


class MatmulOp(RelaxOp, name="matmul", traits=[ext.Pure, MultipliesMatrices]):
    """Matrix product over the last two dimensions, as NumPy's ``matmul``.

    A 1-D operand is a row (left) or a column (right), and its dimension does not appear in the result; the other
    dimensions are batches, which broadcast. float16 and bfloat16 accumulate in float32 and are rounded once; integers
    wrap around; bool is the logical or of ands. `out_dtype` selects a wider dtype of the same kind for accumulation and
    result; ``unit`` is the operands' dtype.

    Example: shapes ``(b, 1, s, 4)`` and ``(h, 4, t)`` give ``(b, h, s, t)``.
    """

    op_pattern = OpPatternKind.OUT_ELEMWISE_FUSABLE

    x1: PeerOperand
    x2: PeerOperand
    out_dtype: DTypeName | None = None
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x1, x2 = args.tensor(0), args.tensor(1)
        dtype = common_dtype(args, (0, 1))
        if not args.is_unit("out_dtype"):
            dtype = _wider(args.op, dtype, dtypes.from_element_type(ir.TypeAttr(args.attrs["out_dtype"]).value))
        return Tensor(_matmul_shape(args.op, x1.shape, x2.shape), dtype)

    @classmethod
    def multiply_adds(cls, args: OpArgs) -> symbolic.Dim | None:
        x1, x2 = args.tensor(0).known_shape, args.tensor(1).known_shape
        if x1 is None or x2 is None:
            return None
        result = Tensor(_matmul_shape(args.op, x1, x2)).known_shape
        return None if result is None else symbolic.product(result) * x1[-1]


def _wider(op: str, dtype: DType | None, wanted: DType) -> DType:
    if dtype is not None and (dtype.kind != wanted.kind or wanted.bits < dtype.bits):
        raise DTypeError(f"{op}: out_dtype {wanted} is no wider {dtype.kind} than the operands' dtype {dtype}")
    if dtype is not None and wanted != dtype and wanted.bits == dtype.bits:
        raise DTypeError(f"{op}: out_dtype {wanted} cannot hold the operands' dtype {dtype}")
    return wanted


def _matmul_shape(
    op: str, x1: tuple[MaybeDim, ...] | None, x2: tuple[MaybeDim, ...] | None
) -> tuple[MaybeDim, ...] | None:
    for name, shape in (("x1", x1), ("x2", x2)):
        if shape == ():
            raise ShapeError(f"{op}: operand '{name}' has rank 0; use multiply for scalars")
    if x1 is None or x2 is None:
        return None
    inner1, inner2 = x1[-1], x2[max(len(x2) - 2, 0)]
    where = f"{op}: shapes {shape_text(x1)} and {shape_text(x2)}"
    if inner1 is not None and inner2 is not None and not symbolic.prove_equal(inner1, inner2):
        if symbolic.prove_not_equal(inner1, inner2):
            raise ShapeError(f"{where}: the summed dimensions {inner1} and {inner2} differ")
        raise ShapeError(
            f"{where}: cannot tell whether the summed dimensions {dim_text(inner1)} and {dim_text(inner2)} are "
            "equal; match_shape one of the tensors first"
        )
    batch = broadcast(op, x1[:-2], x2[:-2])
    assert batch is not None
    return batch + x1[-2:-1] + (x2[-1:] if len(x2) > 1 else ())


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
        raise ArgumentError(f"einsum: '{subscripts}' names the axes of {len(operands)} tensors, {count} are given")
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
            raise DTypeError(f"{args.op}: operand 'tensors[{number}]' has dtype bool, expected a number; use astype")
        if dtype is not None and tensor.dtype is not None:
            promote(dtype, tensor.dtype, args.op)
        dtype = dtype or tensor.dtype
    return dtype


@exported()
def einsum(operands: Value | Sequence[ValueLike], subscripts: str) -> Value:
    """The sum of products over named axes (see `EinsumOp`)."""
    require_insertion_point("einsum")
    attributes = {"subscripts": text_attr(subscripts, "einsum: 'subscripts'")}
    return create_one(EinsumOp, [tuple_of("einsum", operands, "operands")], attributes)
