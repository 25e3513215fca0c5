// attention.py, attention_exp.py, attention_pack.py, attention_sizes.py, attention_softmax.py, attention_tile.py.
// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// Scores of a tile only: 6 rows of the register tile by a block of keys, in scratch memory.
// CHECK-LABEL: func.func private @attention
// CHECK-NOT: linalg
// CHECK: %[[SCRATCH:[a-z0-9_]+]] = memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?xf32>
// A loop over batches, heads and blocks of queries, and one over blocks of keys.
// CHECK: scf.for %[[TASK:[a-z0-9]+]]
// CHECK: arith.divui %[[TASK]]
// CHECK: scf.for %[[FIRST_KEY:[a-z0-9]+]]
// CHECK: func.call @relax.attention.f32.pack_keys
// Few queries read the values where they lie.
// CHECK: scf.if %{{[0-9]+}} -> (memref<?xf32>, index, index)
// CHECK: func.call @relax.attention.f32.pack_rows
// CHECK: func.call @relax.attention.f32.dots
// CHECK: func.call @relax.attention.f32.product(
// The exponential: 2 to the power that the bits of a sum give.
// CHECK: arith.shli %{{[0-9]+}}, %{{.*}} : vector<8xi32>
// CHECK: func.call @relax.attention.f32.write_rows
// CHECK: memref.dealloc %[[SCRATCH]]
// CHECK: func.func private @relax.attention.f32.pack_keys
// Products of one row and of even numbers of rows; an odd number computes the last row twice, from its own place.
// CHECK: func.func private @relax.attention.f32.product_1(
// CHECK: func.func private @relax.attention.f32.product_2(%[[ROWS:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: memref<?xf32>, %[[PLACE:[a-z0-9]+]]: index, %[[APART:[a-z0-9]+]]: index,
// CHECK: %[[LAST:[0-9]+]] = arith.subi %[[ROWS]], %c1
// CHECK: %[[FAR:[0-9]+]] = arith.muli %[[LAST]], %[[APART]]
// CHECK-NEXT: arith.addi %[[PLACE]], %[[FAR]]
// CHECK-NOT: @relax.attention.f32.product_3
// CHECK: func.func private @relax.attention.f32.product_4(
// CHECK: func.func private @relax.attention.f32.product_6(
// CHECK: func.func private @relax.attention.f32.product(%[[COUNT:[a-z0-9]+]]: index,
// CHECK: scf.index_switch
// CHECK-NOT: @relax.attention.f32.product_7
func.func private @attention(%q: memref<?x?x4x64xf32>, %k: memref<?x?x2x64xf32>, %v: memref<?x?x2x64xf32>,
                             %out: memref<?x?x4x64xf32>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {}} {
  linalg.copy ins(%q : memref<?x?x4x64xf32>) outs(%out : memref<?x?x4x64xf32>)
  return
}

// -----

// Half floats are widened as they are packed.
// CHECK-LABEL: func.func private @half
// CHECK-NOT: linalg
// CHECK: func.call @relax.attention.f16.pack_rows
// CHECK: func.call @relax.attention.f16.pack_keys
// CHECK: func.call @relax.attention.f16.product_in_place
// CHECK: func.func private @relax.attention.f16.pack_keys
// CHECK: arith.extf %{{[0-9]+}} : vector<8xf16> to vector<8xf32>
// CHECK: func.func private @relax.attention.f16.write_rows
// CHECK: arith.truncf %{{[0-9]+}} : vector<8xf32> to vector<8xf16>
func.func private @half(%q: memref<?x?x2x64xf16>, %k: memref<?x?x2x64xf16>, %v: memref<?x?x2x64xf16>,
                        %bias: memref<?xf16>, %out: memref<?x?x2x64xf16>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {causal_mask = "TopLeft", scale = 0.5 : f64}} {
  linalg.copy ins(%q : memref<?x?x2x64xf16>) outs(%out : memref<?x?x2x64xf16>)
  return
}

// -----

// Declined: another layout.
// CHECK-LABEL: func.func private @turned
// CHECK: linalg.copy
func.func private @turned(%q: memref<1x5x2x8xf32, strided<[80, 1, 40, 5]>>, %k: memref<1x5x2x8xf32>, %v: memref<1x5x2x8xf32>,
                          %out: memref<1x5x2x8xf32>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {}} {
  linalg.copy ins(%k : memref<1x5x2x8xf32>) outs(%out : memref<1x5x2x8xf32>)
  return
}

// -----

// Declined: operands of several types.
// CHECK-LABEL: func.func private @mixed
// CHECK: linalg.copy
func.func private @mixed(%q: memref<1x5x2x8xf32>, %k: memref<1x5x2x8xf32>, %v: memref<1x5x2x8xf16>,
                         %out: memref<1x5x2x8xf32>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {}} {
  linalg.copy ins(%k : memref<1x5x2x8xf32>) outs(%out : memref<1x5x2x8xf32>)
  return
}
