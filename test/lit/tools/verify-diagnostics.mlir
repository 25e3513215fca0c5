// RUN: relax-opt %s --split-input-file --verify-diagnostics --one-shot-bufferize --allow-unregistered-dialect -o /dev/null
// RUN: not relax-opt %S/Inputs/wrong-expectations.mlir --split-input-file --verify-diagnostics -o /dev/null 2>&1 | filecheck %s

// What is wrong is shown with its line and a caret.
// CHECK: wrong-expectations.mlir:3:3: error: unexpected error: 'func.return' op has 1 operands
// CHECK-NEXT: {{^}}  return %a : i32{{$}}
// CHECK-NEXT: {{^}}  ^{{$}}
// CHECK-NEXT: wrong-expectations.mlir:2:6: error: expected error "another message" was not produced
// CHECK-NEXT: {{^}}  // expected{{-}}error @below
// CHECK-NEXT: {{^}}     ^~~~~~~~~~~~~~{{$}}
// CHECK-NEXT: wrong-expectations.mlir:8:{{[0-9]+}}: error: expected warning "never comes" was not produced
// CHECK: ^~~~~~~~~~~~~~~~{{$}}
// CHECK: wrong-expectations.mlir:12:{{[0-9]+}}: error: unexpected error: use of undeclared SSA value name
// CHECK: wrong-expectations.mlir:16:4: error: malformed expected-* comment
// CHECK-NEXT: {{^}}// expected{{-}}error above
// CHECK-NEXT: {{^}}   ^~~~~~~~~~~~~~{{$}}

func.func @wrong_return() {
  %0 = arith.constant 1 : i32
  // expected-error @below {{op has 1 operands, but enclosing function (@wrong_return) returns 0}}
  return %0 : i32
}

// -----

func.func @undeclared() -> i32 {
  return %x : i32 // expected-error {{use of undeclared SSA value name}}
}

// -----

func.func @in_a_pass(%t: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.op"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@-1 {{op was not bufferized}}
  return %0 : tensor<4xf32>
}

// -----

func.func @regular(%a: i32) {
  // expected-error-re @below {{op has {{[0-9]+}} operands, but enclosing function (@regular) returns {{.}}}}
  return %a : i32
}
