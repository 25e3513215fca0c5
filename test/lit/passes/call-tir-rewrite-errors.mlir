// What is not at level R1, or still has dataflow blocks, is refused with what to run first.
// RUN: not relax-opt %s --call-tir-rewrite --split-input-file 2>&1 | filecheck %s

!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @dataflow(%x: !n) -> !n {
  // CHECK: dataflow: a dataflow block is left; run to-non-dataflow before call-tir-rewrite
  %0 = "relax.dataflow"() ({
    "relax.output"(%x) : (!n) -> ()
  }) : () -> !n
  return %0 : !n
}

// -----

!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @op(%x: !n) -> !n {
  // CHECK: op: relax.exp is no call with a destination; run legalize-ops before call-tir-rewrite (match_shape operands of unknown shape first)
  %0 = "relax.exp"(%x) : (!n) -> !n
  return %0 : !n
}

// -----

func.func @unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  // CHECK: call_packed may change its argument Tensor((?,), "float32"), which needs a copy of unknown size: match_shape it to a known shape and dtype first
  %1 = "relax.call_packed"(%0) {func = "change", arg_spec = [unit]} : (tuple<tensor<?xf32>>) -> tuple<>
  return %x : tensor<?xf32>
}
