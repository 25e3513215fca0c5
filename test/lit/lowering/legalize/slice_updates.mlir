// indexing.py
// slice_scatter becomes a prim func that writes over its first argument, which the call copies where that is still needed.
// RUN: relax-opt --legalize-ops %s | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n + 3"]>>, %[[S:[A-Za-z0-9_]+]]: tensor<2xf32>)
// CHECK: "relax.call_tir_inplace"(%{{[A-Za-z0-9_]+}}) {callee = @slice_scatter, inplace_indices = [0], tir_vars = []}
// CHECK: func.func private @slice_scatter(%[[A:[A-Za-z0-9_]+]]: tensor<?xf32>, %[[B:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<?xf32>
// CHECK: %[[P:[A-Za-z0-9_]+]] = tensor.extract_slice %[[A]][1] [2] [1]
// CHECK: %[[C:[A-Za-z0-9_]+]] = linalg.copy {cast = #linalg.type_fn<cast_signed>} ins(%[[B]] : tensor<2xf32>) outs(%[[P]] : tensor<2xf32>)
// CHECK: tensor.insert_slice %[[C]] into %[[A]][1] [2] [1]
func.func @main(%x: tensor<?xf32, #relax.shape<["n + 3"]>>, %s: tensor<2xf32>) -> tensor<?xf32, #relax.shape<["n + 3"]>> {
  %0 = "relax.slice_scatter"(%x, %s) {start = 1 : i64, end = 3 : i64, step = 1 : i64, axis = 0 : i64} : (tensor<?xf32, #relax.shape<["n + 3"]>>, tensor<2xf32>) -> tensor<?xf32, #relax.shape<["n + 3"]>>
  return %0 : tensor<?xf32, #relax.shape<["n + 3"]>>
}
