// RUN: relax-opt %s --legalize-ops --split-input-file | filecheck %s

// A loop over the axis carries a total per row, in float64, and the result.
// CHECK-LABEL: func.func private @cumsum
// CHECK-SAME: (%[[X:.*]]: tensor<?x4x5xf32>, %[[OUT:.*]]: tensor<?x4x5xf32>)
// CHECK-SAME: relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} outs(%{{.*}} : tensor<?x5xf64>)
// CHECK: %[[LOOP:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[TOTAL:.*]] = %[[ZERO]], %[[DONE:.*]] = %[[OUT]])
// CHECK: tensor.extract_slice %[[X]][0, %[[I]], 0]
// CHECK: %[[AFTER:.*]] = linalg.generic
// CHECK: arith.extf
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} ins(%[[AFTER]] :
// CHECK: arith.truncf
// CHECK: tensor.insert_slice %{{.*}} into %[[DONE]][0, %[[I]], 0]
// CHECK: return %[[LOOP]]#1
func.func @cumsum(%x: tensor<?x4x5xf32, #relax.shape<["n", 4, 5]>>) {
  %0 = "relax.cumsum"(%x) {axis = -2 : i64, dtype, exclusive = false} : (tensor<?x4x5xf32, #relax.shape<["n", 4, 5]>>) -> tensor<?x4x5xf32, #relax.shape<["n", 4, 5]>>
  return
}
// -----
// Elements are converted first; without an axis the tensor is seen as a vector. Exclusive: what was before is shown.
// CHECK-LABEL: func.func @exclusive
// CHECK: %[[CAST:.*]] = "relax.call_tir"(%{{.*}}) {callee = @cast, tir_vars = []}
// CHECK: %[[FLAT:.*]] = "relax.flatten"(%[[CAST]])
// CHECK: "relax.call_tir"(%{{.*}}) {callee = @cumprod, tir_vars = []}
// CHECK-LABEL: func.func private @cumprod
// CHECK-SAME: relax.kernel_attrs = {axis = 0 : i64, exclusive = true}
// CHECK: iter_args(%[[TOTAL:.*]] = %{{.*}}, %
// CHECK: arith.muli
// CHECK: linalg.generic {{.*}} ins(%[[TOTAL]] :
func.func @exclusive(%x: tensor<3x4xi8>) {
  %0 = "relax.cumprod"(%x) {axis, dtype = i64, exclusive = true} : (tensor<3x4xi8>) -> tensor<12xi64>
  return
}
// -----
// Along an axis of size 1 there is no loop.
// CHECK-LABEL: func.func private @cumsum
// CHECK-SAME: (%[[X:.*]]: tensor<1x?x1xf32>, %[[OUT:.*]]: tensor<1x?x1xf32>)
// CHECK-NOT: scf.for
// CHECK: linalg.generic {{.*}} ins(%[[X]] : {{.*}}) outs(%[[OUT]] :
// CHECK: arith.addf
func.func @one(%x: tensor<1x?x1xf32, #relax.shape<[1, "n", 1]>>) {
  %0 = "relax.cumsum"(%x) {axis = 2 : i64, dtype, exclusive = false} : (tensor<1x?x1xf32, #relax.shape<[1, "n", 1]>>) -> tensor<1x?x1xf32, #relax.shape<[1, "n", 1]>>
  return
}
