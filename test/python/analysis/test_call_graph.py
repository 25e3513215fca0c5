"""The call graph, and its cycles."""

from __future__ import annotations

import networkx
import relax_mlir as rx
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.analysis.call_graph import call_graph, components, recursion

CALL = '%{0} = "relax.call"(%t) {{callee = @{1}}} : (tuple<tensor<2xf32>>) -> tensor<2xf32>'
FUNCTION = """
func.func @{0}(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  {1}
  return %x : tensor<2xf32>
}}
"""
GRAPHS = st.integers(1, 7).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=3), min_size=size, max_size=size)
)


def module(graph: dict[str, list[str]]) -> rx.IRModule:
    bodies = {
        name: "\n  ".join(CALL.format(i, callee) for i, callee in enumerate(callees)) for name, callees in graph.items()
    }
    return rx.IRModule.parse("".join(FUNCTION.format(*item) for item in bodies.items()), trusted=True)


def test_recursion() -> None:
    graph = {"main": ["f", "g", "f"], "f": ["f"], "g": ["h"], "h": ["g", "i"], "i": []}
    mod = module(graph)
    assert call_graph(mod.mlir) == graph | {"main": ["f", "g"]}
    assert recursion(mod.mlir) == [["f"], ["g", "h"]]


@given(GRAPHS)
def test_components(edges: list[list[int]]) -> None:
    graph = {str(i): [str(j) for j in targets] for i, targets in enumerate(edges)}
    found = components(graph)
    expected = networkx.strongly_connected_components(networkx.DiGraph(graph))
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    place = {name: index for index, group in enumerate(found) for name in group}
    assert all(place[callee] <= place[name] for name, callees in graph.items() for callee in callees)
