"""Strategies and tuning: what is refused, and what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Rows
from programs import numpy
from relax_mlir import op, te, tuning
from relax_mlir.strategy import OpStrategy, temporary_strategy

X = np.linspace(-1, 1, 5, dtype="f4")
ENTRY = """
func.func private @negates(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @on_memory(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.prim_func<exposes>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = arith.negf %a : f32
    memref.store %s, %out[%i] : memref<?xf32>
  }
  return
}
func.func @main(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @on_memory, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}"""


def entry(exposes: str) -> Any:
    text = ENTRY.replace("<exposes>", exposes).replace("!n", 'tensor<?xf32, #relax.shape<["n"]>>')
    return numpy(rx.build(rx.IRModule.parse(text))["main"](X))


def doubled(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
    return te.compute(inputs[0].shape, lambda i: inputs[0][i] * 2.0, "doubled")


def scheduled(schedule: Any) -> Any:
    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        found = OpStrategy()
        found.add_implementation(doubled, schedule, plevel=20)
        return found

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    with temporary_strategy("exp", strategy):
        return numpy(rx.build(bb.get())["main"](X))


def of_another(attrs: Any, outs: list[te.Tensor], target: Any) -> te.Schedule:
    return te.create_schedule(te.compute((2,), lambda i: te.const(0, "float32"), "other").op)


def task() -> tuning.Task:
    x = te.placeholder(("n",), name="x")
    y = te.compute(x.shape, lambda i: te.exp(x[i]), "y")

    def schedule(outs: list[te.Tensor]) -> te.Schedule:
        s = te.create_schedule(outs[0].op)
        tuning.get_config().define_split("tile", y.op.axis[0], candidates=[[8], [4]])
        s[y].vectorize(tuning.get_config()["tile"].apply(s, y, y.op.axis[0])[1])
        return s

    return tuning.create_task(schedule, [x, y])


TABLE = Rows(
    {
        "entry": (
            lambda: entry(", relax.exposes = {callee = @negates, written = array<i64: 1>}"),
            "has the attribute relax.exposes, but it has a body of its own: leave it out",
        ),
        "schedule-of-another": (lambda: scheduled(of_another), r"te.create_schedule\("),
        "device-op": (lambda: rx.Op.get("device_copy"), "the CPU: leave it out"),
        "workers": (
            lambda: list(tuning.LocalWorkers().measure(task(), [{"n": 5}], [{"tile": [4]}])),
            "use it in a `with` block",
        ),
        "no-budget": (
            lambda: tuning.tune(task(), [{"n": 5}], budget=None),
            "give a budget of seconds, or a number",
        ),
    }
)
