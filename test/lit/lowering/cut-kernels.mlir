// RUN: relax-opt %s --cut-kernels | filecheck %s
// RUN: relax-opt %s --cut-kernels | filecheck %s --check-prefix=PARTS
// cut_kernels.py: what leaves by the groups of module_parts.py, as its parts.

// What is called from outside is declared, the rest of a group is gone; what may fail, or takes memory, stays with what
// needs it.
// CHECK-LABEL: module
// CHECK-NOT: @relax.gemm.f32.tile_2
// CHECK: func.func private @relax.gemm.f32.block(memref<?xf32>) attributes {relax.compiled_separately}
// CHECK-NOT: @relax.gemm.f32.tile_2
// CHECK: func.func private @relax.gemm.f32.pack_a(%{{.*}}: memref<?xf32>)
// CHECK: cf.assert
// CHECK: func.func private @relax.gemm.f32.dots(memref<?xf32>) attributes {relax.compiled_separately}
// CHECK: func.func private @relax.gemm.f32(%{{.*}}: memref<?xf32>)
// CHECK: memref.alloc
// CHECK: call @relax.gemm.f32.dots
// CHECK: call @relax.gemm.f32.block
// CHECK: func.func private @relax.gemm.f64.panels(%{{.*}}: memref<?xf64>)
// CHECK: memref.alloc
// CHECK: func.func private @relax.gemm.f32.block.epilogue_gelu(%{{.*}}: memref<?xf32>)
// CHECK: func.func @main

// PARTS: module @"relax.gemm.f32 tile" {
// PARTS: func.func private @relax.gemm.f32.tile_2(%{{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>
// PARTS: func.func private @relax.gemm.f32.block(%{{.*}}) attributes {llvm.linkage = #llvm.linkage<external>
// PARTS: call @relax.gemm.f32.tile_2
// PARTS: module @"relax.gemm.f32 plain_b" {
// PARTS: func.func private @relax.gemm.f32.dots(%{{.*}}) attributes {llvm.linkage = #llvm.linkage<external>
// PARTS-NOT: module @
module {
  func.func private @relax.gemm.f32.tile_2(%m: memref<?xf32>) attributes {relax.shared_group = "relax.gemm.f32 tile"} {
    return
  }
  func.func private @relax.gemm.f32.block(%m: memref<?xf32>) attributes {relax.shared_group = "relax.gemm.f32 tile"} {
    func.call @relax.gemm.f32.tile_2(%m) : (memref<?xf32>) -> ()
    return
  }
  func.func private @relax.gemm.f32.pack_a(%m: memref<?xf32>) attributes {relax.shared_group = "relax.gemm.f32 pack"} {
    %never = arith.constant false
    cf.assert %never, "no"
    return
  }
  func.func private @relax.gemm.f32.dots(%m: memref<?xf32>) attributes {relax.shared_group = "relax.gemm.f32 plain_b"} {
    return
  }
  func.func private @relax.gemm.f32(%m: memref<?xf32>) attributes {relax.shared_group = "relax.gemm.f32 product"} {
    %b = memref.alloc() : memref<4xf32>
    func.call @relax.gemm.f32.dots(%m) : (memref<?xf32>) -> ()
    func.call @relax.gemm.f32.pack_a(%m) : (memref<?xf32>) -> ()
    func.call @relax.gemm.f32.block(%m) : (memref<?xf32>) -> ()
    return
  }
  func.func private @relax.gemm.f64.panels(%m: memref<?xf64>) attributes {relax.shared_group = "relax.gemm.f64 panels"} {
    %b = memref.alloc() : memref<4xf64>
    return
  }
  func.func private @relax.gemm.f32.block.epilogue_gelu(%m: memref<?xf32>) attributes {relax.as_generated} {
    func.call @relax.gemm.f32.block(%m) : (memref<?xf32>) -> ()
    return
  }
  func.func @main(%m: memref<?xf32>, %d: memref<?xf64>) {
    func.call @relax.gemm.f32(%m) : (memref<?xf32>) -> ()
    func.call @relax.gemm.f64.panels(%d) : (memref<?xf64>) -> ()
    func.call @relax.gemm.f32.block.epilogue_gelu(%m) : (memref<?xf32>) -> ()
    return
  }
}
