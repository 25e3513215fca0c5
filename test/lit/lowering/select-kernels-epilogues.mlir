// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s
// rows.py: few operations behind a kernel over rows are done on the vectors that it is about to write.

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
// What is read of a row, what all rows share, and one number per row, which is read once.
// CHECK-LABEL: func.func private @in_registers
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x?xf32>, %[[FACTOR:[a-z0-9_]+]]: memref<?xf32>, %[[BIAS:[a-z0-9_]+]]: memref<?xf32>, %[[OUT:[a-z0-9_]+]]: memref<?x?xf32>)
// CHECK-NOT: linalg
// CHECK: %[[NUMBER:[A-Za-z0-9_]+]] = memref.load %{{.*}}[] : memref<f32, strided<[], offset: ?>>
// CHECK: %[[SCALED:[A-Za-z0-9_]+]] = arith.mulf %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : vector<16xf32>
// CHECK: %[[OWN:[A-Za-z0-9_]+]] = vector.load
// CHECK: %[[FACTORS:[A-Za-z0-9_]+]] = vector.broadcast %[[NUMBER]] : f32 to vector<16xf32>
// CHECK: %[[PRODUCT:[A-Za-z0-9_]+]] = arith.mulf %[[SCALED]], %[[FACTORS]] : vector<16xf32>
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %[[PRODUCT]], %{{[A-Za-z0-9_]+}} : vector<16xf32>
// CHECK: %[[TOTAL:[A-Za-z0-9_]+]] = arith.addf %[[SUM]], %[[OWN]] : vector<16xf32>
// CHECK: vector.store %[[TOTAL]],
// CHECK: return
func.func private @in_registers(%x: memref<?x?xf32>, %factor: memref<?xf32>, %bias: memref<?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64},
                relax.kernel_inputs = array<i64: 0>} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#all, #all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%out, %x, %factor, %bias : memref<?x?xf32>, memref<?x?xf32>, memref<?xf32>, memref<?xf32>)
      outs(%out : memref<?x?xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %own: f32, %f: f32, %b: f32, %old: f32):
    %0 = arith.mulf %in, %f : f32
    %1 = arith.addf %0, %b : f32
    %2 = arith.addf %1, %own : f32
    linalg.yield %2 : f32
  }
  return
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
// A function of many operations has a sweep of its own, over each row that has been written.
// CHECK-LABEL: func.func private @heavy
// CHECK: func.call @relax.parallel_cost
// CHECK: vector.maskedstore
// CHECK: linalg.generic {{.*}} attrs =
// CHECK-NOT: relax.next_row
// CHECK-SAME: relax.epilogue
// CHECK: math.exp
// CHECK: return
func.func private @heavy(%x: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64},
                relax.kernel_inputs = array<i64: 0>} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%out : memref<?x?xf32>) outs(%out : memref<?x?xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %old: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }
  return
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
// rows.py: it asks for the next row of the output and of what lies as the output does, which the kernel has read, too.
// CHECK-LABEL: func.func private @residual
// CHECK: linalg.generic {{.*}} attrs = {{.*}}relax.epilogue, relax.next_row = array<i64: 0, 2>
// CHECK: return
func.func private @residual(%x: memref<?x?xf32>, %bias: memref<?xf32>, %y: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64},
                relax.kernel_inputs = array<i64: 0>} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#all, #column, #all, #turned, #all], iterator_types = ["parallel", "parallel"]}
      ins(%out, %bias, %x, %y : memref<?x?xf32>, memref<?xf32>, memref<?x?xf32>, memref<?x?xf32>)
      outs(%out : memref<?x?xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %b: f32, %own: f32, %other: f32, %old: f32):
    %0 = math.exp %in : f32
    %1 = arith.addf %0, %b : f32
    %2 = arith.addf %1, %own : f32
    %3 = arith.addf %2, %other : f32
    linalg.yield %3 : f32
  }
  return
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
// Booleans take a byte in memory, of which vectors are made in another way.
// CHECK-LABEL: func.func private @booleans
// CHECK: linalg.generic {{.*}} attrs = {{.*}}relax.epilogue
// CHECK: return
func.func private @booleans(%x: memref<?x?xf32>, %keep: memref<?x?xi1>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64},
                relax.kernel_inputs = array<i64: 0>} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%out, %keep : memref<?x?xf32>, memref<?x?xi1>) outs(%out : memref<?x?xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %k: i1, %old: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.select %k, %in, %zero : f32
    linalg.yield %0 : f32
  }
  return
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
// What lies across the rows is not read by vectors.
// CHECK-LABEL: func.func private @across
// CHECK: linalg.generic {{.*}} attrs = {{.*}}relax.epilogue
// CHECK: return
func.func private @across(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64},
                relax.kernel_inputs = array<i64: 0>} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#all, #turned, #all], iterator_types = ["parallel", "parallel"]}
      ins(%out, %y : memref<?x?xf32>, memref<?x?xf32>) outs(%out : memref<?x?xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %other: f32, %old: f32):
    %0 = arith.addf %in, %other : f32
    linalg.yield %0 : f32
  }
  return
}
// -----
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// Rows of several axes.
// CHECK-LABEL: func.func private @two_axes
// CHECK: linalg.generic {{.*}} attrs = {{.*}}relax.epilogue
// CHECK: return
func.func private @two_axes(%x: memref<?x4x4xf32>, %g: memref<4x4xf32>, %out: memref<?x4x4xf32>)
    attributes {relax.prim_func, relax.kernel = "rms_norm",
                relax.kernel_attrs = {axes = [1 : i64, 2 : i64], epsilon = 1.0e-5 : f64},
                relax.kernel_inputs = array<i64: 0, 1>} {
  linalg.copy ins(%x : memref<?x4x4xf32>) outs(%out : memref<?x4x4xf32>)
  linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%out : memref<?x4x4xf32>) outs(%out : memref<?x4x4xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  }
  return
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> ()>
// A number of the old body that the epilogue reads stays; its loops go.
// CHECK-LABEL: func.func private @number
// CHECK-NEXT: %[[TWO:[A-Za-z0-9_]+]] = arith.constant 2.0
// CHECK-NOT: linalg.copy
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[TWO]] :
func.func private @number(%x: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64},
                relax.kernel_inputs = array<i64: 0>} {
  %two = arith.constant 2.0 : f32
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#all, #one, #all], iterator_types = ["parallel", "parallel"]}
      ins(%out, %two : memref<?x?xf32>, f32) outs(%out : memref<?x?xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %n: f32, %old: f32):
    %0 = math.powf %in, %n : f32
    linalg.yield %0 : f32
  }
  return
}
