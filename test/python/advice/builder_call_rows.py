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
        lambda bb, p: op.memory.view(p["o"], (2,), "float64"),
        lambda x, o: o.ravel()[:4].view(np.float64),
    ),
    "shape_of_result": (
        lambda bb, p: op.call_tir(p["x"], "advice.twofold", [p["x"]]),
        "expected a shape: op.shape_of gives that of a tensor",
        lambda bb, p: op.call_tir(op.shape_of(p["x"]), "advice.twofold", [p["x"]]),
        lambda x: 2 * x,
    ),
    "shape_operand": (
        lambda bb, p: op.negative(op.shape_of(p["x"])),
        "op.shape_to_tensor makes one",
        lambda bb, p: op.negative(op.shape_to_tensor(op.shape_of(p["x"]))),
    ),
    "tensor_for_shape": (
        lambda bb, p: op.shape_to_tensor(p["x"]),
        "op.shape_of gives it",
        lambda bb, p: op.shape_to_tensor(op.shape_of(p["x"])),
    ),
    "bool_sum": (
        lambda bb, p: op.subtract(p["c"], p["c"]),
        "expected a number; use astype",
        lambda bb, p: op.subtract(op.astype(p["c"], "int32"), op.astype(p["c"], "int32")),
    ),
    "integer_exp": (
        lambda bb, p: op.exp(p["j"]),
        "expected a float; use astype",
        lambda bb, p: op.exp(op.astype(p["j"], "float32")),
    ),
    "bool_scan": (
        lambda bb, p: op.cumsum(op.greater(p["v"], 1.0)),
        "a number; give a dtype, or use astype",
        lambda bb, p: (
            op.cumsum(op.greater(p["v"], 1.0), dtype="int64"),
            op.cumsum(op.astype(op.greater(p["v"], 1.0), "int32")),
        ),
    ),
    "condition": (
        lambda bb, p: op.where(p["j"], p["v"], p["v"]),
        "bool; compare it with 0, or use astype",
        lambda bb, p: (
            op.where(op.not_equal(p["j"], 0), 1.0, op.astype(p["j"], "float32")),
            op.where(op.astype(p["j"], "bool"), 1.0, op.astype(p["j"], "float32")),
        ),
    ),
    "full_like": (
        lambda bb, p: op.full_like(_unknown(bb, p["x"]), op.const(1.5)),
        "the dtype of 'x' is not known; give dtype",
        lambda bb, p: op.full_like(_unknown(bb, p["x"]), op.const(1.5), "float32"),
        lambda x: np.full_like(x, 1.5),
    ),
    "tir_var": (
        lambda bb, p: op.call_tir("fill", [], INFOS["x"], tir_vars=[None]),
        "give an expression of the symbols in scope",
        lambda bb, p: op.call_tir("fill", [], INFOS["x"], tir_vars=["2*n + m"]),
        lambda x: np.full_like(x, 2 * x.shape[0] + x.shape[1]),
    ),
    "destination": (
        lambda bb, p: op.call_dps_packed("advice.double", [p["x"]], rx.Tensor(ndim=2, dtype="float32")),
        r"\(use call_packed and match_shape otherwise\)",
        lambda bb, p: bb.match_shape(
            bb.emit(op.call_packed("advice.same", p["x"], out=rx.Tensor(ndim=2, dtype="float32"))), ("q", "r")
        ),
        lambda x: x,
    ),
    "packed_tir_vars": (
        lambda bb, p: op.call_tir("advice.double", [p["x"]], INFOS["x"], tir_vars=["n"]),
        "takes no tir_vars; give them as arguments",
        lambda bb, p: op.call_tir("advice.times", [p["x"], op.prim_value("n")], INFOS["x"]),
        lambda x: x * x.shape[0],
    ),
    "float_bounds": (
        lambda bb, p: op.arange("n", 5.5),
        "does not go with float bounds; use integers with symbols",
        lambda bb, p: (op.zeros(("n",), "int8"), p["x"], op.arange(0, "n", 2)),
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
        lambda bb, p: op.nn.group_norm(
            bb.match_shape(p["x"], ("n", 3)),
            bb.match_shape(p["v"], (3,)),
            bb.match_shape(p["v"], (3,)),
            3,
            1,
            [0],
        ),
    ),
    "declared_groups": (
        lambda bb, p: op.nn.group_norm(
            p["x"], bb.match_shape(p["v"], ("m",)), bb.match_shape(p["v"], ("m",)), 3, 1, []
        ),
        r"declare it as one, 3\*c",
        lambda bb, p: op.nn.group_norm(p["w"], p["e"], p["e"], 3, 1, [0]),
    ),
    "index_tensor": (
        lambda bb, p: p["v"][p["j"]],
        "op.take takes the elements",
        lambda bb, p: op.take(p["v"], p["j"], 0),
    ),
    "begin_of_loop": (
        lambda bb, p: op.for_loop(-2, 3, lambda i, v: v * op.astype(op.prim_to_tensor(i), "float32"), p["x"]),
        "it counts from 0 or more, so subtract in the body",
        lambda bb, p: op.for_loop(
            0, 5, lambda i, v: v + op.astype(op.prim_to_tensor(i - 2), "float32"), p["x"]
        ),
    ),
    "step_of_loop": (
        lambda bb, p: op.for_loop(0, 3, lambda i, v: v + 1.0, p["x"], step=-1),
        "loops count upwards, by a positive int",
        lambda bb, p: op.for_loop(0, 3, lambda i, v: v + 1.0, p["x"], step=1),
    ),
    "broadcast_to": (
        lambda bb, p: op.broadcast_to(p["v"], ("n", "m")),
        "match_shape the tensor first",
        lambda bb, p: (op.broadcast_to(bb.match_shape(p["v"], ("m",)), ("n", "m")), p["x"]),
    ),
    "concat": (
        lambda bb, p: op.concat([p["x"], op.expand_dims(p["v"], 0)], 0),
        "match_shape one of them first",
        lambda bb, p: op.concat([p["x"], bb.match_shape(op.expand_dims(p["v"], 0), (1, "m"))], 0),
    ),
    "float": (
        lambda bb, p: p["j"].float(),
        r'op.astype\(x, "float32"\)',
        lambda bb, p: op.astype(p["j"], "float32"),
    ),
    "int": (lambda bb, p: p["x"].int(), r'op.astype\(x, "int32"\)', lambda bb, p: op.astype(p["x"], "int32")),
    "device": (
        lambda bb, p: p["x"].__dlpack_device__(),
        "is on no device before it is run: return it from the function",
        lambda bb, p: p["x"],
    ),
    "torch": (
        lambda bb, p: torch.exp(p["x"]),
        "torch.exp computes now, .* use the ops of op",
        lambda bb, p: op.exp(p["x"]),
    ),
    "torch_product": (
        lambda bb, p: torch.matmul(p["x"], p["x"]),
        "torch.matmul computes now, .* use the ops of op",
        lambda bb, p: p["x"] @ torch.ones(3, 2) if False else op.permute_dims(p["x"]) @ p["x"],
    ),
    "shaped": (
        lambda bb, p: op.shaped(bb.emit(op.call_packed("advice.shape", p["x"], out=rx.Shape()))),
        r"declare it, Shape\(ndim=…\), or match_shape it first",
        lambda bb, p: op.call_dps_packed(
            "advice.double",
            [p["x"]],
            op.shaped(bb.emit(op.call_packed("advice.shape", p["x"], out=rx.Shape(ndim=2)))),
        ),
        lambda x: 2 * x,
    ),
    "shaped_matched": (
        lambda bb, p: op.shaped(bb.emit(op.call_packed("advice.shape", p["x"], out=rx.Shape()))),
        "or match_shape it first",
        lambda bb, p: op.call_dps_packed(
            "advice.double",
            [p["x"]],
            op.shaped(
                bb.match_shape(bb.emit(op.call_packed("advice.shape", p["x"], out=rx.Shape())), ("q", "r"))
            ),
        ),
        lambda x: 2 * x,
    ),
    "emit_nothing": (
        lambda bb, p: bb.emit(op.call_packed("advice.nothing", p["x"])),
        "a call_packed without 'out' is written without emit",
        lambda bb, p: (op.call_packed("advice.nothing", p["x"]), p["x"])[1],
        lambda x: x,
    ),
    "call_of_itself": (
        lambda bb, p: bb.call("main", *p.values()),
        r"bb.function\(…, result=…\) says what it returns",
        lambda bb, p: p["x"],
    ),
    "inner_result": (
        lambda bb, p: _abandoned(bb),
        "has no result; call bb.emit_func_output",
        lambda bb, p: _called(bb, p["x"]),
        lambda x: x + 1,
    ),
    "packed_out": (
        lambda bb, p: op.call_pure_packed("advice.same", p["x"]),
        "'out' must say what it returns",
        lambda bb, p: op.call_pure_packed("advice.same", p["x"], out=INFOS["x"]),
        lambda x: x,
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


def _called(bb: rx.BlockBuilder, x: Any) -> rx.Value:
    a = rx.Var("a", INFOS["x"])
    with bb.lambda_function("f", [a]) as f:
        bb.emit_func_output(a + 1.0)
    return op.invoke_pure_closure(f, [x])


def all_arguments(name: str) -> dict[str, Any]:
    given = arguments(name)
    return {**given, "w": given["y"], "e": given["x"][0].copy()}


MULTIPLES = {"w": rx.Tensor(("n", "3*d"), "float32"), "e": rx.Tensor(("3*d",), "float32")}
TABLE = BuilderRows({**INFOS, **MULTIPLES}, CASES, all_arguments, PRIMS)
