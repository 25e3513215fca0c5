// Convolutions and poolings: what computes them, and why not something else.
// strategies.py, pooling.py
// RUN: relax-opt %s "--legalize-ops=target='cpu -mcpu=x86-64-v4'" --explain-strategy -o %t 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=IR < %t

// CHECK-LABEL: depthwise: relax.nn_conv2d
// CHECK: no      grouped direct   20  a kernel for each channel
// CHECK: taken   kernel windows   15
// CHECK-LABEL: grouped: relax.nn_conv2d
// CHECK: taken   grouped direct   20
// CHECK-LABEL: behind: relax.nn_conv2d
// CHECK: no      grouped direct   20  needs data_layout NCHW, got NHWC
// CHECK: taken   kernel windows
// CHECK-LABEL: dense: relax.nn_conv2d
// CHECK: taken   kernel windows
// CHECK-LABEL: alone: relax.nn_conv2d
// CHECK: taken   kernel matrix product
// CHECK-LABEL: pooled: relax.nn_max_pool2d
// CHECK: taken   kernel windows
// CHECK-LABEL: apart: relax.nn_max_pool2d
// CHECK: no      kernel windows   15  windows have no elements in common
// CHECK: taken   linalg

// IR-LABEL: func.func @depthwise(
// IR: callee = @conv2d, tir_vars = []
// IR-LABEL: func.func @grouped(
// IR: callee = @nn_conv2d_grouped_direct, tir_vars = []
// IR-LABEL: func.func @dense(
// IR: callee = @conv2d_{{[0-9]+}}, tir_vars = []
// IR-LABEL: func.func @alone(
// IR: callee = @matmul, tir_vars = []

func.func @depthwise(%x: tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>, %w: tensor<8x1x3x3xf32>) -> tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>> {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [1, 1, 1, 1], dilation = [1, 1], groups = 8 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>, tensor<8x1x3x3xf32>) -> tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>
  return %0 : tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>
}

func.func @grouped(%x: tensor<1x8x5x5xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32> {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 2 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<1x8x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  return %0 : tensor<1x6x3x3xf32>
}

func.func @behind(%x: tensor<1x5x5x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x3x3x6xf32> {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 2 : i64, data_layout = "NHWC", kernel_layout = "OIHW", out_layout = "NHWC", out_dtype = unit} : (tensor<1x5x5x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x3x3x6xf32>
  return %0 : tensor<1x3x3x6xf32>
}

func.func @dense(%x: tensor<1x8x?x?xf32, #relax.shape<[1, 8, "h", "w"]>>, %w: tensor<6x8x3x3xf32>) -> tensor<1x6x?x?xf32, #relax.shape<[1, 6, "h", "w"]>> {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [1, 1, 1, 1], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<1x8x?x?xf32, #relax.shape<[1, 8, "h", "w"]>>, tensor<6x8x3x3xf32>) -> tensor<1x6x?x?xf32, #relax.shape<[1, 6, "h", "w"]>>
  return %0 : tensor<1x6x?x?xf32, #relax.shape<[1, 6, "h", "w"]>>
}

func.func @alone(%x: tensor<1x8x16x16xf32>, %w: tensor<6x8x1x1xf32>) -> tensor<1x6x16x16xf32> {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<1x8x16x16xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x16x16xf32>
  return %0 : tensor<1x6x16x16xf32>
}

func.func @pooled(%x: tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>) -> tensor<?x8x?x?xf32, #relax.shape<["n", 8, "(h + 1) // 2", "(w + 1) // 2"]>> {
  %0 = "relax.nn_max_pool2d"(%x) {pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], dilation = [1, 1], ceil_mode = 0 : i1, count_include_pad = 0 : i1, layout = "NCHW", out_layout = "NCHW"} : (tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>) -> tensor<?x8x?x?xf32, #relax.shape<["n", 8, "(h + 1) // 2", "(w + 1) // 2"]>>
  return %0 : tensor<?x8x?x?xf32, #relax.shape<["n", 8, "(h + 1) // 2", "(w + 1) // 2"]>>
}

func.func @apart(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32> {
  %0 = "relax.nn_max_pool2d"(%x) {pool_size = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilation = [1, 1], ceil_mode = 0 : i1, count_include_pad = 0 : i1, layout = "NCHW", out_layout = "NCHW"} : (tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32>
  return %0 : tensor<1x8x3x3xf32>
}
