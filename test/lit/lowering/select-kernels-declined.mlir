// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" %s | filecheck %s
// registry.py, row_norms.py, group_norm.py, attention.py: what a generator does not take keeps its body,
// the reference.

// Only floats.
// CHECK-LABEL: func.func private @softmax_integers
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @softmax_integers(%x: memref<?x?xi32>, %out: memref<?x?xi32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  linalg.copy ins(%x : memref<?x?xi32>) outs(%out : memref<?x?xi32>)
  return
}

// Only contiguous buffers.
// CHECK-LABEL: func.func private @log_softmax_strided
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @log_softmax_strided(%x: memref<?x4xf32, strided<[8, 1]>>, %out: memref<?x4xf32>)
    attributes {relax.prim_func, relax.kernel = "log_softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  linalg.copy ins(%x : memref<?x4xf32, strided<[8, 1]>>) outs(%out : memref<?x4xf32>)
  return
}

// Only the last axes.
// CHECK-LABEL: func.func private @layer_norm_axis
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @layer_norm_axis(%x: memref<8x8xf32>, %g: memref<8xf32>, %b: memref<8xf32>, %out: memref<8x8xf32>)
    attributes {relax.prim_func, relax.kernel = "layer_norm",
                relax.kernel_attrs = {axes = [0 : i64], epsilon = 1.0e-5 : f64}} {
  linalg.copy ins(%x : memref<8x8xf32>) outs(%out : memref<8x8xf32>)
  return
}

// Only weights of the dtype of x.
// CHECK-LABEL: func.func private @rms_norm_mixed
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @rms_norm_mixed(%x: memref<?x8xf32>, %w: memref<8xf64>, %out: memref<?x8xf32>)
    attributes {relax.prim_func, relax.kernel = "rms_norm",
                relax.kernel_attrs = {axes = [1 : i64], epsilon = 1.0e-5 : f64}} {
  linalg.copy ins(%x : memref<?x8xf32>) outs(%out : memref<?x8xf32>)
  return
}

// A kernel that nobody generates, and a function without the attribute.
// CHECK-LABEL: func.func private @unknown
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @unknown(%x: memref<?xf32>, %out: memref<?xf32>)
    attributes {relax.prim_func, relax.kernel = "fft", relax.kernel_attrs = {axis = 0 : i64}} {
  linalg.copy ins(%x : memref<?xf32>) outs(%out : memref<?xf32>)
  return
}
// CHECK-LABEL: func.func private @ordinary
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @ordinary(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.prim_func} {
  linalg.copy ins(%x : memref<?xf32>) outs(%out : memref<?xf32>)
  return
}

// Only contiguous buffers, of one type.
// CHECK-LABEL: func.func private @cumsum_strided
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @cumsum_strided(%x: memref<?x4xf32, strided<[8, 1]>>, %out: memref<?x4xf32>)
    attributes {relax.prim_func, relax.kernel = "cumsum",
                relax.kernel_attrs = {axis = 1 : i64, exclusive = false}} {
  linalg.copy ins(%x : memref<?x4xf32, strided<[8, 1]>>) outs(%out : memref<?x4xf32>)
  return
}

// Only floats.
// CHECK-LABEL: func.func private @group_norm_integers
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @group_norm_integers(%x: memref<2x4x8xi32>, %g: memref<4xi32>, %b: memref<4xi32>, %out: memref<2x4x8xi32>)
    attributes {relax.prim_func, relax.kernel = "group_norm",
                relax.kernel_attrs = {axes = [2 : i64], channel_axis = 1 : i64, num_groups = 2 : i64, epsilon = 1.0e-5 : f64}} {
  linalg.copy ins(%x : memref<2x4x8xi32>) outs(%out : memref<2x4x8xi32>)
  return
}

// Only floats.
// CHECK-LABEL: func.func private @attention_integers
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @attention_integers(%q: memref<?x?x?x?xi32>, %k: memref<?x?x?x?xi32>, %v: memref<?x?x?x?xi32>,
                                      %out: memref<?x?x?x?xi32>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {scale = 1.0 : f64, causal_mask = "none"}} {
  linalg.copy ins(%q : memref<?x?x?x?xi32>) outs(%out : memref<?x?x?x?xi32>)
  return
}

// Only bodies without branches.
// CHECK-LABEL: func.func private @softmax_branches
// CHECK-NEXT: cf.br
// CHECK: linalg.copy
func.func private @softmax_branches(%x: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  cf.br ^bb1
^bb1:
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  return
}

// Only functions that give no value.
// CHECK-LABEL: func.func private @softmax_value
// CHECK-NEXT: linalg.copy
// CHECK-NEXT: return
func.func private @softmax_value(%x: memref<?x?xf32>, %v: f32, %out: memref<?x?xf32>) -> f32
    attributes {relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  return %v : f32
}
