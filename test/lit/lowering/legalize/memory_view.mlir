// Where the view may end beyond the tensor it is checked; elements of one size are read whole.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK: callee = @memory_view, tir_vars = ["n"]
// CHECK: callee = @memory_view_1, tir_vars = []
// CHECK-LABEL: func.func private @memory_view(
// CHECK-SAME: %[[BEGIN:[a-z0-9_]+]]: index) -> tensor<2xi32>
// CHECK: %[[STARTS:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[BEGIN]],
// CHECK: %[[REST:[A-Za-z0-9_]+]] = arith.subi %{{[A-Za-z0-9_]+}}, %[[BEGIN]] :
// CHECK: %[[ENDS:[A-Za-z0-9_]+]] = arith.cmpi sle, %{{[A-Za-z0-9_]+}}, %[[REST]] :
// CHECK: %[[LIES:[A-Za-z0-9_]+]] = arith.andi %[[STARTS]], %[[ENDS]] :
// CHECK: cf.assert %[[LIES]], "memory_view: the view of int32 from byte n on does not lie in the tensor"
// CHECK: linalg.generic
// CHECK: %[[ELEMENT:[A-Za-z0-9_]+]] = tensor.extract
// CHECK: %[[BITS:[A-Za-z0-9_]+]] = arith.bitcast %[[ELEMENT]] : f32 to i32
// CHECK: arith.shrui %[[BITS]],
// CHECK-LABEL: func.func private @memory_view_1(
// CHECK-NOT: cf.assert
// CHECK: linalg.generic
// CHECK: %[[LOW:[A-Za-z0-9_]+]] = arith.extui %{{[A-Za-z0-9_]+}} : i8 to i16
// CHECK: %[[HIGH:[A-Za-z0-9_]+]] = arith.shli
// CHECK: arith.ori %[[LOW]], %[[HIGH]] : i16

func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<8xi8>) -> (tensor<2xi32>, tensor<3xi16>) {
  %s = "relax.shape_expr"() {values = [2]} : () -> !relax.shape_value<[2]>
  %t = "relax.shape_expr"() {values = [3]} : () -> !relax.shape_value<[3]>
  %0 = "relax.memory_view"(%x, %s) {dtype = i32, relative_byte_offset = "n"} : (tensor<?xf32, #relax.shape<["n"]>>, !relax.shape_value<[2]>) -> tensor<2xi32>
  %1 = "relax.memory_view"(%y, %t) {dtype = i16, relative_byte_offset = 1} : (tensor<8xi8>, !relax.shape_value<[3]>) -> tensor<3xi16>
  return %0, %1 : tensor<2xi32>, tensor<3xi16>
}
