"""Builders of the neural network ops: ``R.nn.softmax(x)``."""

from relax_mlir.dialects.activations import (
    elu,
    hardsigmoid,
    hardswish,
    leakyrelu,
    mish,
    prelu,
    relu6,
    selu,
    softplus,
)
from relax_mlir.dialects.batch_norm import batch_norm
from relax_mlir.dialects.convolution import conv1d, conv2d, conv3d
from relax_mlir.dialects.group_norm import group_norm, instance_norm
from relax_mlir.dialects.nn import (
    attention,
    attention_bias,
    gelu,
    gelu_tanh,
    layer_norm,
    log_softmax,
    relu,
    rms_norm,
    silu,
    softmax,
)
from relax_mlir.dialects.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)

__all__ = [
    "attention",
    "attention_bias",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "elu",
    "gelu",
    "gelu_tanh",
    "group_norm",
    "hardsigmoid",
    "hardswish",
    "instance_norm",
    "layer_norm",
    "leakyrelu",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "selu",
    "silu",
    "softmax",
    "softplus",
]
