"""The largest elements."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.symbolic import Dim


@rule("TopK")
def _top_k(node: Node) -> list[Value]:
    axis = node.axis(default=-1)
    k: Dim = node.attr("k", 1) if node.opset < 10 else node.dims(1)[0]
    largest = bool(node.attr("largest", 1))
    if isinstance(k, int):
        found = R.topk(node.tensor(0), k, axis, "both", largest, "int64")
        return [R.tuple_get_item(found, 0), R.tuple_get_item(found, 1)]
    return list(node.te(topi.topk, node.tensor(0), k, axis, "both", not largest, "int64"))
