"""Operators of neural networks as tensor expressions, with the names and argument orders of TVM's `topi.nn`."""

from relax_mlir.topi.einsum import batch_matmul, dense, matmul
from relax_mlir.topi.nn.activation import (
    cross_entropy_with_logits,
    elu,
    gelu,
    gelu_tanh,
    hardsigmoid,
    hardswish,
    leaky_relu,
    log_softmax,
    nll_loss,
    prelu,
    relu,
    selu,
    silu,
    softmax,
    softplus,
)
from relax_mlir.topi.nn.convolution import (
    conv,
    conv1d,
    conv1d_ncw,
    conv1d_nwc,
    conv1d_transpose_ncw,
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_nhwc,
    conv2d_transpose_nchw,
    conv3d,
    conv3d_ncdhw,
    conv3d_ndhwc,
    conv3d_transpose_ncdhw,
    conv_transpose,
    depthwise_conv2d_nchw,
    depthwise_conv2d_nhwc,
    group_conv1d_ncw,
    group_conv1d_nwc,
    group_conv1d_transpose_ncw,
    group_conv2d_nchw,
    group_conv2d_nhwc,
    group_conv2d_transpose_nchw,
    group_conv3d_transpose_ncdhw,
)
from relax_mlir.topi.nn.normalization import batch_norm, group_norm, instance_norm, layer_norm, lrn, rms_norm
from relax_mlir.topi.nn.padding import edge_pad, mirror_pad, pad, wrap_pad
from relax_mlir.topi.nn.pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
    max_pool_with_indices,
    pool,
    pool1d,
    pool2d,
    pool3d,
    pool_grad,
)
from relax_mlir.topi.nn.rearrange import (
    batch_to_space_nd,
    depth_to_space,
    dilate,
    flatten,
    pixel_shuffle,
    space_to_batch_nd,
    space_to_depth,
    upsampling,
    upsampling3d,
)
from relax_mlir.topi.nn.recurrent import lstm

__all__ = [
    "adaptive_pool", "adaptive_pool1d", "adaptive_pool3d", "batch_matmul", "batch_norm", "batch_to_space_nd",
    "conv", "conv1d", "conv1d_ncw", "conv1d_nwc", "conv1d_transpose_ncw", "conv2d", "conv2d_hwcn",
    "conv2d_nchw", "conv2d_nhwc", "conv2d_transpose_nchw", "conv3d", "conv3d_ncdhw", "conv3d_ndhwc",
    "conv3d_transpose_ncdhw", "conv_transpose", "cross_entropy_with_logits", "dense", "depth_to_space",
    "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "dilate", "edge_pad", "elu", "flatten", "gelu",
    "gelu_tanh", "global_pool", "group_conv1d_ncw", "group_conv1d_nwc", "group_conv1d_transpose_ncw",
    "group_conv2d_nchw", "group_conv2d_nhwc", "group_conv2d_transpose_nchw", "group_conv3d_transpose_ncdhw",
    "group_norm", "hardsigmoid", "hardswish", "instance_norm", "layer_norm", "leaky_relu", "log_softmax",
    "lrn", "lstm", "matmul", "max_pool_with_indices", "mirror_pad", "nll_loss", "pad", "pixel_shuffle",
    "pool", "pool1d", "pool2d", "pool3d", "pool_grad", "prelu", "relu", "rms_norm", "selu", "silu",
    "softmax", "softplus", "space_to_batch_nd", "space_to_depth", "upsampling", "upsampling3d", "wrap_pad",
]  # fmt: skip
