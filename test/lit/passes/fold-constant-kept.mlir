// RUN: relax-opt %s --fold-constant=max-elements=2 | filecheck %s
// RUN: relax-opt %s --fold-constant | filecheck %s --check-prefix=DEFAULT
// bindings.py: what is not folded, and constants that stay because others use them.

// More elements than the limit.
// CHECK-LABEL: func.func @too_large
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"
// CHECK-NEXT: "relax.negative"(%[[C]])
// DEFAULT-LABEL: func.func @too_large
// DEFAULT-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<-2.000000e+00> : tensor<3xf32>}
// DEFAULT-NEXT: return %[[C]] :
func.func @too_large() -> tensor<3xf32> {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<3xf32>} : () -> tensor<3xf32>
  %1 = "relax.negative"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @two_uses
// CHECK-NEXT: %[[OLD:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<[1.000000e+00, 4.000000e+00]> : tensor<2xf32>}
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
// CHECK-NEXT: return %[[OLD]], %[[NEW]] :
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
// CHECK-NEXT: return %[[C]] :
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

// As many elements as the default allows, and one more. An operand that is given twice goes once.
// DEFAULT-LABEL: func.func @limit
// DEFAULT-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense_resource<{{[a-z0-9_]+}}> : tensor<16384xi8>}
// DEFAULT-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<2> : tensor<16385xi8>}
// DEFAULT-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.add"(%[[C]], %[[C]])
// DEFAULT-NEXT: return %[[A]], %[[B]] :
// CHECK-LABEL: func.func @limit
func.func @limit() -> (tensor<16384xi8>, tensor<16385xi8>) {
  %0 = "relax.constant"() {value = dense<2> : tensor<16384xi8>} : () -> tensor<16384xi8>
  %1 = "relax.add"(%0, %0) : (tensor<16384xi8>, tensor<16384xi8>) -> tensor<16384xi8>
  %2 = "relax.constant"() {value = dense<2> : tensor<16385xi8>} : () -> tensor<16385xi8>
  %3 = "relax.add"(%2, %2) : (tensor<16385xi8>, tensor<16385xi8>) -> tensor<16385xi8>
  return %1, %3 : tensor<16384xi8>, tensor<16385xi8>
}

// Results of unknown dtype or rank, and what is no tensor.
// DEFAULT-LABEL: func.func @vague
// DEFAULT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"
// DEFAULT-NEXT: "relax.negative"(%[[C]]) : (tensor<2xf32>) -> tensor<2x!relax.any>
// DEFAULT-NEXT: "relax.negative"(%[[C]]) : (tensor<2xf32>) -> tensor<*xf32>
// DEFAULT-NEXT: "relax.split"(%[[C]])
// DEFAULT-NEXT: return
// CHECK-LABEL: func.func @vague
func.func @vague() -> (tensor<2x!relax.any>, tensor<*xf32>, tuple<tensor<1xf32>, tensor<1xf32>>) {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %1 = "relax.negative"(%0) : (tensor<2xf32>) -> tensor<2x!relax.any>
  %2 = "relax.negative"(%0) : (tensor<2xf32>) -> tensor<*xf32>
  %3 = "relax.split"(%0) {axis = 0 : i64, sections = [1]} : (tensor<2xf32>) -> tuple<tensor<1xf32>, tensor<1xf32>>
  return %1, %2, %3 : tensor<2x!relax.any>, tensor<*xf32>, tuple<tensor<1xf32>, tensor<1xf32>>
}

// An operand that another op computes.
// DEFAULT-LABEL: func.func @computed
// DEFAULT-SAME: (%[[X:[a-z0-9_]+]]:
// DEFAULT-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// DEFAULT-NEXT: "relax.negative"(%[[E]])
// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "relax.negative"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// A packed function may change a constant: what follows reads what it has left.
// DEFAULT-LABEL: func.func @changed
// DEFAULT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"
// DEFAULT: "relax.call_packed"
// DEFAULT-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"(%[[C]])
// DEFAULT-NEXT: "relax.negative"(%[[NEW]])
// CHECK-LABEL: func.func @changed
func.func @changed() -> tensor<2xf32> {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %t = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  %1 = "relax.negative"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
