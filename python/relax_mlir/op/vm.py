"""Builders of the virtual machine's builtins: ``R.vm.load_shape(heap, [0, 1])``."""

from relax_mlir.dialects.vm import (
    alloc_shape_heap,
    alloc_storage,
    alloc_tensor,
    assert_relation,
    call_tir_dyn,
    copy,
    kill_object,
    load_prim,
    load_shape,
    make_shape,
    match_shape,
    reshape,
    store_shape,
)

__all__ = [
    "alloc_shape_heap",
    "alloc_storage",
    "alloc_tensor",
    "assert_relation",
    "call_tir_dyn",
    "copy",
    "kill_object",
    "load_prim",
    "load_shape",
    "make_shape",
    "match_shape",
    "reshape",
    "store_shape",
]
