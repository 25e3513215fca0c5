// RUN: relax-opt --split-input-file --verify-diagnostics %s
// RUN: relax-opt --cse --lower-symbolic-shapes --split-input-file --verify-diagnostics %s 2>/dev/null | filecheck %s

// CHECK: func.func private @relax.packed.0(memref<?xf32>) -> memref<?xi64>
// CHECK-SAME: args = ["tensor", "str:axis", "int:2"]{{.*}}name = "f"{{.*}}style = "alloc"
// CHECK: @main
// CHECK: to_buffer %{{.*}} read_only
// CHECK: call @relax.packed.0
// CHECK-NOT: call @relax.packed.1
// CHECK: call @relax.check.0
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xi64, #relax.shape<["n"]>> {
  %t = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %0 = "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit, "axis", 2]}
    : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xi64, #relax.shape<["n"]>>
  %unused = "relax.call_pure_packed"(%t) {func = "g", arg_spec = [unit]}
    : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xi64, #relax.shape<["n"]>>
  return %0 : tensor<?xi64, #relax.shape<["n"]>>
}
// -----
func.func @nothing(%t: tuple<>) -> tuple<> {
  // expected-error@+1 {{a call without effects gives a value, but its result is an empty tuple}}
  %0 = "relax.call_pure_packed"(%t) {func = "f", arg_spec = []} : (tuple<>) -> tuple<>
  return %0 : tuple<>
}
// -----
func.func @spec(%t: tuple<>) -> !relax.object {
  // expected-error@+1 {{arg_spec has 1 operands, the op 0}}
  %0 = "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<>) -> !relax.object
  return %0 : !relax.object
}
