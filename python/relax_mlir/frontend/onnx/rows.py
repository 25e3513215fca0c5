"""Rows of the results that loops collect."""

from __future__ import annotations

from typing import Any

from relax_mlir import te
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.symbolic import Dim


def with_row(node: Node, buffer: Value, row: Value, place: Dim) -> Value:
    """`buffer` with `row` at `place` of its first axis."""

    def written(old: Any, new: Any) -> Any:  # noqa: ANN401 - tensors of te
        return te.compute(
            old.shape, lambda i, *rest: te.select(i == place, new(*rest), old(i, *rest)), name="with_row"
        )

    result: Value = node.te(written, buffer, row)
    return result
