// RUN: relax-opt %s --legalize-ops --split-input-file | filecheck %s
// manipulate.py.

// Views stay.
// CHECK-LABEL: @views
// CHECK: "relax.flatten"
// CHECK: "relax.expand_dims"
// CHECK-NOT: call_tir
func.func @views(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %0 = "relax.flatten"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32, #relax.shape<["4*n"]>>
  %1 = "relax.expand_dims"(%0) {axes = [0]} : (tensor<?xf32, #relax.shape<["4*n"]>>) -> tensor<1x?xf32, #relax.shape<[1, "4*n"]>>
  return
}
// -----
// CHECK: #[[T:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: #[[I:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func private @permute_dims
// CHECK: linalg.generic {indexing_maps = [#[[T]], #[[I]]]
func.func @permute_dims(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %0 = "relax.permute_dims"(%x) {axes} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<4x?xf32, #relax.shape<[4, "n"]>>
  return
}
// -----
// Each tensor is copied into its window of the result.
// CHECK-LABEL: func.func private @concat
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<2x4xf32>, %[[OUT:.*]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: %[[WINDOW:.*]] = tensor.extract_slice %[[OUT]][
// CHECK: %[[COPY:.*]] = linalg.copy {{.*}}ins(%[[A]] {{.*}} outs(%[[WINDOW]] :
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[COPY]] into %[[OUT]][
// CHECK: tensor.extract_slice %[[FIRST]][
// CHECK: linalg.copy {{.*}}ins(%[[B]] :
// CHECK: tensor.insert_slice
func.func @concat(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<2x4xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<2x4xf32> to tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<2x4xf32>>
  %0 = "relax.concat"(%t) {axis = 0 : i64} : (tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<2x4xf32>>) -> tensor<?x4xf32, #relax.shape<["n + 2", 4]>>
  return
}
// -----
// CHECK-LABEL: @slices
// CHECK: "relax.call_tir"(%{{.*}}) {{.*}}callee = @strided_slice, tir_vars = []
// CHECK: "relax.call_tir"(%{{.*}}) {{.*}}callee = @strided_slice_1, tir_vars = ["n - 1"]
// CHECK-LABEL: func.func private @strided_slice(
// CHECK: tensor.extract_slice %{{.*}}[1] [%{{.*}}] [2]
// A negative stride reads element by element.
// CHECK-LABEL: func.func private @strided_slice_1(
// CHECK-SAME: %[[LAST:[a-z0-9_]+]]: index) -> tensor<?xf32>
// CHECK: linalg.generic
// CHECK: scf.if
// CHECK: tensor.extract
func.func @slices(%x: tensor<?xf32, #relax.shape<["n"]>>) {
  %0 = "relax.strided_slice"(%x) {assume_inbound = false, axes = [0], begin = [1], end = ["n"], strides = [2]} : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["max(n // 2, 0)"]>>
  %1 = "relax.strided_slice"(%x) {assume_inbound = false, axes = [0], begin = [-1], end = [-2147483648], strides = [-1]} : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return
}
// -----
// An index is clamped; a static size needs no test for emptiness.
// CHECK-LABEL: func.func private @take
// CHECK: %[[CUT:.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: %[[ROW:.*]] = arith.maxsi %[[CUT]], %{{.*}} : index
// CHECK-NOT: scf.if
// CHECK: tensor.extract %{{.*}}[%[[ROW]], %{{.*}}] : tensor<8x4xf32>
func.func @take(%x: tensor<8x4xf32>, %i: tensor<?xi64, #relax.shape<["k"]>>) {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (tensor<8x4xf32>, tensor<?xi64, #relax.shape<["k"]>>) -> tensor<?x4xf32, #relax.shape<["k", 4]>>
  return
}
// -----
// Along the last axis, places are worked out once for all rows.
// CHECK-LABEL: func.func private @take_places
// CHECK: %[[CUT:.*]] = arith.minsi
// CHECK: %[[PLACE:.*]] = arith.maxsi %[[CUT]],
// CHECK: arith.index_cast %[[PLACE]] : index to i64
// CHECK-LABEL: func.func private @take(
// CHECK-NOT: arith.minsi
// CHECK: tensor.extract
func.func @take_columns(%x: tensor<8x4xf32>, %i: tensor<?xi64, #relax.shape<["k"]>>) {
  %0 = "relax.take"(%x, %i) {axis = 1 : i64, mode = "clip"} : (tensor<8x4xf32>, tensor<?xi64, #relax.shape<["k"]>>) -> tensor<8x?xf32, #relax.shape<[8, "k"]>>
  return
}
// -----
// From nothing, nothing is taken, and all is filled with zeros.
// CHECK-LABEL: func.func private @take
// CHECK: %[[FULL:.*]] = arith.cmpi ne
// CHECK: %[[COUNT:.*]] = arith.select %[[FULL]],
// CHECK-NOT: scf.if
// CHECK: linalg.generic
// CHECK: linalg.fill
func.func @take_of_unknown(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %i: tensor<?xi64, #relax.shape<["k"]>>) {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?xi64, #relax.shape<["k"]>>) -> tensor<?x4xf32, #relax.shape<["k", 4]>>
  return
}
// -----
// CHECK-LABEL: func.func private @split(
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 2] [1, 1] : tensor<?x4xf32> to tensor<?x2xf32>
// CHECK-LABEL: func.func private @split_1(
// CHECK: tensor.extract_slice %{{.*}}[0, 2] [%{{.*}}, 2] [1, 1] : tensor<?x4xf32> to tensor<?x2xf32>
func.func @halves(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %0 = "relax.split"(%x) {axis = 1 : i64, sections = 2 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tuple<tensor<?x2xf32, #relax.shape<["n", 2]>>, tensor<?x2xf32, #relax.shape<["n", 2]>>>
  return
}
// -----
// CHECK: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func private @broadcast_to
// CHECK: linalg.generic {indexing_maps = [#[[ROW]],
func.func @broadcast_to(%x: tensor<4xf32>) {
  %s = "relax.shape_expr"() {values = ["n", 4]} : () -> !relax.shape_value<["n", 4]>
  %0 = "relax.broadcast_to"(%x, %s) : (tensor<4xf32>, !relax.shape_value<["n", 4]>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}
// -----
// Mode "check" looks at all indices first.
// CHECK-LABEL: @checked
// CHECK: callee = @take_places
// CHECK: callee = @take,
// CHECK-LABEL: func.func private @take_places
// CHECK: %[[WRONG:[A-Za-z0-9_]+]] = tensor.extract
// CHECK: %[[FINE:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[WRONG]],
// CHECK-NEXT: cf.assert %[[FINE]], "take: an index is out of range for dimension 0"
// CHECK: linalg.generic
func.func @checked(%x: tensor<4x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = "relax.take"(%x, %i) {axis = 0, mode = "check"} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
