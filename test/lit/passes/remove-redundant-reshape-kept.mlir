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

// The rank is known, but not the shape: one view changes a shape that is not known, and the second one of a chain, too.
// CHECK-LABEL: func.func @unknown_sizes
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[X]])
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.flatten"(%[[E]]) : (tensor<?x1xf32>) -> tensor<?xf32>
// CHECK-NEXT: return %[[F]] :
func.func @unknown_sizes(%x: tensor<?xf32>) -> tensor<?xf32> {
  %e = "relax.expand_dims"(%x) {axes = [1]} : (tensor<?xf32>) -> tensor<?x1xf32>
  %f = "relax.flatten"(%e) : (tensor<?x1xf32>) -> tensor<?xf32>
  return %f : tensor<?xf32>
}

// One transposition stays, also of what is none. Of tensors of unknown rank nothing is known of the axes: two stay two,
// and so do two of which one has a known rank.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: tensor<2x3xf32>, %[[Y:[a-z0-9_]+]]: tensor<*xf32>)
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[E]]) {axes} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[Q:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[Y]]) {axes} : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[Q]]) {axes} : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT: return %[[P]], %[[R]] :
func.func @transposed(%x: tensor<2x3xf32>, %y: tensor<*xf32>) -> (tensor<3x2xf32>, tensor<*xf32>) {
  %e = "relax.exp"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %p = "relax.permute_dims"(%e) {axes = unit} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %q = "relax.permute_dims"(%y) {axes = unit} : (tensor<*xf32>) -> tensor<*xf32>
  %r = "relax.permute_dims"(%q) {axes = unit} : (tensor<*xf32>) -> tensor<*xf32>
  return %p, %r : tensor<3x2xf32>, tensor<*xf32>
}
// CHECK-LABEL: func.func @one_rank
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.permute_dims"(%{{.*}}) {axes} : (tensor<2x3xf32>) -> tensor<*xf32>
// CHECK-NEXT: %[[Q:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[P]]) {axes} : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.permute_dims"(%{{.*}}) {axes = [1, 0]} : (tensor<*xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[R]]) {axes = [1, 0]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: return %[[Q]], %[[S]] :
func.func @one_rank(%x: tensor<2x3xf32>, %y: tensor<*xf32>) -> (tensor<*xf32>, tensor<?x?xf32>) {
  %p = "relax.permute_dims"(%x) {axes = unit} : (tensor<2x3xf32>) -> tensor<*xf32>
  %q = "relax.permute_dims"(%p) {axes = unit} : (tensor<*xf32>) -> tensor<*xf32>
  %r = "relax.permute_dims"(%y) {axes = [1, 0]} : (tensor<*xf32>) -> tensor<?x?xf32>
  %s = "relax.permute_dims"(%r) {axes = [1, 0]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %q, %s : tensor<*xf32>, tensor<?x?xf32>
}
