// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" | filecheck %s
// contraction.py: products with equal epilogues have one function for them, others have their own.

// CHECK-LABEL: func.func @first
// CHECK: constant @relax.gemm.f32.epilogue_0
func.func @first(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %x: memref<?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @same
// CHECK: constant @relax.gemm.f32.epilogue_0
func.func @same(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %x: memref<?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  }
  return
}

// The same body, on rows instead of columns.
// CHECK-LABEL: func.func @by_rows
// CHECK: constant @relax.gemm.f32.epilogue_1
func.func @by_rows(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %x: memref<?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK: func.func private @relax.gemm.f32.epilogue_0(
// CHECK: func.func private @relax.gemm.f32.epilogue_1(
// CHECK-NOT: relax.gemm.f32.epilogue_2
