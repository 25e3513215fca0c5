// RUN: relax-opt %s --legalize-ops --split-input-file | filecheck %s

// CHECK-LABEL: func.func private @nn_relu_f32
// CHECK: arith.maximumf
func.func @relu(%x: tensor<4xf32>) {
  %0 = "relax.nn_relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
// -----
// 16-bit floats are computed in float32 and rounded once.
// CHECK-LABEL: func.func private @nn_gelu_bf16
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: math.erf %{{.*}} : f32
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[Y:.*]] = arith.mulf %{{.*}}, %[[SUM]] : f32
// CHECK: arith.truncf %[[Y]] : f32 to bf16
func.func @gelu(%x: tensor<4xbf16>) {
  %0 = "relax.nn_gelu"(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
  return
}
// -----
// One number per row is kept between the steps.
// CHECK-LABEL: func.func private @softmax
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>, %[[OUT:.*]]: tensor<?x4xf32>)
// CHECK-SAME: relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]{{.*}} outs(%[[OUT]] :
// CHECK: arith.divf
func.func @softmax(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %0 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}
// -----
// CHECK-LABEL: func.func private @log_softmax
// CHECK-SAME: relax.kernel = "log_softmax", relax.kernel_attrs = {axis = 0 : i64}
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: math.log
func.func @log_softmax(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %0 = "relax.nn_log_softmax"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}
// -----
// CHECK-LABEL: func.func private @layer_norm
// CHECK-SAME: (%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<?x4xf32>)
// CHECK-SAME: relax.kernel = "layer_norm", relax.kernel_attrs = {axes = [1], epsilon = 1.000000e-05 : f64}
// CHECK: math.sqrt
func.func @layer_norm(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %g: tensor<4xf32>) {
  %0 = "relax.nn_layer_norm"(%x, %g, %g) {axes = [-1], center = true, epsilon = 1.0e-05 : f64, scale = true} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}
// -----
// Without a center there is no kernel, only the body.
// CHECK-LABEL: func.func private @layer_norm
// CHECK-SAME: (%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<?x4xf32>)
// CHECK-NOT: relax.kernel
func.func @no_center(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %g: tensor<4xf32>) {
  %0 = "relax.nn_layer_norm"(%x, %g, %g) {axes = [-1], center = false, epsilon = 1.0e-05 : f64, scale = true} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}
// -----
// CHECK-LABEL: func.func private @rms_norm
// CHECK-SAME: relax.kernel = "rms_norm", relax.kernel_attrs = {axes = [1], epsilon = 1.000000e-05 : f64}
func.func @rms_norm(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %g: tensor<4xf32>) {
  %0 = "relax.nn_rms_norm"(%x, %g) {axes = [1], epsilon = 1.0e-05 : f64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}
