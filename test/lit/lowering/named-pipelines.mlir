// pipeline.py: every named pipeline leaves the module at its level.
// RUN: relax-opt %s --relax-to-relax | filecheck %s --check-prefix=OPTIMIZE
// RUN: relax-opt %s --relax-to-calls | filecheck %s --check-prefix=CALLS
// RUN: relax-opt %s --relax-to-tensors | filecheck %s --check-prefix=TENSORS
// RUN: relax-opt %s --relax-to-memrefs | filecheck %s --check-prefix=MEMREFS

// OPTIMIZE-LABEL: func.func @main
// OPTIMIZE: "relax.dataflow"
// OPTIMIZE-NEXT: %[[EXP:[A-Za-z0-9_]+]] = "relax.exp"
// OPTIMIZE-NEXT: "relax.output"(%[[EXP]])

// CALLS-LABEL: func.func @main
// CALLS: "relax.call_tir"(%{{[A-Za-z0-9_]+}}) {callee = @exp_f32,
// CALLS-NOT: "relax.exp"
// CALLS-LABEL: func.func private @exp_f32(
// CALLS: linalg.generic

// TENSORS-LABEL: func.func @main(
// TENSORS-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32>, %[[OUT:[a-z0-9_]+]]: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.latency_critical, relax.signature =
// TENSORS-NOT: "relax.
// TENSORS: %[[R:[A-Za-z0-9_]+]] = call @exp_f32(%[[X]],
// TENSORS-NEXT: %[[M:[A-Za-z0-9_]+]] = bufferization.materialize_in_destination %[[R]] in %[[OUT]] :
// TENSORS-NEXT: return %[[M]] :
// TENSORS: func.func private @main.shapes(

// The only call writes to the destination: no allocation, no copy.
// MEMREFS-LABEL: func.func @main(
// MEMREFS-SAME: %[[X:[a-z0-9_]+]]: memref<?x4xf32>, %[[OUT:[a-z0-9_]+]]: memref<?x4xf32>) attributes
// MEMREFS-NEXT: call @exp_f32(%[[X]], %[[OUT]])
// MEMREFS-NEXT: return
// MEMREFS-NOT: tensor<
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
    "relax.output"(%1) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
