"""Operators of neural networks as tensor expressions, with the names and the orders of arguments of TVM's `topi.nn`."""

from relax_mlir.topi.nn.activation import leaky_relu, log_softmax, prelu, relu, softmax
from relax_mlir.topi.nn.convolution import (
    conv,
    conv1d,
    conv1d_transpose_ncw,
    conv2d,
    conv2d_transpose_nchw,
    conv3d,
    conv3d_transpose_ncdhw,
    conv_transpose,
    depthwise_conv2d_nchw,
    group_conv2d_nchw,
)
from relax_mlir.topi.nn.dense import batch_matmul, dense, matmul
from relax_mlir.topi.nn.normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from relax_mlir.topi.nn.padding import edge_pad, mirror_pad, pad, wrap_pad
from relax_mlir.topi.nn.pooling import global_pool, pool, pool1d, pool2d, pool3d

__all__ = [
    "batch_matmul",
    "batch_norm",
    "conv",
    "conv1d",
    "conv1d_transpose_ncw",
    "conv2d",
    "conv2d_transpose_nchw",
    "conv3d",
    "conv3d_transpose_ncdhw",
    "conv_transpose",
    "dense",
    "depthwise_conv2d_nchw",
    "edge_pad",
    "global_pool",
    "group_conv2d_nchw",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "matmul",
    "mirror_pad",
    "pad",
    "pool",
    "pool1d",
    "pool2d",
    "pool3d",
    "prelu",
    "relu",
    "rms_norm",
    "softmax",
    "wrap_pad",
]
