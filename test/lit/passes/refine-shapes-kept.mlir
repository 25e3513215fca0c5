// What refine-shapes must leave alone.
// RUN: relax-opt %s --refine-shapes | filecheck %s

// An effect lies between: the check stays behind it.
// CHECK-LABEL: func.func @effect(
// CHECK-NEXT: "relax.log"(%x) : (tensor<?xf32>) -> tensor<?xf32>
// CHECK: "relax.call_packed"
// CHECK-NEXT: "relax.match_shape"
func.func @effect(%x: tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.log"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = builtin.unrealized_conversion_cast to tuple<>
  %2 = "relax.call_packed"(%1) {func = "print", arg_spec = []} : (tuple<>) -> tuple<>
  %3 = "relax.match_shape"(%0) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %3 : tensor<?xf32, #relax.shape<["m"]>>
}

// A sum broadcasts: its shape is not that of its operands.
// CHECK-LABEL: func.func @broadcast(
// CHECK-NEXT: "relax.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT: "relax.match_shape"
func.func @broadcast(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = "relax.match_shape"(%0) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}

// A symbol of the pattern is defined after the op.
// CHECK-LABEL: func.func @later_symbol(
// CHECK-NEXT: "relax.log"(%x) : (tensor<?xf32>) -> tensor<?xf32>
// CHECK-NEXT: "relax.match_shape"(%y) {pattern = ["k"]
// CHECK-NEXT: "relax.match_shape"({{.*}}) {pattern = ["2*k"]
func.func @later_symbol(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32, #relax.shape<["2*k"]>> {
  %0 = "relax.log"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = "relax.match_shape"(%y) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["k"]>>
  %2 = "relax.match_shape"(%0) {pattern = ["2*k"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["2*k"]>>
  return %2 : tensor<?xf32, #relax.shape<["2*k"]>>
}

// A branch is taken or not: its check stays inside.
// CHECK-LABEL: func.func @branch(
// CHECK: "relax.log"(%x) : (tensor<?xf32>) -> tensor<?xf32>
// CHECK: scf.if
// CHECK-NEXT: "relax.match_shape"
func.func @branch(%x: tensor<?xf32>, %c: tensor<i1>) -> tensor<?xf32> {
  %f = tensor.extract %c[] : tensor<i1>
  %0 = "relax.log"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = scf.if %f -> tensor<?xf32> {
    %2 = "relax.match_shape"(%0) {pattern = [4], result_dtype} : (tensor<?xf32>) -> tensor<4xf32>
    %3 = "relax.match_shape"(%2) {pattern = ["?"], result_dtype} : (tensor<4xf32>) -> tensor<?xf32>
    scf.yield %3 : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  return %1 : tensor<?xf32>
}

// Another user could not do with the better type, since m and k may or may not be equal: it keeps the vaguer one.
// CHECK-LABEL: func.func @vaguer(
// CHECK: "relax.log"({{.*}}) : (tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32>
// CHECK-NEXT: "relax.add"({{.*}}) : (tensor<?xf32>, tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32>
func.func @vaguer(%x: tensor<?xf32>, %y: tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32> {
  %0 = "relax.log"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = "relax.add"(%0, %y) : (tensor<?xf32>, tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32>
  %2 = "relax.match_shape"(%0) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32>
}

// A cast tells nothing of its operand's dtype.
// CHECK-LABEL: func.func @cast(
// CHECK-NEXT: "relax.match_shape"(%x) {pattern = ["m"], result_dtype} : (tensor<?x!relax.any>) -> tensor<?x!relax.any, #relax.shape<["m"]>>
// CHECK-NEXT: "relax.astype"
func.func @cast(%x: tensor<?x!relax.any>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<?x!relax.any>) -> tensor<?xf32>
  %1 = "relax.match_shape"(%0) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}
