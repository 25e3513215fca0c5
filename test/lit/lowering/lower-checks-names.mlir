// RUN: relax-opt --lower-checks %s | filecheck %s
// errors.py: floats and bools of the user's program are shown as such; a percent sign in a message is one.

func.func private @relax.check.0(i1, index, index, index) attributes {
    relax.check = {kind = "ValueError", message = "100% of {2} is {0:float}, not {1:bool}"}}

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %{{.*}}: i1, %[[X:[a-z0-9_]+]]: index, %[[Y:[a-z0-9_]+]]: index, %[[N:[a-z0-9_]+]]: index)
// CHECK: llvm.mlir.addressof
// CHECK-NEXT: %[[FORMAT:[A-Za-z0-9_]+]] = llvm.mlir.addressof @[[MESSAGE:relax.text.[0-9a-f]+]]
// CHECK: %[[COUNT:[A-Za-z0-9_]+]] = arith.index_cast %[[N]] :
// CHECK: %[[BITS:[A-Za-z0-9_]+]] = arith.index_cast %[[X]] :
// CHECK: %[[FLOAT:[A-Za-z0-9_]+]] = call @relax.rt.float_name(%[[BITS]], %{{[A-Za-z0-9_]+}})
// CHECK: %[[SHOWN:[A-Za-z0-9_]+]] = llvm.ptrtoint %[[FLOAT]] :
// CHECK: %[[BITS:[A-Za-z0-9_]+]] = arith.index_cast %[[Y]] :
// CHECK: %[[BOOL:[A-Za-z0-9_]+]] = call @relax.rt.bool_name(%[[BITS]], %{{[A-Za-z0-9_]+}})
// CHECK: %[[WORD:[A-Za-z0-9_]+]] = llvm.ptrtoint %[[BOOL]] :
// CHECK: call @relax.rt.raise.3(%{{[A-Za-z0-9_]+}}, %[[FORMAT]], %[[COUNT]], %[[SHOWN]], %[[WORD]])
// CHECK: @[[MESSAGE]]("100%% of %lld is %.4000s, not %.4000s\00")

// CHECK: @relax.rt.float_format("%.9g\00")
// CHECK: func.func private @relax.rt.float_name(%[[BITS:[a-z0-9_]+]]: i64, %[[BUFFER:[a-z0-9_]+]]: !llvm.ptr)
// CHECK: %[[VALUE:[A-Za-z0-9_]+]] = arith.bitcast %[[BITS]] : i64 to f64
// CHECK: llvm.call @snprintf(%[[BUFFER]], %{{.*}}, %{{.*}}, %[[VALUE]])
// CHECK: return %[[BUFFER]] :

// CHECK: @relax.rt.bool_true("True\00")
// CHECK: @relax.rt.bool_false("False\00")
// CHECK: func.func private @relax.rt.bool_name(
// CHECK: %[[YES:[A-Za-z0-9_]+]] = llvm.mlir.addressof @relax.rt.bool_true
// CHECK: %[[NO:[A-Za-z0-9_]+]] = llvm.mlir.addressof @relax.rt.bool_false
// CHECK: llvm.select %{{[A-Za-z0-9_]+}}, %[[YES]], %[[NO]] :
// CHECK-NOT: relax.check
func.func @f(%ok: i1, %x: index, %y: index, %n: index) {
  call @relax.check.0(%ok, %x, %y, %n) : (i1, index, index, index) -> ()
  return
}
