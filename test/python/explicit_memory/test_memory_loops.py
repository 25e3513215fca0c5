"""Loops, nested conditionals and values of unknown shape in explicit memory, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from interpreter import RUNNABLE, STEPS, Interpreter, compile_prims
from relax_mlir.error import ShapeError
from relax_mlir.transform import create_pass

N = 'tensor<?xf32, #relax.shape<["n"]>>'
PRIMS = """
func.func private @double(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @add(%x: tensor<?xf32>, %y: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32>
    attributes {relax.prim_func} {
  %0 = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


def call(result: str, callee: str, *args: str) -> str:
    """A call_tir on vectors of n elements."""
    types = ", ".join([N] * len(args))
    return f"""
    {result}_args = builtin.unrealized_conversion_cast {", ".join(args)} : {types} to tuple<{types}>
    {result} = "relax.call_tir"({result}_args) {{callee = @{callee}, tir_vars = []}} : (tuple<{types}>) -> {N}
    """


def programs(body: str) -> list[tuple[str, Interpreter]]:
    mod = rx.IRModule.parse(PRIMS + body)
    kernels = compile_prims(mod)
    found = []
    for step in STEPS:
        mod.apply_(create_pass(step))
        mod.verify()
        if step in RUNNABLE:
            found.append((step, Interpreter(mod.clone(), kernels)))
    return found


X = np.arange(5, dtype=np.float32)


def test_a_loop_carries_tensors() -> None:
    """y starts as 2x; every round y = 2*(2*y) + x, through two temporaries."""
    body = f"""
    func.func @main(%x: {N}, %k: index) -> {N} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      {call("%a", "double", "%x")}
      {call("%b", "double", "%a")}
      {call("%start", "add", "%b", "%x")}
      %r = scf.for %i = %zero to %k step %one iter_args(%y = %start) -> {N} {{
        {call("%c", "double", "%y")}
        {call("%d", "double", "%c")}
        {call("%e", "add", "%d", "%x")}
        scf.yield %e : {N}
      }}
      {call("%last", "double", "%r")}
      return %last : {N}
    }}"""
    for step, form in programs(body):
        for rounds in (0, 1, 3):
            wanted = 5 * X
            for _ in range(rounds):
                wanted = 4 * wanted + X
            np.testing.assert_array_equal(form.call("main", X, rounds), 2 * wanted, err_msg=step)


def test_a_loop_uses_storages_from_before_it() -> None:
    body = f"""
    func.func @main(%x: {N}, %k: index) -> {N} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      {call("%a", "double", "%x")}
      {call("%b", "double", "%a")}
      {call("%start", "add", "%b", "%b")}
      %r = scf.for %i = %zero to %k step %one iter_args(%y = %start) -> {N} {{
        {call("%c", "double", "%y")}
        {call("%d", "double", "%c")}
        {call("%e", "add", "%d", "%x")}
        scf.yield %e : {N}
      }}
      return %r : {N}
    }}"""
    forms = dict(programs(body))
    for name, rounds, storages in [
        ("call-tir-rewrite", 3, 12),
        ("static-plan-block-memory", 3, 6),
        ("vm-shape-lower", 3, 6),
    ]:
        forms[name].call("main", X, rounds)
        assert forms[name].allocated == storages * X.nbytes, name


def test_nested_conditionals() -> None:
    body = f"""
    func.func @main(%x: {N}, %p: tensor<i1>, %q: tensor<i1>) -> {N} {{
      {call("%a", "double", "%x")}
      {call("%b", "double", "%a")}
      %cp = tensor.extract %p[] : tensor<i1>
      %cq = tensor.extract %q[] : tensor<i1>
      %r = scf.if %cp -> {N} {{
        %s = scf.if %cq -> {N} {{
          {call("%c", "add", "%a", "%b")}
          {call("%d", "double", "%c")}
          {call("%e", "double", "%d")}
          scf.yield %e : {N}
        }} else {{
          {call("%f", "double", "%b")}
          scf.yield %f : {N}
        }}
        {call("%g", "double", "%s")}
        scf.yield %g : {N}
      }} else {{
        scf.yield %x : {N}
      }}
      {call("%h", "add", "%r", "%x")}
      return %h : {N}
    }}"""
    wanted = {(True, True): 49 * X, (True, False): 17 * X, (False, True): 2 * X, (False, False): 2 * X}
    for step, form in programs(body):
        for (p, q), value in wanted.items():
            np.testing.assert_array_equal(form.call("main", X, np.array(p), np.array(q)), value, err_msg=step)


def test_a_value_of_unknown_shape_is_matched() -> None:
    """The safety net: the type of a packed function's result becomes known, or an error is raised."""
    results: dict[str, Any] = {
        "good": np.array(X[:3]),
        "rank": X.reshape(5, 1),
        "dtype": X.astype(np.float64),
    }
    tvm_ffi.register_global_func("test.memory.any", lambda name: tvm_ffi.from_dlpack(results[str(name)]), override=True)
    for kind in results:
        body = f"""
        func.func @main(%x: {N}) -> K {{
          %0 = builtin.unrealized_conversion_cast to tuple<>
          %1 = "relax.call_packed"(%0) {{func = "test.memory.any", arg_spec = ["{kind}"]}} : (tuple<>) -> ANY
          %2 = "relax.match_shape"(%1) {{pattern = ["k"], result_dtype = f32}} : (ANY) -> K
          %3 = builtin.unrealized_conversion_cast %2 : K to tuple<K>
          %4 = "relax.call_tir"(%3) {{callee = @double, tir_vars = []}} : (tuple<K>) -> K
          return %4 : K
        }}"""
        body = body.replace("ANY", "tensor<*x!relax.any>").replace("K", 'tensor<?xf32, #relax.shape<["k"]>>')
        for step, form in programs(body):
            if kind == "good":
                np.testing.assert_array_equal(form.call("main", X), 2 * X[:3], err_msg=step)
                continue
            with pytest.raises(ShapeError):
                form.call("main", X)
