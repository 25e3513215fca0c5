// RUN: relax-opt --lower-checks %s | filecheck %s
// namers.py: floats and bools of the user's program are shown as such; a percent sign in a message is one.

func.func private @relax.check.0(i1, index, index, index) attributes {
    relax.check = {kind = "ValueError", message = "100% of {2} is {0:float}, not {1:bool}"}}

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %{{.*}}: i1, %[[X:[a-z0-9]+]]: index, %[[Y:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index)
// CHECK: llvm.mlir.addressof
// CHECK-NEXT: %[[FORMAT:[0-9]+]] = llvm.mlir.addressof @[[MESSAGE:relax.text.[0-9a-f]+]]
// CHECK: %[[COUNT:[0-9]+]] = arith.index_cast %[[N]]
// CHECK: %[[BITS:[0-9]+]] = arith.index_cast %[[X]]
// CHECK: %[[FLOAT:[0-9]+]] = call @relax.rt.float_name(%[[BITS]], %{{[0-9]+}})
// CHECK: %[[SHOWN:[0-9]+]] = llvm.ptrtoint %[[FLOAT]]
// CHECK: %[[BITS:[0-9]+]] = arith.index_cast %[[Y]]
// CHECK: %[[BOOL:[0-9]+]] = call @relax.rt.bool_name(%[[BITS]], %{{[0-9]+}})
// CHECK: %[[WORD:[0-9]+]] = llvm.ptrtoint %[[BOOL]]
// CHECK: call @relax.rt.raise.3(%{{[0-9]+}}, %[[FORMAT]], %[[COUNT]], %[[SHOWN]], %[[WORD]])
// CHECK: @[[MESSAGE]]("100%% of %lld is %s, not %s\00")

// CHECK: @relax.rt.float_format("%.9g\00")
// CHECK: func.func private @relax.rt.float_name(%[[BITS:[a-z0-9]+]]: i64, %[[BUFFER:[a-z0-9]+]]: !llvm.ptr)
// CHECK: %[[VALUE:[0-9]+]] = arith.bitcast %[[BITS]] : i64 to f64
// CHECK: llvm.call @snprintf(%[[BUFFER]], %{{.*}}, %{{.*}}, %[[VALUE]])
// CHECK: return %[[BUFFER]]

// CHECK: @relax.rt.bool_true("True\00")
// CHECK: @relax.rt.bool_false("False\00")
// CHECK: func.func private @relax.rt.bool_name(
// CHECK: %[[YES:[0-9]+]] = llvm.mlir.addressof @relax.rt.bool_true
// CHECK: %[[NO:[0-9]+]] = llvm.mlir.addressof @relax.rt.bool_false
// CHECK: llvm.select %{{[0-9]+}}, %[[YES]], %[[NO]]
// CHECK-NOT: relax.check
func.func @f(%ok: i1, %x: index, %y: index, %n: index) {
  call @relax.check.0(%ok, %x, %y, %n) : (i1, index, index, index) -> ()
  return
}
