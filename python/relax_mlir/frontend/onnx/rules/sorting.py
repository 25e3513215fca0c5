"""Top-k."""

from __future__ import annotations

from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.frontend.top_k import top_k
from relax_mlir.symbolic import Dim


@rule("TopK")
def _top_k(node: Node) -> list[Value]:
    k: Dim = node.attr("k", 1) if node.opset < 10 else node.dims(1)[0]
    return list(top_k(node.tensor(0), k, node.axis(default=-1), bool(node.attr("largest", 1))))
