"""Features of text and tables with numeric values."""

from __future__ import annotations

import numpy as np

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.onnx.registry import Node, constant, rule

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
        equal = R.equal(
            R.expand_dims(part, 2), R.const(np.ascontiguousarray(grams[:, place]).reshape(1, 1, count))
        )
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
