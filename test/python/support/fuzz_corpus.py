"""The texts that the fuzz test mutates: the modules of the lit tests, and Relax modules of the tests."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import ops_of
from relax_mlir.module_file import module_text
from relax_mlir.script import parse

LIT = Path(__file__).parents[2] / "lit"
MAX_LINES = 120

PRIM_FUNC = """
func.func private @tirexp(%x: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32>
    attributes {relax.prim_func} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) {
    ^bb0(%in: f32, %o: f32):
      %e = math.exp %in : f32
      linalg.yield %e : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""


def corpus(most_lines: int = MAX_LINES) -> list[str]:
    """All texts of at most `most_lines` lines, without comments, the Relax modules first."""
    found = [module_text(make().mlir) for make in MAKERS]
    for path in sorted(LIT.rglob("*.mlir")):
        for part in path.read_text(encoding="utf-8").split("// -----"):
            lines = [line for line in part.split("\n") if not line.lstrip().startswith("//")]
            if any(lines) and len(lines) <= most_lines:
                found.append("\n".join(lines))
    return found


def elementwise() -> rx.IRModule:
    """Broadcasting ops in a dataflow block."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", 1, "m"))), rx.Var("y", rx.Tensor((2, "m")))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            s = bb.emit(R.add(x, y))
            out = bb.emit_output(s * 2.0)
        bb.emit_func_output(out)
    return bb.get()


def encoder() -> rx.IRModule:
    """A matrix product with a bias, a norm, an activation, a softmax."""
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", rx.Tensor(("b", "s", 8))), rx.Var("w", rx.Tensor((8, 16)))
    g, h = rx.Var("g", rx.Tensor((16,))), rx.Var("h", rx.Tensor((16,)))
    with bb.function("main", [x, w, g, h]):
        with bb.dataflow():
            y = bb.emit(R.nn.layer_norm(R.matmul(x, w) + g, g, h))
            out = bb.emit_output(R.nn.softmax(R.nn.gelu(y)))
        bb.emit_func_output(out)
    return bb.get()


def views() -> rx.IRModule:
    """Ops that move data, with sizes that are formulas."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4, "m")))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(R.permute_dims(x, (1, 0, 2)))
            flat = bb.emit(R.flatten(y))
            both = bb.emit(R.concat([flat, flat]))
            rows = bb.emit(R.reshape(both, ("2*n", "4*m")))
            out = bb.emit_output(R.strided_slice(R.expand_dims(rows, 0), (2,), (0,), ("m",)))
        bb.emit_func_output(out)
    return bb.get()


def reductions() -> rx.IRModule:
    """Reductions, comparisons, selections and dtypes."""
    bb = rx.BlockBuilder()
    x, i = rx.Var("x", rx.Tensor(("n", "m"))), rx.Var("i", rx.Tensor(("k",), "int64"))
    with bb.function("main", [x, i]):
        with bb.dataflow():
            mean = bb.emit(R.mean(x, 1, keepdims=True))
            above = bb.emit(R.where(R.greater(x, mean), x, R.zeros_like(x)))
            best = bb.emit(R.argmax(above, axis=1))
            total = bb.emit(R.sum(R.take(R.astype(above, "float64"), i, axis=0), axis=0))
            outs = [bb.emit_output(best), bb.emit_output(total)]
        bb.emit_func_output(outs)
    return bb.get()


def prim_func() -> rx.IRModule:
    """A call of a kernel that the user wrote."""
    bb = rx.BlockBuilder(rx.IRModule.parse(PRIM_FUNC))
    x = rx.Var("x", rx.Tensor(("n", "m")))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.call_tir("tirexp", [x], rx.Tensor(("n", "m")))))
    return bb.get()


def matching() -> rx.IRModule:
    """Unknown shapes that get symbols, on a tensor and on a shape value."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(ndim=2)), rx.Var("y", rx.Tensor(("n", "m")))
    with bb.function("main", [y, x]):
        lv = bb.match_shape(x, ("n", "m"))
        bb.match_shape(R.shape_of(y), ("n", "k"))
        bb.emit_func_output([bb.emit(lv + y), y])
    return bb.get()


def packed() -> rx.IRModule:
    """Calls of packed functions, destination-passing and not."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4)))
    with bb.function("main", [x]):
        a = bb.emit(R.call_dps_packed("my.flatten", [x], rx.Tensor(("4*n",))))
        b = bb.emit(R.call_packed("my.unique", a, 3, "text", out=rx.Tensor(ndim=1)))
        bb.emit_func_output(bb.match_shape(b, ("m",)))
    return bb.get()


def branching() -> rx.IRModule:
    """A conditional, a tuple, and a call of another function."""
    bb = rx.BlockBuilder()
    a = rx.Var("a", rx.Tensor(("k",)))
    with bb.function("double", [a], private=True):
        bb.emit_func_output(a + a)
    c, x = rx.Var("c", rx.Tensor((), "bool")), rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [c, x]):
        chosen = bb.emit(R.if_then_else(c, lambda: x + 1.0, lambda: bb.call("double", x)))
        bb.emit_func_output([chosen, x])
    return bb.get()


MAKERS = (elementwise, encoder, views, reductions, prim_func, matching, packed, branching)


sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))


@functools.cache
def relax_modules() -> list[rx.IRModule]:
    """The modules; without texts with mistakes, and those of lower levels."""
    from seed_modules import scripts

    found = []
    for text in corpus(most_lines=400):
        if "relax." in text:
            _add(found, text, lambda text: rx.IRModule.parse(text, trusted=True))
    for text in scripts():
        _add(found, text, parse)
    return found


def _add(found: list[rx.IRModule], text: str, read: object) -> None:
    try:
        module = read(text)  # type: ignore[operator]  # a function
        module.verify()
    except RelaxError:
        return
    functions = list(module.functions())
    is_lower = any(op.name.startswith("memref.") for f in functions for op in ops_of(f.operation))
    if functions and not is_lower:
        found.append(module)
