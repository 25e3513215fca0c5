"""Passes and functions of functions: what they refuse, and what to do instead."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Row, Rows, same
from relax_mlir import op
from relax_mlir.analysis import estimate_memory
from relax_mlir.rewrite import DataflowMutator, ExprMutator
from relax_mlir.script import parse
from relax_mlir.transform import PassContext, parse_pipeline

X = np.arange(3, dtype=np.float32)
N = 'tensor<?xf32, #relax.shape<["n"]>>'


def _fill(text: str, *parts: str) -> str:
    for number, part in enumerate(parts):
        text = text.replace(f"{{{number}}}", part)
    return text


def _run(module: rx.IRModule, passes: str) -> rx.IRModule:
    parse_pipeline(passes)(module)
    return module


def _texts(
    wrong: str, message: str, right: str, expected: object, *args: Any, passes: str = "", then: str = ""
) -> Row:
    """Modules of MLIR's text; passes run on the wrong one (or it is built), `then` on the right one."""

    def module(text: str) -> rx.IRModule:
        return rx.IRModule.parse(text.replace("!n", N))

    def refuse() -> object:
        return _run(module(wrong), passes) if passes else rx.build(module(wrong))

    def follow() -> None:
        if then:
            _run(module(right), then).verify()
        same(rx.build(module(right))["main"](*(args or (X,))), expected)

    return Row(refuse, message, follow)


def _scripts(wrong: str, message: str, right: str, expected: object, *args: Any) -> Row:
    """Bodies of modules in script, which are built."""

    def module(text: str) -> rx.IRModule:
        return parse("@I.ir_module\nclass Module:\n" + textwrap.indent(textwrap.dedent(text), "    "))

    return Row(
        lambda: rx.build(module(wrong)),
        message,
        lambda: same(rx.build(module(right))["main"](*(args or (X,))), expected),
    )


V = 'R.Tensor(("n",), "float32")'
F = f"R.Callable(({V},), {V})"
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
NM = 'tensor<?x?xf32, #relax.shape<["n", "m"]>>'
PRODUCT = 'tensor<?xf32, #relax.shape<["m*n"]>>'
MATCHED = f'%0 = "relax.match_shape"(%x) {{pattern = ["n", "m"], result_dtype}} : (tensor<?x?xf32>) -> {NM}'
PRIM = """
func.func private @k(%x: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func, relax.params = [
  {name = "x", shape = ["n"], dtype = "float32"}, {name = "o", shape = ["n"], dtype = "float32"}]} {
  linalg.exp ins(%x : memref<?xf32>) outs(%o : memref<?xf32>)
  return
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


def _built(make: Callable[[rx.BlockBuilder, rx.Var], Any], *infos: rx.StructInfo) -> rx.IRModule:
    bb = rx.BlockBuilder()
    params = [rx.Var(name, info) for name, info in zip("xyz", infos, strict=False)]
    with bb.function("main", params):
        bb.emit_func_output(make(bb, *params))
    return bb.get()


VECTOR = rx.Tensor(("n",), "float32")


def _symbols(wrong: bool) -> rx.IRModule:
    def make(bb: rx.BlockBuilder, x: rx.Var) -> Any:
        return op.zeros(("n", "q"), "float32") if wrong else op.zeros(("n", 2), "float32")

    return _built(make, VECTOR)


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


def _matched_caller() -> rx.IRModule:
    bb = rx.BlockBuilder(_caller(rx.Tensor(("2*n",), "float32")))
    z = rx.Var("z", rx.Tensor(("k",), "float32"))
    with bb.function("other", [z]):
        bb.emit_func_output(bb.call("half", bb.match_shape(z, (4,))))
    return bb.get()


def _halves() -> None:
    a = np.arange(4, dtype=np.float32)
    built = rx.build(_matched_caller())
    same((built["main"](a), built["other"](a)), (a.reshape(2, 2), a.reshape(2, 2)))


def _other_function(wrong: bool) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("first", [x]):
        kept = bb.emit(x + 1.0)
        bb.emit_func_output(kept)
    y = rx.Var("x", VECTOR)
    with bb.function("main", [y]):
        bb.emit_func_output((kept if wrong else bb.call("first", y)) * 2.0)
    return bb.get()


class _Printed(DataflowMutator):
    """Prints what it sees, which dataflow blocks may not."""

    def visit_exp(self, binding: Any) -> Any:
        op.print(binding.result)
        return op.exp(binding.operands[0])


class _PrintedAnywhere(ExprMutator):
    """The same outside of dataflow blocks."""

    def visit_exp(self, binding: Any) -> Any:
        op.print(binding.operands[0])
        return op.exp(binding.operands[0])


class _Double(ExprMutator):
    """Gives results of another dtype."""

    def visit_exp(self, binding: Any) -> Any:
        return op.astype(op.exp(binding.operands[0]), "float64")


class _DoubleBack(ExprMutator):
    """Gives results of another dtype, and converts them back."""

    def visit_exp(self, binding: Any) -> Any:
        return op.astype(op.astype(op.exp(binding.operands[0]), "float64"), "float32")


class _Gone(ExprMutator):
    """Gives a value for an op without a result."""

    given: Any = 1

    def visit_print(self, binding: Any) -> Any:
        return self.given


class _Removed(_Gone):
    """Removes it."""

    given = ()


def _exp(dataflow: bool = False, prints: bool = False) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", VECTOR)
    with bb.function("main", [x]):
        if prints:
            op.print(x)
        if dataflow:
            with bb.dataflow():
                y = bb.emit_output(op.exp(x))
        else:
            y = bb.emit(op.exp(x))
        bb.emit_func_output(y)
    return bb.get()


def _rewritten(mutator: Any, **kind: bool) -> rx.IRModule:
    module = _exp(**kind)
    with module.context:
        mutator().visit(module)
    module.verify()
    return module


def _is(module: Callable[[], rx.IRModule], expected: object, *args: Any) -> Callable[[], None]:
    return lambda: same(rx.build(module())["main"](*(args or (X,))), expected)


CHOICE = f"""
@R.function
def main(c: R.Tensor((), "bool"), x: {V}) -> {V}:
    y = x + 1.0
    def f(z: {V}):
        return z + y
    def g(z: {V}):
        return z
{{0}}
"""
MAKER = f"""
@R.function
def main(c: R.Tensor((), "bool"), x: {V}) -> {V}:
    def f(z: {V}):
        def inner(w: {V}):
            return w + z
        return inner
    def g(z: {V}):
        def inner(w: {V}):
            return w * z
        return inner
{{0}}
"""
PAIR = (
    f"""
@R.function(private=True)
def apply(p: R.Tuple({F}, {V})) -> {V}:
    f = p[0]
    return f(p[1])

@R.function(private=True)
def apply_plain(f: {F}, x: {V}) -> {V}:
    return f(x)
"""
    + CHOICE
)

ROWS = {
    "public_function": _scripts(
        f"@R.function\ndef main(f: {F}, x: {V}) -> {V}:\n    return f(x)",
        "make 'main' private, and call it with functions of the module",
        f"@R.function(private=True)\ndef apply(f: {F}, x: {V}) -> {V}:\n    return f(x)\n"
        f"@R.function(private=True)\ndef more(x: {V}) -> {V}:\n    return x + 1.0\n"
        f"@R.function\ndef main(x: {V}) -> {V}:\n    return cls.apply(cls.more, x)",
        X + 1,
    ),
    "returned_function": _scripts(
        f"@R.function\ndef main(y: {V}):\n    def f(x: {V}):\n        return x + y\n    return f",
        "native functions return no functions: return what it computes",
        f"@R.function\ndef main(y: {V}):\n    def f(x: {V}):\n        return x + y\n    return f(y)",
        2 * X,
    ),
    "branch_captures": _scripts(
        CHOICE.format(
            f"    if c:\n        y = x + 1.0\n        def h(z: {V}):\n            return z + y\n    else:\n"
            f"        def h(z: {V}):\n            return z\n    return h(x)"
        ),
        "make it, and what it captures, before the conditional",
        CHOICE.format("    if c:\n        h = f\n    else:\n        h = g\n    return h(x)"),
        2 * X + 1,
        np.array(True),
        X,
    ),
    "chosen_maker": _scripts(
        MAKER.format("    h = f if c else g\n    k = h(x)\n    return k(x)"),
        "call either function inside the branches",
        MAKER.format(
            "    if c:\n        k = f(x)\n        y = k(x)\n    else:\n        k = g(x)\n        y = k(x)\n    return y"
        ),
        2 * X,
        np.array(True),
        X,
    ),
    "chosen_in_tuple": _scripts(
        PAIR.format("    h = f if c else g\n    return cls.apply((h, x))"),
        "pass it as an argument of its own",
        PAIR.format("    h = f if c else g\n    return cls.apply_plain(h, x)"),
        2 * X + 1,
        np.array(True),
        X,
    ),
    "carried_function": _scripts(
        CHOICE.format("    h = f\n    for i in R.range(3):\n        h = g\n    return h(x)"),
        "make the function where it is called, or choose between calls by a conditional",
        CHOICE.format(
            "    w = x\n    for i in R.range(3):\n        w = g(w)\n    if c:\n        w = f(w)\n"
            "    else:\n        w = g(w)\n    return w"
        ),
        2 * X + 1,
        np.array(True),
        X,
    ),
    "result_of_unknown": Row(
        lambda: _built(lambda bb, f, x: op.invoke_closure(f, [x]), rx.Callable(), VECTOR),
        "give 'out', the info of the result",
        _is(
            lambda: _built(lambda bb, x: op.invoke_pure_closure(_square(bb), [x], out=VECTOR), VECTOR),
            X * X,
        ),
    ),
    "size_of_result": Row(
        lambda: _built(
            lambda bb, f, x: op.invoke_closure(f, [x]),
            rx.Callable([rx.Tensor(("k",), "float32")], rx.Tensor(("k",), "float32")),
            rx.Tensor(ndim=1, dtype="float32"),
        ),
        "is not known: give 'out'",
        _is(
            lambda: _built(lambda bb, x: op.invoke_pure_closure(_square(bb), [x], out=VECTOR), VECTOR),
            X * X,
        ),
    ),
    "effects_of_closure": Row(
        lambda: _built(lambda bb, x: op.invoke_pure_closure(_square(bb, True), [x]), VECTOR),
        "which may have effects: use invoke_closure",
        _is(lambda: _built(lambda bb, x: op.invoke_closure(_square(bb, True), [x]), VECTOR), X * X),
    ),
    "dataflow_left": _texts(
        DATAFLOW,
        "run to-non-dataflow before call-tir-rewrite",
        DATAFLOW,
        np.exp(X),
        passes="call-tir-rewrite",
        then="to-non-dataflow,legalize-ops,call-tir-rewrite",
    ),
    "op_left": _texts(
        EXP,
        "run legalize-ops before call-tir-rewrite",
        EXP,
        np.exp(X),
        passes="call-tir-rewrite",
        then="legalize-ops,call-tir-rewrite",
    ),
    "op_of_memory_left": _texts(
        EXP.replace("exp", "flatten"),
        "is left; run vm-memory-lower before vm-shape-lower",
        EXP.replace("exp", "flatten"),
        X,
        passes="vm-shape-lower",
        then="legalize-ops,call-tir-rewrite,vm-memory-lower,vm-shape-lower",
    ),
    "view": _texts(
        _fill(FLATTEN, "", "%x", "tensor<?x?xf32>", "tensor<?xf32>"),
        "its shape must be known: match_shape its operand first",
        _fill(FLATTEN, MATCHED, "%0", NM, PRODUCT),
        X,
        X.reshape(1, 3),
        passes="vm-memory-lower",
    ),
    "view_in_native_code": _texts(
        _fill(FLATTEN, "", "%x", "tensor<?x?xf32>", "tensor<?xf32>"),
        "native code needs the shapes: match_shape first",
        _fill(FLATTEN, MATCHED, "%0", NM, PRODUCT),
        X,
        X.reshape(1, 3),
        passes="lower-symbolic-shapes",
    ),
    "unknown_argument": _texts(
        _fill(UNKNOWN_CALL, "", "%x", "tensor<*xf32>", "tensor<3xf32>").replace(
            "-> !n {", "-> tensor<3xf32> {"
        ),
        "prim funcs take tensors of known rank and dtype: match_shape it first",
        _fill(
            UNKNOWN_CALL,
            '%0 = "relax.match_shape"(%x) {pattern = ["n"], result_dtype} : (tensor<*xf32>) -> !n',
            "%0",
            "!n",
            "!n",
        ),
        np.exp(X),
        passes="lower-symbolic-shapes",
    ),
    "undefined_symbol": Row(
        lambda: _symbols(True),
        "q' is not defined|uses symbol 'q', which is not defined",
        _is(lambda: _symbols(False), np.zeros((3, 2), np.float32)),
    ),
    "multiple": Row(
        lambda: _caller(VECTOR),
        "match_shape it to a number that is, or declare it as such an expression",
        _halves,
    ),
    "symbols_of_caller": Row(
        lambda: _run(_layers(), "bind-symbolic-vars{function=layer bindings=p=3}"),
        "bind the symbols of the caller, too",
        _is(
            lambda: _run(
                _layers(),
                "bind-symbolic-vars{function=main bindings=n=3},bind-symbolic-vars{function=layer bindings=p=3}",
            ),
            X + 1,
        ),
    ),
    "other_function": Row(
        lambda: _other_function(True),
        "pass it as an argument, or make it there",
        _is(lambda: _other_function(False), 2 * (X + 1)),
    ),
    "effects_in_dataflow": Row(
        lambda: _rewritten(_Printed, dataflow=True),
        "use an ExprMutator outside of dataflow blocks",
        _is(lambda: _rewritten(_PrintedAnywhere), np.exp(X)),
    ),
    "dtype_of_rewrite": Row(
        lambda: _rewritten(_Double),
        "after the rewrite; astype it",
        _is(lambda: _rewritten(_DoubleBack), np.exp(X)),
    ),
    "no_result": Row(
        lambda: _rewritten(_Gone, prints=True),
        r"which has no result; \(\) removes it",
        _is(lambda: _rewritten(_Removed, prints=True), np.exp(X)),
    ),
    "estimate": Row(
        lambda: estimate_memory(_run(_exp(), "legalize-ops,call-tir-rewrite,vm-memory-lower")),
        "estimate it before vm-memory-lower",
        lambda: _estimated(),
    ),
    "disabled": Row(
        lambda: _built_without("legalize-ops"),
        "cannot be disabled: nothing can be compiled without; what can is .*fuse-ops",
        lambda: _built_without("fuse-ops"),
    ),
    "prims_in_bytecode": Row(
        lambda: rx.vm.build(rx.IRModule.parse(NAMED + BESIDE.replace("other", "f.prim"))),
        "needs the name 'f.prim' in bytecode, which a function of the module has: rename that function",
        lambda: _called(rx.vm.build(rx.IRModule.parse(NAMED + BESIDE))),
    ),
    "undeclared": Row(
        lambda: rx.build(rx.IRModule.parse(COPY.replace(DECLARED, ""))),
        r"it does not declare its parameters \(relax.params\)",
        lambda: _called(rx.build(rx.IRModule.parse(COPY))),
    ),
    "exposes": Row(
        lambda: _run(rx.IRModule.parse(EXPOSING), "call-exposed-prim-funcs"),
        "expose-prim-funcs has not made: leave it out",
        lambda: _run(rx.IRModule.parse(EXPOSING.replace("relax.exposes", "")), "call-exposed-prim-funcs"),
    ),
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
EXPOSING = "func.func @f(%a: memref<3xf32>) attributes {relax.exposes} { return }"


def _built_without(name: str) -> None:
    with PassContext(disabled_pass=[name]):
        same(rx.build(_exp())["main"](X), np.exp(X))


def _called(executable: rx.Executable | rx.vm.Executable) -> None:
    out = np.zeros_like(X)
    executable["f"](X, out)
    same(out, X)


def _square(bb: rx.BlockBuilder, prints: bool = False) -> rx.Value:
    z = rx.Var("z", VECTOR)
    with bb.lambda_function("square", [z]) as square:
        if prints:
            op.print(z)
        bb.emit_func_output(z * z)
    return square


def _estimated() -> None:
    assert len(estimate_memory(_run(_exp(), "legalize-ops,call-tir-rewrite"))) == 1


TABLE = Rows(ROWS)
