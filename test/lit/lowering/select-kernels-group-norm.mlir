// group_norm.py: group norm and instance norm.
// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// Blocks are read twice, and their means and squares joined; then a loop over the channels of the group.
// CHECK-LABEL: func.func private @group
// CHECK-NOT: linalg
// CHECK: scf.for %[[ROW:[a-z0-9_]+]]
// CHECK: %[[MOMENTS:.*]]:2 = scf.for {{.*}} -> (f32, f32)
// CHECK: vector.reduction <add>
// CHECK: vector.reduction <add>
// CHECK: math.sqrt
// CHECK: scf.for %[[CHANNEL:[a-z0-9_]+]]
// CHECK: memref.load %{{.*}} : memref<32xf32>
// CHECK: vector.maskedstore
func.func private @group(%x: memref<?x32x?xf32>, %g: memref<32xf32>, %b: memref<32xf32>, %out: memref<?x32x?xf32>)
    attributes {relax.prim_func, relax.kernel = "group_norm", relax.kernel_attrs = {
      axes = [2], center = true, channel_axis = 1 : i64, epsilon = 1.0e-05 : f64, num_groups = 4 : i64, scale = true}} {
  linalg.copy ins(%x : memref<?x32x?xf32>) outs(%out : memref<?x32x?xf32>)
  return
}
// -----
// One element per channel: the parameters are vectors, too.
// CHECK-LABEL: func.func private @vectors
// CHECK: math.sqrt
// CHECK: vector.load %{{.*}} : memref<64xf32>
// CHECK: return
func.func private @vectors(%x: memref<?x64xf32>, %g: memref<64xf32>, %out: memref<?x64xf32>)
    attributes {relax.prim_func, relax.kernel = "group_norm", relax.kernel_attrs = {
      axes = [], center = false, channel_axis = 1 : i64, epsilon = 1.0e-05 : f64, num_groups = 4 : i64, scale = true}} {
  linalg.copy ins(%x : memref<?x64xf32>) outs(%out : memref<?x64xf32>)
  return
}
// -----
// group_norm.py. Channels last: vectors lie across them, four sums side by side; moments of all channels lie in scratch memory.
// CHECK-LABEL: func.func private @last
// CHECK-NOT: linalg
// CHECK: %[[MEANS:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xf32>
// CHECK: %[[SQUARES:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: vector.store %{{.*}}, %[[MEANS]][
// CHECK: math.sqrt
// CHECK: memref.store %{{.*}}, %[[SQUARES]][
// CHECK: vector.load %[[MEANS]][
func.func private @last(%x: memref<?x?x32xf32>, %g: memref<32xf32>, %b: memref<32xf32>, %out: memref<?x?x32xf32>)
    attributes {relax.prim_func, relax.kernel = "group_norm", relax.kernel_attrs = {
      axes = [1], center = true, channel_axis = 2 : i64, epsilon = 1.0e-05 : f64, num_groups = 4 : i64, scale = true}} {
  linalg.copy ins(%x : memref<?x?x32xf32>) outs(%out : memref<?x?x32xf32>)
  return
}
// -----
// rows.py: what comes behind the kernel is done to each channel when it has been written.
// CHECK-LABEL: func.func private @behind
// CHECK-SAME: %[[OUT:[a-z0-9_]+]]: memref<?x32x?xf32>)
// CHECK: scf.for %[[ROW:[a-z0-9_]+]]
// CHECK: scf.for %[[CHANNEL:[a-z0-9_]+]]
// CHECK: vector.maskedstore
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]{{.*}}: memref<?xf32, strided<[1], offset: ?>>) attrs
// CHECK: return
func.func private @behind(%x: memref<?x32x?xf32>, %g: memref<32xf32>, %b: memref<32xf32>, %out: memref<?x32x?xf32>)
    attributes {relax.prim_func, relax.kernel = "group_norm", relax.kernel_inputs = array<i64: 0, 1, 2>, relax.kernel_attrs = {
      axes = [2], center = true, channel_axis = 1 : i64, epsilon = 1.0e-05 : f64, num_groups = 4 : i64, scale = true}} {
  linalg.copy ins(%x : memref<?x32x?xf32>) outs(%out : memref<?x32x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%out : memref<?x32x?xf32>) outs(%out : memref<?x32x?xf32>) attrs = {relax.epilogue} {
  ^bb0(%in: f32, %old: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  return
}
// -----
// Axes that do not follow the channels: the body stays.
// CHECK-LABEL: func.func private @apart
// CHECK: linalg.copy
func.func private @apart(%x: memref<?x4x?xf32>, %out: memref<?x4x?xf32>)
    attributes {relax.prim_func, relax.kernel = "group_norm", relax.kernel_attrs = {
      axes = [0], center = false, channel_axis = 1 : i64, epsilon = 1.0e-05 : f64, num_groups = 4 : i64, scale = false}} {
  linalg.copy ins(%x : memref<?x4x?xf32>) outs(%out : memref<?x4x?xf32>)
  return
}
