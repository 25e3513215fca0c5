// RUN: relax-opt --lower-contractions %s | filecheck %s

// A product of matrices with a fill of its result before: one call that overwrites.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: ([[A:%[a-z0-9]+]]: memref<?x?xf32>, [[B:%[a-z0-9]+]]: memref<?x?xf32>, [[C:%[a-z0-9]+]]: memref<?x?xf32>)
// CHECK-NOT: linalg.
// CHECK: [[ABASE:%[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata [[A]] :
// CHECK: [[BBASE:%[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata [[B]] :
// CHECK: [[CBASE:%[a-z0-9_]+]], {{.*}} = memref.extract_strided_metadata [[C]] :
// CHECK: [[AV:%[a-z0-9_]+]] = memref.reinterpret_cast [[ABASE]] to
// CHECK: [[BV:%[a-z0-9_]+]] = memref.reinterpret_cast [[BBASE]] to
// CHECK: [[CV:%[a-z0-9_]+]] = memref.reinterpret_cast [[CBASE]] to
// CHECK: [[OVERWRITE:%[a-z0-9_]+]] = arith.constant false
// CHECK: call @relax.gemm.f32([[AV]], [[BV]], [[CV]], [[OVERWRITE]])
func.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  %between = arith.constant 1.0 : f32
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// Only a fill of the result itself is taken, and only if nothing between the two touches memory: else the product is
// added, and the fill stays.
// CHECK-LABEL: func.func @other_fill
// CHECK-SAME: ([[A:%[a-z0-9]+]]: memref<?x?xf32>, [[C:%[a-z0-9]+]]: memref<?x?xf32>, [[D:%[a-z0-9]+]]: memref<?x?xf32>)
// CHECK: linalg.fill ins(%{{[a-z0-9_]+}} : f32) outs([[D]] : memref<?x?xf32>)
// CHECK: [[ADD:%[a-z0-9_]+]] = arith.constant true
// CHECK: call @relax.gemm.f32({{.*}}, [[ADD]])
// CHECK: return
func.func @other_fill(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %d: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%d : memref<?x?xf32>)
  linalg.matmul ins(%a, %a : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// CHECK-LABEL: func.func @stored_between
// CHECK-SAME: ([[A:%[a-z0-9]+]]: memref<?x?xf32>, [[C:%[a-z0-9]+]]: memref<?x?xf32>, [[V:%[a-z0-9]+]]: f32)
// CHECK: linalg.fill ins(%{{[a-z0-9_]+}} : f32) outs([[C]] : memref<?x?xf32>)
// CHECK: memref.store [[V]], [[C]][
// CHECK: [[ADD:%[a-z0-9_]+]] = arith.constant true
// CHECK: call @relax.gemm.f32({{.*}}, [[ADD]])
// CHECK: return
func.func @stored_between(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  memref.store %v, %c[%c0, %c0] : memref<?x?xf32>
  linalg.matmul ins(%a, %a : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// What an epilogue reads may be a view that is made after the product: the call stands where the epilogue was.
// CHECK-LABEL: func.func @view_between
// CHECK: [[BIAS:%[a-z0-9_]+]] = memref.cast %{{[a-z0-9_]+}} : memref<8xf32> to memref<?xf32>
// CHECK: call @relax.gemm.f32.finished(
// CHECK-NEXT: return
func.func @view_between(%a: memref<?x?xf32>, %c: memref<?x?xf32>, %x: memref<8xf32>) {
  linalg.matmul ins(%a, %a : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  %bias = memref.cast %x : memref<8xf32> to memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  }
  return
}

// Rows that are one matrix for the product are two dimensions for what the epilogue reads: it stays.
// CHECK-LABEL: func.func @rows_of_epilogue
// CHECK: call @relax.gemm.f32(
// CHECK: linalg.generic
func.func @rows_of_epilogue(%a: memref<?x?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?x?xf32>, %x: memref<?x?xf32>) {
  linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>,
                                   affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%a, %b : memref<?x?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, n)>, affine_map<(b, m, n) -> (b, m, n)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%c : memref<?x?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.addf %u, %v : f32
    linalg.yield %s : f32
  }
  return
}

// The columns are one: the rows take their place, whatever the stride of the result is; a result without dimensions has
// neither.
// CHECK-LABEL: func.func @column
// CHECK: call @relax.gemm.f32
// CHECK-LABEL: func.func @number
// CHECK: call @relax.gemm.f32
func.func @column(%a: memref<?x?xf32>, %b: memref<?xf32>, %c: memref<?xf32, strided<[2]>>) {
  linalg.matvec ins(%a, %b : memref<?x?xf32>, memref<?xf32>) outs(%c : memref<?xf32, strided<[2]>>)
  return
}
func.func @number(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<f32>) {
  linalg.dot ins(%a, %b : memref<?xf32>, memref<?xf32>) outs(%c : memref<f32>)
  return
}

// What follows writes an operand, which the product still reads.
// CHECK-LABEL: func.func @operand_written
// CHECK: call @relax.gemm.f32(
// CHECK: linalg.generic
func.func @operand_written(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<?x?xf32>) outs(%a : memref<?x?xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = arith.negf %u : f32
    linalg.yield %s : f32
  }
  return
}

// Without a fill the product is added, in a loop over the batch.
// CHECK-LABEL: func.func @batch
// CHECK: scf.for
// CHECK: [[ADD:%[a-z0-9_]+]] = arith.constant true
// CHECK: call @relax.gemm.bf16.f32({{.*}}, [[ADD]])
func.func @batch(%a: memref<?x?x?xbf16>, %b: memref<?x?x?xbf16>, %c: memref<?x?x?xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<?x?x?xbf16>, memref<?x?x?xbf16>) outs(%c : memref<?x?x?xf32>)
  return
}

// A batch is one call where a kernel reads operands where they lie: it gets the number of products, and the way from one
// to the next; B is the same for all.
// CHECK-LABEL: func.func @batch_at_once
// CHECK-SAME: ([[A:%[a-z0-9]+]]: memref<?x?x?xf32>, [[B:%[a-z0-9]+]]: memref<?x?xf32>, [[C:%[a-z0-9]+]]: memref<?x?x?xf32>)
// CHECK: [[ASTRIDES:%[a-z0-9_]+]]:3 = memref.extract_strided_metadata [[A]] :
// CHECK: [[CSTRIDES:%[a-z0-9_]+]]:3 = memref.extract_strided_metadata [[C]] :
// CHECK: scf.for [[FIRST:%[a-z0-9_]+]] = {{.*}} step [[STEP:%[a-z0-9_]+]]
// CHECK: [[REST:%[a-z0-9_]+]] = arith.subi {{.*}}, [[FIRST]] :
// CHECK: [[COUNT:%[a-z0-9_]+]] = arith.minui [[REST]], [[STEP]] :
// CHECK: [[OVERWRITE:%[a-z0-9_]+]] = arith.constant false
// CHECK-NEXT: call @relax.gemm.f32.batch({{.*}}, [[OVERWRITE]], [[COUNT]], [[ASTRIDES]]#0, %c0_{{[0-9]+}}, [[CSTRIDES]]#0)
func.func @batch_at_once(%a: memref<?x?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?x?xf32>)
  linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, k, m)>, affine_map<(b, m, n, k) -> (k, n)>,
                                   affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%a, %b : memref<?x?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?x?xf32>)
  return
}

// Batches of rows that lie in memory one after the other are one matrix: no loop.
// CHECK-LABEL: func.func @shared_weight
// CHECK-NOT: scf.for
// CHECK: [[ROWS:%[a-z0-9_]+]] = arith.muli
// CHECK: memref.reinterpret_cast {{.*}} sizes: {{\[}}[[ROWS]],
// CHECK: call @relax.gemm.f32(
func.func @shared_weight(%a: memref<?x?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?x?xf32>) {
  linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>,
                                   affine_map<(b, m, n, k) -> (b, m, n)>]
    ins(%a, %b : memref<?x?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?x?xf32>)
  return
}

// No rows: one row, known here.
// CHECK-LABEL: func.func @vector
// CHECK: call @relax.gemm.f32.row(
func.func @vector(%a: memref<?xf32>, %b: memref<?x?xf32>, %c: memref<?xf32>) {
  linalg.vecmat ins(%a, %b : memref<?xf32>, memref<?x?xf32>) outs(%c : memref<?xf32>)
  return
}

// The module declares the functions of kernels that it may call, once.
// CHECK-COUNT-1: func.func private @relax.gemm.f32(memref
// CHECK-NOT: func.func private @relax.gemm.f32(
// CHECK: func.func private @relax.gemm.f32.finished(memref
// CHECK-NOT: relax.gemm.f32.packed
