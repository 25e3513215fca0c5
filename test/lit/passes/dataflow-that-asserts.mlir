// A dataflow block whose results nobody needs stays for what it asserts: MLIR's passes do not drop or merge it.
// RUN: relax-opt --canonicalize --cse %s | filecheck %s
// RUN: relax-opt --to-non-dataflow --canonicalize --cse %s | filecheck %s --check-prefix=FLAT

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32>
// CHECK: "relax.match_shape"(%[[X]]) {pattern = [3]
// CHECK: return
// FLAT-LABEL: func.func @main(
// FLAT-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32>
// FLAT-NEXT: %[[Y:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[X]]) {pattern = [3]
// FLAT-NEXT: return %[[X]] :
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.match_shape"(%x) {pattern = [3], result_dtype} : (tensor<?xf32>) -> tensor<3xf32>
    %2 = "relax.negative"(%1) : (tensor<3xf32>) -> tensor<3xf32>
    "relax.output"(%2) : (tensor<3xf32>) -> ()
  }) : () -> tensor<3xf32>
  return %x : tensor<?xf32>
}
