// Shifts by too many bits are defined: the count is made safe before it reaches the shift.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func private @left_shift_i8(
// CHECK: ^bb0(%[[X:.*]]: i8, %[[COUNT:.*]]: i8, %{{.*}}: i8):
// CHECK: %[[DEFINED:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[COUNT]], %{{.*}} : i8
// CHECK: %[[SAFE:[A-Za-z0-9_]+]] = arith.select %[[DEFINED]], %[[COUNT]], %{{.*}} : i8
// CHECK: %[[SHIFTED:[A-Za-z0-9_]+]] = arith.shli %[[X]], %[[SAFE]] : i8
// CHECK: arith.select %[[DEFINED]], %[[SHIFTED]], %{{.*}} : i8
// CHECK-LABEL: func.func private @right_shift_i8(
// CHECK: arith.shrsi
// CHECK-LABEL: func.func private @right_shift_ui8(
// CHECK: arith.shrui

func.func @main(%x: tensor<4xi8>, %u: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xui8>) {
  %0 = "relax.left_shift"(%x, %x) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %1 = "relax.right_shift"(%x, %x) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %2 = "relax.right_shift"(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0, %1, %2 : tensor<4xi8>, tensor<4xi8>, tensor<4xui8>
}
