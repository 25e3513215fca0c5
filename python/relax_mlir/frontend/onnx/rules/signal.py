"""Fourier transforms and related ops; features of text and tables with numeric values."""

from __future__ import annotations

import math

import numpy as np

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.onnx.dtypes import dtype_name
from relax_mlir.frontend.onnx.items import TensorItem, of_array
from relax_mlir.frontend.onnx.registry import Node, constant, normal_axis, rule
from relax_mlir.frontend.onnx.rules.manipulate import padded
from relax_mlir.symbolic import Dim, Expr


@rule("DFT")
def _dft(node: Node) -> Value:
    if node.opset < 20:
        axis = node.axis(default=1)
    else:
        axis = normal_axis(int(node.scalar(2)) if node.has(2) else -2, node.rank())
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    size = node.shape()[axis]
    if node.has(1):
        length: Dim = _one(node, 1)
    else:
        length = (size - 1) * 2 if inverse and onesided else size
    x = node.tensor(0)
    if not (inverse and onesided):
        x = fitted(node, x, axis, length)
        return transformed(x, axis, length, inverse, onesided, node.dtype())
    bins = symbolic.floordiv(length, 2) + 1
    whole = _mirrored(fitted(node, x, axis, bins), axis, length, bins, node.dtype())
    full = transformed(whole, axis, length, True, False, node.dtype())
    return R.strided_slice(full, [node.rank() - 1], [0], [1])


def _one(node: Node, index: int) -> Dim:
    """Return an input of one element as a dimension."""
    if node.known(index) is not None:
        return node.dims(index)[0]
    return node.converter.dims_of(R.reshape(node.tensor(index), (1,)))[0]


def fitted(node: Node, x: Value, axis: int, length: Dim) -> Value:
    """Crop or zero-pad `x` to `length` along an axis."""
    shape = x.tensor_info.known_shape
    assert shape is not None
    if symbolic.prove_equal(shape[axis], length):
        return x
    cut = R.strided_slice(x, [axis], [0], [length])
    size = cut.tensor_info.known_shape
    assert size is not None
    after: list[Dim] = [length - size[axis] if number == axis else 0 for number in range(len(shape))]
    return R.match_shape(
        padded(node, cut, [0] * len(shape), after),
        [length if number == axis else dim for number, dim in enumerate(shape)],
    )


def _mirrored(x: Value, axis: int, length: Dim, bins: Dim, dtype: str) -> Value:
    """Return all bins of a real signal's spectrum, given the first half."""
    rank = x.ndim or 0
    other = R.strided_slice(x, [axis], [1], [length - bins + 1])
    turned = R.flip(other, axis)
    signs = R.reshape(constant([1.0, -1.0], dtype), [*[1] * (rank - 1), 2])
    return R.concat([x, R.multiply(turned, signs)], axis)


def transformed(x: Value, axis: int, length: Dim, inverse: bool, onesided: bool, dtype: str) -> Value:
    """Transform along `axis`; the last axis is the real part, or real and imaginary part."""
    rank = x.ndim or 0
    shape = x.tensor_info.known_shape
    assert shape is not None
    order = [number for number in range(rank - 1) if number != axis]
    last = [*order, axis]
    parts = [
        R.permute_dims(R.squeeze(R.strided_slice(x, [rank - 1], [k], [k + 1]), [rank - 1]), last)
        for k in range(1 if shape[-1] == 1 else 2)
    ]
    bins = symbolic.floordiv(length, 2) + 1 if onesided else length
    cosine, sine = _waves(length, bins, dtype)
    if inverse:
        sine = R.negative(sine)
    real, imaginary = R.matmul(parts[0], cosine), R.negative(R.matmul(parts[0], sine))
    if len(parts) > 1:
        real = R.add(real, R.matmul(parts[1], sine))
        imaginary = R.add(imaginary, R.matmul(parts[1], cosine))
    both = R.concat([R.expand_dims(real, rank - 1), R.expand_dims(imaginary, rank - 1)], rank - 1)
    if inverse:
        both = R.divide(both, R.astype(_size(length), dtype))
    back = [last.index(number) for number in range(rank - 1)]
    return R.permute_dims(both, [*back, rank - 1])


def _size(dim: Dim) -> Value:
    return R.prim_to_tensor(R.prim_value(dim)) if isinstance(dim, Expr) else constant(dim, "int64")


def _waves(length: Dim, bins: Dim, dtype: str) -> tuple[Value, Value]:
    """Return cosines and sines of 2π·n·k/length, a row for each n, a column for each k below `bins`."""
    if isinstance(length, int) and isinstance(bins, int):
        angles = 2 * np.pi * ((np.arange(length)[:, None] * np.arange(bins)) % max(length, 1)) / max(length, 1)
        return constant(np.cos(angles), dtype), constant(np.sin(angles), dtype)
    n = R.reshape(R.arange(0, length, 1, "int64"), [length, 1])
    k = R.reshape(R.arange(0, bins, 1, "int64"), [1, bins])
    step = R.astype(R.floor_mod(R.multiply(n, k), R.maximum(_size(length), constant(1, "int64"))), "float64")
    angle = R.multiply(R.divide(step, R.astype(_size(length), "float64")), constant(2 * math.pi, "float64"))
    return R.astype(R.cos(angle), dtype), R.astype(R.sin(angle), dtype)


@rule("STFT")
def _stft(node: Node) -> Value:
    x, dtype = node.tensor(0), node.dtype()
    batch, size, parts = node.shape()
    step = int(node.scalar(1))
    if step < 1:
        raise ArgumentError(f"frame_step is {step}")
    length: Dim = int(node.scalar(3)) if node.has(3) else node.shape(2)[0] if node.has(2) else size
    frames = symbolic.floordiv(size - length, step) + 1
    starts = R.reshape(R.multiply(R.arange(0, frames, 1, "int64"), constant(step, "int64")), [frames, 1])
    places = R.add(starts, R.reshape(R.arange(0, length, 1, "int64"), [1, length]))
    cut = R.take(x, places, 1)
    if node.has(2):
        cut = R.multiply(cut, R.reshape(node.tensor(2), [1, 1, length, 1]))
    shaped = R.reshape(cut, [batch, frames, length, parts])
    return transformed(shaped, 2, length, False, bool(node.attr("onesided", 1)), dtype)


@rule("MelWeightMatrix")
def _mel_weight_matrix(node: Node) -> TensorItem:
    """Return triangular filters over spectrum bins, equally spaced on the mel scale."""
    count, length, rate = (int(node.scalar(i)) for i in range(3))
    low, high = (2595 * math.log10(1 + float(node.scalar(i)) / 700) for i in (3, 4))
    points = low + np.arange(count + 2) * (high - low) / (count + 2)
    edges = ((length + 1) * (700 * (10 ** (points / 2595) - 1)) // rate).astype(int)
    matrix = np.zeros((length // 2 + 1, count))
    for number, (left, middle, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if left == middle:
            matrix[middle, number] = 1
        else:
            rising = np.arange(left, middle + 1)
            matrix[rising, number] = (rising - left) / (middle - left)
        falling = np.arange(middle, right)
        matrix[falling, number] = (right - falling) / max(right - middle, 1)
    code = node.attr("output_datatype", 1)
    return of_array(matrix.astype(dtype_name(code, "the result")))


# Features of text and tables with numeric values.

ML = "ai.onnx.ml"


@rule("TfIdfVectorizer")
def _tf_idf(node: Node) -> Value:
    """Count the n-grams of a pool in each row, with gaps of several lengths between their elements."""
    if node.attr("pool_strings"):
        raise node.unsupported("a pool of strings")
    pool, starts = node.required("pool_int64s"), node.required("ngram_counts")
    places, mode = node.required("ngram_indexes"), node.required("mode")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise ArgumentError(f"the mode is {mode!r}, expected TF, IDF or TFIDF")
    shortest, longest, gaps = (
        node.required(f"{name}") for name in ("min_gram_length", "max_gram_length", "max_skip_count")
    )
    shape = node.shape()
    length = shape[-1]
    rows = R.reshape(R.astype(node.tensor(0), "int64"), [1 if len(shape) == 1 else shape[0], length])
    batch = 1 if len(shape) == 1 else shape[0]
    total = R.full([batch, max(places) + 1], constant(0.0, "float32"))
    first = 0
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        grams = np.asarray(pool[start:end], np.int64).reshape(-1, size)
        columns = places[first : first + len(grams)]
        first += len(grams)
        if not len(grams) or not shortest <= size <= longest:
            continue
        for gap in range(gaps + 1 if size > 1 else 1):
            found = _occurrences(rows, grams, gap + 1, length)
            if found is not None:
                spread = np.zeros((len(grams), max(places) + 1), np.float32)
                spread[np.arange(len(grams)), columns] = 1
                total = R.add(total, R.matmul(found, R.const(spread)))
    weights = np.ones(max(places) + 1, np.float32)
    if node.attr("weights") is not None:
        weights[places] = node.attr("weights")
    if mode == "IDF":
        total = R.minimum(total, constant(1.0, "float32"))
    if mode != "TF":
        total = R.multiply(total, R.const(weights))
    return R.reshape(total, [max(places) + 1]) if len(shape) == 1 else total


def _occurrences(
    rows: Value, grams: np.ndarray[tuple[int, ...], np.dtype[np.int64]], step: int, length: object
) -> Value | None:
    """Count each n-gram per row with its elements `step` apart; return None if rows are too short."""
    count, size = grams.shape
    if not isinstance(length, int):
        raise ArgumentError("the length of the rows must be known at import")
    windows = length - (size - 1) * step
    if windows <= 0:
        return None
    hits: Value | None = None
    for place in range(size):
        part = R.strided_slice(rows, [1], [place * step], [place * step + windows])
        equal = R.equal(R.expand_dims(part, 2), R.const(np.ascontiguousarray(grams[:, place]).reshape(1, 1, count)))
        hits = equal if hits is None else R.logical_and(hits, equal)
    assert hits is not None
    return R.sum(R.astype(hits, "float32"), 1)


@rule("ArrayFeatureExtractor", domain=ML)
def _feature_extractor(node: Node) -> Value:
    indices = R.flatten(R.astype(node.tensor(1), "int64"))
    x = R.expand_dims(node.tensor(0), 0) if node.rank() == 1 else node.tensor(0)
    return R.take(x, indices, (x.ndim or 1) - 1)


@rule("Binarizer", domain=ML)
def _binarizer(node: Node) -> Value:
    return R.astype(R.greater(node.tensor(0), node.const(node.attr("threshold", 0.0))), node.dtype())


@rule("Scaler", domain=ML)
def _scaler(node: Node) -> Value:
    x = R.astype(node.tensor(0), "float32")
    offset, scale = (
        constant(node.attr(name, [default]), "float32") for name, default in (("offset", 0.0), ("scale", 1.0))
    )
    return R.multiply(R.subtract(x, offset), scale)
