// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s
// RUN: relax-opt --select-kernels="target='cpu -mcpu=skylake-avx512'" --split-input-file %s | filecheck %s --check-prefix=AVX512

// row_norms.py, rows.py: exponentials of two vectors go side by side, then those of one, then what is left, under a mask. While a
// row is scaled, the maximum of the next one is found, unless there is none.
// CHECK-LABEL: func.func private @softmax
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x?xf32>, %[[OUT:[a-z0-9_]+]]: memref<?x?xf32>)
// CHECK-NOT: linalg
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = %[[FIRST_ROW:[a-z0-9_]+]] to %[[STOP:[A-Za-z0-9_]+]] {{.*}} iter_args(%[[FOUND:[a-z0-9_]+]] =
// CHECK: %[[IS_FIRST:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[ROW]], %[[FIRST_ROW]] :
// CHECK: %[[BEST:[A-Za-z0-9_]+]] = scf.if %[[IS_FIRST]] ->
// CHECK: vector.reduction <maxnumf>, %{{[A-Za-z0-9_]+}} fastmath<nnan> : vector<8xf32> into f32
// CHECK: else
// CHECK-NEXT: scf.yield %[[FOUND]] :
// CHECK: memref.prefetch {{.*}} read, locality<2>
// CHECK: arith.shli %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<16xi32>
// CHECK: vector.shuffle {{.*}} [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf32>
// CHECK: arith.shli %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<8xi32>
// CHECK: vector.maskedstore
// CHECK: vector.reduction <add>, %{{[A-Za-z0-9_]+}} fastmath<reassoc> : vector<8xf32> into f32
// CHECK: %[[NEXT:[A-Za-z0-9_]+]] = arith.addi %[[ROW]], %c1
// CHECK: arith.cmpi ult, %[[NEXT]], %[[STOP]] :
// CHECK: %[[BEST_OF_NEXT:[A-Za-z0-9_]+]] = scf.if
// CHECK: vector.load {{.*}}[%[[NEXT]], {{.*}} vector<16xf32>
// CHECK: vector.store {{.*}}[%[[ROW]], {{.*}} vector<16xf32>
// CHECK: vector.reduction <maxnumf>, %{{[A-Za-z0-9_]+}} fastmath<nnan> : vector<8xf32> into f32
// CHECK: else
// CHECK-NOT: vector.load {{.*}}[%[[NEXT]],
// CHECK: scf.yield %[[BEST_OF_NEXT]] :
// CHECK: return
// AVX512-LABEL: func.func private @softmax
// AVX512-COUNT-4: memref.prefetch {{.*}} read, locality<2>
// AVX512: math.fma {{.*}} : vector<64xf32>
// AVX512-COUNT-4: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
// AVX512-COUNT-6: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// AVX512-NOT: x86.
// AVX512: return
func.func private @softmax(%x: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  return
}
// -----
// A row length that is a multiple of the vectors in a step needs no mask.
// CHECK-LABEL: func.func private @layer_norm
// CHECK-NOT: vector<{{[0-9]+}}xi1>
// CHECK: math.sqrt
// CHECK: return
func.func private @layer_norm(%x: memref<?x384xf32>, %g: memref<384xf32>, %b: memref<384xf32>, %out: memref<?x384xf32>)
    attributes {relax.prim_func, relax.kernel = "layer_norm",
                relax.kernel_attrs = {axes = [1 : i64], epsilon = 1.0e-5 : f64}} {
  return
}
// -----
// Only the last axis is supported: the body stays.
// CHECK-LABEL: func.func private @other_axis
// CHECK: linalg.copy
func.func private @other_axis(%x: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 0 : i64}} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  return
}
// -----
// select_kernels.py, row_norms.py, rows.py: RMS norm scales by a reciprocal root, with no mean to subtract.
// CHECK-LABEL: func.func private @rms_norm
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x8xf32>, %[[W:[a-z0-9_]+]]: memref<8xf32>, %[[OUT:[a-z0-9_]+]]: memref<?x8xf32>)
// CHECK-NOT: linalg
// CHECK: %[[XB:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[X]] :
// CHECK: %[[XV:[a-z0-9_]+]] = memref.reinterpret_cast %[[XB]] to
// CHECK: %[[WB:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[W]] :
// CHECK: %[[WV:[a-z0-9_]+]] = memref.reinterpret_cast %[[WB]] to
// CHECK: %[[OB:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[OUT]] :
// CHECK: %[[OV:[a-z0-9_]+]] = memref.reinterpret_cast %[[OB]] to
// CHECK-NOT: arith.subf
// CHECK: memref.prefetch %[[XV]][{{.*}} read, locality<2>
// CHECK-NEXT: %[[LINE:[A-Za-z0-9_]+]] = vector.load %[[XV]][
// CHECK-NEXT: math.fma %[[LINE]], %[[LINE]],
// CHECK: vector.reduction <add>
// CHECK: math.sqrt
// CHECK: vector.load %[[WV]][
// CHECK-NEXT: vector.load %[[XV]][
// CHECK: vector.store %{{[A-Za-z0-9_]+}}, %[[OV]][
// CHECK-NOT: arith.subf
// CHECK: return
func.func private @rms_norm(%x: memref<?x8xf32>, %w: memref<8xf32>, %out: memref<?x8xf32>)
    attributes {relax.prim_func, relax.kernel = "rms_norm",
                relax.kernel_attrs = {axes = [1 : i64], epsilon = 1.0e-5 : f64}} {
  linalg.copy ins(%x : memref<?x8xf32>) outs(%out : memref<?x8xf32>)
  return
}
// -----
// CHECK-LABEL: func.func private @log_softmax
// CHECK-NOT: linalg
// CHECK: vector.reduction <maxnumf>
// CHECK: math.exp %{{[A-Za-z0-9_]+}} : vector<4xf64>
// CHECK: vector.reduction <add>
// CHECK: math.log %{{[a-z0-9_]+}} : vector<4xf64>
// CHECK: return
func.func private @log_softmax(%x: memref<?x?xf64>, %out: memref<?x?xf64>)
    attributes {relax.prim_func, relax.kernel = "log_softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  linalg.copy ins(%x : memref<?x?xf64>) outs(%out : memref<?x?xf64>)
  return
}
// -----
// Halves are computed in f32 and rounded once; their exponentials are not stored, but computed twice.
// CHECK-LABEL: func.func private @softmax_half
// CHECK-NOT: linalg
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK-NEXT: arith.extf %{{[A-Za-z0-9_]+}} : vector<8xbf16> to vector<8xf32>
// CHECK: vector.reduction <add>
// CHECK: math.fma %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<16xf32>
// CHECK: vector.store %{{[A-Za-z0-9_]+}}, {{.*}} vector<16xbf16>
// CHECK: return
func.func private @softmax_half(%x: memref<?x64xbf16>, %out: memref<?x64xbf16>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  return
}
