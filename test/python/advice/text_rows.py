"""Modules in MLIR's text that break an invariant, or that a single pass refuses; and the replacements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Row, Rows
from module_texts import PRIM, X, fill, gives, texts
from programs import register
from relax_mlir import op
from relax_mlir.dialects.memory import bytes_of
from relax_mlir.error import RelaxError
from relax_mlir.rewrite import ExprMutator
from relax_mlir.tools import opt_help
from relax_mlir.transform import Sequential, get_pass, parse_pipeline

IDENTITY = 'func.func @main(%x: !n) -> !n {\n  %0 = "relax.exp"(%x) : (!n) -> !n\n  return %0 : !n\n}\n'


@register("advice.same")
def _same(x: Any) -> Any:
    return x


def _listed() -> None:
    assert "fuse-ops" in opt_help.passes_text()
    parse_pipeline("fuse-ops")


CALLEE = """
func.func private @other(%x: !n) -> !n {
  return %x : !n
}
func.func @main(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "{0}"(%0) {callee = @{1}{2}} : (tuple<!n>) -> !n
  return %1 : !n
}
"""


def _assert(dtype: str) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, v = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("v", rx.Tensor((), "uint64"))
    c = rx.Var("c", rx.Tensor((), "bool"))
    with bb.function("main", [x, c, v]):
        op.assert_op(c, v if dtype == "uint64" else op.astype(v, dtype), format="v is {}")
        bb.emit_func_output(x)
    return bb.get()


def _equal(matched: bool) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, s = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("s", rx.Shape())
    with bb.function("main", [x, s]):
        other = bb.match_shape(s, ("k",)) if matched else s
        bb.emit_func_output(op.shape_equal(op.shape_of(x), other))
    return bb.get()


def _refuses(passes: str, make: Callable[[], rx.IRModule]) -> Callable[[], object]:
    return lambda: parse_pipeline(passes)(make())


def _bytes(known: bool) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(ndim=1, dtype="float32"))
    with bb.function("main", [x]):
        y = bb.match_shape(x, ("n",)) if known else x
        assert str(bytes_of(y.struct_info)) == "4*n"
        bb.emit_func_output(y + 1.0)
    return bb.get()


class _Ranked(ExprMutator):
    """Returns a value of known rank in place of one of unknown rank."""

    def visit_exp(self, binding: Any) -> Any:
        return op.match_shape(op.exp(binding.operands[0]), (3,))


def _declared(ranked: bool) -> rx.IRModule:
    """A rewritten loop that carries a value without a rank, or with one."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(dtype="float32"))
    with bb.function("main", [x]):
        y = bb.match_shape(x, (None,)) if ranked else x
        bb.emit_func_output(op.for_loop(0, 1, lambda i, v: op.exp(v), y))
    module = bb.get()
    with module.context:
        _Ranked().visit(module)
    module.verify()
    return module


def _block(output: bool) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            inside = bb.emit(x * x)
            out = bb.emit_output(inside) if output else inside
        bb.emit_func_output(out + x)
    return bb.get()


def _product(parameters: bool) -> rx.IRModule:
    bb = rx.BlockBuilder()
    params = [rx.Var("x", rx.Tensor(("n*k",), "float32"))]
    if parameters:
        params += [rx.Var("s", rx.Shape(("k",))), rx.Var("t", rx.Shape(("n",)))]
    with bb.function("main", params):
        bb.emit_func_output(params[0] + 1.0)
    return bb.get()


def _in_place(matched: bool) -> rx.IRModule:
    bb = rx.BlockBuilder(rx.IRModule.parse(PRIM, trusted=True))
    x, y = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("y", rx.Tensor(("m",), "float32"))
    with bb.function("main", [x, y]):
        out = bb.match_shape(y, ("n",)) if matched else y
        bb.emit_func_output(op.call_tir_inplace("k", [x, out], [1], out.struct_info))
    return bb.get()


def _passed(passes: Any) -> rx.IRModule:
    module = _block(True)
    module.apply_(passes)
    return module


def _pair(made: bool) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        fields = [x, x + 1.0]
        bb.emit_func_output(rx.Tuple([*fields, rx.PrimValue(3) if made else 3]))
    return bb.get()


def _page(long: bool) -> str:
    ib = rx.vm.ExecBuilder()
    with ib.function("main", num_inputs=1):
        for _ in range(1000 if long else 1):
            ib.emit_call("vm.builtin.copy", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    executable = ib.get()
    if long:
        raise RelaxError(executable._repr_html_())
    return executable.as_text()


def _whole_text() -> None:
    assert _page(False).count("vm.builtin.copy") >= 1


HALF = PRIM.replace('"n"', '"s // 2"')
"""A prim func whose sizes do not determine `s`."""
TOLD = HALF.replace("%o: memref<?xf32>)", "%o: memref<?xf32>, %s: index)").replace("}]}", '}, {name = "s"}]}')

ROWS = {
    "attribute": texts(
        IDENTITY.replace("-> !n {", "-> !n attributes {relax.mine} {"),
        "has the attribute relax.mine, which the lowering makes: leave it out",
        IDENTITY,
        np.exp(X),
    ),
    "bodiless": texts(
        "func.func private @outside(!n) -> !n\n" + fill(CALLEE, "relax.call", "outside", ""),
        "has no body: call a packed function by its name instead",
        CALLEE_PACKED := "func.func @main(%x: !n) -> !n {\n"
        "  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>\n"
        '  %1 = "relax.call_pure_packed"(%0) {func = "advice.same", arg_spec = [unit]} : (tuple<!n>) -> !n\n'
        "  return %1 : !n\n}\n",
        X,
    ),
    "relax_function": texts(
        fill(CALLEE, "relax.call_tir", "other", ", tir_vars = []"),
        "is a Relax function, not a prim func .*; relax.call calls it",
        fill(CALLEE, "relax.call", "other", ""),
        X,
        passes="lower-symbolic-shapes",
    ),
    "prim_func": texts(
        PRIM + fill(CALLEE, "relax.call", "k", ""),
        "is no Relax function; relax.call_tir calls prim funcs",
        PRIM + fill(CALLEE, "relax.call_tir", "k", ", tir_vars = []"),
        np.exp(X),
        passes="lower-symbolic-shapes",
    ),
    "undetermined": texts(
        HALF + fill(CALLEE, "relax.call_tir", "k", ", tir_vars = []"),
        "add an integer parameter 's'",
        TOLD + fill(CALLEE, "relax.call_tir", "k", ', tir_vars = ["2*n"]'),
        np.exp(X),
    ),
    "unsigned": Row(
        _refuses("legalize-ops,lower-symbolic-shapes", lambda: _assert("uint64")),
        "assert_op shows no uint64 values; astype them to int64",
        gives(lambda: _assert("int64"), X, X, np.array(True), np.array(3, np.uint64)),
    ),
    "shape_equal": Row(
        _refuses("legalize-ops,lower-symbolic-shapes", lambda: _equal(False)),
        "the rank of an operand is unknown; match_shape it to one first",
        gives(lambda: _equal(True), np.array(True), X, (3,)),
    ),
    "bytes": Row(
        lambda: _bytes(False),
        "match_shape it to a known shape and dtype first",
        gives(lambda: _bytes(True), X + 1),
    ),
    "left_block": Row(
        lambda: _block(False), "outside of it: output it", gives(lambda: _block(True), X * X + X)
    ),
    "product": Row(
        lambda: _product(False),
        r'add a parameter Shape\(\("k",\)\)',
        gives(lambda: _product(True), X + 1, X, (1,), (3,)),
    ),
    "in_place": Row(
        lambda: rx.build(_in_place(False)),
        "match_shape the arguments so that it can be proved",
        gives(lambda: _in_place(True), np.exp(X), X, X.copy()),
    ),
    "unranked": Row(
        lambda: _declared(False),
        "match_shape cannot forget a rank; give the declaration the rank",
        gives(lambda: _declared(True), np.exp(X)),
    ),
    "pass": Row(
        lambda: parse_pipeline("fuse-opps"),
        r"\(relax-opt --show-passes lists all\)",
        _listed,
    ),
    "sequential_of_text": Row(
        lambda: Sequential("fuse-ops"),  # type: ignore[arg-type]  # the mistake
        "transform.parse_pipeline reads text",
        gives(lambda: _passed(parse_pipeline("canonicalize,cse")), X * X + X),
    ),
    "sequential_of_names": Row(
        lambda: Sequential(["cse"]),  # type: ignore[list-item]  # the mistake
        r"write transform.get_pass\('cse'\)",
        gives(lambda: _passed(Sequential([get_pass("cse")])), X * X + X),
    ),
    "tuple_of_values": Row(
        lambda: _pair(False),
        r"give values alone for a value \(rx.PrimValue\(3\) is that of a number\)",
        gives(lambda: _pair(True), (X, X + 1, 3)),
    ),
    "page": Row(lambda: _page(True), r"see as_text\(\)", _whole_text),
}


TABLE = Rows(ROWS)
