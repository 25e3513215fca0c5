"""Sorting and searching: sort, topk, median, searchsorted, bucketize, multinomial samples, unique, nonzero."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, check_equal, index_operand, normalize_axis
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.create import arange
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.elementwise import dtype_of
from relax_mlir.dialects.fields import Bool, DTypeName, Int, Operand, PeerOperand, Text, ValueOperand
from relax_mlir.dialects.number_attributes import dtype_attr
from relax_mlir.dialects.shapes import expand_dims
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import (
    Value,
    as_value,
    create_one,
    require_insertion_point,
)
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

RETURNED = ("both", "values", "indices")
"""The values of `ret_type` of `topk`."""


class SortOp(RelaxOp, name="sort", traits=[ext.Pure]):
    """The elements of `data` along `axis` in ascending or descending order; NaN counts as the maximum.

    Example: ``[3, 1, 2]`` gives ``[1, 2, 3]``.
    """

    data: Operand
    axis: Int = -1
    descending: Bool = False
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("descending")
        return _sortable(args)


class ArgsortOp(RelaxOp, name="argsort", traits=[ext.Pure]):
    """The indices of the elements of `data` along `axis` in the order of `sort`, as integers of `dtype`.

    The sort is stable. Example: ``[3, 1, 2]`` gives ``[1, 2, 0]``.
    """

    data: Operand
    axis: Int = -1
    descending: Bool = False
    dtype: DTypeName = "int32"
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("descending")
        return _sortable(args).with_dtype(_integers(args))


class TopkOp(RelaxOp, name="topk", traits=[ext.Pure]):
    """The `k` largest elements of `data` along `axis`, or the smallest with `largest` false, the best first.

    `ret_type` ``both`` gives a tuple of the elements and their indices of `dtype`; ``values`` and ``indices`` give one
    of these. `k` of 0 or less, or above the number of elements, means all. Equal elements keep their order; NaN counts
    as the maximum.

    Example: ``[3, 1, 2]`` with k 2 gives ``[3, 2]`` and ``[0, 2]``.
    """

    data: Operand
    k: Int = 1
    axis: Int = -1
    ret_type: Text = "both"
    largest: Bool = True
    dtype: DTypeName = "int32"
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("largest")
        data, k, kind = _sortable(args), args.int_attr("k"), args.str_attr("ret_type")
        if kind not in RETURNED:
            raise ArgumentError(f"{args.op}: ret_type is '{kind}', expected one of {', '.join(RETURNED)}")
        if data.shape is not None and k > 0:
            axis = args.int_attr("axis") % len(data.shape)
            size = data.shape[axis]
            kept = None if size is None else symbolic.minimum(size, k)
            data = Tensor([kept if i == axis else d for i, d in enumerate(data.shape)], data.dtype)
        found: dict[str, StructInfo] = {"values": data, "indices": data.with_dtype(_integers(args))}
        return Tuple(list(found.values())) if kind == "both" else found[kind]


def _sortable(args: OpArgs) -> Tensor:
    """The operand, after checking that it has the axis."""
    data = args.tensor(0)
    if data.ndim == 0:
        raise ShapeError(f"{args.op}: operand 'data' is {data}, expected at least one dimension")
    if data.ndim is not None:
        normalize_axis(args.op, args.int_attr("axis"), data.ndim)
    return data


def _integers(args: OpArgs) -> DType:
    dtype = dtype_of(args, "dtype")
    if not dtype.is_integer:
        raise DTypeError(f"{args.op}: dtype is {dtype}, expected integers for indices")
    return dtype


class MedianOp(RelaxOp, name="median", traits=[ext.Pure]):
    """The lower median, as in torch: of all elements, or along `axis`, with its index.

    With `axis` the result is a tuple of the elements and their indices (int64), otherwise (``unit``) a tensor. If an
    element is NaN, the result is the first NaN. No elements are an error at run time.

    Example: ``[4, 1, 3, 2]`` gives ``2``, along axis 0 ``(2, 3)``.
    """

    data: Operand
    axis: Int | None = None
    keepdims: Bool = False
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, keeps = args.tensor(0), args.bool_attr("keepdims")
        if args.is_unit("axis"):
            if keeps and data.ndim is None:
                return Tensor(None, data.dtype)
            return Tensor([1] * (data.ndim or 0) if keeps else [], data.dtype)
        if data.shape is None:
            return Tuple([Tensor(None, data.dtype), Tensor(None, "int64")])
        axis = normalize_axis(args.op, args.int_attr("axis"), len(data.shape))
        shape = [*data.shape[:axis], *([1] if keeps else []), *data.shape[axis + 1 :]]
        return Tuple([Tensor(shape, data.dtype), Tensor(shape, "int64")])


class SearchsortedOp(RelaxOp, name="searchsorted", traits=[ext.Pure]):
    """The number of elements of the ascending vector `sorted_sequence` less than each of `values`; integers of `dtype`.

    With `right` it is the number of elements less than or equal. If the vector is not sorted, or contains NaN, the
    results are between 0 and its size. Example: ``[1, 3, 5]`` and ``[3, 6]`` give ``[1, 3]``, with `right` ``[2, 3]``.
    """

    sorted_sequence: PeerOperand
    values: PeerOperand
    right: Bool = False
    dtype: DTypeName = "int64"
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("right")
        sequence, values, dtype = args.tensor(0), args.tensor(1), dtype_of(args, "dtype")
        if sequence.ndim not in (None, 1):
            raise ShapeError(f"{args.op}: operand 'sorted_sequence' is {sequence}, expected a vector")
        if sequence.dtype is not None and values.dtype is not None:
            promote(sequence.dtype, values.dtype, args.op)
        if not dtype.is_integer:
            raise DTypeError(f"{args.op}: dtype is {dtype}, expected integers for indices")
        return Tensor(values.shape, dtype)


class BucketizeOp(RelaxOp, name="bucketize", traits=[ext.Pure]):
    """The index of the interval between ascending `boundaries` that contains each element: int64 or int32.

    A boundary belongs to the interval before it, or with `right` to the one after it: the index is the number of
    boundaries less than the element, or with `right` less than or equal. Example: ``[3, 6, 9]`` with boundaries
    ``[1, 3, 5, 7, 9]`` gives ``[1, 3, 4]``.
    """

    input_tensor: PeerOperand
    boundaries: PeerOperand
    out_int32: Bool = False
    right: Bool = False
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("right")
        given, boundaries = args.tensor(0), args.tensor(1)
        if boundaries.ndim not in (None, 1):
            raise ShapeError(f"{args.op}: operand 'boundaries' is {boundaries}, expected a vector")
        if given.dtype is not None and boundaries.dtype is not None:
            promote(given.dtype, boundaries.dtype, args.op)
        return Tensor(given.shape, "int32" if args.bool_attr("out_int32") else "int64")


class MultinomialFromUniformOp(RelaxOp, name="multinomial_from_uniform", traits=[ext.Pure]):
    """For each uniform sample in 0..1, a class index drawn from the row of `prob` given by `sample_indices`.

    `prob` is ``(rows, classes)``; the other operands and the result are ``(samples, 1)``, the result integers of
    `dtype`. It is the first class whose cumulative probability exceeds the sample, else the last class. Probabilities
    are accumulated in float64. A row index out of range, or a row without classes, is an error at run time.

    Example: ``[[0.2, 0.3, 0.5]]`` with ``[[0.4]]`` and ``[[0]]`` gives ``[[1]]``.
    """

    prob: ext.Operand[Any]
    uniform_sample: ext.Operand[Any]
    sample_indices: ext.Operand[Any]
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        dtype = dtype_of(args, "dtype")
        if not dtype.is_integer:
            raise DTypeError(f"{args.op}: dtype is {dtype}, expected integers for indices")
        for index in (0, 1):
            args.require_dtype(index, lambda d: d.is_float, "a float")
        prob, sample, rows = args.tensor(0), args.tensor(1), index_operand(args, 2)
        for index, tensor in enumerate((prob, sample, rows)):
            width = tensor.shape[1] if tensor.shape is not None and len(tensor.shape) == 2 else None
            if tensor.ndim not in (None, 2) or (index and width not in (None, 1)):
                wanted = "(samples, 1)" if index else "(rows, classes)"
                raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {tensor}, expected {wanted}")
        counts = [None if tensor.shape is None else tensor.shape[0] for tensor in (sample, rows)]
        check_equal(args, "the samples of 'uniform_sample' and 'sample_indices'", counts[0], counts[1])
        return Tensor((counts[1] if counts[0] is None else counts[0], 1), dtype)


@exported()
def multinomial_from_uniform(
    prob: Value, uniform_sample: Value, sample_indices: Value | None = None, dtype: str | DType = "int64"
) -> Value:
    """Class indices drawn from rows of probabilities (see `MultinomialFromUniformOp`); by default one per row.

    Raises:
        ShapeError: no `sample_indices`, and an unknown number of samples.
    """
    require_insertion_point("multinomial_from_uniform")
    if sample_indices is None:
        shape = as_value(uniform_sample).tensor_info.shape
        if not shape or shape[0] is None:
            raise ShapeError(
                f"multinomial_from_uniform: operand 'uniform_sample' is {uniform_sample.tensor_info}, whose first "
                "dimension is not known; give 'sample_indices'"
            )
        sample_indices = expand_dims(arange(shape[0], dtype="int64"), 1)
    operands = [prob, uniform_sample, sample_indices]
    return create_one(MultinomialFromUniformOp, operands, {"dtype": dtype_attr(dtype)})


class UniqueOp(RelaxOp, name="unique", traits=[ext.Pure]):
    """The distinct elements of `x`; with `axis`, the distinct slices along it.

    ``unit`` for `axis` selects the elements of the flattened tensor, as a vector. They are in ascending order, NaN last
    (slices in lexicographic order), or with `sorted` false in order of first occurrence. All NaNs are equal here, and
    so are 0.0 and -0.0; each is represented by its first occurrence.

    If any flag is set, the result is a tuple: the elements, then the selected int64 vectors: indices of the first
    occurrences (`return_index`), the index in the result for each element of `x` (`return_inverse`), and the numbers of
    occurrences (`return_counts`). The number of distinct elements is known only at run time.

    Example: ``[3, 1, 3]`` gives ``[1, 3]``, index ``[1, 0]``, inverse ``[1, 0, 1]``, counts ``[1, 2]``.
    """

    x: ValueOperand
    sorted: Bool = True
    return_index: Bool = False
    return_inverse: Bool = False
    return_counts: Bool = False
    axis: Int | None = None
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        args.bool_attr("sorted")
        values, length = _distinct(args, x)
        found: list[StructInfo] = [values]
        for flag, size in (("return_index", None), ("return_inverse", length), ("return_counts", None)):
            if args.bool_attr(flag):
                found.append(Tensor((size,), "int64"))
        return Tuple(found) if len(found) > 1 else values


def _distinct(args: OpArgs, x: Tensor) -> tuple[Tensor, Dim | None]:
    """Struct info of the distinct elements or slices of `x`, and the number of candidates."""
    if args.is_unit("axis"):
        return Tensor((None,), x.dtype), None if x.known_shape is None else symbolic.product(x.known_shape)
    if x.shape is None:
        return x, None
    axis = normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
    return Tensor([None if i == axis else d for i, d in enumerate(x.shape)], x.dtype), x.shape[axis]


class NonzeroOp(RelaxOp, name="nonzero", traits=[ext.Pure]):
    """The indices of the nonzero (true) elements, in row-major order, as int64.

    Row i of the result holds the indices in dimension i: the shape is ``(rank, number of nonzero elements)``. NaN is
    not zero. Example: ``[[0, 5], [7, 0]]`` gives ``[[0, 1], [1, 0]]``.
    """

    x: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor((args.tensor(0).ndim, None), "int64")
