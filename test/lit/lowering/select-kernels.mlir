// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func private @softmax
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x?xf32>, %[[OUT:[a-z0-9]+]]: memref<?x?xf32>)
// CHECK-NOT: linalg
// CHECK: scf.for %[[ROW:[a-z0-9]+]]
// CHECK: vector.reduction <maxnumf>, %{{[0-9]+}} fastmath<nnan> : vector<8xf32> into f32
// CHECK: math.exp %{{[0-9]+}} : vector<8xf32>
// CHECK: vector.maskedstore
// CHECK: vector.reduction <add>, %{{[0-9]+}} fastmath<reassoc> : vector<8xf32> into f32
// CHECK: return
func.func private @softmax(%x: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  return
}

// -----

// A row length that is a multiple of the vectors in a step needs no mask.
// CHECK-LABEL: func.func private @layer_norm
// CHECK-NOT: vector.create_mask
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
