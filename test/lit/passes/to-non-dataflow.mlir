// Dataflow blocks dissolve into the code around them.
// RUN: relax-opt %s --to-non-dataflow | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.add"(%[[A]], %[[X]])
// CHECK-NEXT: return %[[B]] :
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
    %b = "relax.add"(%a, %x) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
    "relax.output"(%b) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  }) : () -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}

// What a packed function changes of an output, it changes of that alone: the value before the block stays what it was.
// CHECK-LABEL: func.func @effects(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK-NOT: relax.dataflow
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: "relax.call_packed"(%[[T]])
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: "relax.subtract"(%[[NEW]], %[[X]])
func.func @effects(%x: tensor<2xf32>) -> tensor<2xf32> {
  %d = "relax.dataflow"() ({
    "relax.output"(%x) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  %t = builtin.unrealized_conversion_cast %d : tensor<2xf32> to tuple<tensor<2xf32>>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  %r = "relax.subtract"(%d, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// Blocks in branches dissolve there; the conditional, and what is outside of blocks, stays.
// CHECK-LABEL: func.func @branches(
// CHECK-SAME: %[[C:[a-z0-9_]+]]: i1, %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = scf.if %[[C]] ->
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: scf.yield %[[E]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[X]] :
// CHECK-NEXT: }
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = "relax.negative"(%[[R]])
// CHECK-NEXT: return %[[N]] :
func.func @branches(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %r = scf.if %c -> (tensor<2xf32>) {
    %d = "relax.dataflow"() ({
      %e = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      "relax.output"(%e) : (tensor<2xf32>) -> ()
    }) : () -> tensor<2xf32>
    scf.yield %d : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  %n = "relax.negative"(%r) : (tensor<2xf32>) -> tensor<2xf32>
  return %n : tensor<2xf32>
}
