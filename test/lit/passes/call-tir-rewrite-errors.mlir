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
