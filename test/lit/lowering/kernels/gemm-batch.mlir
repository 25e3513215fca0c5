// lower_contractions.py: a batch of small products is one call, which decides once.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" --split-input-file | filecheck %s

// The loop over the batch is in the entry of the batch, not around the product.
// CHECK-LABEL: func.func @batch(
// CHECK: call @relax.gemm.f32.batch(
// CHECK: return
// CHECK-LABEL: func.func private @relax.gemm.f32.batch(
// Small are 2 to 64 rows, a depth of up to 64, and columns of up to two vectors with unit stride, if nothing is added to C.
// CHECK: arith.cmpi ule, %[[COLUMNS:.+]], %c32_
// CHECK: arith.xori %[[ADD:.+]], %true
// CHECK: %c2 = arith.constant 2
// CHECK-NEXT: %[[SEVERAL:.+]] = arith.cmpi uge, %[[ROWS:.+]], %c2
// CHECK-NEXT: %[[C64:.+]] = arith.constant 64
// CHECK-NEXT: arith.cmpi ule, %[[ROWS]], %[[C64]] :
// CHECK-NEXT: %[[C64:.+]] = arith.constant 64
// CHECK-NEXT: arith.cmpi ule, %[[DEPTH:.+]], %[[C64]] :
// CHECK-NEXT: %[[C1:.+]] = arith.constant 1
// CHECK-NEXT: arith.cmpi eq, %{{.+}}, %[[C1]] :
// CHECK: %[[C16:.+]] = arith.constant 16
// CHECK-NEXT: %[[ONE:.+]] = arith.cmpi ule, %[[COLUMNS]], %[[C16]] :
// CHECK-NEXT: scf.if %[[ONE]] {
// The distances are in bytes there.
// CHECK: %[[A_STEP:.+]] = arith.muli %arg5,
// CHECK: %[[B_STEP:.+]] = arith.muli %arg6,
// CHECK: %[[C_STEP:.+]] = arith.muli %arg7,
// CHECK: call @relax.gemm.f32.unpacked_batch_1({{.+}}, %[[ROWS]], %[[COLUMNS]], %[[DEPTH]], %arg4, %[[A_STEP]], %[[B_STEP]], %[[C_STEP]])
// CHECK: } else {
// CHECK: call @relax.gemm.f32.unpacked_batch_2(
// CHECK: } else {
// CHECK: scf.for %[[I:.+]] = %{{.+}} to %arg4 step
// CHECK-NEXT: %[[AHEAD:.+]] = arith.muli %[[I]], %arg5
// CHECK-NEXT: arith.addi %{{.+}}, %[[AHEAD]] :
// CHECK: arith.muli %[[I]], %arg6
// CHECK: arith.muli %[[I]], %arg7
// CHECK: strides: [%{{.+}}, 1]
// CHECK: call @relax.gemm.f32(
// The rows of eight go through registers together; the last row is computed again where there are less. The last vector is
// masked.
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_batch_1(
// CHECK: %[[LAST:.+]] = arith.subi %arg7, %c1
// CHECK: arith.index_cast %arg8 : index to i32
// CHECK: %[[MASK:.+]] = arith.cmpi sgt
// CHECK: scf.for %[[I:.+]] = %c0 to %arg10 step %c1_{{[0-9]+}} {
// CHECK: %c8 = arith.constant 8
// CHECK-NEXT: scf.for %[[FIRST:.+]] = %{{.+}} to %arg7 step %c8 {
// CHECK-NEXT: %[[OFFSET:.+]] = arith.muli %[[I]], %arg11
// CHECK-NEXT: arith.addi %arg0, %[[OFFSET]] :
// CHECK: arith.muli %[[I]], %arg12
// CHECK: arith.muli %[[I]], %arg13
// CHECK: %[[ROW_0:.+]] = arith.minui %[[FIRST]], %[[LAST]] :
// CHECK: %[[NEXT:.+]] = arith.addi %[[FIRST]],
// CHECK-NEXT: %[[ROW_1:.+]] = arith.minui %[[NEXT]], %[[LAST]] :
// CHECK: %[[AT_0:.+]] = arith.muli %[[ROW_0]], %arg3
// CHECK: %[[C0:.+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C0_:.+]] = arith.constant 0 : index
// CHECK-NEXT: %[[FROM:.+]] = arith.constant 0 : index
// CHECK-NEXT: %[[STEP:.+]] = arith.constant 1 : index
// CHECK-NEXT: %[[SUMS:.+]]:10 = scf.for %{{.+}} = %[[FROM]] to %arg9 step %[[STEP]] iter_args({{.+}} = %[[C0]], %[[LINE:.+]] = %[[C0_]])
// CHECK: vector.maskedload %{{.+}}[%[[LINE]]], %[[MASK]],
// CHECK: %[[PLACE:.+]] = arith.addi %[[AT_0]], %[[AT:.+]] : index
// CHECK: vector.fma
// CHECK: arith.addi %[[AT]], %arg4
// CHECK-NEXT: arith.addi %[[LINE]], %arg5
// CHECK: vector.maskedstore %[[OUT:.+]][%[[ROW_0]], %{{.+}}], %[[MASK]], %[[SUMS]]#0
// CHECK: vector.maskedstore %[[OUT]][%[[ROW_1]], %{{.+}}], %[[MASK]], %[[SUMS]]#1
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_batch_2(
// CHECK: %[[C16:.+]] = arith.constant 16
// CHECK-NEXT: %[[REST:.+]] = arith.subi %arg8, %[[C16]] :
// CHECK-NEXT: arith.index_cast %[[REST]] :
// CHECK: %[[SUMS:.+]]:18 = scf.for {{.+}}, %[[LINE:.+]] = %{{.+}}) ->
// CHECK: vector.load %{{.+}}[%[[LINE]]]
// CHECK: %[[C16:.+]] = arith.constant 16
// CHECK-NEXT: %[[BESIDE:.+]] = arith.addi %[[LINE]], %[[C16]] :
// CHECK: vector.maskedload %{{.+}}[%[[BESIDE]]]
// CHECK: vector.store %[[SUMS]]#0,
// CHECK: %[[C16:.+]] = arith.constant 16
// CHECK-NEXT: vector.maskedstore %{{.+}}[%{{.+}}, %[[C16]]], %{{.+}}, %[[SUMS]]#1
// CHECK: vector.store %[[SUMS]]#2,
func.func @batch(%a: memref<?x?x?xf32>, %b: memref<?x?x?xf32>, %c: memref<?x?x?xf32>) attributes {relax.prim_func} {
  linalg.batch_matmul ins(%a, %b : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%c : memref<?x?x?xf32>)
  return
}
// -----
// Elements that are widened have no such entry: the product stands in a loop.
// CHECK-LABEL: func.func @widened(
// CHECK: scf.for
// CHECK: func.call @relax.gemm.f16.f32
// CHECK-NOT: @relax.gemm.f16.f32.batch
func.func @widened(%a: memref<?x?x?xf16>, %b: memref<?x?x?xf16>, %c: memref<?x?x?xf32>) attributes {relax.prim_func} {
  linalg.batch_matmul ins(%a, %b : memref<?x?x?xf16>, memref<?x?x?xf16>) outs(%c : memref<?x?x?xf32>)
  return
}
