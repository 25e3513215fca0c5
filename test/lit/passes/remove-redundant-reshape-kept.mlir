// RUN: relax-opt %s --remove-redundant-reshape | filecheck %s
// What stays: a reshape that changes the shape, a transposition between, a shape that is not known.

// CHECK-LABEL: func.func @one
// CHECK: relax.flatten
// CHECK-NEXT: return
func.func @one(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %r = "relax.flatten"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @between
// CHECK: relax.permute_dims
// CHECK-NEXT: relax.flatten
// CHECK-NEXT: relax.exp
// CHECK-NEXT: relax.expand_dims
func.func @between(%x: tensor<3x3xf32>) -> tensor<9x1xf32> {
  %p = "relax.permute_dims"(%x) {axes = unit} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %f = "relax.flatten"(%p) : (tensor<3x3xf32>) -> tensor<9xf32>
  %a = "relax.exp"(%f) : (tensor<9xf32>) -> tensor<9xf32>
  %r = "relax.expand_dims"(%a) {axes = [1]} : (tensor<9xf32>) -> tensor<9x1xf32>
  return %r : tensor<9x1xf32>
}

// CHECK-LABEL: func.func @unknown
// CHECK: relax.flatten
// CHECK-NEXT: relax.permute_dims
func.func @unknown(%x: tensor<*xf32>) -> tensor<?xf32> {
  %f = "relax.flatten"(%x) : (tensor<*xf32>) -> tensor<?xf32>
  %r = "relax.permute_dims"(%x) {axes = unit} : (tensor<*xf32>) -> tensor<*xf32>
  return %f : tensor<?xf32>
}
