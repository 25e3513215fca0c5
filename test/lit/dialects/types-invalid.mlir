// Types that no value can have are errors where they are read, wherever they stand: at the op that has them first.
// RUN: relax-opt %s --split-input-file --verify-diagnostics -o /dev/null

// expected-error @below {{type tensor<?xf32, #relax.shape<["n", "m"]>>: rank 1, but its encoding has 2 dimensions [invariant 17]}}
func.func @parameter(%x: tensor<?xf32, #relax.shape<["n", "m"]>>) {
  return
}
// -----
// expected-error @below {{type tensor<?xf32, #relax.shape<["n+"]>>: dimension 'n+', column 3: expected a number, a symbol or '(' [invariant 17]}}
func.func private @declared_result() -> tensor<?xf32, #relax.shape<["n+"]>>
// -----
// expected-error @below {{dimension 0 is 4 in the type, but 5 in its encoding [invariant 17]}}
func.func private @field(tuple<i64, tensor<4xf32, #relax.shape<[5]>>>)
// -----
// expected-error @below {{dimension 0 is ? in the type, but 5 in its encoding [invariant 17]}}
func.func private @inner_function((tensor<?xf32, #relax.shape<[5]>>) -> ())
// -----
// expected-error @below {{type tensor<?xf32, #relax.shape<[-5]>>: dimension -5 is negative [invariant 17]}}
func.func private @negative(tensor<?xf32, #relax.shape<[-5]>>)
// -----
// expected-error @below {{dimension 'n m', column 3: expected an operator or the end [invariant 17]}}
func.func private @blank_in_a_name(tensor<?xf32, #relax.shape<["n m"]>>)
// -----
// expected-error @below {{dimension '2n', column 2: expected an operator or the end [invariant 17]}}
func.func private @name_of_a_digit(tensor<?xf32, #relax.shape<["2n"]>>)
// -----
// expected-error @below {{'min' is a function: expected '(' after it [invariant 17]}}
func.func private @name_of_a_function(tensor<?xf32, #relax.shape<["min"]>>)
// -----
// expected-error @below {{type tensor<?xi7, #relax.shape<["n"]>>: element type i7 is none of Relax's}}
func.func private @element(tensor<?xi7, #relax.shape<["n"]>>)
// -----
// expected-error @below {{type !relax.shape_value<3 : i64>: 3 : i64 is not a list of dimensions [invariant 17]}}
func.func private @shape_of_a_number(!relax.shape_value<3>)
// -----
// expected-error @below {{type !relax.shape_value<["n", "k*"]>: dimension 'k*', column 3: expected a number, a symbol or '(' [invariant 17]}}
func.func private @shape_of_no_expression(!relax.shape_value<["n", "k*"]>)
// -----
// expected-error @below {{type !relax.callable<[i1], i64, true>: type i1 is not the type of a Relax value [invariant 17]}}
func.func private @function_of_a_bit(!relax.callable<[i1], i64, true>)
// -----
// expected-error @below {{type !relax.callable<unit, i64, true>: its parameters are an array of types and its result is a type, or both are unit [invariant 17]}}
func.func private @function_of_unknown_parameters(!relax.callable<unit, i64, true>)
// -----
// expected-error @below {{its last parameter is 3 : i64, not true or false [invariant 17]}}
func.func private @function_of_no_purity(!relax.callable<[], i64, 3>)
// -----
// expected-error @below {{dimension 0 is 2 in the type, but 3 in its encoding [invariant 17]}}
func.func private @elements() attributes {a = dense<1.0> : tensor<2xf32, #relax.shape<[3]>>}
// -----
// expected-error @below {{type tensor<?xf32, #relax.shape<["n", "n"]>>: rank 1, but its encoding has 2 dimensions [invariant 17]}}
func.func private @nested_attribute() attributes {a = {b = [tensor<?xf32, #relax.shape<["n", "n"]>>]}}
// -----
// expected-error @below {{dimension true in [true] is neither an integer nor a string [invariant 17]}}
func.func private @encoding_alone() attributes {a = #relax.shape<[true]>}
// -----
// expected-error @below {{its encoding has 0 dimensions [invariant 17]}}
func.func @block_argument(%x: i64) {
  %0 = builtin.unrealized_conversion_cast %x : i64 to tensor<?xf32, #relax.shape<[]>>
  cf.br ^next(%0 : tensor<?xf32, #relax.shape<[]>>)
^next(%y: tensor<?xf32, #relax.shape<[]>>):
  return
}
// -----
func.func @result(%x: i64) {
  // expected-error @below {{its encoding has 0 dimensions [invariant 17]}}
  %0 = builtin.unrealized_conversion_cast %x : i64 to tensor<?xf32, #relax.shape<[]>>
  return
}
// -----
func.func @relax_op(%x: tensor<2xf32>) {
  // expected-error @below {{type tensor<2xf32, #relax.shape<[3]>>: dimension 0 is 2 in the type, but 3 in its encoding [invariant 17]}}
  %0 = "relax.abs"(%x) : (tensor<2xf32>) -> tensor<2xf32, #relax.shape<[3]>>
  return
}
// -----
// Each type once, all of them.
// expected-error @+2 {{type tensor<?xf32, #relax.shape<["n", "m"]>>}}
// expected-error @+1 {{type tensor<?xf32, #relax.shape<["k", "m"]>>}}
func.func private @two(tensor<?xf32, #relax.shape<["n", "m"]>>, tensor<?xf32, #relax.shape<["n", "m"]>>, tensor<?xf32, #relax.shape<["k", "m"]>>)
func.func private @again(tensor<?xf32, #relax.shape<["n", "m"]>>)
// -----
// Other dialects' types, and dimensions that are right.
func.func private @right(tensor<2xi7>, memref<?xf32>, tensor<?x4xf32, #relax.shape<["2*n", 4]>>,
  !relax.shape_value<unit>, !relax.shape_value<["?", 0]>, !relax.callable<unit, unit, false>, tensor<*x!relax.any>)
