// RUN: relax-opt %s --protect-carried | filecheck %s
// RUN: relax-opt %s --protect-carried --one-shot-bufferize="bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map" | filecheck %s --check-prefix=BUFFERS

func.func private @handed_on(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %x : tensor<?xf32>
}

func.func private @computed(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Two tensors take each other's place: the one that a call hands on as it is is copied before the first is written.

// CHECK-LABEL: func.func @exchange
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = {{.*}}, %[[B:.*]] = {{.*}})
// CHECK: %[[SAME:.*]] = func.call @handed_on(%[[A]],
// CHECK: %[[OTHER:.*]] = func.call @computed(%[[B]],
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[SAME]])
// CHECK-NEXT: bufferization.materialize_in_destination %[[OTHER]] in %[[A]] :
// CHECK-NEXT: bufferization.materialize_in_destination %[[COPY]] in %[[B]] :
// BUFFERS-LABEL: func.func @exchange
// BUFFERS: memref.copy
func.func @exchange(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %0, %1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %2 = func.call @handed_on(%a, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %3 = func.call @computed(%b, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %4 = bufferization.materialize_in_destination %3 in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %5 = bufferization.materialize_in_destination %2 in %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %4, %5 : tensor<?xf32>, tensor<?xf32>
  }
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// Through two calls and a view of one of them, too.

// CHECK-LABEL: func.func @seen
// CHECK: %[[VIEW:.*]] = tensor.cast
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[VIEW]])
// CHECK: bufferization.materialize_in_destination %[[COPY]] in
func.func @seen(%x: tensor<?xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<?xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %0, %1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<4xf32>) {
    %2 = func.call @handed_on(%a, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %3 = func.call @handed_on(%2, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %4 = tensor.cast %3 : tensor<?xf32> to tensor<4xf32>
    %5 = bufferization.materialize_in_destination %4 in %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a, %5 : tensor<?xf32>, tensor<4xf32>
  }
  return %0, %1 : tensor<?xf32>, tensor<4xf32>
}

// What a call computes needs no copy, nor does the destination of a function.

// CHECK-LABEL: func.func @fresh
// CHECK-NOT: alloc_tensor
// CHECK: return
func.func @fresh(%x: tensor<?xf32>, %n: index, %out: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %2 = func.call @computed(%a, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %3 = func.call @handed_on(%2, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %4 = bufferization.materialize_in_destination %3 in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %4 : tensor<?xf32>
  }
  %5 = func.call @handed_on(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %6 = bufferization.materialize_in_destination %5 in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %6 : tensor<?xf32>
}
