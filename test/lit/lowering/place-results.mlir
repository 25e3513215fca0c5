// RUN: relax-opt %s --split-input-file --place-results | filecheck %s

func.func private @double(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}

// The call that makes the result writes into the destination; the one before keeps its own tensor.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK: %[[OWN:.*]] = tensor.empty
// CHECK: %[[FIRST:.*]] = call @double(%[[X]], %[[OWN]])
// CHECK: %[[SECOND:.*]] = call @double(%[[FIRST]], %[[OUT]])
// CHECK: bufferization.materialize_in_destination %[[SECOND]] in %[[OUT]] :
func.func @chain(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e0 = tensor.empty(%n) : tensor<?xf32>
  %0 = func.call @double(%x, %e0) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %e1 = tensor.empty(%n) : tensor<?xf32>
  %1 = func.call @double(%0, %e1) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %r = bufferization.materialize_in_destination %1 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Through a cast, the destination is seen with the type that the call takes.

// CHECK-LABEL: func.func @cast
// CHECK-SAME: %[[OUT:[^:]*]]: tensor<4xf32>)
// CHECK: %[[SEEN:.*]] = tensor.cast %[[OUT]] : tensor<4xf32> to tensor<?xf32>
// CHECK: call @double(%{{.*}}, %[[SEEN]])
func.func @cast(%x: tensor<?xf32>, %out: tensor<4xf32>) -> tensor<4xf32> {
  %c4 = arith.constant 4 : index
  %e = tensor.empty(%c4) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
  %r = bufferization.materialize_in_destination %1 in %out : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Other users may read the destination with another type.

// CHECK-LABEL: func.func @cast_shared
// CHECK: %[[SEEN:.*]] = tensor.cast
// CHECK: call @double(%{{.*}}, %[[SEEN]])
func.func @cast_shared(%x: tensor<?xf32>, %out: tensor<4xf32>) -> (tensor<4xf32>, f32) {
  %c4 = arith.constant 4 : index
  %e = tensor.empty(%c4) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %v = tensor.extract %0[%c4] : tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
  %r = bufferization.materialize_in_destination %1 in %out : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r, %v : tensor<4xf32>, f32
}

// A parameter that is returned is not the result of a call: it is copied later, and nothing changes here.

// CHECK-LABEL: func.func @parameter
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK-NEXT: %[[R:.*]] = bufferization.materialize_in_destination %[[X]] in %[[OUT]] :
// CHECK-NEXT: return %[[R]] :
func.func @parameter(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %r = bufferization.materialize_in_destination %x in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A copy stands between a tensor whose size a check has yet to confirm and the destination: the call keeps its own.

// CHECK-LABEL: func.func @checked
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK: %[[OWN:.*]] = tensor.empty
// CHECK: %[[MADE:.*]] = call @double(%[[X]], %[[OWN]])
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[MADE]])
// CHECK: bufferization.materialize_in_destination %[[COPY]] in %[[OUT]] :
func.func @checked(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = bufferization.alloc_tensor() copy(%0) : tensor<?xf32>
  %r = bufferization.materialize_in_destination %1 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// What a loop of one round has left: its destination is no longer one.

// CHECK-LABEL: func.func @one_round
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK: %[[ROUND:.*]] = call @double(%[[X]], %{{.*}})
// CHECK-NOT: materialize_in_destination {{.*}} in %[[X]]{{\b}}
// CHECK: call @double(%[[ROUND]], %[[OUT]])
func.func @one_round(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e0 = tensor.empty(%n) : tensor<?xf32>
  %0 = func.call @double(%x, %e0) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = bufferization.materialize_in_destination %0 in %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %e1 = tensor.empty(%n) : tensor<?xf32>
  %2 = func.call @double(%1, %e1) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %r = bufferization.materialize_in_destination %2 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Sizes are no elements: a destination whose size is read is still filled by the call. One whose elements are read is
// not, nor is one that a call in another block would fill.

// CHECK-LABEL: func.func @sizes
// CHECK-SAME: %[[OUT:[^:]*]]: tensor<?xf32>)
// CHECK: call @double(%{{.*}}, %[[OUT]])
func.func @sizes(%x: tensor<?xf32>, %out: tensor<?xf32>) -> (tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %out, %c0 : tensor<?xf32>
  %m = tensor.dim %out, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %r = bufferization.materialize_in_destination %0 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r, %m : tensor<?xf32>, index
}

// CHECK-LABEL: func.func @elements
// CHECK: %[[OWN:.*]] = tensor.empty
// CHECK: call @double(%{{.*}}, %[[OWN]])
func.func @elements(%x: tensor<?xf32>, %n: index, %out: tensor<?xf32>) -> (tensor<?xf32>, f32) {
  %v = tensor.extract %out[%n] : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %r = bufferization.materialize_in_destination %0 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r, %v : tensor<?xf32>, f32
}

// CHECK-LABEL: func.func @before_branch
// CHECK: %[[OWN:.*]] = tensor.empty
// CHECK: call @double(%{{.*}}, %[[OWN]])
func.func @before_branch(%x: tensor<?xf32>, %n: index, %f: i1, %out: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %r = scf.if %f -> tensor<4xf32> {
    %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
    %2 = bufferization.materialize_in_destination %1 in %out : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    scf.yield %out : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// What a loop carries is read by the call that writes it; what is copied into a buffer is not looked at.

// CHECK-LABEL: func.func @carried
// CHECK: scf.for
// CHECK-NEXT: %[[OWN:.*]] = tensor.empty
// CHECK-NEXT: func.call @double(%{{.*}}, %[[OWN]])
// CHECK-NEXT: bufferization.materialize_in_destination %{{.*}} in restrict writable
// CHECK-NEXT: bufferization.materialize_in_destination
// CHECK-NOT: materialize_in_destination
// CHECK: return
func.func @carried(%x: tensor<?xf32>, %n: index, %buffer: memref<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %e = tensor.empty(%n) : tensor<?xf32>
    %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    bufferization.materialize_in_destination %0 in restrict writable %buffer : (tensor<?xf32>, memref<?xf32>) -> ()
    %1 = bufferization.materialize_in_destination %0 in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %1 : tensor<?xf32>
  }
  %stray = bufferization.materialize_in_destination %last in %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2 = tensor.cast %stray : tensor<?xf32> to tensor<?xf32>
  return %2 : tensor<?xf32>
}
// -----
// What is computed in another shape: the destination is seen as the call's result is.

// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: %[[OUT:[A-Za-z0-9_]+]]: tensor<?x4xf32>)
// CHECK: %[[FLAT:[A-Za-z0-9_]+]] = tensor.collapse_shape %[[OUT]] [
// CHECK: %[[BUFFER:[A-Za-z0-9_]+]] = bufferization.to_buffer %[[FLAT]] :
// CHECK: %[[SEEN:[A-Za-z0-9_]+]] = bufferization.to_tensor %[[BUFFER]] restrict writable
// CHECK: call @double(%{{.*}}, %[[SEEN]])
func.func private @double(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
func.func @reshaped(%x: tensor<?xf32>, %n: index, %out: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [%n, 4] : tensor<?xf32> into tensor<?x4xf32>
  %r = bufferization.materialize_in_destination %1 in %out : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// A result that somebody else reads in the first shape is copied.

// CHECK-LABEL: func.func @shared
// CHECK: %[[OWN:[A-Za-z0-9_]+]] = tensor.empty
// CHECK: call @double(%{{.*}}, %[[OWN]])
func.func @shared(%x: tensor<?xf32>, %n: index, %out: tensor<?x4xf32>) -> (tensor<?x4xf32>, f32) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %0 = func.call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [%n, 4] : tensor<?xf32> into tensor<?x4xf32>
  %first = tensor.extract %0[%c0] : tensor<?xf32>
  %r = bufferization.materialize_in_destination %1 in %out : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r, %first : tensor<?x4xf32>, f32
}
// -----
// A prim func on buffers fills the destination, not a buffer that is copied afterwards; nobody may write into it later.

// CHECK-LABEL: func.func @buffer
// CHECK-SAME: %[[OUT:[A-Za-z0-9_]+]]: tensor<?xf32>)
// CHECK-NOT: memref.alloc
// CHECK: %[[MEMORY:[A-Za-z0-9_]+]] = bufferization.to_buffer %[[OUT]] :
// CHECK-NEXT: call @fill(%[[MEMORY]])
// CHECK: %[[MADE:[A-Za-z0-9_]+]] = bufferization.to_tensor %[[MEMORY]] restrict :
// CHECK: bufferization.materialize_in_destination %[[MADE]] in %[[OUT]] :
func.func private @fill(%out: memref<?xf32>) attributes {relax.prim_func} {
  return
}
func.func @buffer(%n: index, %out: tensor<?xf32>) -> tensor<?xf32> {
  %own = memref.alloc(%n) : memref<?xf32>
  func.call @fill(%own) : (memref<?xf32>) -> ()
  %0 = bufferization.to_tensor %own restrict writable : memref<?xf32> to tensor<?xf32>
  %r = bufferization.materialize_in_destination %0 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A buffer that is given stays.

// CHECK-LABEL: func.func @given
// CHECK-NEXT: bufferization.to_tensor %{{.*}} restrict writable
func.func @given(%own: memref<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %0 = bufferization.to_tensor %own restrict writable : memref<?xf32> to tensor<?xf32>
  %r = bufferization.materialize_in_destination %0 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A buffer that something else fills, too, stays.

// CHECK-LABEL: func.func @filled
// CHECK: %[[OWN:[A-Za-z0-9_]+]] = memref.alloc
// CHECK: call @fill(%[[OWN]])
func.func @filled(%n: index, %v: f32, %out: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %own = memref.alloc(%n) : memref<?xf32>
  func.call @fill(%own) : (memref<?xf32>) -> ()
  memref.store %v, %own[%c0] : memref<?xf32>
  %0 = bufferization.to_tensor %own restrict writable : memref<?xf32> to tensor<?xf32>
  %r = bufferization.materialize_in_destination %0 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// -----
// Views are followed from the outermost to the call. Sizes are known of the innermost alone: a shape that would be
// expanded before is left.

func.func private @double(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.prim_func} {
  return %out : tensor<?x4xf32>
}
// CHECK-LABEL: func.func @inner_expanded
// CHECK-SAME: %[[N:[A-Za-z0-9_]+]]: index, %[[OUT:[A-Za-z0-9_]+]]: tensor<?x2x2xf32>)
// CHECK: %[[FLAT:[A-Za-z0-9_]+]] = tensor.collapse_shape %[[OUT]] {{\[}}[0, 1, 2]] : tensor<?x2x2xf32> into tensor<?xf32>
// CHECK-NEXT: %[[ROWS:[A-Za-z0-9_]+]] = tensor.expand_shape %[[FLAT]] {{\[}}[0, 1]] output_shape [%[[N]], 4]
// CHECK: %[[SEEN:[A-Za-z0-9_]+]] = bufferization.to_tensor
// CHECK: call @double(%{{.*}}, %[[SEEN]])
func.func @inner_expanded(%x: tensor<?x4xf32>, %n: index, %out: tensor<?x2x2xf32>) -> tensor<?x2x2xf32> {
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %0 = func.call @double(%x, %e) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  %2 = tensor.expand_shape %1 [[0, 1, 2]] output_shape [%n, 2, 2] : tensor<?xf32> into tensor<?x2x2xf32>
  %r = bufferization.materialize_in_destination %2 in %out : (tensor<?x2x2xf32>, tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  return %r : tensor<?x2x2xf32>
}

// CHECK-LABEL: func.func @outer_expanded
// CHECK: %[[OWN:[A-Za-z0-9_]+]] = tensor.empty
// CHECK-NEXT: call @double(%{{.*}}, %[[OWN]])
func.func @outer_expanded(%x: tensor<?x4xf32>, %n: index, %out: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %0 = func.call @double(%x, %e) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [%n, 2, 2] : tensor<?x4xf32> into tensor<?x2x2xf32>
  %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<?x2x2xf32> into tensor<?x2xf32>
  %r = bufferization.materialize_in_destination %2 in %out : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}
