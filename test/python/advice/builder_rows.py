"""Advice in messages of the builder: the mistake, its message, and the code that follows it, which verifies."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from advice_rows import BuilderCase, BuilderRows
from programs import register
from relax_mlir import op


@register("advice.double")
def _double(x: Any, out: Any) -> None:
    np.from_dlpack(out)[...] = 2 * np.from_dlpack(x)


INFOS = {
    "x": rx.Tensor(("n", "m"), "float32"),
    "y": rx.Tensor(("n", "m"), "float32"),
    "v": rx.Tensor(("k",), "float32"),
    "h": rx.Tensor(("n", "m"), "float16"),
    "j": rx.Tensor(("k",), "int64"),
    "o": rx.Tensor(ndim=2, dtype="float32"),
    "u": rx.Tensor(dtype="float32"),
    "c": rx.Tensor((), "bool"),
    "i": rx.Prim("int64"),
    "s": rx.Shape(ndim=2),
}


def _dataflow_left(bb: rx.BlockBuilder, p: dict[str, Any]) -> object:
    with bb.dataflow():
        return bb.emit_func_output(p["x"])


def _dataflow_output(bb: rx.BlockBuilder, p: dict[str, Any]) -> object:
    with bb.dataflow():
        return bb.emit_output(p["x"] + p["y"])


CASES: dict[str, BuilderCase] = {
    "dtypes": (
        lambda bb, p: p["x"] + p["h"],
        "convert one of them with astype",
        lambda bb, p: p["x"] + op.astype(p["h"], "float32"),
    ),
    "broadcast": (
        lambda bb, p: p["x"] + op.zeros(("k",), "float32"),
        "match_shape one of the tensors first",
        lambda bb, p: p["x"] + bb.match_shape(p["v"], ("m",)),
    ),
    "summed": (
        lambda bb, p: p["x"] @ p["y"],
        "match_shape one of the tensors first",
        lambda bb, p: p["x"] @ bb.match_shape(p["y"], ("m", "n")),
    ),
    "scalar_product": (lambda bb, p: p["x"] @ 2.0, "use multiply for scalars"),
    "rank": (
        lambda bb, p: p["u"].shape,
        "match_shape it first",
        lambda bb, p: bb.match_shape(p["u"], ("q", "r")).shape,
    ),
    "index_of_unknown_rank": (
        lambda bb, p: p["u"][0],
        "match_shape it first",
        lambda bb, p: bb.match_shape(p["u"], ("q", "r"))[0],
    ),
    "index": (lambda bb, p: p["x"][p["i"]], r'after match_shape\(i, \("k",\)\)'),
    "dimension": (
        lambda bb, p: op.zeros((p["i"], 2), "float32"),
        r'after op.match_shape\(i, \("k",\)\)',
        lambda bb, p: (op.match_shape(p["i"], ("q",)), op.zeros(("q", 2), "float32")),
    ),
    "reshape": (
        lambda bb, p: op.reshape(p["o"], (-1,)),
        "match_shape it first",
        lambda bb, p: op.reshape(bb.match_shape(p["o"], ("q", "r")), (-1,)),
    ),
    "squeeze": (lambda bb, p: op.squeeze(p["x"], 0), "match_shape it first"),
    "sequence": (lambda bb, p: rx.Tensor("n", "float32"), r"write \('n',\)"),
    "sequence_of_one": (lambda bb, p: rx.Tensor(4, "float32"), r"write \(4,\)"),
    "constant": (lambda bb, p: op.where(p["c"], 1, 2), r"write op.const\(1, dtype\)"),
    "constant_of_integers": (lambda bb, p: p["j"] + 1.5, "astype the tensor first"),
    "bool_constant": (lambda bb, p: p["x"] + True, r'write a number, or op.const\(True, "bool"\)'),
    "list": (lambda bb, p: p["x"] * [2.0], r"op.const\(numpy.array\(...\)\)"),
    "clip": (
        lambda bb, p: op.clip(p["j"], 0.5, 2.5),
        "give an integer",
        lambda bb, p: op.clip(p["j"], 0, 2),
    ),
    "branches": (
        lambda bb, p: op.if_then_else(p["c"], lambda: p["x"], lambda: p["o"]),
        "match_shape one of them",
        lambda bb, p: op.if_then_else(p["c"], lambda: p["x"], lambda: op.match_shape(p["o"], p["x"].shape)),
    ),
    "ewise_add": (
        lambda bb, p: op.ewise_add(p["u"], p["u"]),
        "match_shape one of them first",
        lambda bb, p: op.ewise_add(bb.match_shape(p["u"], ("q", "r")), p["u"]),
    ),
    "carried_dtype": (
        lambda bb, p: op.for_loop(0, 3, lambda i, v: op.astype(v, "float64"), p["x"]),
        "astype it",
    ),
    "packed_infos": (
        lambda bb, p: op.call_dps_packed("advice.double", [p["x"]], None),
        "'out' must say what it fills",
        lambda bb, p: op.call_dps_packed("advice.double", [p["x"]], rx.Tensor(("n", "m"), "float32")),
        lambda x, **_: 2 * x,
    ),
    "output_in_dataflow": (
        _dataflow_left,
        "a dataflow block is open; leave it first",
        _dataflow_output,
    ),
    "output_outside": (lambda bb, p: bb.emit_output(p["x"] + p["y"]), "use emit outside of one"),
}


def arguments(name: str) -> dict[str, Any]:
    """Arguments of sizes for which the assertions of the right body hold."""
    n, m = {"squeeze": (1, 3)}.get(name, (3, 3))
    x, y = np.random.default_rng(0).uniform(0.25, 2.0, (2, n, m)).astype(np.float32)
    return {
        "x": x,
        "y": y,
        "v": x[0].copy(),
        "h": y.astype(np.float16),
        "j": np.array([2, 0, 1]),
        "o": x + y,
        "u": x - y,
        "c": np.array(True),
        "i": 2,
        "s": tvm_ffi.Shape((2, 3)),
    }


TABLE = BuilderRows(INFOS, CASES, arguments)
