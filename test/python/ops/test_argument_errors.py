"""Wrong arguments of ops, the shapes that ops infer, and what an op says of operands of unknown type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import tensor as t
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    RelaxError,
    ShapeError,
    UnsupportedError,
)

Row = tuple[type[RelaxError], str, Callable[..., Any]]
MISTAKES: Mapping[str, Sequence[Row]] = {
    "x: n 4, i: 4 int32": [
        (DTypeError, "nn_leakyrelu: operand 'data' has dtype int32", lambda i: R.nn.leakyrelu(i)),
        (DTypeError, "nn_prelu", lambda x, i: R.nn.prelu(x, i)),
        (ArgumentError, "elu: 'alpha' is 'a'", lambda x: R.nn.elu(x, "a")),
        (ArgumentError, "beta is 0", lambda x: R.nn.softplus(x, 0.0)),
        (ShapeError, "operand 'alpha' is .* expected one dimension", lambda x: R.nn.prelu(x, x)),
        (ShapeError, "'alpha' has 3 elements, expected n, dimension 0", lambda x: R.nn.prelu(x, R.ones((3,)), 0)),
        (ShapeError, "axis 2 is out of range", lambda x: R.nn.prelu(x, R.ones((3,)), 2)),
    ],
    "x: n 3 h w": [
        (ArgumentError, "expected 2 sizes", lambda x: R.nn.adaptive_avg_pool2d(x, (1, 2, 3))),
        (ArgumentError, "expected sizes from 0 on", lambda x: R.nn.adaptive_avg_pool2d(x, -1)),
        (ArgumentError, "'output_size'.* is 1.5", lambda x: R.nn.adaptive_avg_pool2d(x, 1.5)),
        (ArgumentError, "layout is 'NHW'", lambda x: R.nn.adaptive_max_pool2d(x, 1, layout="NHW")),
        (ShapeError, "expected 3 dimensions", lambda x: R.nn.adaptive_avg_pool1d(x, 1)),
        (DTypeError, "expected a float", lambda x: R.nn.adaptive_avg_pool2d(R.astype(x, "int32"), 1)),
        (DTypeError, "expected a number", lambda x: R.nn.adaptive_max_pool2d(R.astype(x, "bool"), 1)),
    ],
    "q: 1 6 2 4, n: 3 int32": [
        (ShapeError, "the batch of 'query' is 2",
         lambda q, n: R.nn.attention_var_len(R.concat([q, q], 0), R.concat([q, q], 0), R.concat([q, q], 0), n, 5)),
        (ShapeError, "expected 1 dimensions", lambda q: R.nn.attention_var_len(q, q, q, R.ones((1, 2), "int32"), 5)),
        (ShapeError, "'seqstart_k' has 4", lambda q, n: R.nn.attention_var_len(q, q, q, n, 5, R.ones((4,), "int32"))),
        (DTypeError, "expected integers", lambda q: R.nn.attention_var_len(q, q, q, q, 5)),
        (ArgumentError, "causal_mask is 'left'",
         lambda q, n: R.nn.attention_var_len(q, q, q, n, 5, causal_mask="left")),
    ],
    "x: n m": [
        (ArgumentError, "arange: step is 0", lambda: R.arange(0, "n", 0)),
        (ArgumentError, "step 'm' may be zero or negative", lambda: R.arange(0, "n", "m")),
        (ArgumentError, "'n' does not go with float bounds", lambda: R.arange("n", 1.0)),
        (ArgumentError, "dtype bool has no ranges", lambda: R.arange(3, dtype="bool")),
        (RelaxError, "full: operand 'fill_value' is .*, expected rank 0", lambda x: R.full((2,), x)),
        (RelaxError, "argmax: 'axis' is .*, expected an int", lambda x: R.argmax(x, axis=[0])),
        (ShapeError, "sum: axis 2 is out of range for a tensor of rank 2", lambda x: R.sum(x, axis=2)),
        (ShapeError, "name a dimension twice", lambda x: R.sum(x, axis=[0, -2])),
    ],
    "x: n 2 4 4, v: 5, i: 3 int32": [
        (ShapeError, "operand 'output_grad' has shape", lambda x: R.grad.max_pool2d_backward(x, x, 2)),
        (ShapeError, "axis 1 is out of range", lambda v, i: R.grad.take_backward(v, v, i, 1)),
        (ShapeError, r"has shape \(5,\), expected \(3,\)", lambda v, i: R.grad.take_backward(v, v, i, 0)),
        (ShapeError, r"'output_grad' has shape \(5,\), expected \(\)",
         lambda v: R.grad.nll_loss_backward(v, v, R.ones((), "int8"))),
        (DTypeError, "expected a float", lambda x: R.grad.avg_pool2d_backward(x, R.astype(x, "int8"), 1)),
        (DTypeError, "expected integers", lambda v: R.grad.take_backward(v, v, v, 0)),
        (ArgumentError, "pool_size is", lambda x: R.grad.avg_pool2d_backward(x, x, 0)),
    ],
    "x: n 3 h w, g: n 2 4 4": [
        (ShapeError, "'grid' has 3 as coordinates of NCHW", lambda x: R.image.grid_sample(x, x)),
        (ShapeError, "expected 5 dimensions", lambda x, g: R.image.grid_sample(x, g, layout="NCDHW")),
        (ShapeError, "expected 3 dimensions", lambda g: R.image.affine_grid(g, (1, 2))),
        (ShapeError, r"expected \(batch, 2, 3\)", lambda: R.image.affine_grid(R.ones((1, 3, 3)), (1, 2))),
        (ShapeError, "expected 2 or 3 sizes", lambda: R.image.affine_grid(R.ones((1, 3, 3)), (1, 2, 3, 4))),
        (ArgumentError, "method is 'cubic'", lambda x, g: R.image.grid_sample(x, g, "cubic")),
        (ArgumentError, "padding_mode is 'wrap'", lambda x, g: R.image.grid_sample(x, g, padding_mode="wrap")),
        (ArgumentError, "layout is 'NHWC'", lambda x, g: R.image.grid_sample(x, g, layout="NHWC")),
        (ArgumentError, "which is for images", lambda x, g: R.image.grid_sample(x, g, "bicubic", "NCDHW")),
        (DTypeError, "expected a float", lambda x, g: R.image.grid_sample(x, R.astype(g, "int8"))),
    ],
    "x: n 2 h w, i: n 2 h w int32": [
        (ShapeError, "expected 2 sizes", lambda x: R.image.resize2d(x, (1, 2, 3))),
        (ShapeError, "expected 5 dimensions", lambda x: R.image.resize3d(x, 2)),
        (ShapeError, "-2 is negative", lambda x: R.image.resize2d(x, -2)),
        (DTypeError, "nearest_neighbor alone takes any dtype", lambda i: R.image.resize2d(i, 2)),
        (ArgumentError, "method is 'area'", lambda x: R.image.resize2d(x, 2, method="area")),
        (ArgumentError, "rounding_method is 'up'", lambda x: R.image.resize2d(x, 2, rounding_method="up")),
        (ArgumentError, "roi has 2 numbers, expected 4", lambda x: R.image.resize2d(x, 2, roi=[0.0, 1.0])),
        (ArgumentError, "expected numbers above 0", lambda x: R.image.resize2d(x, 2, scales=[1.0, 0.0])),
        (ArgumentError, "layout is 'NHW'", lambda x: R.image.resize2d(x, 2, layout="NHW")),
        (ArgumentError, "coordinate_transformation_mode is 'corner'",
         lambda x: R.image.resize2d(x, 2, coordinate_transformation_mode="corner")),
    ],
    "x: n 3, t: n int64, w: 3": [
        (ArgumentError, "reduction is 'max'", lambda x, t, w: R.nn.nll_loss(x, t, w, "max")),
        (DTypeError, "operand 'targets' has dtype float32", lambda x, w: R.nn.nll_loss(x, x, w)),
        (DTypeError, "operand 'weights' has dtype int64", lambda x, t: R.nn.nll_loss(x, t, t)),
        (DTypeError, "expected a float", lambda t: R.nn.cross_entropy_with_logits(t, t)),
        (ShapeError, r"has shape \(4,\), expected \(n,\)", lambda x, w: R.nn.nll_loss(x, R.ones((4,), "int8"), w)),
        (ShapeError, r"has shape \(4,\), expected \(3,\)", lambda x, t: R.nn.nll_loss(x, t, R.ones((4,)))),
        (ShapeError, "expected the classes", lambda x, t, w: R.nn.nll_loss(R.sum(x), t, w)),
        (ShapeError, r"'labels' has shape \(3,\)", lambda x, w: R.nn.cross_entropy_with_logits(x, w)),
    ],
    "x: n 4": [
        (ShapeError, "6 elements|elements", lambda x: R.reshape(x, (2, 3))),
        (ShapeError, "not provably a multiple of 5", lambda x: R.reshape(x, ("n", 5, -1))),
        (ShapeError, "more than one -1", lambda x: R.reshape(x, (-1, -1))),
        (ShapeError, "name a dimension twice", lambda x: R.expand_dims(x, [0, 0])),
        (ShapeError, "which is not provably 1", lambda x: R.squeeze(x, 0)),
        (ShapeError, "not 1", lambda x: R.squeeze(x, 1)),
        (ShapeError, "no permutation", lambda x: R.permute_dims(x, [0])),
        (ShapeError, "neither 1 nor 5", lambda x: R.broadcast_to(x, ("n", 5))),
        (ShapeError, "fewer dimensions", lambda x: R.broadcast_to(x, (4,))),
        (ShapeError, "dimension 1 is 4 and n", lambda x: R.concat([x, R.permute_dims(x)])),
        (ShapeError, "differ in rank", lambda x: R.concat([x, R.flatten(x)])),
        (ShapeError, "out of range", lambda x: R.strided_slice(x, [2], [0], [1])),
        (ArgumentError, "no tensors", lambda: R.concat([])),
        (ArgumentError, "a tuple of them", lambda x: R.concat(x)),
        (ArgumentError, "expected at least 1", lambda x: R.split(x, 0)),
        (ArgumentError, "expected one of", lambda x: R.take(x, R.const(1), 0, "other")),
        (ArgumentError, "stride 0", lambda x: R.strided_slice(x, [0], [0], [1], [0])),
        (ArgumentError, "2 axes, 1 begins", lambda x: R.strided_slice(x, [0, 1], [0], [1])),
        (DTypeError, "expected an integer", lambda x: R.take(x, x, 0)),
        (RelaxError, "axis", lambda x: R.flip(x, 2)),
        (RelaxError, "axis", lambda x: R.flip(x, 0.5)),
        (RelaxError, "repeats is", lambda x: R.tile(x, (-1, 2))),
        (RelaxError, "repeats", lambda x: R.tile(x, "n")),
        (RelaxError, "repeats is -1", lambda x: R.repeat(x, -1)),
        (RelaxError, "axis", lambda x: R.repeat(x, 2, 3)),
        (RelaxError, "axis 2 is out of range", lambda x: R.sort(x, 2)),
        (RelaxError, "dtype is float32, expected integers", lambda x: R.argsort(x, dtype="float32")),
        (RelaxError, "ret_type is 'all', expected one of both", lambda x: R.topk(x, 2, ret_type="all")),
        (RelaxError, "'k' is 2.5", lambda x: R.topk(x, 2.5)),
        (RelaxError, "expected at least one dimension", lambda x: R.sort(R.sum(x))),
    ],
    "x: n 4, i: 4 int8": [
        (ShapeError, "pad_width has 2 numbers, expected 4", lambda x: R.nn.pad(x, [1, 1])),
        (ShapeError, "dimension 1 of size 4 .* would have -5", lambda x: R.nn.pad(x, [1, 1, 0, -9])),
        (ArgumentError, "expected two numbers for each dimension", lambda x: R.nn.pad(x, [1, 1, 1])),
        (ArgumentError, "pad_mode is 'mirror'", lambda x: R.nn.pad(x, [1, 1, 0, 0], "mirror")),
        (ArgumentError, "'pad_value' is '0'", lambda i: R.nn.pad(i, [1, 1], pad_value="0")),
        (ArgumentError, r"'pad_width'\[0\] is 0.5", lambda i: R.nn.pad(i, [0.5, 1])),
        (DTypeError, "pad_value is 0.5", lambda i: R.nn.pad(i, [1, 1], pad_value=0.5)),
        (DTypeError, "pad_value is 300", lambda i: R.nn.pad(i, [1, 1], pad_value=300)),
        (DTypeError, "pad_value is nan", lambda i: R.nn.pad(i, [1, 1], pad_value=float("nan"))),
        (RelaxError, "pad_width", lambda i: R.nn.pad(i, 3)),
    ],
    "x: n 4, s: 4, q: 3 int8": [
        (DTypeError, "quantize: operand 'data' has dtype int8, expected a float", lambda s, q: R.quantize(q, s, 0)),
        (DTypeError, "out_dtype has dtype int64", lambda x, s: R.quantize(x, s, 0, out_dtype="int64")),
        (DTypeError, "operand 'scale' has dtype int8", lambda x, q: R.quantize(x, q, 0)),
        (DTypeError, "operand 'data' has dtype float32", lambda x, s: R.dequantize(x, s, 0)),
        (DTypeError, "out_dtype is int32", lambda q: R.dequantize(q, 1.0, 0, out_dtype="int32")),
        (ShapeError, "'scale' has 4 elements, expected n, dimension 0", lambda x, s: R.quantize(x, s, 0, axis=0)),
        (ShapeError, "axis 2 is out of range", lambda x, s: R.quantize(x, s, 0, axis=2)),
        (ShapeError, "expected a scalar or a vector", lambda x: R.quantize(x, x, 0)),
    ],
    "x: n 6 h w": [
        (ShapeError, "number of channels .* is 6, which is not provably a multiple of 4",
         lambda x: R.nn.pixel_shuffle(x, 2)),
        (ShapeError, "number of rows .* is h", lambda x: R.nn.pixel_unshuffle(x, 2)),
        (ShapeError, "expected channels, rows and columns", lambda x: R.nn.pixel_shuffle(R.nn.batch_flatten(x), 1)),
        (ShapeError, "expected at least one dimension", lambda x: R.nn.batch_flatten(R.sum(x))),
        (ArgumentError, "upscale_factor is 0", lambda x: R.nn.pixel_shuffle(x, 0)),
        (ArgumentError, "rate is 1.5", lambda x: R.nn.dropout(x, 1.5)),
        (DTypeError, "expected a float", lambda x: R.nn.dropout(R.astype(x, "int8"))),
    ],
    "x: t b 3, w: 20 3, r: 20 5": [
        (ShapeError, "dimension 1 of operand 'recurrent'|dimension 0 of operand", lambda x, w: R.nn.lstm(x, w, w)),
        (ShapeError, "operand 'lengths' is 2", lambda x, w, r: R.nn.lstm(x, w, r, lengths=R.ones((2,), "int32"))),
        (ShapeError, "has 2 rows", lambda x, w, r: R.nn.lstm(x, w, r, peepholes=R.ones((2, 5)))),
        (ShapeError, "dimension 0 of operand 'recurrent' is 20, expected 15", lambda x, w, r: R.nn.gru(x, w, r)),
        (ShapeError, "'data' is .*, expected 3 dimensions", lambda w, r: R.nn.rnn(w, w, r)),
        (ArgumentError, "an order of the letters ifgo", lambda x, w, r: R.nn.lstm(x, w, r, gate_order="ifco")),
        (ArgumentError, "expected 3 of", lambda x, w, r: R.nn.lstm(x, w, r, activations=["tanh"])),
        (ArgumentError, "activations is", lambda x, w, r: R.nn.lstm(x, w, r, activations=["cos"] * 3)),
        (ArgumentError, "clip is 0.0", lambda x, w, r: R.nn.lstm(x, w, r, clip=0.0)),
        (DTypeError, "expected integers", lambda x, w, r: R.nn.lstm(x, w, r, lengths=R.ones((2,)))),
        (DTypeError, "float64", lambda x, w, r: R.nn.lstm(x, w, R.astype(r, "float64"))),
    ],
    "x: n 4 h w, w: 4 2 3 3": [
        (ShapeError, "has 4 channels, but 'weight' takes 3", lambda x: R.nn.conv2d_transpose(x, R.ones((3, 3, 2, 2)))),
        (ShapeError, "not provably a multiple of groups, 3", lambda x, w: R.nn.conv2d_transpose(x, w, groups=3)),
        (ShapeError, "padding takes 4", lambda w: R.nn.conv2d_transpose(R.ones((1, 4, 1, 1)), w, padding=2)),
        (ShapeError, "expected 3 dimensions", lambda x, w: R.nn.conv1d_transpose(x, w)),
        (ArgumentError, "groups is 0", lambda x, w: R.nn.conv2d_transpose(x, w, groups=0)),
        (ArgumentError, r"strides is \[0, 0\]", lambda x, w: R.nn.conv2d_transpose(x, w, strides=0)),
        (ArgumentError, "output_padding is", lambda x, w: R.nn.conv2d_transpose(x, w, output_padding=-1)),
        (ArgumentError, "kernel_layout is", lambda x, w: R.nn.conv2d_transpose(x, w, kernel_layout="OIHWx")),
        (UnsupportedError, "blocks", lambda x, w: R.nn.conv2d_transpose(x, w, data_layout="NCHW4c")),
        (DTypeError, "float64", lambda x, w: R.nn.conv2d_transpose(x, R.astype(w, "float64"))),
    ],
    "x: n 3 h w, b: n 8 6, i: n int32": [
        (ShapeError, "'rois' is .*, expected", lambda x, b: R.vision.roi_align(x, b, 2, 1.0)),
        (ShapeError, "7 numbers or more", lambda b: R.vision.get_valid_counts(b, 0.0, 0, 6)),
        (ShapeError, "operand 'indices' has shape", lambda b, i: R.vision.non_max_suppression(b, i, i)),
        (ShapeError, r"expected \(batch, boxes, 4\)",
         lambda b: R.vision.all_class_non_max_suppression(b, b, 1, 0.5, 0.0)),
        (ShapeError, "operand 'loc_pred' has shape", lambda b: R.vision.multibox_transform_loc(b, b, b)),
        (ArgumentError, "pooled_size is", lambda x: R.vision.roi_align(x, R.ones((1, 5)), 0, 1.0)),
        (ArgumentError, "mode is 'sum'", lambda x: R.vision.roi_align(x, R.ones((1, 5)), 2, 1.0, mode="sum")),
        (ArgumentError, "layout is 'NHWC'", lambda x: R.vision.roi_pool(x, R.ones((1, 5)), 2, 1.0, "NHWC")),
        (ArgumentError, "score_index is -1", lambda b: R.vision.get_valid_counts(b, 0.0, 0, -1)),
        (UnsupportedError, "soft_nms_sigma is 0.5",
         lambda b, i: R.vision.non_max_suppression(b, i, R.ones(("n", 8), "int32"), soft_nms_sigma=0.5)),
        (DTypeError, "expected a float", lambda b: R.vision.get_valid_counts(R.astype(b, "int32"))),
    ],
    "x: n m int32": [
        (DTypeError, "mean: operand 'x' has dtype int32, expected a float", lambda x: R.mean(x)),
    ],
    "x: n m bool": [
        (DTypeError, "sum: operand 'x' has dtype bool, expected a number", lambda x: R.sum(x)),
    ],
    "x: n int32": [
        (DTypeError, "clip: min is 0.5, but the tensor has dtype int32; give an integer", lambda x: R.clip(x, 0.5)),
    ],
    "x: n bool": [
        (DTypeError, "clip: operand 'x' has dtype bool, expected a number", lambda x: R.clip(x, 0)),
    ],
    "x: n int8": [
        (DTypeError, "where: operand 'condition' has dtype int8, expected bool", lambda x: R.where(x, x, x)),
    ],
    "x: n": [
        (ShapeError, r"tril: operand 'x' is .*, expected at least two dimensions", lambda x: R.tril(x)),
    ],
    "x: 3 int8, y: 2 int8": [(ShapeError, "less: shapes .*: 3 and 2 do not broadcast", lambda x, y: R.less(x, y))],
    "x: n, y: n float64": [
        (DTypeError, "add: operands have dtypes float32 and float64", lambda x, y: R.add(x, y)),
        (DTypeError, "expected an integer or bool", lambda x: R.bitwise_and(x, x)),
    ],
    "x:n int32": [
        (DTypeError, "divide: operand 'x1' has dtype int32, expected a float; use astype", lambda x: R.divide(x, x)),
        (DTypeError, "clip: min is 0.5, but the tensor has dtype int32; give an integer", lambda x: R.clip(x, 0.5)),
    ],
    "x:n bool": [
        (DTypeError, "subtract: operand 'x1' has dtype bool, expected a number", lambda x: R.subtract(x, x)),
        (DTypeError, "expected an integer", lambda x: R.left_shift(x, x)),
        (DTypeError, "clip: operand 'x' has dtype bool, expected a number", lambda x: R.clip(x, 0)),
    ],
    "x:n int8": [
        (DTypeError, "expected a float", lambda x: R.atan2(x, x)),
        (DTypeError, "where: operand 'condition' has dtype int8, expected bool", lambda x: R.where(x, x, x)),
    ],
    "x: 2, y: 3, a: n, b: m": [
        (ShapeError, "add: shapes .*: 2 and 3 do not broadcast", lambda x, y: R.add(x, y)),
        (ShapeError, "cannot tell whether n equals m", lambda a, b: R.add(a, b)),
    ],
    "a: n 3, b: 4 m, c: n k, d: l m, e: n, f: 2 n 3, g: 4 3 m, s:": [
        (ShapeError, "summed dimensions 3 and 4 differ", lambda a, b: R.matmul(a, b)),
        (ShapeError, "match_shape one of the tensors first", lambda c, d: R.matmul(c, d)),
        (ShapeError, "operand 'x2' has rank 0", lambda e, s: R.matmul(e, s)),
        (ShapeError, "2 and 4 do not broadcast", lambda f, g: R.matmul(f, g)),
    ],
    "x: n 3 int32, y: 3 n": [
        (DTypeError, "astype", lambda x, y: R.matmul(x, y)),
        (DTypeError, "out_dtype int16", lambda x: R.matmul(x, R.permute_dims(x), "int16")),
        (DTypeError, "expected a float", lambda x: R.nn.softmax(x, 0)),
    ],
    "x: n 3, w: 4": [
        (ShapeError, "axis 2 is out of range", lambda x: R.nn.softmax(x, 2)),
        (ShapeError, r"'weight' has shape \(4,\), expected \(3,\)", lambda x, w: R.nn.rms_norm(x, w)),
        (ArgumentError, "no axes", lambda x, w: R.nn.rms_norm(x, w, [])),
        (ShapeError, "cumsum: axis 2 is out of range for a tensor of rank 2", lambda x: R.cumsum(x, axis=2)),
    ],
    "x: n 3 bool, y: n 3 int8": [
        (DTypeError, "cumsum: operand 'data' has dtype bool, expected a number; give a dtype", lambda x: R.cumsum(x)),
        (DTypeError, "cumsum: dtype is bool, expected a number", lambda y: R.cumsum(y, dtype="bool")),
    ],
    "x: n 4 m, g: 4": [
        (ShapeError, "'data' has 4 channels .*not provably a multiple of num_groups, 3",
         lambda x, g: groups(x, g, 3, 1, [2])),
        (ShapeError, "'gamma' has shape", lambda x, g: groups(x, g, 2, 2, [1])),
        (ArgumentError, "channel_axis 1 is one of the axes", lambda x, g: groups(x, g, 2, 1, [1, 2])),
        (ArgumentError, "num_groups is 0, expected at least 1", lambda x, g: groups(x, g, 0, 1, [2])),
        (ShapeError, "channel_axis 3 is out of range", lambda x, g: groups(x, g, 2, 3, [2])),
        (ShapeError, "name a dimension twice", lambda x, g: groups(x, g, 2, 1, [2, -1])),
    ],
    "x: n 4, g: 4, p: 3, h: 4 float16, i: n 4 int32, j: 4 int32": [
        (ArgumentError, "no axes given", lambda x, g: R.nn.instance_norm(x, g, g, 1, [])),
        (ShapeError, "nn_batch_norm", lambda x, p: R.nn.batch_norm(x, p, p, p, p, 1)),
        (RelaxError, "axis", lambda x, g: R.nn.batch_norm(x, g, g, g, g, 2)),
        (DTypeError, "nn_batch_norm", lambda x, h: R.nn.batch_norm(x, h, h, h, h, 1)),
        (DTypeError, "nn_batch_norm", lambda i, j: R.nn.batch_norm(i, j, j, j, j, 1)),
        (ArgumentError, "training", lambda x, g: R.nn.batch_norm(x, g, g, g, g, 1, training=2)),
        (ArgumentError, "momentum", lambda x, g: R.nn.batch_norm(x, g, g, g, g, 1, momentum="x")),
    ],
    "q: b s 4 8, k: b t 3 8, o: b t 2 8, v: b t 4 8, u: b u 4 8, r: b s 8, m: b 2 1 t": [
        (ShapeError, "number of heads of 'query' is 4, that of 'key' 3; expected the same, or a multiple",
         lambda q, k: R.nn.attention(q, k, k)),
        (ShapeError, "number of heads of 'key' is 2, that of 'value' 4, which is not provably equal",
         lambda q, o, v: R.nn.attention(q, o, v)),
        (ShapeError, "sequence length of 'key' is t, that of 'value' u", lambda q, v, u: R.nn.attention(q, v, u)),
        (ShapeError, r"expected \(batch, sequence, heads, head size\)", lambda r, v: R.nn.attention(r, v, v)),
        (ShapeError, "4 and 2|2 and 4|does not broadcast", lambda q, v, m: R.nn.attention(q, v, v, m)),
        (ArgumentError, "expected one of", lambda q, v: R.nn.attention(q, v, v, causal_mask="Left")),
    ],
    "x: 1 2 5 5, w: 4 2 3 3, a: 1 3 5 5, b: 1 c 5 5, c: 1 4 5 5, v: 3 2 3 3, d: 1 2 2 5, e: 1 2 5 4, f: 1 2 5": [
        (ShapeError, "'data' has 3 channels, but 'weight' takes 2 in each of 1 groups",
         lambda a, w: R.nn.conv2d(a, w)),
        (ShapeError, "match_shape one of them first", lambda b, w: R.nn.conv2d(b, w)),
        (ShapeError, "not provably a multiple of groups, 2", lambda c, v: R.nn.conv2d(c, v, groups=2)),
        (ShapeError, "in dimension H the kernel reaches over 3", lambda d, w: R.nn.conv2d(d, w)),
        (ShapeError, "in dimension H|in dimension W the kernel reaches over 5",
         lambda e, w: R.nn.conv2d(e, w, dilation=2)),
        (ShapeError, "expected 4 dimensions", lambda f, w: R.nn.conv2d(f, w)),
        (ArgumentError, "strides is", lambda x, w: R.nn.conv2d(x, w, strides=0)),
        (ArgumentError, "strides is", lambda x, w: R.nn.conv2d(x, w, strides=(1, 2, 3))),
        (ArgumentError, "padding is", lambda x, w: R.nn.conv2d(x, w, padding=-1)),
        (ArgumentError, "padding is", lambda x, w: R.nn.conv2d(x, w, padding=(1, 2, 3))),
        (ArgumentError, "groups is 0", lambda x, w: R.nn.conv2d(x, w, groups=0)),
        (ArgumentError, "groups", lambda x, w: R.nn.conv2d(x, w, groups=1.5)),
        (ArgumentError, "an order of the letters NCHW", lambda x, w: R.nn.conv2d(x, w, data_layout="NCHX")),
        (UnsupportedError, "dimensions in blocks", lambda x, w: R.nn.conv2d(x, w, data_layout="NCHW4c")),
        (ArgumentError, "out_dtype is bool", lambda x, w: R.nn.conv2d(x, w, out_dtype="bool")),
        (DTypeError, "float16", lambda x, w: R.nn.conv2d(x, R.astype(w, "float16"))),
        (DTypeError, "bool", lambda x, w: R.nn.conv2d(R.astype(x, "bool"), R.astype(w, "bool"))),
        (ShapeError, "in dimension H the window reaches over 6", lambda x: R.nn.max_pool2d(x, (6, 1))),
        (ShapeError, "in dimension H the window reaches over 7",
         lambda x: R.nn.max_pool2d(x, (3, 1), dilation=(3, 1))),
        (ArgumentError, "pool_size is", lambda x: R.nn.max_pool2d(x, (0, 1))),
        (ArgumentError, "strides is", lambda x: R.nn.max_pool2d(x, (2, 2), strides=0)),
        (ArgumentError, "padding is", lambda x: R.nn.max_pool2d(x, (2, 2), padding=-1)),
        (UnsupportedError, "dimensions in blocks", lambda x: R.nn.max_pool2d(x, (2, 2), layout="NCHW8c")),
        (ArgumentError, "an order of the letters NCHW", lambda x: R.nn.max_pool2d(x, (2, 2), out_layout="NCWX")),
        (ArgumentError, "ceil_mode", lambda x: R.nn.max_pool2d(x, (2, 2), ceil_mode=3)),
        (DTypeError, "int32", lambda x: R.nn.avg_pool2d(R.astype(x, "int32"))),
        (DTypeError, "bool", lambda x: R.nn.max_pool2d(R.astype(x, "bool"))),
    ],
    "x: 16": [
        (ShapeError, r"ends at byte 68, but .* has 64 bytes", lambda x: R.memory.view(x, (17,))),
        (ShapeError, "ends at byte 68", lambda x: R.memory.view(x, (4,), None, 52)),
        (ShapeError, "ends at byte 128", lambda x: R.memory.view(x, None, "float64")),
        (ShapeError, "ends at byte 65", lambda x: R.memory.view(x, None, None, 1)),
        (ArgumentError, "'dtype'", lambda x: R.memory.view(x, (4,), 3)),
        (ArgumentError, "relative_byte_offset", lambda x: R.memory.view(x, (4,), None, 1.5)),
        (ArgumentError, "'shape'", lambda x: R.memory.view(x, 4)),
    ],
    "x: n m, u: *": [
        (ShapeError, "ends at byte", lambda x: R.memory.view(x, ("n*m + 1",))),
        (ShapeError, "before the tensor", lambda x: R.memory.view(x, ("n",), None, -4)),
        (ShapeError, "elements of 4 bytes", lambda u: R.memory.view(u, None, "float64")),
    ],
}  # fmt: skip
"""By the parameters of a function: the error, its message, and the op that raises it."""
ROWS = [(params, *row) for params, rows in MISTAKES.items() for row in rows]


def parameters(text: str) -> dict[str, rx.Var]:
    """The variables of a text like ``x: n 4, i: 4 int32``."""
    pairs = (item.partition(":") for item in text.split(","))
    return {name.strip(): rx.Var(name.strip(), t(shape)) for name, _, shape in pairs}


@pytest.mark.parametrize(("params", "error", "message", "build"), ROWS)
def test_wrong_arguments(params: str, error: type[RelaxError], message: str, build: Callable[..., Any]) -> None:
    found = parameters(params)
    names = build.__code__.co_varnames[: build.__code__.co_argcount]
    with pytest.raises(error, match=message), rx.BlockBuilder().function("main", list(found.values())):
        build(*(found[name] for name in names))


def of(name: str, *operands: Any, **attributes: Any) -> tuple[str, Callable[[], Any]]:
    """The result of a shape rule."""
    return name, partial(R.infer_rule(name), *operands, **attributes)


X, V = t("n 4"), t("3")
SHAPES = [
    ('Tensor(?, "float32")', of("nn.prelu", t("*"), V)),
    ('Tensor((1, 3, ?, 4), "float32")', of("nn.conv2d", t("1 2 ? 5"), t("3 2 2 2"))),
    ('Tensor((), "float32")', of("nn.cross_entropy_with_logits", X, Tensor(None, None))),
    ('Tensor((?, ?, ?, ?), "float32")', of("nn.attention_var_len", t("*"), t("*"), t("*"), t("3 int32"), 5)),
    ('Tensor((?, 4), "float32")', of("nn.pad", t("? 4"), [1, 1, 0, 0])),
    ('Tensor((?, ?), "float32")', of("nn.batch_flatten", t("*"))),
    ('Tensor((k, 4), "float32")', of("gather_elements", X, t("k 4 int64"))),
    ('Tensor((?, ?), "float32")', of("gather_elements", X, t("* int64"))),
    ('Tensor((k,), "float32")', of("gather_nd", X, t("k 2 int64"))),
    ('Tensor((k, 4), "float32")', of("gather_nd", X, t("k 1 int8"))),
    ('Tensor((n,), "float32")', of("gather_nd", X, t("n 1 int8"), batch_dims=1)),
    ('Tensor(?, "float32")', of("gather_nd", t("*"), t("k 2 int64"))),
    ('Tensor((k, 2, 4), "float32")', of("index_tensor", X, [t("k 2 int64")])),
    ('Tensor((k, 2), "float32")', of("index_tensor", X, [t("k 2 int64"), t("int8")])),
    ('Tensor((?, 4), "float32")', of("index_tensor", X, [t("? int8")])),
    ('Tensor((n, 4), "float32")', of("scatter_elements", X, t("k 2 int64"), t("k 2"))),
    ('Tensor(?, "float32")', of("scatter_elements", rx.Tensor(None, None), t("k 2 int64"), t("k 2"))),
    ('Tensor((n, 4), "float32")', of("scatter_nd", X, t("k 2 int64"), t("k"))),
    ('Tensor((n, 4), "float32")', of("scatter_nd", X, t("k 1 int8"), t("k 4"))),
    ('Tensor((n, 4), "float32")', of("index_put", X, [t("k 2 int64")], t("2 4"))),
    ('Tensor(?, "int8")', of("index_put", t("* int8"), [t("k 2 int64")], 3)),
    ('Tensor((4, 4), "float32")', of("einsum", [X, X], "ij,ik->jk")),
    ('Tensor((n, ?), "float32")', of("einsum", [X, t("*")], "ij,jk->ik")),
    ('Tensor(?, "float32")', of("einsum", [X, t("*")], "...j,jk->...k")),
    ('Tensor((n, 4), "float32")', of("einsum", [t("? 4"), X], "ij,ij->ij")),
    ('Tensor((1, 4), "float32")', of("collapse_sum_to", X, (1, 4))),
    ('Tensor(?, "float32")', of("collapse_sum_like", X, t("*"))),
    ('Tensor((1, 4), "float32")', of("logsumexp", X, axis=0, keepdims=True)),
    ('Tensor((), "float32")', of("median", X)),
    ('Tensor((1, 1), "float32")', of("median", X, keepdims=True)),
    ('Tuple([Tensor((n,), "float32"), Tensor((n,), "int64")])', of("median", X, axis=1)),
    ('Tuple([Tensor(?, "float32"), Tensor(?, "int64")])', of("median", t("*"), axis=1)),
    ('Tensor((n, 4), "int8")', of("searchsorted", V, X, dtype="int8")),
    ('Tensor((n, 4), "int64")', of("bucketize", X, V)),
    ('Tensor(?, "int32")', of("bucketize", t("*"), V, out_int32=True)),
    ('Tensor((k, 1), "int64")', of("multinomial_from_uniform", X, t("k 1"), t("? 1 int8"))),
    ('Tensor((n, 4, 2), "float32")', of("stack", [X, X], axis=-1)),
    ('Tensor((2, n, 4), "float32")', of("stack", [t("? 4"), X])),
    ('Tensor(?, "float32")', of("stack", [t("*"), t("*")])),
    ('Tuple([Tensor((3, n), "float32"), Tensor((3, n), "float32")])', of("meshgrid", [V, t("n")])),
    ('Tensor((3, n), "float32")', of("outer", V, t("n"))),
    ('Tensor((2*n, n), "int64")', of("one_hot", t("n int8"), 1, 0, "2*n", axis=0)),
    ('Tensor((?, ?), "int8")', of("eye_like", t("*"), dtype="int8")),
    ('Tensor((), "int64")', of("size", t("*"))),
    ('Tensor((n, 4), "float32")', of("roll", X, [1, 2], axis=[0, 1])),
    ('Tensor((?, ?), "float32")', of("dynamic_strided_slice", X, t("2 int64"), t("2 int64"), t("2 int64"))),
    ('Tensor((?, ?), "float32")', of("dynamic_strided_slice", t("*"), t("2 int64"), t("2 int64"), t("2 int64"))),
    ('Tensor(?, "float32")', of("dynamic_strided_slice", t("*"), t("* int8"), t("n int8"), t("? int8"))),
    ('Tensor(((n + 3) // 4, 4, 4), "float32")', of("layout_transform", X, lambda i, j: (i // 4, j, i % 4), 0.0)),
    ('Tensor((?, ?), "float32")', of("layout_transform", t("*"), lambda i, j: (j, i))),
    ('Tensor((4, ?), "float32")', of("layout_transform", t("? 4"), lambda i, j: (j, i))),
    ('Tensor((4*n,), "float32")', of("layout_transform", X, lambda i, j: i * 4 + j)),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "rule"), SHAPES)
def test_shapes(expected: str, rule: tuple[str, Callable[[], Any]]) -> None:
    assert str(rule[1]()) == expected


REFUSED = [
    ("operand 'indices' has dtype float32, expected an integer", of("gather_elements", X, X)),
    ("axis 2 is out of range for a tensor of rank 2", of("gather_elements", X, t("k 2 int64"), axis=2)),
    ("'indices' is .*, expected the 2 dimensions", of("gather_elements", X, t("3 int64"))),
    ("dimension 1 of 'indices' is 5, more than 4", of("gather_elements", X, t("3 5 int64"))),
    ("expected at least one dimension", of("gather_elements", t(""), t("int64"))),
    ("vectors of 'indices' have 3 places, 'data' is", of("gather_nd", X, t("k 3 int64"))),
    ("last dimension of 'indices' is k, expected a number", of("gather_nd", X, t("2 k int64"))),
    ("vectors of 'indices' have 2 places", of("gather_nd", X, t("k 2 int64"), batch_dims=1)),
    ("are n and 3, not known to be equal", of("gather_nd", X, t("3 1 int64"), batch_dims=1)),
    ("batch_dims is -1", of("gather_nd", X, t("k 2 int64"), batch_dims=-1)),
    ("expected more than 0 dimensions", of("gather_nd", X, t("int64"))),
    ("'indices' is an empty tuple", of("index_tensor", X, [])),
    ("3 tensors of indices for 'data'", of("index_tensor", X, [t("k 2 int64"), t("k 2 int64"), t("k 2 int64")])),
    (r"'indices\[1\]' has dtype float32", of("index_tensor", X, [t("k 2 int64"), X])),
    ("3 and 4 do not broadcast", of("index_tensor", X, [t("3 int8"), t("4 int8")])),
    ("dimension 0 of 'updates' and what is expected, .k, 2., are n and k",
     of("scatter_elements", X, t("k 2 int64"), X)),
    ("operand 'indices' has dtype float32, expected an integer", of("scatter_elements", X, X, X)),
    ("axis 2 is out of range", of("scatter_elements", X, t("k 2 int64"), t("k 2"), axis=2)),
    ("reduction is 'sum', expected one of update",
     of("scatter_elements", X, t("k 2 int64"), t("k 2"), reduction="sum")),
    ("'updates' has dtype int8, 'data' has float32", of("scatter_elements", X, t("k 2 int64"), t("k 2 int8"))),
    ("'updates' has shape", of("scatter_elements", X, t("k 2 int64"), t("k"))),
    ("dtype bool, which the reduction 'add' does not take",
     of("scatter_elements", t("3 bool"), t("2 int8"), t("2 bool"), reduction="add")),
    ("'updates' has shape .k, 2., expected .k,.", of("scatter_nd", X, t("k 2 int64"), t("k 2"))),
    ("reduction is 'mean', expected one of", of("scatter_nd", X, t("k 2 int64"), t("k"), reduction="mean")),
    ("have 3 places", of("scatter_nd", X, t("2 3 int8"), t("2"))),
    ("expected at least one dimension", of("scatter_nd", X, t("int8"), t("2"))),
    ("an empty tuple", of("index_put", X, [], t("k 2"))),
    ("shape .3, 4., which does not broadcast to", of("index_put", X, [t("k 2 int64")], t("3 4"))),
    ("cannot tell whether m equals 2", of("index_put", X, [t("k 2 int64")], t("m 4"))),
    ("does not broadcast to", of("index_put", X, [t("k 2 int64")], t("1 1 1 1"))),
    ("'values' has dtype int8", of("index_put", X, [t("k 2 int64")], t("int8"))),
    ("expected a number to accumulate", of("index_put", t("3 bool"), [t("2 int8")], t("bool"), accumulate=True)),
    ("names the axes of 2 tensors, 1 are given", of("einsum", [X], "ij,jk->ik")),
    (r"'i' does not fit operand 'tensors\[0\]'", of("einsum", [X], "i->i")),
    ("names an axis twice, or one that no tensor has", of("einsum", [X], "ij->k")),
    ("names an axis twice, or one that no tensor has", of("einsum", [X], "ij->ii")),
    ("has more than letters and one '...'", of("einsum", [X], "i1->i")),
    ("the axis 'j' is 4 and 3$", of("einsum", [X, V], "ij,j->i")),
    ("the axis 'i' is n and m, not known to be equal", of("einsum", [X, t("m")], "ij,i->j")),
    ("float32 and int8", of("einsum", [X, t("n 4 int8")], "ij,ij")),
    ("has dtype bool", of("einsum", [t("3 bool")], "i->")),
    ("'subscripts' is 3", of("einsum", [X], 3)),
    ("the target has more dimensions", of("collapse_sum_to", X, (3, "n", 4))),
    ("dimension 1 of the target is 3, neither 1 nor 4", of("collapse_sum_to", X, ("n", 3))),
    ("cannot tell whether n equals m", of("collapse_sum_to", X, ("m", 4))),
    ("has dtype bool", of("collapse_sum_like", t("3 bool"), V)),
    ("window_size is -1", of("hamming_window", -1)),
    ("dtype is int8, expected a float", of("hamming_window", 4, True, 1.0, 1.0, "int8")),
    ("has dtype int8, expected a float", of("logsumexp", t("3 int8"))),
    ("axis 2 is out of range", of("logsumexp", X, axis=2)),
    ("axis 2 is out of range", of("median", X, axis=2)),
    ("'sorted_sequence' is .*, expected a vector", of("searchsorted", X, V)),
    ("float32 and int8", of("searchsorted", V, t("3 int8"))),
    ("dtype is float32, expected integers", of("searchsorted", V, V, dtype="float32")),
    ("'boundaries' is .*, expected a vector", of("bucketize", V, X)),
    ("'sample_indices' has dtype float32", of("multinomial_from_uniform", V, t("k 1"), t("k 1"))),
    (r"expected \(rows, classes\)", of("multinomial_from_uniform", V, t("k 1"), t("k 1 int8"))),
    (r"expected \(samples, 1\)", of("multinomial_from_uniform", X, X, t("n 1 int8"))),
    ("are k and n, not known", of("multinomial_from_uniform", X, t("k 1"), t("n 1 int8"))),
    ("give 'sample_indices'", of("multinomial_from_uniform", X, t("*"))),
    ("no tensors given", of("stack", [])),
    ("expected rank 2", of("stack", [X, V])),
    ("dimension 1 of the first tensor .* are 4 and 5", of("stack", [X, t("n 5")])),
    ("are n and m, not known to be equal; match_shape", of("stack", [X, t("m 4")])),
    ("float32 and int8", of("stack", [X, t("n 4 int8")])),
    ("axis 3 is out of range", of("stack", [X, X], axis=3)),
    ("expected rank 1 or 0", of("meshgrid", [X])),
    ("indexing is 'yx', expected ij or xy", of("meshgrid", [V], indexing="yx")),
    ("'x1' is .*, expected a vector", of("outer", X, V)),
    ("has dtype bool", of("outer", t("3 bool"), t("3 bool"))),
    ("'indices' has dtype float32", of("one_hot", X, 1, 0, 3)),
    ("'on_value' is .*, expected rank 0", of("one_hot", t("3 int8"), V, 0.0, 3)),
    ("axis 2 is out of range", of("one_hot", t("3 int8"), 1, 0, 3, axis=2)),
    ("expected a matrix", of("eye_like", V)),
    ("2 shifts for 1 axes", of("roll", X, [1, 2], axis=0)),
    ("axis 2 is out of range", of("roll", X, 1, axis=2)),
    ("'shift' is 1.5", of("roll", X, 1.5)),
    ("dimension 1 of 'src' and what is expected, .n, 3., are 4 and 3", of("slice_scatter", X, X, 0, 3, axis=1)),
    ("axis 2 is out of range", of("slice_scatter", X, X, 0, 4, axis=2)),
    ("step is 0, expected an integer from 1 on", of("slice_scatter", X, X, 0, 4, step=0)),
    ("'src' has dtype int8, 'input' has float32", of("slice_scatter", X, t("n 4 int8"), 0, "n")),
    ("expected at least one dimension", of("slice_scatter", t(""), t(""), 0, 1)),
    ("'start' is 0.5", of("slice_scatter", X, X, 0.5, 4)),
    ("'seq_lengths' has dtype float32", of("reverse_sequence", X, X)),
    ("expected a vector", of("reverse_sequence", X, t("3 4 int8"))),
    ("are n and 3, not known to be equal", of("reverse_sequence", X, t("3 int8"))),
    ("seq_axis and batch_axis are both 0", of("reverse_sequence", X, t("n int8"), seq_axis=0)),
    ("seq_axis 2 is out of range", of("reverse_sequence", X, t("n int8"), seq_axis=2)),
    ("operand 'begin' has dtype float32, expected an integer",
     of("dynamic_strided_slice", X, X, t("2 int64"), t("2 int64"))),
    ("operand 'end' is .*, expected a vector",
     of("dynamic_strided_slice", X, t("2 int64"), t("2 1 int64"), t("2 int64"))),
    ("the length of 'strides' and the rank of 'x' are 3 and 2",
     of("dynamic_strided_slice", X, t("2 int64"), t("2 int64"), t("3 int64"))),
    ("are k and 2, not known to be equal; match_shape one first",
     of("dynamic_strided_slice", X, t("2 int64"), t("2 int64"), t("k int64"))),
    ("but index_map takes 1 indices", of("layout_transform", X, lambda i: i)),
    ("dimension 0 of .* is n, which .* is not known to fill all places with; give", of("layout_transform", t("n int32"),
     lambda i: (i // 4, i % 4))),
    ("dimension 1 of .* is 4, not known to be at most 3", of("layout_transform", X, lambda i, j: i * 3 + j)),
    ("dimension 1 of .* is 4, which .* not known to fill", of("layout_transform", X, lambda i, j: i * 6 + j)),
    ("does not have each part of 'i' just once", of("layout_transform", t("n int32"), lambda i: i // 4)),
    ("does not have each part of 'i' just once", of("layout_transform", t("n int32"), lambda i: (i, i))),
    ("does not have 'j'", of("layout_transform", X, lambda i, j: i)),
    ("gives one number for several indices", of("layout_transform", X, lambda i, j: i + j)),
    ("leaves numbers out", of("layout_transform", t("n int32"), lambda i: 2 * i)),
    ("is no sum of indices", of("layout_transform", t("n int32"), lambda i: i * i)),
    ("is no expression of Python", of("layout_transform", t("n int32"), "lambda i: i -")),
    ("expected a lambda of indices", of("layout_transform", t("n int32"), "3")),
    ("is no sum of indices", of("layout_transform", t("n int32"), lambda i: i + 1)),
    (r"takes \(\*i\), expected one name for each dimension", of("layout_transform", t("n int32"), lambda *i: i)),
    ("'index_map' is 3, expected a function", of("layout_transform", t("n int32"), 3)),
    ("expected an expression of the indices", of("layout_transform", t("n int32"), lambda i: "i")),
    ("pad_value is .*, operand 'x' has dtype int32", of("layout_transform", t("n int32"),
     lambda i: (i // 4, i % 4), 0.5)),
    ("'pad_value' is '0'", of("layout_transform", t("n int32"), lambda i: (i // 4, i % 4), "0")),
    ("axis separators are for memory of several dimensions", of("layout_transform", t("n int32"),
     lambda i: i, None, [1])),
]  # fmt: skip


@pytest.mark.parametrize(("message", "rule"), REFUSED)
def test_rules_refuse(message: str, rule: tuple[str, Callable[[], Any]]) -> None:
    with pytest.raises(RelaxError, match=f"^{rule[0]}: .*{message}"):
        rule[1]()


def groups(x: Any, weights: Any, *arguments: Any) -> Any:
    """Group norm with the same weights twice."""
    return R.nn.group_norm(x, weights, weights, *arguments)


@pytest.mark.parametrize(
    ("shape", "offset", "message"),
    [(("2 * n + 1",), 0, "one byte each, at least"), (None, 8, "ends beyond it")],
)
def test_views_of_an_unknown_dtype_are_refused(shape: Any, offset: int, message: str) -> None:
    x = rx.Var("x", Tensor(("n",) if shape else None, None))
    with pytest.raises(ShapeError, match=message), rx.BlockBuilder().function("main", [x]):
        R.memory.view(x, shape, None, offset)


def test_shape_of_a_hamming_window() -> None:
    x = rx.Var("x", X)
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        window = R.hamming_window("2*n + 1", dtype="float64")
        assert window.struct_info == t("2*n+1 float64")
        bb.emit_func_output(window)


Mistake = tuple[Callable[..., Any], Sequence[tuple[tuple[int, ...], str]]]

UNKNOWN: dict[str, Mistake] = {
    "add": (R.add, [((2, 3), "float32"), ((4,), "float32")]),
    "add_dtypes": (R.add, [((3,), "float32"), ((3,), "int32")]),
    "subtract_bool": (R.subtract, [((3,), "bool"), ((3,), "bool")]),
    "bitwise": (R.bitwise_and, [((3,), "float32"), ((3,), "float32")]),
    "shift": (R.left_shift, [((3,), "bool"), ((3,), "bool")]),
    "less": (R.less, [((2,), "int8"), ((3,), "int8")]),
    "logical": (R.logical_and, [((2,), "int8"), ((2,), "bool")]),
    "fma": (R.ewise_fma, [((2,), "float32"), ((2,), "float32"), ((3,), "float32")]),
    "exp": (R.exp, [((3,), "int64")]),
    "sin": (R.sin, [((3,), "bool")]),
    "negative": (R.negative, [((3,), "bool")]),
    "sum_axis": (lambda x: R.sum(x, axis=2), [((2, 3), "float32")]),
    "sum_bool": (R.sum, [((2,), "bool")]),
    "mean": (R.mean, [((2,), "int32")]),
    "argmax": (lambda x: R.argmax(x, axis=1), [((3,), "float32")]),
    "cumsum_axis": (lambda x: R.cumsum(x, 1), [((4,), "float32")]),
    "cumprod_bool": (R.cumprod, [((4,), "bool")]),
    "where": (R.where, [((3,), "int8"), ((3,), "int8"), ((3,), "int8")]),
    "clip": (lambda x: R.clip(x, 0.5), [((3,), "int8")]),
    "clip_bool": (lambda x: R.clip(x, 1), [((3,), "bool")]),
    "tril": (R.tril, [((3,), "float32")]),
    "matmul": (R.matmul, [((2, 3), "float32"), ((2, 3), "float32")]),
    "matmul_rank": (R.matmul, [((), "float32"), ((3,), "float32")]),
    "permute": (lambda x: R.permute_dims(x, [1, 0]), [((2, 3, 4), "float32")]),
    "expand": (lambda x: R.expand_dims(x, 4), [((2,), "float32")]),
    "squeeze": (lambda x: R.squeeze(x, 0), [((2, 1), "float32")]),
    "reshape": (lambda x: R.reshape(x, (2, 2)), [((3,), "float32")]),
    "conv": (R.nn.conv2d, [((1, 2, 5, 5), "float32"), ((1, 3, 3, 3), "float32")]),
    "conv_rank": (R.nn.conv1d, [((1, 2, 5, 5), "float32"), ((1, 3, 3), "float32")]),
    "pool": (lambda x: R.nn.max_pool2d(x, (6, 1)), [((1, 2, 5, 5), "float32")]),
    "avg_pool": (R.nn.avg_pool1d, [((1, 2, 5), "int32")]),
    "batch_norm": (
        lambda x, g: R.nn.batch_norm(x, g, g, g, g, 1),
        [((2, 4), "float32"), ((3,), "float32")],
    ),
    "flip": (lambda x: R.flip(x, 1), [((3,), "float32")]),
    "repeat": (lambda x: R.repeat(x, 2, 1), [((3,), "float32")]),
    "view": (lambda x: R.memory.view(x, (4,)), [((3,), "float32")]),
    "broadcast": (lambda x: R.broadcast_to(x, (2, 4)), [((3,), "float32")]),
    "concat": (lambda x, y: R.concat([x, y]), [((2, 3), "float32"), ((2, 4), "float32")]),
    "concat_dtypes": (lambda x, y: R.concat([x, y]), [((2,), "float32"), ((2,), "int8")]),
    "split": (lambda x: R.split(x, 2, axis=1), [((4,), "float32")]),
    "take": (lambda x, i: R.take(x, i, axis=0), [((4,), "float32"), ((2,), "float32")]),
    "take_axis": (lambda x, i: R.take(x, i, axis=1), [((4,), "float32"), ((2,), "int32")]),
    "slice": (lambda x: R.strided_slice(x, [1], [0], [1]), [((4,), "float32")]),
    "full_like": (lambda x, v: R.full_like(x, v, "float32"), [((4,), "float32"), ((1,), "float32")]),
    "softmax": (lambda x: R.nn.softmax(x, axis=1), [((4,), "float32")]),
    "relu": (R.nn.relu, [((4,), "bool")]),
    "layer_norm": (R.nn.layer_norm, [((2, 4), "float32"), ((3,), "float32"), ((4,), "float32")]),
    "rms_norm": (R.nn.rms_norm, [((2, 4), "float32"), ((4,), "float16")]),
    "group_norm": (
        lambda x, g, b: R.nn.group_norm(x, g, b, 3, 1, [2]),
        [((2, 4, 5), "float32"), ((4,), "float32"), ((4,), "float32")],
    ),
    "instance_norm": (
        lambda x, g, b: R.nn.instance_norm(x, g, b, 1, [1]),
        [((2, 4, 5), "float32"), ((4,), "float32"), ((4,), "float32")],
    ),
    "attention": (
        R.nn.attention,
        [((1, 2, 2, 4), "float32"), ((1, 3, 2, 5), "float32"), ((1, 3, 2, 5), "float32")],
    ),
    "attention_rank": (R.nn.attention, [((2, 2, 4), "float32")] * 3),
    "unique": (lambda x: R.unique(x, axis=1), [((4,), "float32")]),
    "tensor_to_shape": (lambda x: R.shape_to_tensor(R.tensor_to_shape(x)), [((4,), "float32")]),
    "tensor_to_shape_rank": (lambda x: R.shape_to_tensor(R.tensor_to_shape(x)), [((4, 1), "int64")]),
}


@pytest.fixture(scope="module")
def executable() -> rx.Executable:
    bb = rx.BlockBuilder()
    for name, (build, operands) in UNKNOWN.items():
        params = [rx.Var(f"x{i}", Tensor(None, None)) for i in range(len(operands))]
        with bb.function(name, params):
            bb.emit_func_output(build(*params))
    return rx.build(bb.get())


def error_at_build_time(name: str) -> RelaxError:
    build, operands = UNKNOWN[name]
    params = [rx.Var(f"x{i}", Tensor(shape, dtype)) for i, (shape, dtype) in enumerate(operands)]
    bb = rx.BlockBuilder()
    with pytest.raises(RelaxError) as info, bb.function("main", params):
        bb.emit_func_output(build(*params))
    return info.value


@pytest.mark.parametrize("name", UNKNOWN)
def test_same_error(executable: rx.Executable, name: str) -> None:
    wanted = error_at_build_time(name)
    arrays = [np.ones(shape, dtype) for shape, dtype in UNKNOWN[name][1]]
    with pytest.raises(type(wanted)) as info:
        executable[name](*arrays)
    assert str(wanted) in str(info.value)
    assert f"{__file__}:" in str(info.value)
