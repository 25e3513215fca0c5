// Comparison of shape values; matching an integer.
// RUN: relax-opt %s | relax-opt | filecheck %s
// RUN: relax-opt %s --relax-to-tensors | filecheck %s --check-prefix=TENSORS

// CHECK-LABEL: func.func @equal(
// CHECK: "relax.shape_equal"(%a, %b) : (!relax.shape_value<["n", 4]>, !relax.shape_value<["?", "?"]>) -> tensor<i1>
// TENSORS-LABEL: func.func @equal(
// TENSORS-COUNT-2: arith.cmpi eq
func.func @equal(%a: !relax.shape_value<["n", 4]>, %b: !relax.shape_value<["?", "?"]>) -> tensor<i1> {
  %0 = "relax.shape_equal"(%a, %b) : (!relax.shape_value<["n", 4]>, !relax.shape_value<["?", "?"]>) -> tensor<i1>
  return %0 : tensor<i1>
}

// CHECK-LABEL: func.func @integer(
// CHECK: "relax.match_shape"(%a) {pattern = ["k"], result_dtype} : (i64) -> i64
// TENSORS-LABEL: func.func @integer(
// TENSORS: arith.cmpi sge, %a
// TENSORS: call @relax.check
func.func @integer(%a: i64) -> tensor<?xf32, #relax.shape<["k"]>> {
  %0 = "relax.match_shape"(%a) {pattern = ["k"], result_dtype} : (i64) -> i64
  %1 = "relax.shape_expr"() {values = ["k"]} : () -> !relax.shape_value<["k"]>
  %2 = "relax.zeros"(%1) {dtype = f32} : (!relax.shape_value<["k"]>) -> tensor<?xf32, #relax.shape<["k"]>>
  return %2 : tensor<?xf32, #relax.shape<["k"]>>
}
