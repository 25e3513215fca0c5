// RUN: %roundtrip
// RUN: %roundtrip-generic

// CHECK-LABEL: @main
// CHECK: %[[OUT:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[SUM:[A-Za-z0-9_]+]] = "relax.add"(%[[X:[a-z0-9_]+]], %[[X]])
// CHECK-SAME: -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK-NEXT: "relax.output"(%[[SUM]])
// CHECK: return{{"?}}{{[( ]}}%[[OUT]] :
func.func @main(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.add"(%x, %x)
      : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>)
      -> tensor<?x4xf32, #relax.shape<["n", 4]>>
    "relax.output"(%1) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
