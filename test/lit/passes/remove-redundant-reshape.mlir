// RUN: relax-opt %s --remove-redundant-reshape | filecheck %s
// Chains of views start from the first tensor, and those that change nothing go.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [2, "2*n"]}
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.reshape"(%[[X]], %[[S]])
// CHECK-NEXT: return %[[R]] :
func.func @chain(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<2x?xf32, #relax.shape<[2, "2*n"]>> {
  %f = "relax.flatten"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32, #relax.shape<["4*n"]>>
  %s = "relax.shape_expr"() {values = [2, "2*n"]} : () -> !relax.shape_value<[2, "2*n"]>
  %r = "relax.reshape"(%f, %s) : (tensor<?xf32, #relax.shape<["4*n"]>>, !relax.shape_value<[2, "2*n"]>) -> tensor<2x?xf32, #relax.shape<[2, "2*n"]>>
  return %r : tensor<2x?xf32, #relax.shape<[2, "2*n"]>>
}

// There and back, by expressions that are equal but not the same.
// CHECK-LABEL: func.func @there_and_back
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: return %[[X]] :
func.func @there_and_back(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %e = "relax.expand_dims"(%x) {axes = [1]} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x1x4xf32, #relax.shape<["n", 1, 4]>>
  %f = "relax.flatten"(%e) : (tensor<?x1x4xf32, #relax.shape<["n", 1, 4]>>) -> tensor<?xf32, #relax.shape<["4*n"]>>
  %s = "relax.shape_expr"() {values = ["n", 4]} : () -> !relax.shape_value<["n", 4]>
  %r = "relax.reshape"(%f, %s) : (tensor<?xf32, #relax.shape<["4*n"]>>, !relax.shape_value<["n", 4]>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %r : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func @squeezed
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: return %[[X]] :
func.func @squeezed(%x: tensor<3xf32>) -> tensor<3xf32> {
  %e = "relax.expand_dims"(%x) {axes = [0]} : (tensor<3xf32>) -> tensor<1x3xf32>
  %r = "relax.squeeze"(%e) {axes = unit} : (tensor<1x3xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @composed
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [2, 0, 1]}
// CHECK-NEXT: return %[[P]] :
func.func @composed(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = "relax.permute_dims"(%x) {axes = unit} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %1 = "relax.permute_dims"(%0) {axes = [0, -1, 1]} : (tensor<4x3x2xf32>) -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @inverse
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: return %[[X]], %[[X]] :
func.func @inverse(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = "relax.permute_dims"(%x) {axes = unit} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "relax.permute_dims"(%0) {axes = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %2 = "relax.permute_dims"(%x) {axes = [0, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// Three of each; of a view that says less than its tensor, the tensor takes the place only if the type is equal.
// CHECK-LABEL: func.func @three
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [24, 1, 1]}
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.reshape"(%[[X]], %[[S]])
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [1, 0, 2]}
// CHECK-NEXT: return %[[R]], %[[P]] :
func.func @three(%x: tensor<2x3x4xf32>) -> (tensor<24x1x1xf32>, tensor<3x2x4xf32>) {
  %0 = "relax.flatten"(%x) : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %1 = "relax.expand_dims"(%0) {axes = [1]} : (tensor<24xf32>) -> tensor<24x1xf32>
  %2 = "relax.expand_dims"(%1) {axes = [2]} : (tensor<24x1xf32>) -> tensor<24x1x1xf32>
  %3 = "relax.permute_dims"(%x) {axes = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %4 = "relax.permute_dims"(%3) {axes = [2, 0, 1]} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %5 = "relax.permute_dims"(%4) {axes = [1, 0, 2]} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  return %2, %5 : tensor<24x1x1xf32>, tensor<3x2x4xf32>
}
