// Binary ops: broadcasting by index maps, integer ops by signedness, no trap on division.
// RUN: relax-opt %s --legalize-ops | filecheck %s
// The rules are in elementwise.py, their scalar arithmetic in rules.py, the loops in prim_bodies.py.

// CHECK-DAG: #[[ALL:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[LEFT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
// CHECK-DAG: #[[RIGHT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// CHECK-LABEL: func.func private @add_f32(
// CHECK-SAME: relax.pattern = "broadcast"
// CHECK: linalg.generic {indexing_maps = [#[[LEFT]], #[[RIGHT]], #[[ALL]]]
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %[[A]], %[[B]] : f32
// CHECK: linalg.yield %[[SUM]] : f32

// The divisor is 1 where the processor would trap, and the quotient by zero is 0.
// CHECK-LABEL: func.func private @floor_divide_ui8(
// CHECK: ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8, %{{.*}}: i8):
// CHECK: %[[ZERO:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[B]], %{{.*}} : i8
// CHECK: %[[SAFE:[A-Za-z0-9_]+]] = arith.select %[[ZERO]], %{{.*}}, %[[B]] : i8
// CHECK: arith.divui %[[A]], %[[SAFE]] : i8

// CHECK-LABEL: func.func private @floor_mod_i32(
// CHECK: ^bb0(%[[A:.*]]: i32, %[[B:.*]]: i32, %{{.*}}: i32):
// CHECK: arith.cmpi eq, %[[B]], %{{.*}} : i32
// CHECK: arith.cmpi eq, %[[A]], %{{.*}} : i32
// CHECK: arith.remsi %[[A]], %{{[A-Za-z0-9_]+}} : i32

func.func @main(%x: tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, %y: tensor<2x?xf32, #relax.shape<[2, "m"]>>, %u: tensor<4xui8>, %i: tensor<4xi32>) -> (tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>, tensor<4xui8>, tensor<4xi32>) {
  %0 = "relax.add"(%x, %y) : (tensor<?x1x?xf32, #relax.shape<["n", 1, "m"]>>, tensor<2x?xf32, #relax.shape<[2, "m"]>>) -> tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>
  %1 = "relax.floor_divide"(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %2 = "relax.floor_mod"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0, %1, %2 : tensor<?x2x?xf32, #relax.shape<["n", 2, "m"]>>, tensor<4xui8>, tensor<4xi32>
}
