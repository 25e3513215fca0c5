// RUN: %roundtrip
// RUN: %roundtrip-generic

// CHECK-LABEL: @matmul
// CHECK: "relax.matmul"(%{{.*}}, %{{.*}}) {{.*}}out_dtype{{.*}} -> tensor<?x?x?x?xf32, #relax.shape<["b", "h", "s", "t"]>>
// CHECK: "relax.matmul"(%{{.*}}, %{{.*}}) {{.*}}out_dtype = i32{{.*}} -> tensor<?xi32, #relax.shape<["n"]>>
func.func @matmul(%x: tensor<?x1x?x4xf32, #relax.shape<["b", 1, "s", 4]>>,
                  %y: tensor<?x4x?xf32, #relax.shape<["h", 4, "t"]>>,
                  %a: tensor<?x3xi8, #relax.shape<["n", 3]>>, %b: tensor<3xi8>) {
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<?x1x?x4xf32, #relax.shape<["b", 1, "s", 4]>>, tensor<?x4x?xf32, #relax.shape<["h", 4, "t"]>>) -> tensor<?x?x?x?xf32, #relax.shape<["b", "h", "s", "t"]>>
  %1 = "relax.matmul"(%a, %b) {out_dtype = i32} : (tensor<?x3xi8, #relax.shape<["n", 3]>>, tensor<3xi8>) -> tensor<?xi32, #relax.shape<["n"]>>
  return
}
