"""convert-layout: programs with convolutions converted to another layout, against the interpreter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
import tvm_ffi
from interpreted import interpreted
from programs import numpy
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.transform import ConvertLayout, PassContext

F = torch.nn.functional
RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((3, 3, 4, 6)).astype("float32")  # HWIO
BIAS, SLOPE, MEAN = (RNG.standard_normal(6).astype("float32") for _ in range(3))
VARIANCE = RNG.uniform(0.5, 2, 6).astype("float32")
PLANE = RNG.standard_normal((1, 1, 1, 6)).astype("float32")

Rule = Callable[..., Any]


def batch_norm(x: rx.Value) -> rx.Value:
    return R.nn.batch_norm(x, SLOPE, BIAS, MEAN, VARIANCE, axis=3, training=False)[0]


RULES: dict[str, tuple[Rule, int]] = {
    "relu": (R.nn.relu, 2),
    "cast": (lambda x: R.astype(x, "float64"), 2),
    "bias": (lambda x: x + R.const(BIAS), 2),
    "bias_first": (lambda x: R.const(BIAS) * x, 2),
    "plane": (lambda x: R.maximum(x, R.const(PLANE)), 2),
    "number": (lambda x: x / 3.0 - 1.0, 2),
    "itself": (lambda x: x * R.sigmoid(x), 2),
    "compared": (lambda x: R.where(x > R.const(0.0), x, R.const(BIAS)), 2),
    "fused_multiply_add": (lambda x: R.ewise_fma(x, R.const(SLOPE), x), 2),
    "prelu": (lambda x: R.nn.prelu(x, SLOPE, axis=-1), 2),
    "batch_norm": (batch_norm, 2),
    "group_norm": (lambda x: R.nn.group_norm(x, SLOPE, BIAS, num_groups=2, channel_axis=3, axes=[1, 2]), 2),
    "instance_norm": (lambda x: R.nn.instance_norm(x, SLOPE, BIAS, channel_axis=3, axes=[1, 2]), 2),
    "softmax": (lambda x: R.nn.softmax(x, axis=-1), 2),
    "log_softmax": (lambda x: R.nn.log_softmax(x, axis=1), 2),
    "mean": (lambda x: R.mean(x, axis=[1, 2]), 1),
    "mean_kept": (lambda x: R.mean(x, axis=[1, 2], keepdims=True), 2),
    "sum_of_channels": (lambda x: R.sum(x, axis=[-1]), 1),
    "max_of_rows": (lambda x: R.max(x, axis=[1]), 2),
    "argmax": (lambda x: R.argmax(x, axis=3), 1),
    "argmin_kept": (lambda x: R.argmin(x, axis=2, keepdims=True), 2),
    "pad": (lambda x: R.nn.pad(x, [0, 0, 1, 2, 0, 3, 0, 1], pad_value=7.0), 2),
    "slice": (lambda x: x[:, 1:, :-1, ::2], 2),
    "concat": (lambda x: R.concat([x, R.nn.relu(x)], axis=-1), 2),
    "split": (lambda x: (lambda parts: parts[0] + R.exp(parts[1]))(R.split(x, 2, axis=3)), 2),
    "max_pool": (lambda x: R.nn.max_pool2d(x, 2, 1, 1, layout="NHWC"), 2),
    "avg_pool": (lambda x: R.nn.avg_pool2d(x, 3, 1, 0, layout="NHWC"), 2),
    "adaptive": (lambda x: R.nn.adaptive_avg_pool2d(x, (2, 3), layout="NHWC"), 2),
    "resize": (lambda x: R.image.resize2d(x, (7, 9), layout="NHWC"), 2),
    "transposed": (lambda x: R.permute_dims(x, [0, 3, 1, 2]), 1),
    "reshaped": (lambda x: R.nn.relu(R.reshape(x, (-1, 6))), 2),
    "two_convolutions": (
        lambda x: R.nn.conv2d(x, R.const(WEIGHT.repeat(2, 2)[:, :, :6]), data_layout="NHWC", kernel_layout="HWIO"),
        2,
    ),
}
"""The consumer of the convolution, and the number of remaining transpositions in total."""

NOT_INTERPRETED = ("adaptive", "resize")
"""Consumers that the interpreter lacks: the module before the pass is the reference; tests of ops compare it."""
SIZES = ((1, 5, 4), (2, 7, 9), (0, 4, 5), (3, 4, 3))


def program() -> rx.IRModule:
    bb = rx.BlockBuilder()
    for name, (rule, _) in RULES.items():
        x = rx.Var("x", rx.Tensor(("n", "h+2", "w+2", 4)))
        with bb.function(name, [x, rx.Var("s", rx.Shape(("h", "w")))]):
            images = R.nn.conv2d(x, R.const(WEIGHT), padding=1, data_layout="NHWC", kernel_layout="HWIO")
            bb.emit_func_output(rule(images))
    return bb.get()


def transpositions(module: rx.IRModule) -> Counter[str]:
    found: Counter[str] = Counter()
    for name in module.functions:
        found[str(name)] = str(module[name]).count("permute_dims")
    return found


def test_programs() -> None:
    module = program()
    converted = ConvertLayout()(module)
    left = transpositions(converted)
    assert {name: left[name] for name in RULES} == {name: count for name, (_, count) in RULES.items()}
    with PassContext(opt_level=0):  # tests the pass, not the kernels
        before, built = rx.build(module), rx.build(converted)
    for n, h, w in SIZES:
        x = RNG.standard_normal((n, h, w, 4)).astype("float32")
        for name in RULES:
            result = numpy(built[name](x, (h - 2, w - 2)))
            if name in NOT_INTERPRETED:
                wanted = numpy(before[name](x, (h - 2, w - 2)))
            else:
                (wanted,) = interpreted(module, name, [x, tvm_ffi.Shape((h - 2, w - 2))])
            np.testing.assert_allclose(result, wanted, 1e-4, 1e-4, err_msg=f"{name} of {x.shape}")
            assert str(result.dtype) == str(module[name].struct_info.result.dtype)


def test_layouts_of_users() -> None:
    """Layouts that a third-party library may need: kernels keep theirs if the map has none for them."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4, "h+2", "w+2")))
    with bb.function("main", [x, rx.Var("s", rx.Shape(("h", "w")))]):
        first = R.nn.relu(R.nn.conv2d(x, R.const(WEIGHT), kernel_layout="HWIO"))
        kernels = WEIGHT.repeat(2, 2)[:, :, :6].transpose(3, 2, 0, 1)
        bb.emit_func_output(R.nn.conv2d_transpose(first, R.const(kernels), strides=2, kernel_layout="OIHW"))
    module = bb.get()
    layouts = ("nn.conv2d:NHWC:OHWI", "relax.nn.conv2d_transpose:NHWC")
    converted = ConvertLayout(layouts)(module)
    text = converted.script()
    assert text.count("permute_dims") == 2
    assert text.count('data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC"') == 1
    assert text.count('data_layout="NHWC", kernel_layout="OIHW", out_layout="NHWC"') == 1
    data = RNG.standard_normal((2, 4, 6, 5)).astype("float32")
    hidden = F.conv2d(torch.from_numpy(data), torch.from_numpy(WEIGHT).permute(3, 2, 0, 1)).relu()
    wanted = F.conv_transpose2d(hidden, torch.from_numpy(kernels).permute(1, 0, 2, 3), stride=2)
    for each in (module, converted):
        np.testing.assert_allclose(numpy(rx.build(each)["main"](data, (4, 3))), wanted.numpy(), 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("layouts", "error", "message"),
    [
        ("nn.conv2:NHWC", UnknownNameError, "unknown convolution that convert-layout can change 'nn.conv2'"),
        ("nn.conv2d", ArgumentError, "'nn.conv2d': expected the op and one or two layouts"),
        ("nn.conv2d:NHWC:OHWI:NHWC", ArgumentError, "expected the op and one or two layouts"),
        ("nn.conv2d:NHW", ArgumentError, "expected an order of the letters NCHW, got 'NHW'"),
        ("nn.conv1d:NWC:OIHW", ArgumentError, "expected an order of the letters OIW, got 'OIHW'"),
    ],
)
def test_wrong_layouts(layouts: str, error: type[Exception], message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4, 8, 8)))
    with bb.function("main", [x]):
        bb.emit_func_output(R.nn.conv2d(x, R.const(WEIGHT), kernel_layout="HWIO"))
    with pytest.raises(error, match=message):
        ConvertLayout((layouts,))(bb.get())
