"""Prim funcs on tensors whose results are not computed in their destinations: no input changes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx

Array = np.ndarray[Any, Any]

BODIES = {
    "in_input": ("%r = " + "NEGATE(%a, %a)", -1, 0),
    "own": ("%e = tensor.empty(%n) : TENSOR\n  %r = NEGATE(%a, %e)", -1, 0),
    "own_loop": (
        "%e = tensor.empty(%n) : TENSOR\n  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %e) -> (TENSOR) {\n"
        "    %s = tensor.extract %a[%i] : TENSOR\n    %u = tensor.insert %s into %t[%i] : TENSOR\n"
        "    scf.yield %u : TENSOR\n  }",
        1,
        0,
    ),
    "temporary_in_input": ("%t = NEGATE(%a, %a)\n  %r = NEGATE(%t, %b)", 1, 0),
    "given": ("%r = tensor.cast %a : TENSOR to TENSOR", 1, 0),
    "loop": (
        "%r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (TENSOR) {\n"
        "    %u = tensor.insert %seven into %t[%i] : TENSOR\n    scf.yield %u : TENSOR\n  }",
        0,
        7,
    ),
    "called_in_input": ("%r = func.call @in_input(%a, %b) : (TENSOR, TENSOR) -> TENSOR", -1, 0),
    "called_given": ("%r = func.call @given(%a, %b) : (TENSOR, TENSOR) -> TENSOR", 1, 0),
    "in_destination": ("%r = NEGATE(%a, %b)", -1, 0),
    "loop_in_destination": (
        "%r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %b) -> (TENSOR) {\n"
        "    %u = tensor.insert %seven into %t[%i] : TENSOR\n    scf.yield %u : TENSOR\n  }",
        0,
        7,
    ),
}
"""How the result of %a and the destination %b is computed: a * x + b, with the last two of each."""

PARAMS = """relax.params = [{name = "A", shape = ["n"], dtype = "float32"},
  {name = "B", shape = ["n"], dtype = "float32"}]"""
PRIM = """
func.func private @NAME(%a: TENSOR, %b: TENSOR) -> TENSOR attributes {relax.prim_func, PARAMS} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7.0 : f32
  %n = tensor.dim %a, %c0 : TENSOR
  BODY
  return %r : TENSOR
}
"""
CALL = """
func.func @call_NAME(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %args = builtin.unrealized_conversion_cast %x
    : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %0 = "relax.call_tir"(%args) {callee = @CALLEE, tir_vars = []}
    : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
"""
MEMORY = """
func.func private @NAME.memory(%a: memref<?xf32>, %b: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @NAME, written = array<i64: 1>}} {
  return
}
func.func private @outer_NAME(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func, PARAMS} {
  func.call @NAME.memory(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}
"""
TWO = """
func.func private @swapped(%a: TENSOR, %b: TENSOR, %c: TENSOR) -> (TENSOR, TENSOR)
    attributes {relax.prim_func, relax.params = [{name = "A", shape = ["n"], dtype = "float32"},
      {name = "B", shape = ["n"], dtype = "float32"}, {name = "C", shape = ["n"], dtype = "float32"}]} {
  %seven = arith.constant 7.0 : f32
  %r = NEGATE(%a, %c)
  %s = linalg.fill ins(%seven : f32) outs(%b : TENSOR) -> TENSOR
  return %r, %s : TENSOR, TENSOR
}
"""
NEGATE = """linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(FROM : TENSOR) outs(TO : TENSOR) {
    ^bb0(%v: f32, %w: f32):
      %g = arith.negf %v : f32
      linalg.yield %g : f32
    } -> TENSOR"""


def _written_out(text: str) -> str:
    """The text with its negations."""
    while "NEGATE(" in text:
        before, _, rest = text.partition("NEGATE(")
        operands, _, after = rest.partition(")")
        source, target = operands.split(", ")
        text = before + NEGATE.replace("FROM", source).replace("TO", target) + after
    return text.replace("PARAMS", PARAMS).replace("TENSOR", "tensor<?xf32>")


def _prim(name: str) -> str:
    return PRIM.replace("NAME", name).replace("BODY", BODIES[name][0])


@functools.cache
def _built(kind: str, mode: str) -> dict[str, Any]:
    """The functions to call, by body name: Relax functions, or the prim funcs themselves."""
    parts = [_prim(name) for name in BODIES]
    if kind == "alone":
        parts.append(TWO)
    for name in BODIES if kind != "alone" else ():
        parts.append(MEMORY.replace("NAME", name) if kind == "memory" else "")
        callee = f"outer_{name}" if kind == "memory" else name
        parts.append(CALL.replace("NAME", name).replace("CALLEE", callee))
    module = rx.IRModule.parse(_written_out("".join(parts)))
    if mode == "compiled":
        return dict(rx.build(module))
    machine = rx.VirtualMachine(rx.vm.build(module))
    return {
        name: machine[name] for name in [*BODIES, "swapped", *(f"call_{name}" for name in BODIES)] if name in machine
    }


def _new(n: int) -> Array:
    return np.full(n, 99, "float32")


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("kind", ["calls", "memory"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("n", [0, 1, 17])
def test_callers_see_the_result_alone(n: int, name: str, kind: str, mode: str) -> None:
    x = np.arange(n, dtype="float32") + 1
    kept, (_, factor, offset) = x.copy(), BODIES[name]
    found = np.from_dlpack(_built(kind, mode)[f"call_{name}"](x))
    np.testing.assert_array_equal(found, factor * x + offset)
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("n", [0, 1, 17])
def test_entries_write_their_destinations_alone(n: int, name: str, mode: str) -> None:
    x = np.arange(n, dtype="float32") + 1
    kept, (_, factor, offset), out = x.copy(), BODIES[name], _new(n)
    _built("alone", mode)[name](x, out)
    np.testing.assert_array_equal(out, factor * x + offset)
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_results_in_the_destinations_of_others(mode: str) -> None:
    x, first, second = np.arange(17, dtype="float32"), _new(17), _new(17)
    _built("alone", mode)["swapped"](x, first, second)
    np.testing.assert_array_equal(first, -x)
    np.testing.assert_array_equal(second, 7)
    np.testing.assert_array_equal(x, np.arange(17))
