// indexing.py
// dynamic_strided_slice becomes two prim funcs: one says where the slice begins, how many elements it has and by which steps, as
// Python's slice.indices does; the other one takes them, of sizes that match_shape reads.
// RUN: relax-opt --legalize-ops %s | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[B:[A-Za-z0-9_]+]]: tensor<1xi64>, %[[E:[A-Za-z0-9_]+]]: tensor<1xi32>)
// CHECK: %[[P:[A-Za-z0-9_]+]] = "relax.call_tir"(%{{[0-9]+}}) {callee = @slice_places, tir_vars = []}
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 0 : i64}
// CHECK: %[[COUNT:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK: %[[STEP:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 2 : i64}
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.tensor_to_shape"(%[[COUNT]])
// CHECK: "relax.match_shape"(%[[S]]) {pattern = {{.*}}, result_dtype}
// CHECK: unrealized_conversion_cast %[[X]], %[[FIRST]], %[[STEP]] :
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.call_tir"(%{{[0-9]+}}) {callee = @dynamic_strided_slice, tir_vars = []} : {{.*}} -> tensor<?xf32, #relax.shape<{{.*}}>>
// CHECK: %[[U:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[R]]) {pattern = {{.*}}, result_dtype} : {{.*}} -> tensor<?xf32>
// CHECK: return %[[U]] :

// CHECK-LABEL: func.func private @slice_places(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: tensor<?xf32>, %[[A1:[A-Za-z0-9_]+]]: tensor<1xi64>, %[[A2:[A-Za-z0-9_]+]]: tensor<1xi32>, %[[A3:[A-Za-z0-9_]+]]: tensor<1xi64>,
// CHECK: %[[STRIDE:[A-Za-z0-9_]+]] = tensor.extract %[[A3]][
// CHECK: %[[T:[A-Za-z0-9_]+]] = arith.index_cast %[[STRIDE]] : i64 to index
// CHECK: %[[D:[A-Za-z0-9_]+]] = tensor.dim %[[A]],
// CHECK: %[[IS:[A-Za-z0-9_]+]] = arith.cmpi ne, %[[T]],
// CHECK-NEXT: cf.assert %[[IS]], "dynamic_strided_slice: a stride is 0"
// CHECK: %[[UP:[A-Za-z0-9_]+]] = arith.cmpi sgt, %[[T]],
// CHECK: arith.select %[[UP]], %[[D]],
// CHECK-COUNT-3: tensor.insert

// CHECK-LABEL: func.func private @dynamic_strided_slice(
// CHECK-SAME: %[[Y:[A-Za-z0-9_]+]]: tensor<?xf32>, %[[F:[A-Za-z0-9_]+]]: tensor<1xi64>, %[[W:[A-Za-z0-9_]+]]: tensor<1xi64>
// CHECK: %[[FV:[A-Za-z0-9_]+]] = tensor.extract %[[F]][
// CHECK: %[[FI:[A-Za-z0-9_]+]] = arith.index_cast %[[FV]] :
// CHECK: %[[WV:[A-Za-z0-9_]+]] = tensor.extract %[[W]][
// CHECK: %[[WI:[A-Za-z0-9_]+]] = arith.index_cast %[[WV]] :
// CHECK: %[[I:[A-Za-z0-9_]+]] = linalg.index 0
// CHECK: %[[M:[A-Za-z0-9_]+]] = arith.muli %[[I]], %[[WI]] :
// CHECK: %[[AT:[A-Za-z0-9_]+]] = arith.addi %[[FI]], %[[M]] :
// CHECK: tensor.extract %[[Y]][%[[AT]]]
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>, %b: tensor<1xi64>, %e: tensor<1xi32>) -> tensor<?xf32> {
  %0 = "relax.dynamic_strided_slice"(%x, %b, %e, %b) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<1xi64>, tensor<1xi32>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
