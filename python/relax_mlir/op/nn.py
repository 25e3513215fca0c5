"""Builders of the neural network ops: ``R.nn.softmax(x)``."""

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

__all__ = [
    "attention",
    "attention_bias",
    "conv1d",
    "conv2d",
    "conv3d",
    "gelu",
    "gelu_tanh",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "log_softmax",
    "relu",
    "rms_norm",
    "silu",
    "softmax",
]
