"""Reductions, argmin and argmax, cumulative sums, top-k."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.common import top_k
from relax_mlir.frontend.onnx.dtypes import FLOATS, numpy_dtype
from relax_mlir.frontend.onnx.registry import Node, normal_axis, rule
from relax_mlir.symbolic import Dim

# Reductions, argmin and argmax, and cumulative sums.


Reduce = Callable[[Value, list[int], bool], Value]


def reduced_axes(node: Node) -> list[int]:
    """Return the non-negative axes that a node reduces; an input with axes must be known at import."""
    axes = node.integers(1) if node.has(1) else node.attr("axes") or []
    if not axes and not node.attr("noop_with_empty_axes", 0):
        return list(range(node.rank()))
    return [normal_axis(axis, node.rank()) for axis in axes]


def _reduced(node: Node, x: Value, reduce: Reduce) -> Value:
    axes = reduced_axes(node)
    return reduce(x, axes, bool(node.attr("keepdims", 1))) if axes else x


_REDUCTIONS: dict[str, Reduce] = {"ReduceSum": R.sum, "ReduceMean": R.mean, "ReduceProd": R.prod}


@rule(*_REDUCTIONS)
def _reduce(node: Node) -> Value:
    return _reduced(node, node.tensor(0), _REDUCTIONS[node.op])


@rule("ReduceMax", "ReduceMin")
def _extremum(node: Node) -> Value:
    reduce = R.max if node.op == "ReduceMax" else R.min
    axes, shape = reduced_axes(node), node.shape()
    if any(shape[axis] == 0 for axis in axes):
        return _of_nothing(node, axes)
    if node.dtype() != "bool":
        return _reduced(node, node.tensor(0), reduce)
    return R.astype(_reduced(node, R.astype(node.tensor(0), "uint8"), reduce), "bool")


def _of_nothing(node: Node, axes: list[int]) -> Value:
    """Return the extremum of no elements: the other end of the dtype's range."""
    dtype, is_max = numpy_dtype(node.dtype()), node.op == "ReduceMax"
    if node.dtype() == "bool":
        number: Any = not is_max
    elif node.dtype() in FLOATS:
        number = -np.inf if is_max else np.inf
    else:
        number = np.iinfo(dtype).min if is_max else np.iinfo(dtype).max
    keeps = bool(node.attr("keepdims", 1))
    shape: list[Dim] = [
        1 if axis in axes else dim for axis, dim in enumerate(node.shape()) if keeps or axis not in axes
    ]
    return R.full(shape, node.const(number)) if shape else node.const(number)


@rule("ReduceL1")
def _reduce_l1(node: Node) -> Value:
    return _reduced(node, R.abs(node.tensor(0)), R.sum)


@rule("ReduceSumSquare")
def _reduce_sum_square(node: Node) -> Value:
    return _reduced(node, _square(node.tensor(0)), R.sum)


@rule("ReduceL2")
def _reduce_l2(node: Node) -> Value:
    if node.dtype() in FLOATS:
        return R.sqrt(_reduced(node, _square(node.tensor(0)), R.sum))
    wide = R.astype(node.tensor(0), "float64")
    return R.astype(R.sqrt(_reduced(node, _square(wide), R.sum)), node.dtype())


@rule("ReduceLogSum")
def _reduce_log_sum(node: Node) -> Value:
    return R.log(_reduced(node, node.tensor(0), R.sum))


@rule("ReduceLogSumExp")
def _reduce_log_sum_exp(node: Node) -> Value:
    return _reduced(node, node.tensor(0), R.logsumexp) if reduced_axes(node) else node.tensor(0)


def _square(x: Value) -> Value:
    return R.multiply(x, x)


@rule("ArgMax", "ArgMin")
def _arg(node: Node) -> Value:
    keepdims, last = bool(node.attr("keepdims", 1)), bool(node.attr("select_last_index", 0))
    if not last:
        plain = R.argmax if node.op == "ArgMax" else R.argmin
        return R.astype(plain(node.tensor(0), node.axis(), keepdims), "int64")
    reduce = topi.argmax if node.op == "ArgMax" else topi.argmin
    found = node.te(reduce, node.tensor(0), node.axis(), keepdims, select_last_index=True)
    return R.astype(found, "int64")


@rule("CumSum", "CumProd")
def _scanned(node: Node) -> Value:
    scan = R.cumsum if node.op == "CumSum" else R.cumprod
    axis = normal_axis(int(node.scalar(1)), node.rank())
    exclusive, reverse = bool(node.attr("exclusive", 0)), bool(node.attr("reverse", 0))
    return scan(node.tensor(0), axis, exclusive=exclusive, reverse=reverse)


# Top-k.


@rule("TopK")
def _top_k(node: Node) -> list[Value]:
    k: Dim = node.attr("k", 1) if node.opset < 10 else node.dims(1)[0]
    return list(top_k(node.tensor(0), k, node.axis(default=-1), bool(node.attr("largest", 1))))
