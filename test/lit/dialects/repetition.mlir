// flip, tile and repeat.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @all(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>)
// CHECK: %[[F:[A-Za-z0-9_]+]] = "relax.flip"(%[[X]]) {axis = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK: %[[T:[A-Za-z0-9_]+]] = "relax.tile"(%[[F]]) {repeats = [2, 1, 3]} : {{.*}} -> tensor<2x?x12xf32, #relax.shape<[2, "n", 12]>>
// CHECK: "relax.repeat"(%[[X]]) {axis = 0 : i64, repeats = 2 : i64} : {{.*}} -> tensor<?x4xf32, #relax.shape<["2*n", 4]>>
// CHECK: return %[[T]] :
func.func @all(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<2x?x12xf32, #relax.shape<[2, "n", 12]>> {
  %0 = "relax.flip"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.tile"(%0) {repeats = [2, 1, 3]} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<2x?x12xf32, #relax.shape<[2, "n", 12]>>
  %2 = "relax.repeat"(%x) {repeats = 2 : i64, axis = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["2*n", 4]>>
  return %1 : tensor<2x?x12xf32, #relax.shape<[2, "n", 12]>>
}
// -----
func.func @negative(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{tile: repeats is [-1], expected integers that are not negative}}
  %0 = "relax.tile"(%x) {repeats = [-1]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
