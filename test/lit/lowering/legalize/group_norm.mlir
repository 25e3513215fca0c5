// RUN: relax-opt %s --legalize-ops --split-input-file | filecheck %s

// The channels are seen as groups and the channels of a group.
// CHECK-LABEL: func.func private @group_norm
// CHECK-SAME: (%[[X:.*]]: tensor<?x6x?xf16>, %[[G:.*]]: tensor<6xf16>, %[[B:.*]]: tensor<6xf16>, %[[OUT:.*]]: tensor<?x6x?xf16>)
// CHECK-SAME: relax.kernel = "group_norm", relax.kernel_attrs = {axes = [2], center = true, channel_axis = 1 : i64, epsilon = 1.000000e-05 : f64, num_groups = 2 : i64, scale = true}
// CHECK: tensor.expand_shape %[[X]] {{\[}}[0], [1, 2], [3]] output_shape [%{{.*}}, 2, 3, %{{.*}}]
// CHECK: tensor.expand_shape %[[OUT]] [
// CHECK: tensor.expand_shape %[[G]] {{\[}}[0, 1]] output_shape [2, 3]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction"]
// CHECK: math.sqrt
// CHECK: %[[R:.*]] = tensor.collapse_shape
// CHECK: return %[[R]] :
func.func @group(%x: tensor<?x6x?xf16, #relax.shape<["n", 6, "m"]>>, %g: tensor<6xf16>) {
  %0 = "relax.nn_group_norm"(%x, %g, %g) {num_groups = 2 : i64, channel_axis = 1 : i64, axes = [2], epsilon = 1.0e-05 : f64, center = true, scale = true} : (tensor<?x6x?xf16, #relax.shape<["n", 6, "m"]>>, tensor<6xf16>, tensor<6xf16>) -> tensor<?x6x?xf16, #relax.shape<["n", 6, "m"]>>
  return
}
// -----
// What is left out is no operand.
// CHECK-LABEL: func.func private @instance_norm
// CHECK-SAME: (%{{.*}}: tensor<2x6x5xf32>, %{{.*}}: tensor<6xf32>, %{{.*}}: tensor<2x6x5xf32>)
// CHECK-SAME: center = false, channel_axis = 1 : i64, epsilon = 1.000000e-05 : f64, num_groups = 0 : i64, scale = true
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @instance(%x: tensor<2x6x5xf32>, %g: tensor<6xf32>) {
  %0 = "relax.nn_instance_norm"(%x, %g, %g) {channel_axis = 1 : i64, axes = [2], epsilon = 1.0e-05 : f64, center = false, scale = true} : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5xf32>
  return
}
