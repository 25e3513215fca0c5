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
from relax_mlir.dialects.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from relax_mlir.dialects.attention_var_len import attention_var_len
from relax_mlir.dialects.batch_norm import batch_norm
from relax_mlir.dialects.convolution import conv1d, conv2d, conv3d
from relax_mlir.dialects.dropout import dropout
from relax_mlir.dialects.group_norm import group_norm, instance_norm
from relax_mlir.dialects.losses import cross_entropy_with_logits, nll_loss
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
from relax_mlir.dialects.padding import pad
from relax_mlir.dialects.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from relax_mlir.dialects.rearrange import batch_flatten, pixel_shuffle, pixel_unshuffle
from relax_mlir.dialects.recurrent import gru_steps, lstm_steps, rnn_steps
from relax_mlir.dialects.recurrent_layers import gru, lstm, rnn
from relax_mlir.dialects.transposed_convolution import (
    conv1d_transpose,
    conv2d_transpose,
    conv3d_transpose,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "attention",
    "attention_bias",
    "attention_var_len",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_flatten",
    "batch_norm",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cross_entropy_with_logits",
    "dropout",
    "elu",
    "gelu",
    "gelu_tanh",
    "group_norm",
    "gru",
    "gru_steps",
    "hardsigmoid",
    "hardswish",
    "instance_norm",
    "layer_norm",
    "leakyrelu",
    "log_softmax",
    "lstm",
    "lstm_steps",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "nll_loss",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rnn",
    "rnn_steps",
    "selu",
    "silu",
    "softmax",
    "softplus",
]
