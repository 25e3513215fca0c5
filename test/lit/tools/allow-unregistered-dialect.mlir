// RUN: relax-opt %s --allow-unregistered-dialect --verify-roundtrip | filecheck %s
// RUN: not relax-opt %s 2>&1 | filecheck %s --check-prefix=ERROR
// RUN: not relax-opt %s --allow-unregistered-dialect=0 2>&1 | filecheck %s --check-prefix=ERROR

// ERROR: allow-unregistered-dialect.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}unregistered dialect
// CHECK: %y = "nobody.knows"(%x) : (!mine.type) -> i32
func.func @f(%x: !mine.type) -> i32 {
  %y = "nobody.knows"(%x) : (!mine.type) -> i32
  return %y : i32
}
