// contraction.py, lower_contractions.py, gemm_micro.py: a rounding behind a product is left to the tiles, which write the result themselves.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=sapphirerapids'" | filecheck %s --check-prefix=AMX

// If the depth is that of one block; else sums of some rows lie in memory, where the epilogue finds them.
// CHECK-LABEL: func.func @rounded(
// CHECK: %[[ROUND:.*]] = constant @relax.gemm.bf16.f32.epilogue_0 :
// CHECK: %[[NONE:.*]] = constant @relax.gemm.nothing :
// CHECK: scf.if
// CHECK-NOT: memref.alloc(
// CHECK: func.call @relax.gemm.bf16.f32.finished({{.*}}, %[[NONE]], %{{[a-z_0-9]+}}, %{{true[_0-9]*}})
// CHECK-NEXT: } else {
// CHECK: memref.alloc(
// CHECK: func.call @relax.gemm.bf16.f32.finished({{.*}}, %[[ROUND]], %{{[a-z_0-9]+}}, %{{false[_0-9]*}})
// CHECK: return

// Tiles of AMX do not round.
// AMX-LABEL: func.func @rounded(
// AMX-NOT: relax.gemm.nothing
// AMX: call @relax.gemm.bf16.f32.finished({{.*}}, %{{false[_0-9]*}})
// AMX: return
func.func @rounded(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %d: memref<?x?xbf16>, %m: index, %n: index) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%c : memref<?x?xf32>) outs(%d : memref<?x?xbf16>) {
  ^bb0(%u: f32, %v: bf16):
    %s = arith.truncf %u : f32 to bf16
    linalg.yield %s : bf16
  }
  memref.dealloc %c : memref<?x?xf32>
  return
}

// Work before the rounding is an epilogue.
// CHECK-LABEL: func.func @work_before(
// CHECK-NOT: relax.gemm.nothing
// CHECK: call @relax.gemm.bf16.f32.finished({{.*}}, %{{false[_0-9]*}})
// CHECK: return
func.func @work_before(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %d: memref<?x?xbf16>, %m: index, %n: index) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%c : memref<?x?xf32>) outs(%d : memref<?x?xbf16>) {
  ^bb0(%u: f32, %v: bf16):
    %p = arith.maximumf %u, %zero : f32
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  }
  memref.dealloc %c : memref<?x?xf32>
  return
}

// Tiles round to the type of their operands only.
// CHECK-LABEL: func.func @other_type(
// CHECK-NOT: relax.gemm.nothing
// CHECK: call @relax.gemm.bf16.f32.finished({{.*}}, %{{false[_0-9]*}})
// CHECK: return
func.func @other_type(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %d: memref<?x?xf16>, %m: index, %n: index) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%c : memref<?x?xf32>) outs(%d : memref<?x?xf16>) {
  ^bb0(%u: f32, %v: f16):
    %s = arith.truncf %u : f32 to f16
    linalg.yield %s : f16
  }
  memref.dealloc %c : memref<?x?xf32>
  return
}

// The sums are read elsewhere, too.
// CHECK-LABEL: func.func @sums_are_given(
// CHECK-NOT: relax.gemm.nothing
// CHECK: call @relax.gemm.bf16.f32.finished({{.*}}, %{{false[_0-9]*}})
// CHECK: return
func.func @sums_are_given(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>, %d: memref<?x?xbf16>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%c : memref<?x?xf32>) outs(%d : memref<?x?xbf16>) {
  ^bb0(%u: f32, %v: bf16):
    %s = arith.truncf %u : f32 to bf16
    linalg.yield %s : bf16
  }
  return
}
