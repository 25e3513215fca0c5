module {
  func.func @f() -> (tensor<4xf32>, tensor<4xf32>) {
    %cst = arith.constant dense_resource<weights> : tensor<4xf32>
    %cst_0 = arith.constant dense_resource<weights> : tensor<4xf32>
    return %cst, %cst_0 : tensor<4xf32>, tensor<4xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x0400000001000000020000000300000004000000"
    }
  },
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(cse))",
      disable_threading: false,
      verify_each: false
    }
  }
#-}
