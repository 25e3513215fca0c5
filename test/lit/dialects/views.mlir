// RUN: %roundtrip
// RUN: %roundtrip-generic

// CHECK-LABEL: @views
// CHECK: "relax.reshape"(%{{.*}}, %{{.*}}) : {{.*}} -> tensor<?x2x2xf32, #relax.shape<["n", 2, 2]>>
// CHECK: "relax.flatten"(%{{.*}}) : {{.*}} -> tensor<?xf32, #relax.shape<["4*n"]>>
// CHECK: %[[EXPANDED:.*]] = "relax.expand_dims"(%{{.*}}) {{.*}}axes = [0, -1]{{.*}} -> tensor<1x?x4x1xf32, #relax.shape<[1, "n", 4, 1]>>
// CHECK: "relax.squeeze"(%[[EXPANDED]]) {{.*}}axes{{.*}} -> tensor<?x4xf32, #relax.shape<["n", 4]>>
func.func @views(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %s = "relax.shape_expr"() {values = ["n", 2, 2]} : () -> !relax.shape_value<["n", 2, 2]>
  %0 = "relax.reshape"(%x, %s) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, !relax.shape_value<["n", 2, 2]>) -> tensor<?x2x2xf32, #relax.shape<["n", 2, 2]>>
  %1 = "relax.flatten"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?xf32, #relax.shape<["4*n"]>>
  %2 = "relax.expand_dims"(%x) {axes = [0, -1]} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<1x?x4x1xf32, #relax.shape<[1, "n", 4, 1]>>
  %3 = "relax.squeeze"(%2) {axes} : (tensor<1x?x4x1xf32, #relax.shape<[1, "n", 4, 1]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}
