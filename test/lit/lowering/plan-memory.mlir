// RUN: relax-opt --plan-memory --split-input-file %s | filecheck %s

// Four temporaries in a chain share two slots; both sizes are one formula of the argument, computed at entry.
func.func private @step(memref<?x4xf32>, memref<?x4xf32>) attributes {relax.prim_func}

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x4xf32>, %[[OUT:[a-z0-9_]+]]: memref<?x4xf32>)
// CHECK: %[[N:[a-z0-9_]+]] = memref.dim %[[X]],
// CHECK: arith.mului_extended %{{[a-z0-9_]+}}, %[[N]] : index
// CHECK-NOT: arith.mului_extended
// CHECK-NOT: arith.maxui
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = arith.addi %[[FIRST:[a-z0-9_]+]], %{{[0-9]+}} : index
// CHECK: %[[SPACE:[A-Za-z0-9_]+]] = call @relax.rt.workspace_take(%{{[A-Za-z0-9_]+}})
// CHECK: call @relax.rt.workspace_give(%[[SPACE]]) {relax.defer = "always"}
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[FIRST]]]
// CHECK: call @step(%[[X]], %[[A]])
// CHECK: %[[B:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[SECOND]]]
// CHECK: call @step(%[[A]], %[[B]])
// CHECK: %[[C:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[FIRST]]]
// CHECK: call @step(%[[B]], %[[C]])
// CHECK: %[[D:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[SECOND]]]
// CHECK: call @step(%[[C]], %[[D]])
// CHECK: call @step(%[[D]], %[[OUT]])
func.func @chain(%x: memref<?x4xf32>, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  call @step(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x4xf32>
  call @step(%a, %b) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %c = memref.alloc(%n) : memref<?x4xf32>
  call @step(%b, %c) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %d = memref.alloc(%n) : memref<?x4xf32>
  call @step(%c, %d) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @step(%d, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}
// -----
// Small buffers of static size live on the stack, up to 256 bytes; the record keeps their order.
// CHECK-LABEL: func.func @small
// CHECK-SAME: \22kind\22: \22workspace\22{{.*}}\22kind\22: \22stack\22{{.*}}\22kind\22: \22stack\22
// CHECK: %[[SPACE:[a-z0-9_]+]] = call @relax.rt.workspace_take
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<64xf32>
// CHECK-NEXT: memref.alloca() {alignment = 64 : i64} : memref<2xindex>
// CHECK: memref.view %[[SPACE]][{{.*}} : memref<?xi8> to memref<65xf32>
// CHECK-NOT: memref.alloc()
// CHECK: return
func.func @small(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %more = memref.alloc() : memref<65xf32>
  memref.store %v, %more[%c0] : memref<65xf32>
  %a = memref.alloc() : memref<2xindex>
  memref.store %n, %a[%c0] : memref<2xindex>
  %most = memref.alloc() : memref<64xf32>
  memref.store %v, %most[%c0] : memref<64xf32>
  return
}
// -----
// Both live at once: two slots, the second behind the first, and a workspace for both.
func.func private @step(memref<?xf32>, memref<?xf32>) attributes {relax.prim_func}

// CHECK-LABEL: func.func @both_live
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?xf32>, %[[OUT:[a-z0-9_]+]]: memref<?xf32>)
// CHECK: %[[ROUNDED:[A-Za-z0-9_]+]] = arith.andi
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = arith.addi %[[FIRST:[a-z0-9_]+]], %[[ROUNDED]] : index
// CHECK: %[[TOTAL:[A-Za-z0-9_]+]] = arith.addi %[[SECOND]], %{{[A-Za-z0-9_]+}} : index
// CHECK: %[[SPACE:[A-Za-z0-9_]+]] = call @relax.rt.workspace_take(%[[TOTAL]])
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[FIRST]]]
// CHECK: %[[B:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[SECOND]]]
// CHECK: call @step(%[[X]], %[[A]])
// CHECK: call @step(%[[X]], %[[B]])
func.func @both_live(%x: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  call @step(%x, %a) : (memref<?xf32>, memref<?xf32>) -> ()
  call @step(%x, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  call @step(%a, %out) : (memref<?xf32>, memref<?xf32>) -> ()
  call @step(%b, %out) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}
// -----
// Sizes that differ share a slot as large as the larger one.
func.func private @fill(memref<1024xf32>)
func.func private @fill_half(memref<512xf32>)

// CHECK-LABEL: func.func @static
// CHECK: %[[OFFSET:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[TOTAL:[a-z0-9_]+]] = arith.constant 4096 : index
// CHECK: %[[SPACE:[A-Za-z0-9_]+]] = call @relax.rt.workspace_take(%[[TOTAL]])
// CHECK: memref.view %[[SPACE]][%[[OFFSET]]][] : memref<?xi8> to memref<512xf32>
// CHECK: memref.view %[[SPACE]][%[[OFFSET]]][] : memref<?xi8> to memref<1024xf32>
func.func @static() {
  %b = memref.alloc() : memref<512xf32>
  call @fill_half(%b) : (memref<512xf32>) -> ()
  %a = memref.alloc() : memref<1024xf32>
  call @fill(%a) : (memref<1024xf32>) -> ()
  return
}
// -----
// Of two slots that are free, the buffer gets the one of the nearest size, though the other one is as good and first.
func.func private @two(memref<2048xf32>, memref<1024xf32>)
func.func private @fill_half(memref<512xf32>)

// CHECK-LABEL: func.func @nearest
// CHECK-DAG: %[[FIRST:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-DAG: %[[SECOND:[a-z0-9_]+]] = arith.constant 8192 : index
// CHECK-DAG: %[[TOTAL:[a-z0-9_]+]] = arith.constant 12288 : index
// CHECK: %[[SPACE:[A-Za-z0-9_]+]] = call @relax.rt.workspace_take(%[[TOTAL]])
// CHECK: memref.view %[[SPACE]][%[[FIRST]]][] : memref<?xi8> to memref<2048xf32>
// CHECK: memref.view %[[SPACE]][%[[SECOND]]][] : memref<?xi8> to memref<1024xf32>
// CHECK: memref.view %[[SPACE]][%[[SECOND]]][] : memref<?xi8> to memref<512xf32>
func.func @nearest() {
  %a = memref.alloc() : memref<2048xf32>
  %b = memref.alloc() : memref<1024xf32>
  call @two(%a, %b) : (memref<2048xf32>, memref<1024xf32>) -> ()
  %c = memref.alloc() : memref<512xf32>
  call @fill_half(%c) : (memref<512xf32>) -> ()
  return
}
// -----
// Static sizes go with static ones, dynamic ones with dynamic ones, even if they differ more; static ones come first.
func.func private @mixed(memref<?x512xf32>, memref<2048xf32>)
func.func private @fill_half(memref<512xf32>)
func.func private @fill_rows(memref<?x2xf32>)

// CHECK-LABEL: func.func @same_kind
// CHECK-SAME: \22slots\22: [{\22bytes\22: \228192\22, \22offset\22: \220\22}, {\22bytes\22: \222048*arg0\22
// CHECK: %[[ROWS:[A-Za-z0-9_]+]] = memref.view %[[SPACE:[A-Za-z0-9_]+]][%[[DYNAMIC:[A-Za-z0-9_]+]]][%{{[a-z0-9_]+}}] : memref<?xi8> to memref<?x512xf32>
// CHECK: memref.view %[[SPACE]][%[[STATIC:[A-Za-z0-9_]+]]][] : memref<?xi8> to memref<2048xf32>
// CHECK: memref.view %[[SPACE]][%[[STATIC]]][] : memref<?xi8> to memref<512xf32>
// CHECK: memref.view %[[SPACE]][%[[DYNAMIC]]][%{{[a-z0-9_]+}}] : memref<?xi8> to memref<?x2xf32>
func.func @same_kind(%n: index) {
  %a = memref.alloc(%n) : memref<?x512xf32>
  %b = memref.alloc() : memref<2048xf32>
  call @mixed(%a, %b) : (memref<?x512xf32>, memref<2048xf32>) -> ()
  %c = memref.alloc() : memref<512xf32>
  call @fill_half(%c) : (memref<512xf32>) -> ()
  %d = memref.alloc(%n) : memref<?x2xf32>
  call @fill_rows(%d) : (memref<?x2xf32>) -> ()
  return
}
// -----
// The slot of a buffer that dies may be taken by a larger one later: the result that outlives that has another.
func.func private @fill(memref<?x16xf32>) attributes {relax.prim_func}
func.func private @fill_large(memref<?x64xf32>) attributes {relax.prim_func}
#rows = affine_map<(d0, d1) -> (d0, d1)>
func.func private @twice(%x: memref<?x16xf32>, %o: memref<?x16xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x16xf32>) outs(%o : memref<?x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
// CHECK-LABEL: func.func @taken_later
// CHECK-SAME: \22slot\22: 0
// CHECK-SAME: \22slot\22: 1
// CHECK-SAME: \22slot\22: 0
func.func @taken_later(%n: index) {
  %a = memref.alloc(%n) : memref<?x16xf32>
  call @fill(%a) : (memref<?x16xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x16xf32>
  call @twice(%a, %b) : (memref<?x16xf32>, memref<?x16xf32>) -> ()
  %large = memref.alloc(%n) : memref<?x64xf32>
  call @fill_large(%large) : (memref<?x64xf32>) -> ()
  call @fill(%b) : (memref<?x16xf32>) -> ()
  return
}
// -----
// Sizes of more symbols come first, and a free slot with exactly the size is taken, though another one has the factor.
func.func private @fill(memref<?x64xf32>, memref<?x64xf32>, memref<?x?xf32>)
func.func private @fill_one(memref<?x64xf32>)
// CHECK-LABEL: func.func @exact
// CHECK-SAME: \22slot\22: 1
// CHECK-SAME: \22slot\22: 2
// CHECK-SAME: \22slot\22: 0
// CHECK-SAME: \22slot\22: 2
func.func @exact(%n: index, %m: index) {
  %a = memref.alloc(%n) : memref<?x64xf32>
  %b = memref.alloc(%m) : memref<?x64xf32>
  %c = memref.alloc(%n, %m) : memref<?x?xf32>
  call @fill(%a, %b, %c) : (memref<?x64xf32>, memref<?x64xf32>, memref<?x?xf32>) -> ()
  %d = memref.alloc(%m) : memref<?x64xf32>
  call @fill_one(%d) : (memref<?x64xf32>) -> ()
  return
}
// -----
// A slot that has held the size, and a size of one byte more, is not as near as one of this size alone.
func.func private @fill(memref<1000xi8>)
func.func private @fill_both(memref<1000xi8>, memref<1000xi8>)
func.func private @fill_more(memref<1001xi8>, memref<1000xi8>)
// CHECK-LABEL: func.func @one_byte
// CHECK-SAME: \22slot\22: 0
// CHECK-SAME: \22slot\22: 1
// CHECK-SAME: \22slot\22: 0
// CHECK-SAME: \22slot\22: 1
func.func @one_byte() {
  %a = memref.alloc() : memref<1001xi8>
  %b = memref.alloc() : memref<1000xi8>
  call @fill_more(%a, %b) : (memref<1001xi8>, memref<1000xi8>) -> ()
  %c = memref.alloc() : memref<1000xi8>
  call @fill_both(%b, %c) : (memref<1000xi8>, memref<1000xi8>) -> ()
  %d = memref.alloc() : memref<1000xi8>
  call @fill(%d) : (memref<1000xi8>) -> ()
  return
}
// -----
// A buffer that is last used in one op shares the slot of one that is first used in the next.
func.func private @fill(memref<100xf32>)
func.func private @fill_large(memref<200xf32>)
// CHECK-LABEL: func.func @adjacent
// CHECK-SAME: \22slot\22: 0
// CHECK-SAME: \22slot\22: 0
func.func @adjacent() {
  %a = memref.alloc() : memref<100xf32>
  %b = memref.alloc() : memref<200xf32>
  call @fill(%a) : (memref<100xf32>) -> ()
  call @fill_large(%b) : (memref<200xf32>) -> ()
  return
}
