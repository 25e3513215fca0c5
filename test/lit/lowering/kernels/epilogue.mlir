// epilogue.py: elementwise work behind a product runs on blocks of its result as soon as they are complete.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --linalg-to-loops="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=LOOPS

// The epilogue stands in a function; the product takes it and the addresses of its operands as arguments.
// CHECK-LABEL: func.func @bias_relu
// CHECK-NOT: linalg.
// CHECK: %[[WORDS:.*]] = memref.alloca() : memref<6xindex>
// CHECK: %[[F:.*]] = constant @relax.gemm.f32.epilogue_0
// CHECK: %[[CAST:.*]] = memref.cast %[[WORDS]] :
// CHECK: call @relax.gemm.f32.finished({{.*}}, %[[F]], %[[CAST]], %{{[a-z_0-9]+}})
// CHECK-NEXT: return
func.func @bias_relu(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %x: memref<?xf32>, %c: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  }
  return
}

// Something between the two may touch memory: the elementwise work stays what it is.
// CHECK-LABEL: func.func @not_next
// CHECK: call @relax.gemm.f32(
// CHECK: memref.store
// CHECK: linalg.generic
func.func @not_next(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %x: memref<?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  %one = arith.constant 1.0 : f32
  %at = arith.constant 0 : index
  memref.store %one, %x[%at] : memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  }
  return
}

// It runs on the part of the result that has its last sums.
// CHECK: func.func private @relax.gemm.f32.epilogue_0(
// CHECK: linalg.generic
// CHECK: {relax.vectors_per_body = 2 : i64}
// CHECK: func.func private @relax.gemm.f32.packed(
// CHECK: arith.cmpi eq
// CHECK: call @relax.gemm.f32.block
// CHECK: func.func private @relax.gemm.f32.block(
// CHECK: call @relax.gemm.f32.tile_narrow
// CHECK: call @relax.gemm.f32.tile_6
// CHECK-NEXT: }
// CHECK-NEXT: scf.if
// CHECK: func.call_indirect

// A row of a tile is two vectors wide, which are computed side by side, as one.
// LOOPS: func.func private @relax.gemm.f32.epilogue_0(
// LOOPS: scf.for {{.*}} step %c16{{[_0-9]*}} {
// LOOPS: arith.maximumf {{.*}} : vector<16xf32>
// LOOPS-NOT: arith.maximumf
// LOOPS: scf.for {{.*}} step %c8{{[_0-9]*}} {
