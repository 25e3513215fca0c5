"""Modules in MLIR's text that break an invariant, or that a single pass refuses; and the replacements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import relax_mlir as rx
from advice_rows import Rows
from module_texts import PRIM, fill, texts
from programs import register
from relax_mlir import op
from relax_mlir.dialects.memory import bytes_of
from relax_mlir.error import RelaxError
from relax_mlir.rewrite import ExprMutator
from relax_mlir.transform import Sequential, parse_pipeline

IDENTITY = 'func.func @main(%x: !n) -> !n {\n  %0 = "relax.exp"(%x) : (!n) -> !n\n  return %0 : !n\n}\n'


@register("advice.same")
def _same(x: Any) -> Any:
    return x


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


def _equal() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, s = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("s", rx.Shape())
    with bb.function("main", [x, s]):
        bb.emit_func_output(op.shape_equal(op.shape_of(x), s))
    return bb.get()


def _refuses(passes: str, make: Callable[[], rx.IRModule]) -> Callable[[], object]:
    return lambda: parse_pipeline(passes)(make())


def _bytes() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(ndim=1, dtype="float32"))
    with bb.function("main", [x]):
        bytes_of(x.struct_info)
    return bb.get()


class _Ranked(ExprMutator):
    """Returns a value of known rank in place of one of unknown rank."""

    def visit_exp(self, binding: Any) -> Any:
        return op.match_shape(op.exp(binding.operands[0]), (3,))


def _declared() -> rx.IRModule:
    """A rewritten loop that carries a value without a rank, or with one."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(dtype="float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.for_loop(0, 1, lambda i, v: op.exp(v), x))
    module = bb.get()
    with module.context:
        _Ranked().visit(module)
    module.verify()
    return module


def _block() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit(x * x)
        bb.emit_func_output(out + x)
    return bb.get()


def _product() -> rx.IRModule:
    bb = rx.BlockBuilder()
    params = [rx.Var("x", rx.Tensor(("n*k",), "float32"))]
    with bb.function("main", params):
        bb.emit_func_output(params[0] + 1.0)
    return bb.get()


def _in_place() -> rx.IRModule:
    bb = rx.BlockBuilder(rx.IRModule.parse(PRIM, trusted=True))
    x, y = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("y", rx.Tensor(("m",), "float32"))
    with bb.function("main", [x, y]):
        bb.emit_func_output(op.call_tir_inplace("k", [x, y], [1], y.struct_info))
    return bb.get()


def _pair() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(rx.Tuple([x, x + 1.0, 3]))
    return bb.get()


def _page() -> str:
    ib = rx.vm.ExecBuilder()
    with ib.function("main", num_inputs=1):
        for _ in range(1000):
            ib.emit_call("vm.builtin.copy", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    executable = ib.get()
    raise RelaxError(executable._repr_html_())


HALF = PRIM.replace('"n"', '"s // 2"')
"""A prim func whose sizes do not determine `s`."""

ROWS = {
    "attribute": texts(
        IDENTITY.replace("-> !n {", "-> !n attributes {relax.mine} {"),
        "has the attribute relax.mine, which the lowering makes: leave it out",
    ),
    "bodiless": texts(
        "func.func private @outside(!n) -> !n\n" + fill(CALLEE, "relax.call", "outside", ""),
        "has no body: call a packed function by its name instead",
    ),
    "relax_function": texts(
        fill(CALLEE, "relax.call_tir", "other", ", tir_vars = []"),
        "is a Relax function, not a prim func .*; relax.call calls it",
        passes="lower-symbolic-shapes",
    ),
    "prim_func": texts(
        PRIM + fill(CALLEE, "relax.call", "k", ""),
        "is no Relax function; relax.call_tir calls prim funcs",
        passes="lower-symbolic-shapes",
    ),
    "undetermined": texts(
        HALF + fill(CALLEE, "relax.call_tir", "k", ", tir_vars = []"), "add an integer parameter 's'"
    ),
    "unsigned": (
        _refuses("legalize-ops,lower-symbolic-shapes", lambda: _assert("uint64")),
        "assert_op shows no uint64 values; astype them to int64",
    ),
    "shape_equal": (
        _refuses("legalize-ops,lower-symbolic-shapes", _equal),
        "the rank of an operand is unknown; match_shape it to one first",
    ),
    "bytes": (_bytes, "match_shape it to a known shape and dtype first"),
    "left_block": (_block, "outside of it: output it"),
    "product": (_product, r'add a parameter Shape\(\("k",\)\)'),
    "in_place": (lambda: rx.build(_in_place()), "match_shape the arguments so that it can be proved"),
    "unranked": (_declared, "match_shape cannot forget a rank; give the declaration the rank"),
    "pass": (lambda: parse_pipeline("fuse-opps"), r"\(relax-opt --show-passes lists all\)"),
    "sequential_of_text": (lambda: Sequential("fuse-ops"), "transform.parse_pipeline reads text"),
    "sequential_of_names": (lambda: Sequential(["cse"]), r"write transform.get_pass\('cse'\)"),
    "tuple_of_values": (
        _pair,
        r"give values alone for a value \(rx.PrimValue\(3\) is that of a number\)",
    ),
    "page": (_page, r"see as_text\(\)"),
}


TABLE = Rows(ROWS)
