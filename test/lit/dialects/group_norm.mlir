// nn_group_norm and nn_instance_norm.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @group(
// CHECK: "relax.nn_group_norm"(%{{.*}}) {axes = [2], center = true, channel_axis = 1 : i64, epsilon = 1.000000e-05 : f64, num_groups = 4 : i64, scale = true}
func.func @group(%x: tensor<2x?x3xf32, #relax.shape<[2, "4*c", 3]>>, %g: tensor<?xf32, #relax.shape<["4*c"]>>) {
  %0 = "relax.nn_group_norm"(%x, %g, %g) {num_groups = 4 : i64, channel_axis = 1 : i64, axes = [2], epsilon = 1.0e-05 : f64, center = true, scale = true} : (tensor<2x?x3xf32, #relax.shape<[2, "4*c", 3]>>, tensor<?xf32, #relax.shape<["4*c"]>>, tensor<?xf32, #relax.shape<["4*c"]>>) -> tensor<2x?x3xf32, #relax.shape<[2, "4*c", 3]>>
  return
}

// CHECK-LABEL: func.func @instance(
// CHECK: "relax.nn_instance_norm"(%{{.*}}) {axes = [1], center = true, channel_axis = -1 : i64, epsilon = 1.000000e-05 : f64, scale = false}
func.func @instance(%x: tensor<2x8x3xf32>, %g: tensor<3xf32>) {
  %0 = "relax.nn_instance_norm"(%x, %g, %g) {channel_axis = -1 : i64, axes = [1], epsilon = 1.0e-05 : f64, center = true, scale = false} : (tensor<2x8x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x8x3xf32>
  return
}
// -----
func.func @channels(%x: tensor<2x?x3xf32, #relax.shape<[2, "c", 3]>>, %g: tensor<?xf32, #relax.shape<["c"]>>) {
  // expected-error @below {{nn_group_norm: operand 'data' has c channels (channel_axis 1), which is not provably a multiple of num_groups, 4; match_shape it to a number that is, or declare it as one, 4*c}}
  %0 = "relax.nn_group_norm"(%x, %g, %g) {num_groups = 4 : i64, channel_axis = 1 : i64, axes = [2], epsilon = 1.0e-05 : f64, center = true, scale = true} : (tensor<2x?x3xf32, #relax.shape<[2, "c", 3]>>, tensor<?xf32, #relax.shape<["c"]>>, tensor<?xf32, #relax.shape<["c"]>>) -> tensor<2x?x3xf32, #relax.shape<[2, "c", 3]>>
  return
}
// -----
func.func @axes(%x: tensor<2x8x3xf32>, %g: tensor<8xf32>) {
  // expected-error @below {{nn_instance_norm: channel_axis 1 is one of the axes [1, 2]; leave it out of them}}
  %0 = "relax.nn_instance_norm"(%x, %g, %g) {channel_axis = 1 : i64, axes = [1, 2], epsilon = 1.0e-05 : f64, center = true, scale = true} : (tensor<2x8x3xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x3xf32>
  return
}
// -----
func.func @groups(%x: tensor<2x8x3xf32>, %g: tensor<8xf32>) {
  // expected-error @below {{nn_group_norm: num_groups is -2, expected at least 1}}
  %0 = "relax.nn_group_norm"(%x, %g, %g) {num_groups = -2 : i64, channel_axis = 1 : i64, axes = [2], epsilon = 1.0e-05 : f64, center = true, scale = true} : (tensor<2x8x3xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x3xf32>
  return
}
// -----
func.func @parameter(%x: tensor<2x8x3xf32>, %g: tensor<4xf32>) {
  // expected-error @below {{nn_group_norm: operand 'gamma' has shape (4,), expected (8,), dimensions [1] of 'data', (2, 8, 3)}}
  %0 = "relax.nn_group_norm"(%x, %g, %g) {num_groups = 2 : i64, channel_axis = 1 : i64, axes = [2], epsilon = 1.0e-05 : f64, center = true, scale = true} : (tensor<2x8x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x8x3xf32>
  return
}
