// gemm.py, gemm_blocks.py, gemm_pack.py, gemm_tiling.py, gemm_micro.py, simd.py: the matrix product follows from the target.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=AVX2
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" | filecheck %s --check-prefix=AVX512
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=neoverse-n1'" --link-kernels="target='cpu -mcpu=neoverse-n1'" | filecheck %s --check-prefix=NEON

// The tile of two rows: two vectors of B times two rows of A are four accumulators of the target's width.
// Sixteen registers leave tiles of at most 6 rows, thirty-two of 14, or 12 where elements of A take some.
// (Dot products write vectors of four.)
// AVX2-NOT: vector<16xf32>
// AVX2: func.func private @relax.gemm.f32.packed.part(
// Rows of A are read where they lie if their elements are next to each other, and not 4096 bytes or a multiple apart.
// Else A is packed for every block, but once if there is a single one. B is packed for the first block of rows.
// Blocks are deep for many rows, and as wide as the second-level cache allows.
// AVX2: %[[MANY:[A-Za-z0-9_]+]] = arith.cmpi ugt, %{{[a-z0-9_]+}}, %c32
// AVX2: arith.select %[[MANY]], %c1024, %c384
// AVX2: %[[SEVERAL:[A-Za-z0-9_]+]] = arith.cmpi ugt
// AVX2: %[[HELD:[A-Za-z0-9_]+]] = arith.divui %c32768, %{{[A-Za-z0-9_]+}}
// AVX2: %[[PANELS:[A-Za-z0-9_]+]] = arith.divui %[[HELD]], %c16
// AVX2: %[[SOME:[A-Za-z0-9_]+]] = arith.muli %[[PANELS]], %c16
// AVX2: %[[MOST:[A-Za-z0-9_]+]] = arith.minui %[[SOME]], %c64
// AVX2: %[[COLUMNS:[A-Za-z0-9_]+]] = arith.select %[[SEVERAL]], %c256{{[_0-9]*}}, %[[MOST]] : index
// AVX2: %[[UNIT:[A-Za-z0-9_]+]] = arith.cmpi eq, %strides#1, %c1
// AVX2: %[[WHOLE:[A-Za-z0-9_]+]] = arith.muli %{{[A-Za-z0-9_]+}}, %c1024
// AVX2-NEXT: %[[FAR:[A-Za-z0-9_]+]] = arith.cmpi ne, %strides#0, %[[WHOLE]] :
// AVX2-NEXT: %[[LIES:[A-Za-z0-9_]+]] = arith.andi %[[UNIT]], %[[FAR]] :
// AVX2: scf.for
// AVX2-NEXT: scf.for %[[J:[a-z0-9_]+]] = %[[J0:[a-z0-9_]+]] to {{.*}} step %[[COLUMNS]] {
// AVX2-NEXT: scf.for %[[I:[a-z0-9_]+]] = %[[I0:[a-z0-9_]+]] to
// AVX2: %[[B:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[I]], %[[I0]] :
// AVX2-NEXT: scf.if %[[B]] {
// AVX2: func.call @relax.gemm.f32.pack_b
// AVX2: %[[FIRST:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[J]], %[[J0]] :
// AVX2-NEXT: %[[A:[A-Za-z0-9_]+]] = arith.ori %[[SEVERAL]], %[[FIRST]] :
// AVX2-NEXT: scf.if %[[LIES]] {
// AVX2: %[[LINE:[a-z_0-9]+]] = memref.reinterpret_cast %base_buffer to offset: [%offset], sizes: [%{{[A-Za-z0-9_]+}}], strides: [1]
// AVX2: func.call @relax.gemm.f32.block(%[[LINE]], %{{[A-Za-z0-9_]+}}, %strides#0,
// AVX2: } else {
// AVX2-NEXT: scf.if %[[A]] {
// AVX2-NEXT: func.call @relax.gemm.f32.pack_a({{.*}}, %[[APART:[A-Za-z0-9_]+]]) :
// AVX2: %[[CAST:[a-z_0-9]+]] = memref.cast
// AVX2: func.call @relax.gemm.f32.block(%[[CAST]], %c0{{[_0-9]*}}, %[[APART]],
// AVX2: func.func private @relax.gemm.f32.pack_b(
// AVX2: func.func private @relax.gemm.f32.pack_a(
// For the columns of B that the second-level cache holds, one tile of rows after the other.
// AVX2: func.func private @relax.gemm.f32.block(
// AVX2: %[[DEEP:[A-Za-z0-9_]+]] = arith.maxui %arg6, %c1
// AVX2: %[[HELD:[A-Za-z0-9_]+]] = arith.divui %c32768{{[_0-9]*}}, %[[DEEP]] :
// AVX2: %[[PANELS:[A-Za-z0-9_]+]] = arith.divui %[[HELD]], %c16
// AVX2: %[[WIDE:[A-Za-z0-9_]+]] = arith.muli %[[PANELS]], %c16
// Where it holds all of A a panel at a time is enough, since the next one is asked for meanwhile.
// AVX2: %[[SIZE:[A-Za-z0-9_]+]] = arith.muli %arg7, %arg6
// AVX2: %[[KEPT:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[SIZE]], %c16384
// AVX2: %[[STREAMED:[A-Za-z0-9_]+]] = arith.select %[[KEPT]], %c16{{[_0-9]*}}, %[[WIDE]] :
// AVX2: %[[DISTANCE:[A-Za-z0-9_]+]] = arith.muli %{{[A-Za-z0-9_]+}}, %c4
// AVX2: scf.for %[[J:[a-z0-9_]+]] = %c0{{[_0-9]*}} to %[[N:[a-z0-9_]+]] step %[[STREAMED]] {
// AVX2: %[[J1:[A-Za-z0-9_]+]] = arith.addi %[[J]], %[[STREAMED]] :
// AVX2: %[[END:[A-Za-z0-9_]+]] = arith.minui %[[J1]], %[[N]] :
// AVX2: scf.for %{{[a-z0-9_]+}} = %c0{{[_0-9]*}} to %{{[A-Za-z0-9_]+}} step %c6
// AVX2: %[[PART:[A-Za-z0-9_]+]] = arith.addi %[[DISTANCE]],
// AVX2: scf.for %[[PANEL:[a-z0-9_]+]] = %[[J]] to %[[END]] step %c16
// AVX2: %[[NEXT:[A-Za-z0-9_]+]] = arith.addi %[[PANEL]], %[[STREAMED]] :
// AVX2-NEXT: %[[COMES:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[NEXT]], %[[N]] :
// AVX2: %[[BEHIND:[A-Za-z0-9_]+]] = arith.select %[[COMES]], %[[PART]], %c0
// AVX2: %[[AHEAD:[A-Za-z0-9_]+]] = arith.addi %[[PANEL_AT:[A-Za-z0-9_]+]], %[[BEHIND]] :
// AVX2: %[[STEP:[A-Za-z0-9_]+]] = arith.select %[[COMES]], %{{[A-Za-z0-9_]+}}, %c0
// AVX2: func.call @relax.gemm.f32.tile_6(%{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[PANEL_AT]], {{.*}}, %[[AHEAD]], %[[STEP]])
// Tiles get addresses, and how far rows are apart, which takes few arguments.
// AVX2: func.func private @relax.gemm.f32.tile_2(%[[A_AT:[a-z0-9_]+]]: index, %[[APART:[a-z0-9_]+]]: index, %[[B_AT:[a-z0-9_]+]]: index, %{{[a-z0-9_]+}}: index, %{{[a-z0-9_]+}}: index, %{{[a-z0-9_]+}}: index, %{{[a-z0-9_]+}}: index, %{{[a-z0-9_]+}}: i1, %[[ASK:[a-z0-9_]+]]: index, %[[ON:[a-z0-9_]+]]: index)
// AVX2: arith.index_cast %[[A_AT]] : index to i64
// AVX2: %[[A:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast
// AVX2: arith.index_cast %[[B_AT]] : index to i64
// AVX2: %[[B:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast
// AVX2: scf.for {{.*}} iter_args(%[[C0:[a-z0-9_]+]] = %[[ZERO:[a-z0-9_]+]], %[[C1:[a-z0-9_]+]] = %[[ZERO]], %[[C2:[a-z0-9_]+]] = %[[ZERO]], %[[C3:[a-z0-9_]+]] = %[[ZERO]], %[[ASKED:[a-z0-9_]+]] = %[[ASK]])
// AVX2: %[[B0:[A-Za-z0-9_]+]] = vector.load %[[B]][
// AVX2: %[[B1:[A-Za-z0-9_]+]] = vector.load %[[B]][
// AVX2: %[[X:[A-Za-z0-9_]+]] = memref.load %[[A]][
// AVX2-NEXT: %[[A0:[A-Za-z0-9_]+]] = vector.broadcast %[[X]] : f32 to vector<8xf32>
// AVX2-NEXT: %[[S0:[A-Za-z0-9_]+]] = vector.fma %[[A0]], %[[B0]], %[[C0]] : vector<8xf32>
// AVX2-NEXT: %[[S1:[A-Za-z0-9_]+]] = vector.fma %[[A0]], %[[B1]], %[[C1]] : vector<8xf32>
// AVX2: %[[A1:[A-Za-z0-9_]+]] = vector.broadcast
// AVX2-NEXT: %[[S2:[A-Za-z0-9_]+]] = vector.fma %[[A1]], %[[B0]], %[[C2]] : vector<8xf32>
// AVX2-NEXT: %[[S3:[A-Za-z0-9_]+]] = vector.fma %[[A1]], %[[B1]], %[[C3]] : vector<8xf32>
// Each step asks the second-level cache for a line of what comes next.
// AVX2: arith.index_cast %[[ASKED]] :
// AVX2: memref.prefetch {{.*}}, read, locality<2>, data
// AVX2: %[[ASK_NEXT:[A-Za-z0-9_]+]] = arith.addi %[[ASKED]], %[[ON]] :
// AVX2-NEXT: scf.yield %[[S0]], %[[S1]], %[[S2]], %[[S3]], %[[ASK_NEXT]] :
// The highest tile does two steps at a time, then what is left.
// AVX2: func.func private @relax.gemm.f32.tile_6(
// AVX2: scf.for %{{[a-z0-9_]+}} = %c0{{[_0-9]*}} to %[[TWICE:[A-Za-z0-9_]+]] step %c2
// AVX2-COUNT-24: vector.fma
// AVX2: scf.for %{{[a-z0-9_]+}} = %[[TWICE]] to %{{[a-z0-9_]+}} step %c1
// AVX2-COUNT-12: vector.fma
// AVX2-NOT: func.func private @relax.gemm.f32.tile_8(

// It is the same with many rows to a tile.
// AVX512: func.func private @relax.gemm.f32.packed.part(
// AVX512-NOT: vector<8xf32>
// AVX512: arith.cmpi ugt, %{{[a-z0-9_]+}}, %c400
// AVX512: %[[UNIT:[A-Za-z0-9_]+]] = arith.cmpi eq, %strides#1, %c1
// AVX512: %[[FAR:[A-Za-z0-9_]+]] = arith.cmpi ne, %strides#0,
// AVX512-NEXT: %[[LIES:[A-Za-z0-9_]+]] = arith.andi %[[UNIT]], %[[FAR]] :
// AVX512: scf.if %[[LIES]] {
// AVX512: func.call @relax.gemm.f32.block(%{{.*}}, %{{[A-Za-z0-9_]+}}, %strides#0,
// AVX512: } else {
// AVX512: func.call @relax.gemm.f32.pack_a({{.*}}, %[[APART:[A-Za-z0-9_]+]]) :
// AVX512: func.call @relax.gemm.f32.block(%{{.*}}, %c0{{[_0-9]*}}, %[[APART]],
// One function for all tiles adds to C, and goes as far as C does, by masks; nothing is read of a C that is overwritten.
// AVX512: func.func private @relax.gemm.f32.tile_finish({{.*}}, %[[ADD:[a-z0-9_]+]]: i1)
// AVX512: scf.for
// AVX512: %[[WITHIN:[A-Za-z0-9_]+]] = arith.cmpi sgt, %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<16xi32>
// AVX512-NEXT: %[[ADDS:[A-Za-z0-9_]+]] = vector.broadcast %[[ADD]] : i1 to vector<16xi1>
// AVX512-NEXT: %[[READ:[A-Za-z0-9_]+]] = arith.andi %[[WITHIN]], %[[ADDS]] :
// AVX512: vector.maskedload %{{.*}}], %[[READ]], %
// AVX512: vector.maskedstore %{{.*}}], %[[WITHIN]], %
// AVX512: vector.maskedstore
// Such tiles have an even number of rows, the last of which may be missing: the one before it is read in its place.
// They ask for the lines of B ahead.
// AVX512-NOT: func.func private @relax.gemm.f32.tile_1(
// AVX512: func.func private @relax.gemm.f32.tile_2({{.*}}, %[[ACCUMULATE:[a-z0-9_]+]]: i1, %[[ROWS:[a-z0-9_]+]]: index)
// AVX512-COUNT-2: memref.prefetch {{.*}}, write
// AVX512: %[[THERE:[A-Za-z0-9_]+]] = arith.subi %[[ROWS]], %c1
// AVX512: %[[FROM:[A-Za-z0-9_]+]] = arith.muli %[[THERE]], %{{[a-z0-9_]+}}
// AVX512-COUNT-2: memref.prefetch {{.*}}, read
// AVX512: %[[PLACE:[A-Za-z0-9_]+]] = arith.addi %[[FROM]],
// AVX512-NEXT: memref.load %{{[a-z0-9_]+}}[%[[PLACE]]]
// AVX512: vector.fma %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<16xf32>
// AVX512: %[[OVERWRITE:[A-Za-z0-9_]+]] = arith.xori %[[ACCUMULATE]],
// AVX512-NEXT: %[[SIMPLE:[A-Za-z0-9_]+]] = arith.andi %{{[A-Za-z0-9_]+}}, %[[OVERWRITE]] :
// Sums go to C, or to memory of the tile's own, where a row that is missing always goes.
// AVX512: %[[ALL:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[ROWS]], %c2
// AVX512: %[[START:[A-Za-z0-9_]+]] = arith.select %[[SIMPLE]], %{{[a-z0-9_]+}}, %[[OWN:[A-Za-z0-9_]+]]
// AVX512: %[[HAS_LAST:[A-Za-z0-9_]+]] = arith.ori %[[ALL]],
// AVX512: %[[LAST:[A-Za-z0-9_]+]] = arith.addi %[[START]],
// AVX512-NEXT: arith.select %[[HAS_LAST]], %[[LAST]], %[[OWN]] :
// AVX512-COUNT-4: vector.store
// AVX512: %[[OTHER:[A-Za-z0-9_]+]] = arith.xori %[[SIMPLE]],
// AVX512-NEXT: scf.if %[[OTHER]] {
// AVX512-NEXT: func.call @relax.gemm.f32.tile_finish(%[[OWN]], %[[ROWS]], {{.*}}, %[[ACCUMULATE]])
// AVX512: func.func private @relax.gemm.f32.tile_4(
// AVX512: func.func private @relax.gemm.f32.tile_14(
// AVX512-NOT: func.func private @relax.gemm.f32.tile_16(
// A panel of which one vector is left: sums of that vector alone, which `tile_finish` writes as far as C goes.
// AVX512: func.func private @relax.gemm.f32.tile_narrow(
// AVX512-COUNT-14: vector.fma
// AVX512-NOT: vector.fma
// AVX512: call @relax.gemm.f32.tile_finish(

// NEON-NOT: vector<{{8|16}}xf32>
// Without masks what does not fill a vector goes in halves and quarters of one.
// NEON: func.func private @relax.gemm.f32.tile_finish(
// NEON: vector.store %{{.*}} vector<4xf32>
// NEON: vector.store %{{.*}} vector<2xf32>
// NEON: vector.store %{{.*}} vector<1xf32>
// NEON: func.func private @relax.gemm.f32.tile_2(
// NEON: vector.fma %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<4xf32>
// NEON: func.func private @relax.gemm.f32.tile_12(
// NEON-NOT: func.func private @relax.gemm.f32.tile_16(
func.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
