// RUN: relax-opt %s --protect-carried | filecheck %s

func.func private @computed(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// What a round was given, a branch in it hands on, or is carried on twice is copied; all copies come before the first tensor is written.

// CHECK-LABEL: func.func @as_it_is
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = {{.*}}, %[[B:.*]] = {{.*}}, %[[C:.*]] = {{.*}})
// CHECK: %[[NEW:.*]] = func.call @computed
// CHECK: %[[EITHER:.*]] = scf.if
// CHECK: %[[B_COPY:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK-NEXT: %[[EITHER_COPY:.*]] = bufferization.alloc_tensor() copy(%[[EITHER]])
// CHECK-NEXT: bufferization.materialize_in_destination %[[B_COPY]] in %[[A]] :
// CHECK-NEXT: bufferization.materialize_in_destination %[[EITHER_COPY]] in %[[B]] :
// CHECK-NEXT: bufferization.materialize_in_destination %[[NEW]] in %[[C]] :
func.func @as_it_is(%x: tensor<?xf32>, %n: index, %f: i1) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %x) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
    %e = tensor.empty(%n) : tensor<?xf32>
    %new = func.call @computed(%a, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %either = scf.if %f -> tensor<?xf32> {
      scf.yield %a : tensor<?xf32>
    } else {
      scf.yield %new : tensor<?xf32>
    }
    %1 = bufferization.materialize_in_destination %b in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %2 = bufferization.materialize_in_destination %either in %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %3 = bufferization.materialize_in_destination %new in %c : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %1, %2, %3 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @twice
// CHECK: %[[NEW:.*]] = func.call @computed
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[NEW]])
// CHECK-NEXT: bufferization.materialize_in_destination %[[NEW]] in
// CHECK-NEXT: bufferization.materialize_in_destination %[[COPY]] in
func.func @twice(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (tensor<?xf32>, tensor<?xf32>) {
    %e = tensor.empty(%n) : tensor<?xf32>
    %new = func.call @computed(%a, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %1 = bufferization.materialize_in_destination %new in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %2 = bufferization.materialize_in_destination %new in %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %1, %2 : tensor<?xf32>, tensor<?xf32>
  }
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xf32>
}

// What is copied into a buffer needs no copy before; a declared function is taken to compute its result. A tensor that is
// no parameter may be the destination, too. What comes after these is still protected.

// CHECK-LABEL: func.func @others
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = {{.*}}, %[[B:.*]] = {{.*}})
// CHECK-NEXT: %[[MADE:.*]] = func.call @declared(%[[A]])
// CHECK-NEXT: bufferization.materialize_in_destination %[[A]] in restrict writable
// CHECK-NEXT: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK-NEXT: bufferization.materialize_in_destination %[[MADE]] in %[[A]] :
// CHECK-NEXT: bufferization.materialize_in_destination %[[COPY]] in %[[B]] :
// CHECK: %[[LAST:.*]] = bufferization.alloc_tensor() copy(%{{.*}}#0)
// CHECK-NEXT: bufferization.materialize_in_destination %[[LAST]] in %{{.*}}
func.func private @declared(tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func}
func.func @others(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %buffer = memref.alloc(%n) : memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0, %1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %2 = func.call @declared(%a) : (tensor<?xf32>) -> tensor<?xf32>
    bufferization.materialize_in_destination %a in restrict writable %buffer : (tensor<?xf32>, memref<?xf32>) -> ()
    %3 = bufferization.materialize_in_destination %2 in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %4 = bufferization.materialize_in_destination %a in %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %3, %4 : tensor<?xf32>, tensor<?xf32>
  }
  %e = tensor.empty(%n) : tensor<?xf32>
  %5 = bufferization.materialize_in_destination %0 in %e : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %5 : tensor<?xf32>
}
