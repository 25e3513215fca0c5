// RUN: relax-opt --select-kernels="target='cpu -mcpu=skylake-avx512 -num-threads=1'" %s | filecheck %s
// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell -num-threads=1'" %s | filecheck %s --check-prefix=HASWELL
// row_norms.py, rows.py: with many operations behind a norm, the last sweep over a row finds the sums of the next but one.

// The registers of AVX2 are too few: the operations have a sweep of their own.
// HASWELL-LABEL: func.func private @many_operations
// HASWELL: math.fma
// HASWELL: vector.store
// HASWELL: linalg.generic
// HASWELL: math.exp %{{[a-z0-9_]+}} : f32
// HASWELL: return

#all = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func private @many_operations
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x768xf32>, %[[W:[a-z0-9_]+]]: memref<768xf32>, %[[OUT:[a-z0-9_]+]]: memref<?x768xf32>)
// CHECK: %[[XB:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[X]] :
// CHECK: %[[XV:[a-z0-9_]+]] = memref.reinterpret_cast %[[XB]] to
// CHECK: %[[WB:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[W]] :
// CHECK: %[[WV:[a-z0-9_]+]] = memref.reinterpret_cast %[[WB]] to
// CHECK: %[[OB:[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata %[[OUT]] :
// CHECK: %[[OV:[a-z0-9_]+]] = memref.reinterpret_cast %[[OB]] to
// CHECK: func.call @relax.parallel_cost
// The first row, then the second, if there is one.
// CHECK: vector.reduction <add>
// CHECK: math.sqrt
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = arith.divf
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = scf.if
// CHECK: vector.reduction <add>
// CHECK: else
// A row's number comes from the iteration before, made of sums of the iteration before that.
// CHECK: scf.for %[[ROW:[a-z0-9_]+]] = {{.*}} iter_args(%[[FACTOR:[a-z0-9_]+]] = %[[FIRST]], %[[SUMS:[a-z0-9_]+]] = %[[SECOND]])
// CHECK: arith.mulf %[[SUMS]],
// CHECK: math.sqrt
// CHECK: %[[NEXT:[A-Za-z0-9_]+]] = arith.divf
// CHECK: %[[TWO:[a-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[THIRD:[A-Za-z0-9_]+]] = arith.addi %[[ROW]], %[[TWO]] :
// CHECK: %[[AHEAD:[A-Za-z0-9_]+]] = arith.minui %[[THIRD]],
// One block of steps: the first stage makes two vectors, which the second one gets in the next step.
// CHECK: arith.mulf {{.*}} : vector<32xf32>
// CHECK-NEXT: %[[MADE:[A-Za-z0-9_]+]] = arith.mulf {{.*}} : vector<32xf32>
// CHECK: %[[ENDS:[A-Za-z0-9_]+]]:2 = scf.for %[[AT:[a-z0-9_]+]] = {{.*}} iter_args(%[[READY:[a-z0-9_]+]] = %[[MADE]], %[[SUM:[a-z0-9_]+]] = %{{[a-z0-9_]+}}) -> (vector<32xf32>, vector<16xf32>)
// CHECK: %[[FOLLOWING:[A-Za-z0-9_]+]] = arith.minui
// CHECK: vector.load %[[WV]][%[[FOLLOWING]]]
// CHECK: vector.load %[[XV]][%[[ROW]], %[[FOLLOWING]]]
// CHECK: arith.mulf {{.*}} : vector<32xf32>
// CHECK-NEXT: %[[AGAIN:[A-Za-z0-9_]+]] = arith.mulf {{.*}} : vector<32xf32>
// CHECK: %[[ONE:[A-Za-z0-9_]+]] = vector.load %[[XV]][%[[AHEAD]], %[[AT]]]
// CHECK: %[[PART:[A-Za-z0-9_]+]] = math.fma %[[ONE]], %[[ONE]], %[[SUM]] : vector<16xf32>
// CHECK: %[[TOTAL:[A-Za-z0-9_]+]] = math.fma {{.*}}, %[[PART]] : vector<16xf32>
// CHECK: %[[EXP:[A-Za-z0-9_]+]] = math.exp %[[READY]] : vector<32xf32>
// CHECK: %[[RESULT:[A-Za-z0-9_]+]] = arith.addf %[[EXP]],
// CHECK: vector.store %[[RESULT]], %[[OV]][%[[ROW]], %[[AT]]]
// CHECK: scf.yield %[[AGAIN]], %[[TOTAL]] :
// CHECK: %[[FOUND:[A-Za-z0-9_]+]] = vector.reduction <add>, %[[ENDS]]#1
// CHECK: scf.yield %[[NEXT]], %[[FOUND]] :
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @many_operations(%x: memref<?x768xf32>, %w: memref<768xf32>, %out: memref<?x768xf32>)
    attributes {relax.prim_func, relax.kernel = "rms_norm",
                relax.kernel_attrs = {axes = [1 : i64], epsilon = 1.0e-5 : f64},
                relax.kernel_inputs = array<i64: 0, 1>} {
  linalg.copy ins(%x : memref<?x768xf32>) outs(%out : memref<?x768xf32>)
  linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%out, %x : memref<?x768xf32>, memref<?x768xf32>) outs(%out : memref<?x768xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %own: f32, %old: f32):
    %0 = math.exp %in : f32
    %1 = arith.addf %0, %own : f32
    linalg.yield %1 : f32
  }
  return
}
