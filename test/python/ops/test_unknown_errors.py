"""Errors of ops on operands of unknown rank and dtype: those of the same op on known ones, with the op's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError

Mistake = tuple[Callable[..., Any], Sequence[tuple[tuple[int, ...], str]]]

MISTAKES: dict[str, Mistake] = {
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
    for name, (build, operands) in MISTAKES.items():
        params = [rx.Var(f"x{i}", Tensor(None, None)) for i in range(len(operands))]
        with bb.function(name, params):
            bb.emit_func_output(build(*params))
    return rx.build(bb.get())


def error_at_build_time(name: str) -> RelaxError:
    build, operands = MISTAKES[name]
    params = [rx.Var(f"x{i}", Tensor(shape, dtype)) for i, (shape, dtype) in enumerate(operands)]
    bb = rx.BlockBuilder()
    with pytest.raises(RelaxError) as info, bb.function("main", params):
        bb.emit_func_output(build(*params))
    return info.value


@pytest.mark.parametrize("name", MISTAKES)
def test_same_error(executable: rx.Executable, name: str) -> None:
    wanted = error_at_build_time(name)
    arrays = [np.ones(shape, dtype) for shape, dtype in MISTAKES[name][1]]
    with pytest.raises(type(wanted)) as info:
        executable[name](*arrays)
    assert str(wanted) in str(info.value)
    assert f"{__file__}:" in str(info.value)
