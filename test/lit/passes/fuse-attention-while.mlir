// A loop whose condition hands on fewer values than the body carries, as canonicalisation leaves it: types are those of
// what the condition takes.
// RUN: relax-opt %s --fuse-attention | filecheck %s

!n = tensor<?xf32, #relax.shape<["n"]>>

// CHECK-LABEL: func.func @count(
// CHECK: %[[LAST:[A-Za-z0-9_]+]] = scf.while (%{{.*}}, %{{.*}}) : (i64, tensor<?xf32, #relax.shape<["n"]>>) -> i64
// CHECK: scf.yield %{{.*}}, %{{.*}} : i64, tensor<?xf32, #relax.shape<["n"]>>
// CHECK: return %[[LAST]] :
func.func @count(%x: !n) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %limit = arith.constant 5 : i64
  %r = scf.while (%i = %zero, %y = %x) : (i64, !n) -> i64 {
    %more = arith.cmpi slt, %i, %limit : i64
    scf.condition(%more) %i : i64
  } do {
  ^bb0(%i: i64):
    %next = arith.addi %i, %one : i64
    %z = "relax.exp"(%x) : (!n) -> !n
    scf.yield %next, %z : i64, !n
  }
  return %r : i64
}
