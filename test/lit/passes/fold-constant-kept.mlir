// RUN: relax-opt %s --fold-constant=max-elements=2 | filecheck %s
// RUN: relax-opt %s --fold-constant | filecheck %s --check-prefix=DEFAULT
// fold_constant.py: what is not folded, and constants that stay because others use them.

// More elements than the limit.
// CHECK-LABEL: func.func @too_large
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"
// CHECK-NEXT: "relax.negative"(%[[C]])
// DEFAULT-LABEL: func.func @too_large
// DEFAULT-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<-2.000000e+00> : tensor<3xf32>}
// DEFAULT-NEXT: return %[[C]]
func.func @too_large() -> tensor<3xf32> {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<3xf32>} : () -> tensor<3xf32>
  %1 = "relax.negative"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @two_uses
// CHECK-NEXT: %[[OLD:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<[1.000000e+00, 4.000000e+00]> : tensor<2xf32>}
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
// CHECK-NEXT: return %[[OLD]], %[[NEW]]
func.func @two_uses() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "relax.constant"() {value = dense<[1.0, 4.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "relax.sqrt"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// An operand that is only known at run time.
// CHECK-LABEL: func.func @symbolic
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"
// CHECK-NEXT: "relax.add"(%[[X]], %[[C]])
func.func @symbolic(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "relax.add"(%x, %0) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<f32>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}

// CHECK-LABEL: func.func @marked
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"
// CHECK-NEXT: "relax.negative"(%[[C]])
// CHECK-LABEL: func.func @not_marked
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<-2.000000e+00> : tensor<2xf32>}
// CHECK-NEXT: return %[[C]]
func.func @marked() -> tensor<2xf32> attributes {SkipOptimization = 1 : i64} {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "relax.negative"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @not_marked() -> tensor<2xf32> attributes {SkipOptimization = 0 : i64} {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "relax.negative"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
