// RUN: %roundtrip
// RUN: %roundtrip-generic

// CHECK-LABEL: @moves
// CHECK: "relax.permute_dims"(%{{.*}}) {{.*}}axes = [1, 0]{{.*}} -> tensor<4x?xf32, #relax.shape<[4, "n"]>>
// CHECK: "relax.broadcast_to"(%{{.*}}, %{{.*}}) : {{.*}} -> tensor<2x?x4xf32, #relax.shape<[2, "n", 4]>>
// CHECK: "relax.concat"(%{{.*}}) {{.*}}axis = 0{{.*}} -> tensor<?x4xf32, #relax.shape<["2*n", 4]>>
// CHECK: "relax.split"(%{{.*}}) {{.*}}sections = 2{{.*}} -> tuple<tensor<?x2xf32, #relax.shape<["n", 2]>>, tensor<?x2xf32, #relax.shape<["n", 2]>>>
// CHECK: "relax.take"(%{{.*}}, %{{.*}}) {{.*}}mode = "clip"{{.*}} -> tensor<?x4xf32, #relax.shape<["k", 4]>>
// CHECK: "relax.strided_slice"(%{{.*}}) {{.*}}begin = [1]{{.*}} -> tensor<?x4xf32, #relax.shape<["max(n - 1, 0)", 4]>>
func.func @moves(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %i: tensor<?xi64, #relax.shape<["k"]>>) {
  %0 = "relax.permute_dims"(%x) {axes = [1, 0]} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<4x?xf32, #relax.shape<[4, "n"]>>
  %s = "relax.shape_expr"() {values = [2, "n", 4]} : () -> !relax.shape_value<[2, "n", 4]>
  %1 = "relax.broadcast_to"(%x, %s) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, !relax.shape_value<[2, "n", 4]>) -> tensor<2x?x4xf32, #relax.shape<[2, "n", 4]>>
  %t = builtin.unrealized_conversion_cast %x, %x : tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>> to tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>>
  %2 = "relax.concat"(%t) {axis = 0 : i64} : (tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>>) -> tensor<?x4xf32, #relax.shape<["2*n", 4]>>
  %3 = "relax.split"(%x) {axis = 1 : i64, sections = 2 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tuple<tensor<?x2xf32, #relax.shape<["n", 2]>>, tensor<?x2xf32, #relax.shape<["n", 2]>>>
  %4 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?xi64, #relax.shape<["k"]>>) -> tensor<?x4xf32, #relax.shape<["k", 4]>>
  %5 = "relax.strided_slice"(%x) {assume_inbound = false, axes = [0], begin = [1], end = ["n"], strides} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["max(n - 1, 0)", 4]>>
  return
}
