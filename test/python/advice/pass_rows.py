"""Passes and their inputs: what they refuse, and the replacements."""

from __future__ import annotations

import numpy as np
import relax_mlir as rx
from advice_rows import Rows, same
from module_texts import PRIM, VECTOR, X, fill, function, run, texts
from relax_mlir import op
from relax_mlir.analysis import estimate_memory
from relax_mlir.mlir import func, ir
from relax_mlir.transform import FunctionPass, PassContext

DATAFLOW = """
func.func @main(%x: !n) -> !n {
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (!n) -> !n
    "relax.output"(%1) : (!n) -> ()
  }) : () -> !n
  return %0 : !n
}
"""
EXP = """
func.func @main(%x: !n) -> !n {
  %0 = "relax.exp"(%x) : (!n) -> !n
  return %0 : !n
}
"""
FLATTEN = """
func.func @main(%x: tensor<?x?xf32>) -> {3} {
  {0}
  %1 = "relax.flatten"({1}) : ({2}) -> {3}
  return %1 : {3}
}
"""
UNKNOWN_CALL = (
    PRIM
    + """
func.func @main(%x: tensor<*xf32>) -> !n {
  {0}
  %1 = builtin.unrealized_conversion_cast {1} : {2} to tuple<{2}>
  %2 = "relax.call_tir"(%1) {callee = @k, tir_vars = []} : (tuple<{2}>) -> {3}
  return %2 : {3}
}
"""
)


def _symbols() -> rx.IRModule:

    def make(bb: rx.BlockBuilder, x: rx.Var) -> rx.Value:
        return op.zeros(("n", "q"), "float32")

    return function(make, VECTOR)


def _layers() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("p",), "float32"))
    with bb.function("layer", [x], private=True):
        bb.emit_func_output(x + 1.0)
    y = rx.Var("y", VECTOR)
    with bb.function("main", [y]):
        bb.emit_func_output(bb.call("layer", y))
    return bb.get()


def _caller(info: rx.Tensor) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("2*p",), "float32"))
    with bb.function("half", [x], private=True):
        bb.emit_func_output(op.reshape(x, ("p", 2)))
    y = rx.Var("y", info)
    with bb.function("main", [y]):
        bb.emit_func_output(bb.call("half", y))
    return bb.get()


def _other_function() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("first", [x]):
        kept = bb.emit(x + 1.0)
        bb.emit_func_output(kept)
    y = rx.Var("x", VECTOR)
    with bb.function("main", [y]):
        bb.emit_func_output(kept * 2.0)
    return bb.get()


def _exp() -> rx.IRModule:
    return function(lambda bb, x: op.exp(x), VECTOR)


def _add(module: ir.Module) -> None:
    """Add a copy of the first function."""
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        copy = next(iter(module.body.operations)).operation.clone()
        copy.attributes["sym_name"] = ir.StringAttr.get("extra")


class _Adds(FunctionPass):
    """Adds a function, though it is a pass on one function."""

    name = "adds"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        _add(module)


ROWS = {
    "dataflow_left": texts(DATAFLOW, "run to-non-dataflow before call-tir-rewrite", passes="call-tir-rewrite"),
    "op_left": texts(EXP, "run legalize-ops before call-tir-rewrite", passes="call-tir-rewrite"),
    "op_of_memory_left": texts(
        EXP.replace("exp", "flatten"),
        "is left; run vm-memory-lower before vm-shape-lower",
        passes="vm-shape-lower",
    ),
    "view": texts(
        fill(FLATTEN, "", "%x", "tensor<?x?xf32>", "tensor<?xf32>"),
        "its shape must be known: match_shape its operand first",
        passes="vm-memory-lower",
    ),
    "view_in_native_code": texts(
        fill(FLATTEN, "", "%x", "tensor<?x?xf32>", "tensor<?xf32>"),
        "native code needs the shapes: match_shape first",
        passes="lower-symbolic-shapes",
    ),
    "unknown_argument": texts(
        fill(UNKNOWN_CALL, "", "%x", "tensor<*xf32>", "tensor<3xf32>").replace("-> !n {", "-> tensor<3xf32> {"),
        "prim funcs take tensors of known rank and dtype: match_shape it first",
        passes="lower-symbolic-shapes",
    ),
    "undefined_symbol": (_symbols, "q' is not defined|uses symbol 'q', which is not defined"),
    "multiple": (
        lambda: _caller(VECTOR),
        "match_shape it to a number that is, or declare it as such an expression",
    ),
    "symbols_of_caller": (
        lambda: run(_layers(), "bind-symbolic-vars{function=layer bindings=p=3}"),
        "bind the symbols of the caller, too",
    ),
    "other_function": (_other_function, "pass it as an argument, or make it there"),
    "estimate": (
        lambda: estimate_memory(run(_exp(), "legalize-ops,call-tir-rewrite,vm-memory-lower")),
        "estimate it before vm-memory-lower",
    ),
    "disabled": (
        lambda: _built_without("legalize-ops"),
        "cannot be disabled: nothing can be compiled without; what can is .*fuse-ops",
    ),
    "prims_in_bytecode": (
        lambda: rx.vm.build(rx.IRModule.parse(NAMED + BESIDE.replace("other", "f.prim"))),
        "needs the name 'f.prim' in bytecode, which a function of the module has: rename that function",
    ),
    "undeclared": (
        lambda: rx.build(rx.IRModule.parse(COPY.replace(DECLARED, ""))),
        r"it does not declare its parameters \(relax.params\)",
    ),
    "exposes": texts(
        EXP.replace("-> !n {", "-> !n attributes {relax.exposes} {"),
        "expose-prim-funcs has not made: leave it out",
        passes="call-exposed-prim-funcs",
    ),
    "added": (lambda: _Adds()(_exp()), "must not add or delete any, but it added 'extra'; a module pass may"),
}
BUFFER = 'shape = ["n"], dtype = "float32"'
DECLARED = f', relax.params = [{{name = "A", {BUFFER}}}, {{name = "B", {BUFFER}}}]'
COPY = f"""
func.func private @f(%a: memref<?xf32>, %b: memref<?xf32>) attributes {{relax.prim_func{DECLARED}}} {{
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}}
"""
NAMED = COPY.replace(DECLARED, f'{DECLARED}, relax.prim_attrs = {{global_symbol = "f"}}')
BESIDE = 'func.func @other(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tuple<> { %t = builtin.unrealized_conversion_cast'
BESIDE += " to tuple<> return %t : tuple<> }"


def _built_without(name: str) -> None:
    with PassContext(disabled_pass=[name]):
        same(rx.build(_exp())["main"](X), np.exp(X))


TABLE = Rows(ROWS)
