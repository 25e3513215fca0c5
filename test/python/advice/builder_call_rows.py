"""More bodies of functions in the builder: dtypes, calls, closures, loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as rx
import torch
import tvm_ffi
from advice_rows import BuilderCase, BuilderRows
from builder_rows import INFOS, arguments
from programs import register
from relax_mlir import op

PRIMS = """
func.func private @fill(%a: memref<?x?xf32>, %k: index) attributes {relax.prim_func} {
  %c = arith.index_cast %k : index to i64
  %f = arith.sitofp %c : i64 to f32
  linalg.fill ins(%f : f32) outs(%a : memref<?x?xf32>)
  return
}
"""


@register("advice.same")
def _same(x: Any) -> Any:
    return x


@register("advice.shape")
def _shape(x: Any) -> Any:
    return tvm_ffi.Shape(x.shape)


@register("advice.twofold")
def _twice(x: Any, out: Any) -> None:
    np.from_dlpack(out)[...] = np.from_dlpack(x) * np.float32(2)


def _unknown(bb: rx.BlockBuilder, x: rx.Value) -> rx.Value:
    return bb.emit(op.call_pure_packed("advice.same", x, out=rx.Tensor(ndim=2, dtype=None)))


def _convolution(layout: str) -> rx.Value:
    data, weight = op.ones((1, 4, 5, 5), "float32"), op.ones((2, 4, 3, 3), "float32")
    return op.nn.conv2d(data, weight, data_layout=layout)


CASES: dict[str, BuilderCase] = {
    "layout_in_blocks": (
        lambda bb, p: _convolution("NCHW4c"),
        "dimensions in blocks are not supported; give an order of NCHW",
        lambda bb, p: _convolution("NCHW"),
        lambda x: np.full((1, 2, 3, 3), 36, np.float32),
    ),
    "view_from_byte": (
        lambda bb, p: op.memory.view(p["o"], relative_byte_offset=4),
        "ends beyond it: give a smaller shape",
        lambda bb, p: op.memory.view(p["o"], (2,), relative_byte_offset=4),
        lambda x, o: o.ravel()[1:3],
    ),
    "view_of_larger_elements": (
        lambda bb, p: op.memory.view(p["o"], dtype="float64"),
        "as many of float64 do not fit: give a shape",
    ),
    "shape_of_result": (
        lambda bb, p: op.call_tir(p["x"], "advice.twofold", [p["x"]]),
        "expected a shape: op.shape_of gives that of a tensor",
        lambda bb, p: op.call_tir(op.shape_of(p["x"]), "advice.twofold", [p["x"]]),
        lambda x: 2 * x,
    ),
    "shape_operand": (lambda bb, p: op.negative(op.shape_of(p["x"])), "op.shape_to_tensor makes one"),
    "tensor_for_shape": (lambda bb, p: op.shape_to_tensor(p["x"]), "op.shape_of gives it"),
    "bool_sum": (lambda bb, p: op.subtract(p["c"], p["c"]), "expected a number; use astype"),
    "integer_exp": (lambda bb, p: op.exp(p["j"]), "expected a float; use astype"),
    "bool_scan": (lambda bb, p: op.cumsum(op.greater(p["v"], 1.0)), "a number; give a dtype, or use astype"),
    "condition": (lambda bb, p: op.where(p["j"], p["v"], p["v"]), "bool; compare it with 0, or use astype"),
    "full_like": (
        lambda bb, p: op.full_like(_unknown(bb, p["x"]), op.const(1.5)),
        "the dtype of 'x' is not known; give dtype",
        lambda bb, p: op.full_like(_unknown(bb, p["x"]), op.const(1.5), "float32"),
        lambda x: np.full_like(x, 1.5),
    ),
    "tir_var": (
        lambda bb, p: op.call_tir("fill", [], INFOS["x"], tir_vars=[None]),
        "give an expression of the symbols in scope",
    ),
    "destination": (
        lambda bb, p: op.call_dps_packed("advice.double", [p["x"]], rx.Tensor(ndim=2, dtype="float32")),
        r"\(use call_packed and match_shape otherwise\)",
    ),
    "packed_tir_vars": (
        lambda bb, p: op.call_tir("advice.double", [p["x"]], INFOS["x"], tir_vars=["n"]),
        "takes no tir_vars; give them as arguments",
    ),
    "float_bounds": (
        lambda bb, p: op.arange("n", 5.5),
        "does not go with float bounds; use integers with symbols",
    ),
    "axes_and_channels": (
        lambda bb, p: op.nn.group_norm(p["x"], p["v"], p["v"], 1, 1, [1]),
        "leave it out of them",
        lambda bb, p: op.nn.group_norm(
            bb.match_shape(p["x"], ("n", 3)),
            bb.match_shape(p["v"], (3,)),
            bb.match_shape(p["v"], (3,)),
            1,
            1,
            [],
        ),
    ),
    "groups": (
        lambda bb, p: op.nn.group_norm(
            p["x"], bb.match_shape(p["v"], ("m",)), bb.match_shape(p["v"], ("m",)), 3, 1, []
        ),
        r"match_shape it to a number that is, or declare it as one, 3\*c",
    ),
    "index_tensor": (lambda bb, p: p["v"][p["j"]], "op.take takes the elements"),
    "begin_of_loop": (
        lambda bb, p: op.for_loop(-2, 3, lambda i, v: v * op.astype(op.prim_to_tensor(i), "float32"), p["x"]),
        "it counts from 0 or more, so subtract in the body",
    ),
    "step_of_loop": (
        lambda bb, p: op.for_loop(0, 3, lambda i, v: v + 1.0, p["x"], step=-1),
        "loops count upwards, by a positive int",
    ),
    "broadcast_to": (
        lambda bb, p: op.broadcast_to(p["v"], ("n", "m")),
        "match_shape the tensor first",
        lambda bb, p: (op.broadcast_to(bb.match_shape(p["v"], ("m",)), ("n", "m")), p["x"]),
    ),
    "concat": (
        lambda bb, p: op.concat([p["x"], op.expand_dims(p["v"], 0)], 0),
        "match_shape one of them first",
    ),
    "float": (
        lambda bb, p: p["j"].float(),
        r'op.astype\(x, "float32"\)',
        lambda bb, p: op.astype(p["j"], "float32"),
    ),
    "int": (lambda bb, p: p["x"].int(), r'op.astype\(x, "int32"\)'),
    "device": (
        lambda bb, p: p["x"].__dlpack_device__(),
        "is on no device before it is run: return it from the function",
    ),
    "torch": (lambda bb, p: torch.exp(p["x"]), "torch.exp computes now, .* use the ops of op"),
    "torch_product": (
        lambda bb, p: torch.matmul(p["x"], p["x"]),
        "torch.matmul computes now, .* use the ops of op",
    ),
    "shaped": (
        lambda bb, p: op.shaped(bb.emit(op.call_packed("advice.shape", p["x"], out=rx.Shape()))),
        r"declare it, Shape\(ndim=…\), or match_shape it first",
    ),
    "emit_nothing": (
        lambda bb, p: bb.emit(op.call_packed("advice.nothing", p["x"])),
        "a call_packed without 'out' is written without emit",
    ),
    "call_of_itself": (
        lambda bb, p: bb.call("main", *p.values()),
        r"bb.function\(…, result=…\) says what it returns",
    ),
    "inner_result": (lambda bb, p: _abandoned(bb), "has no result; call bb.emit_func_output"),
    "packed_out": (
        lambda bb, p: op.call_pure_packed("advice.same", p["x"]),
        "'out' must say what it returns",
    ),
}


@register("advice.nothing")
def _nothing(x: Any) -> None: ...


@register("advice.times")
def _times(x: Any, n: int, out: Any) -> None:
    np.from_dlpack(out)[...] = np.from_dlpack(x) * np.float32(n)


def _abandoned(bb: rx.BlockBuilder) -> None:
    with bb.lambda_function("f", [rx.Var("a", INFOS["x"])]):
        pass


def all_arguments(name: str) -> dict[str, Any]:
    given = arguments(name)
    return {**given, "w": given["y"], "e": given["x"][0].copy()}


MULTIPLES = {"w": rx.Tensor(("n", "3*d"), "float32"), "e": rx.Tensor(("3*d",), "float32")}
TABLE = BuilderRows({**INFOS, **MULTIPLES}, CASES, all_arguments, PRIMS)
