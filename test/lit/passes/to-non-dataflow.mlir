// Dataflow blocks dissolve into the code around them.
// RUN: relax-opt %s --to-non-dataflow | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.add"(%[[A]], %[[X]])
// CHECK-NEXT: return %[[B]]
// CHECK-NOT: relax.dataflow
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
    %b = "relax.add"(%a, %x) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
    "relax.output"(%b) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  }) : () -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
