// A prim func on memory takes a loop over its result where it stores that. (`prim_merging.py`)
// RUN: relax-opt %s --fuse-ops --explain-fusion -o %t 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=IR < %t

// CHECK: fused  taken: twice (opaque) into add_relu (broadcast)
// CHECK-NEXT: computed where it is stored; saves
// CHECK: apart  read_again: sums (opaque) from relu (elementwise)
// CHECK-NEXT: sums reads its result, or passes it on
// CHECK: apart  turned: twice (opaque) from transposed (injective)
// CHECK-NEXT: read in another order
// CHECK: apart  used_twice: twice (opaque) from relu (elementwise)
// CHECK-NEXT: several users

// IR-LABEL: func.func @taken(
// IR: callee = @twice_add_relu, tir_vars = []
// IR-NEXT: return
// IR-LABEL: func.func private @twice_add_relu(
// IR-SAME: %[[A:[a-z0-9_]+]]: memref<?x4xf32>, %[[B:[a-z0-9_]+]]: memref<4xf32>, %[[OUT:[a-z0-9_]+]]: memref<?x4xf32>)
// IR: scf.for %[[I:[a-z0-9_]+]] =
// IR: scf.for %[[J:[a-z0-9_]+]] =
// IR: %[[X:[a-z0-9_]+]] = memref.load %[[A]][%[[I]], %[[J]]]
// IR: %[[TWICE:[a-z0-9_]+]] = arith.addf %[[X]], %[[X]] :
// IR: %[[Y:[a-z0-9_]+]] = memref.load %[[B]][%[[J]]]
// IR: %[[SUM:[a-z0-9_]+]] = arith.addf %[[TWICE]], %[[Y]] :
// IR: %[[RELU:[a-z0-9_]+]] = arith.maximumf %[[SUM]],
// IR: memref.store %[[RELU]], %[[OUT]][%[[I]], %[[J]]]

#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
!x = tensor<?x4xf32, #relax.shape<["n", 4]>>

func.func @taken(%x: !x, %b: tensor<4xf32>) -> !x {
  %0 = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
  %1 = "relax.call_tir"(%0) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
  %2 = builtin.unrealized_conversion_cast %1, %b : !x, tensor<4xf32> to tuple<!x, tensor<4xf32>>
  %3 = "relax.call_tir"(%2) {callee = @add_relu, tir_vars = []} : (tuple<!x, tensor<4xf32>>) -> !x
  return %3 : !x
}

func.func @read_again(%x: !x) -> !x {
  %0 = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
  %1 = "relax.call_tir"(%0) {callee = @sums, tir_vars = []} : (tuple<!x>) -> !x
  %2 = builtin.unrealized_conversion_cast %1 : !x to tuple<!x>
  %3 = "relax.call_tir"(%2) {callee = @relu, tir_vars = []} : (tuple<!x>) -> !x
  return %3 : !x
}

func.func @turned(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4x4xf32> to tuple<tensor<4x4xf32>>
  %1 = "relax.call_tir"(%0) {callee = @twice, tir_vars = []} : (tuple<tensor<4x4xf32>>) -> tensor<4x4xf32>
  %2 = builtin.unrealized_conversion_cast %1 : tensor<4x4xf32> to tuple<tensor<4x4xf32>>
  %3 = "relax.call_tir"(%2) {callee = @transposed, tir_vars = []} : (tuple<tensor<4x4xf32>>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

func.func @used_twice(%x: !x) -> (!x, !x) {
  %0 = builtin.unrealized_conversion_cast %x : !x to tuple<!x>
  %1 = "relax.call_tir"(%0) {callee = @twice, tir_vars = []} : (tuple<!x>) -> !x
  %2 = builtin.unrealized_conversion_cast %1 : !x to tuple<!x>
  %3 = "relax.call_tir"(%2) {callee = @relu, tir_vars = []} : (tuple<!x>) -> !x
  return %1, %3 : !x, !x
}

func.func private @twice(%a: memref<?x4xf32>, %out: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %a, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i, %j] : memref<?x4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %out[%i, %j] : memref<?x4xf32>
    } {relax.loop = "vectorized"}
  }
  return
}

func.func private @sums(%a: memref<?x4xf32>, %out: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i, %c0] : memref<?x4xf32>
    %y = memref.load %out[%i, %c0] : memref<?x4xf32>
    %z = arith.addf %x, %y : f32
    memref.store %z, %out[%i, %c0] : memref<?x4xf32>
  }
  return
}

func.func private @add_relu(%x: tensor<?x4xf32>, %b: tensor<4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.pattern = "broadcast", relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#same, #row, #same], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<?x4xf32>, tensor<4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %1 = arith.addf %p, %q : f32
    %2 = arith.maximumf %1, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

func.func private @relu(%x: tensor<?x4xf32>, %out: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %1 = arith.maximumf %p, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

func.func private @transposed(%x: tensor<4x4xf32>, %out: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {relax.pattern = "injective", relax.prim_func} {
  %0 = linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%out : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
