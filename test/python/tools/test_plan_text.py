"""``relax-opt --memory-plan --bind``: values of symbols, and errors."""

from __future__ import annotations

import pytest
from relax_mlir.dialects import dialect
from relax_mlir.error import ArgumentError, ParseError
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.mlir import ir
from relax_mlir.tools.opt_actions import PLAN_PIPELINE, plans_text, symbol_values
from relax_mlir.tools.opt_options import parse_arguments

MODULE = """
func.func @main(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>> {
  %0 = "relax.nn_softmax"(%x) {axis = 1 : i64}
    : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %1 = "relax.permute_dims"(%0) {axes = [1, 0]}
    : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>>
  %2 = "relax.nn_softmax"(%1) {axis = 1 : i64}
    : (tensor<?x?xf32, #relax.shape<["m", "n"]>>) -> tensor<?x?xf32, #relax.shape<["m", "n"]>>
  return %2 : tensor<?x?xf32, #relax.shape<["m", "n"]>>
}
"""


def test_bindings() -> None:
    options = parse_arguments(["--memory-plan", "--bind=n=128, m=4", "--bind", "k=0"])
    assert symbol_values(options.names("bind")) == {"n": 128, "m": 4, "k": 0}
    assert symbol_values(["n=1", "n=1"]) == {"n": 1}
    for text in ("n", "n=", "=1", "n=x", "n=-1", "n=1.5", "2=1"):
        with pytest.raises(ParseError, match="--bind takes a symbol and a number from 0, as n=128, got"):
            symbol_values([text])
    with pytest.raises(ParseError, match="--bind gives 'n' two values: 1 and 2"):
        symbol_values(["n=1", "n=2"])


def test_values_of_some_symbols() -> None:
    with dialect.context(), ir.Location.unknown():
        module = ir.Module.parse(MODULE)
        with pytest.raises(ArgumentError, match="no function with a plan; run --plan-memory"):
            plans_text(module, {})
        pipeline(PLAN_PIPELINE).apply_(module)
        assert plans_text(module, {}).startswith("main: workspace of (m*n + 15) // 16 * 128 bytes, 2 slots\n")
        assert plans_text(module, {"n": 10}).startswith("main: workspace of (5*m + 7) // 8 * 128 bytes")
        assert plans_text(module, {"n": 10, "m": 3}).startswith("main: workspace of 256 bytes, 2 slots\n")
        with pytest.raises(ArgumentError, match="no memory plan has a symbol k; there are: m, n"):
            plans_text(module, {"k": 1})
