// manipulate.py
// An element is read from its place: from the end, by the quotient. Copies of all, and of rows, are a dimension more.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-DAG: #[[INNER:[A-Za-z0-9_]+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[BOTH:[A-Za-z0-9_]+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROWS:[A-Za-z0-9_]+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[ALL:[A-Za-z0-9_]+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func private @flip(
// CHECK: linalg.generic
// CHECK: arith.subi
// CHECK: tensor.extract
// CHECK-LABEL: func.func private @tile(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<2x4xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[INNER]], #[[BOTH]]]
// CHECK-LABEL: func.func private @repeat(
// CHECK: arith.divui
// CHECK: tensor.extract
// CHECK-LABEL: func.func private @repeat_1(%{{.*}}: tensor<4x5xf32>, %{{.*}}: tensor<4x3x5xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[ROWS]], #[[ALL]]]

func.func @main(%x: tensor<4xf32>, %y: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<12xf32>, tensor<12x5xf32>) {
  %0 = "relax.flip"(%x) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.tile"(%x) {repeats = [2]} : (tensor<4xf32>) -> tensor<8xf32>
  %2 = "relax.repeat"(%x) {repeats = 3 : i64, axis = 0 : i64} : (tensor<4xf32>) -> tensor<12xf32>
  %3 = "relax.repeat"(%y) {repeats = 3 : i64, axis = 0 : i64} : (tensor<4x5xf32>) -> tensor<12x5xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<8xf32>, tensor<12xf32>, tensor<12x5xf32>
}
