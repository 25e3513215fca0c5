// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell -l3=1048576'" --split-input-file %s | filecheck %s
// loop_nest.py: large results are written by non-temporal stores.

// Of sizes that are not known it is asked, as of where results lie, and whether an input lies there, too.
// CHECK-LABEL: func.func @add
// CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %[[OUT:.*]]: memref<?xf32>)
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %c4{{.*}} : index
// CHECK: arith.cmpi eq
// CHECK: arith.cmpi ne
// CHECK: arith.cmpi ugt, %[[BYTES]], %c1048576
// CHECK: scf.if
// CHECK: vector.store {{.*}} {alignment = 32 : i64, nontemporal = true} : {{.*}}, vector<32xf32>
// CHECK: } else {
// CHECK-NOT: nontemporal
// CHECK: vector.store
// CHECK: return
func.func @add(%x: memref<?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}
// -----
// Too few elements, elements of less than a register, and rows of other loops stay as they are.
// CHECK-LABEL: func.func @few
// CHECK-NOT: nontemporal
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: nontemporal
// CHECK-LABEL: func.func @rows
// CHECK-NOT: nontemporal
// CHECK: return
func.func @few(%x: memref<512x512xf32>, %out: memref<512x512xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<512x512xf32>) outs(%out : memref<512x512xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @narrow(%x: memref<?xf32>, %out: memref<?xf16>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%out : memref<?xf16>) {
  ^bb0(%a: f32, %old: f16):
    %0 = arith.truncf %a : f32 to f16
    linalg.yield %0 : f16
  }
  return
}
func.func @rows(%x: memref<?xf32>, %out: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?xf32>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}
