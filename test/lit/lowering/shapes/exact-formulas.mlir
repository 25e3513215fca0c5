// RUN: relax-opt %s --lower-symbolic-shapes --split-input-file | filecheck %s

// A product of two symbols may have more than 64 bits: the upper half of the exact product says so.
// CHECK: @relax.check.0({{.*}} 'm*n' does not fit into 64 bits, with m = {0} taken from parameter 's' value 1, n = {1} taken
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[N:[a-z0-9_]+]]: index, %[[M:[a-z0-9_]+]]: index)
// CHECK: arith.muli %[[M]], %[[N]] :
// CHECK-NEXT: %[[M64:[a-z0-9_]+]] = arith.index_cast %[[M]] : index to i64
// CHECK-NEXT: %[[N64:[a-z0-9_]+]] = arith.index_cast %[[N]] : index to i64
// CHECK-NEXT: %[[LOW:[a-z0-9_]+]], %[[HIGH:[a-z0-9_]+]] = arith.mulsi_extended %[[M64]], %[[N64]] : i64
// CHECK: %[[SIGN:[0-9]+]] = arith.shrsi %[[LOW]],
// CHECK-NEXT: %[[WRONG:[0-9]+]] = arith.cmpi ne, %[[HIGH]], %[[SIGN]] :
// CHECK: %[[FINE:[0-9]+]] = arith.xori %[[WRONG]],
// CHECK-NEXT: call @relax.check.0(%[[FINE]], %[[M]], %[[N]])
func.func @product(%s: !relax.shape_value<["n", "m"]> {relax.name = "s"}) -> !relax.shape_value<["m*n"]> {
  %0 = "relax.shape_expr"() {values = ["m*n"]} : () -> !relax.shape_value<["m*n"]>
  return %0 : !relax.shape_value<["m*n"]>
}
// -----
// Within the bounds of the user nothing can overflow, and nothing is checked but they.
// CHECK-NOT: does not fit
// CHECK: above its upper bound 4096
// CHECK-NOT: does not fit
// CHECK-LABEL: func.func @bounded(
// CHECK-NOT: arith.mulsi_extended
// CHECK: return
func.func @bounded(%s: !relax.shape_value<["n", "m"]> {relax.name = "s"}) -> !relax.shape_value<["m*n"]>
    attributes {relax.symbol_bounds = {n = [0, 4096], m = [0, 4096]}} {
  %0 = "relax.shape_expr"() {values = ["m*n"]} : () -> !relax.shape_value<["m*n"]>
  return %0 : !relax.shape_value<["m*n"]>
}
// -----
// A difference cannot overflow, but be negative.
// CHECK: @relax.check.0({{.*}} the dimension 'n - 1' is {0}, with n = {1} taken from parameter 's' value 0; dimensions are zero
// CHECK-LABEL: func.func @difference(
// CHECK-SAME: %[[N:[a-z0-9_]+]]: index
// CHECK: %[[LESS:[0-9]+]] = arith.addi %[[N]],
// CHECK-NEXT: %{{.*}} = arith.constant 0 : index
// CHECK-NEXT: %[[FINE:[0-9]+]] = arith.cmpi sge, %[[LESS]], %{{.*}} : index
// CHECK-NEXT: call @relax.check.0(%[[FINE]], %[[LESS]], %[[N]])
func.func @difference(%s: !relax.shape_value<["n"]> {relax.name = "s"}) -> !relax.shape_value<["n - 1"]> {
  %0 = "relax.shape_expr"() {values = ["n - 1"]} : () -> !relax.shape_value<["n - 1"]>
  return %0 : !relax.shape_value<["n - 1"]>
}
