"""A context for IR that belongs to no user's module."""

from __future__ import annotations

import functools

from relax_mlir.capi import parse_module
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.memory_left import CONTEXT, require
from relax_mlir.mlir import ir

PART_DIALECTS = frozenset(
    (
        "affine",
        "arith",
        "builtin",
        "cf",
        "func",
        "index",
        "llvm",
        "math",
        "memref",
        "scf",
        "ub",
        "vector",
        "x86",
    )
)
"""The dialects of levels V, F and L, which are those of a module's compilation units."""

_ALL_DIALECTS = b"""
module attributes {dlti.dl_spec = #dlti.dl_spec<>} {
  func.func private @one_op_of_each(%tensor: tensor<0xf32>) {
    %apply = affine.apply affine_map<() -> (0)>()
    %number = arith.constant 0.0 : f32
    %index = index.constant 0
    %pointer = llvm.mlir.zero : !llvm.ptr
    %size = math.absf %number : f32
    %memory = memref.alloca() : memref<1xf32>
    %region = scf.execute_region -> f32 {
      scf.yield %number : f32
    }
    %poison = ub.poison : f32
    %vector = vector.broadcast %number : f32 to vector<8xf32>
    %root = x86.avx.rsqrt %vector : vector<8xf32>
    %dim = tensor.dim %tensor, %index : tensor<0xf32>
    cf.br ^end
  ^end:
    return
  }
}
"""
"""Parsing this text loads all dialects that levels V, F and L need, in one call that releases the GIL.

These are `PART_DIALECTS`, and dlti and tensor for the passes. Nothing is loaded later, when several threads run."""

_lock = process_lock(Order.SPARE_CONTEXT)


def spare_context() -> ir.Context:
    """A context that several threads may use concurrently.

    It loads only `PART_DIALECTS`, at its creation: loading all dialects takes as long as compiling a small function.
    """
    with _lock:
        return _spare_context()


@functools.cache
def _spare_context() -> ir.Context:
    require("a context", CONTEXT)
    context = ir.Context(load_on_create_dialects=[])
    parse_module(_ALL_DIALECTS, context)
    return context
