"""The interpreter's results for windows, batch norm and packed functions as values: against torch and native code."""

from __future__ import annotations

import functools
import itertools
from random import Random
from typing import Any

import mutants
import numpy as np
import oracle
import pytest
import relax_mlir as rx
import seed_modules
import torch
from call_arguments import calls_of
from mutants import Mutant
from reference import OPS
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects.types import struct_info

OPTIONS = [
    (size, stride, padding, dilation, ceil, counts)
    for size, stride, padding, dilation, ceil, counts in itertools.product(
        (1, 2, 3), (1, 2), (0, 1), (1, 2), (False, True), (False, True)
    )
    if padding <= size // 2
]


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_poolings_against_torch(count: int, mean: bool) -> None:
    x = np.random.default_rng(count).standard_normal((2, 3, 7, 6, 5)[: count + 2])
    function = getattr(torch.nn.functional, f"{'avg' if mean else 'max'}_pool{count}d")
    letters = ("N", "C", *"DHW"[3 - count :])
    layout, out = "".join(letters), "".join(reversed(letters))
    compared = 0
    for size, stride, padding, dilation, ceil, counts in OPTIONS:
        extra = {"count_include_pad": counts} if mean else {"dilation": dilation}
        if mean and dilation > 1:
            continue
        try:
            want = function(torch.tensor(x), size, stride, padding, ceil_mode=ceil, **extra).numpy()
        except RuntimeError:  # torch refuses windows that are larger than the data
            continue
        numbers = [[n] * count for n in (size, stride)], [padding] * (2 * count), [dilation] * count
        pooling = OPS[f"nn.{'avg' if mean else 'max'}_pool{count}d"]
        (found,) = plain(pooling(x, *numbers[0], *numbers[1:], ceil, counts, layout, out))
        found = found.transpose([out.index(letter) for letter in layout])
        seen = tuple(slice(n) for n in want.shape)  # torch omits windows of padding only
        np.testing.assert_allclose(found[seen], want, rtol=1e-12)
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_against_torch(training: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3, 5))
    gamma, beta, mean, variance = (rng.uniform(0.5, 2, 3) for _ in range(4))
    means, variances = torch.tensor(mean), torch.tensor(variance)
    want = torch.nn.functional.batch_norm(
        *(torch.tensor(x), means, variances, torch.tensor(gamma), torch.tensor(beta)), training, 0.25, 1e-3
    )
    norm = OPS["nn.batch_norm"]
    found = plain(norm(x, gamma, beta, mean, variance, 1, 1e-3, True, True, 0.25, training))
    np.testing.assert_allclose(found[0], want.numpy(), rtol=1e-10)
    np.testing.assert_allclose(found[1], means.numpy(), rtol=1e-10)
    batch = x.transpose(1, 0, 2).reshape(3, -1)
    biased = 0.75 * variance + 0.25 * batch.var(1) if training else variance  # torch takes the unbiased one
    np.testing.assert_allclose(found[2], biased, rtol=1e-10)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_without_channels(training: bool) -> None:
    nothing = np.zeros(0)
    empty = np.zeros((4, 0, 5))
    found = OPS["nn.batch_norm"](empty, *(nothing,) * 4, 1, 1e-3, True, True, 0.25, training)
    assert [each.shape for each in plain(found)] == [(4, 0, 5), (0,), (0,)]


def _whole(x: rx.Value) -> rx.Value:
    return R.astype(R.clip(x, -9, 9), "int32")


def _integers(*numbers: Any) -> rx.Value:
    return R.const(np.array(numbers, "int32"))


IMAGE = rx.Tensor(("n", 2, 5, "w + 3"), "float32")
PROGRAMS: dict[str, Any] = {
    "max": lambda x: R.nn.max_pool2d(x, (3, 2), (2, 1), (1, 0), ceil_mode=True),
    "dilated": lambda x: R.nn.max_pool2d(x, 2, 1, 1, 2, out_layout="NHWC"),
    "mean": lambda x: R.nn.avg_pool2d(x, (2, 3), (1, 2), (1, 1), count_include_pad=True),
    "line": lambda x: R.nn.avg_pool1d(R.reshape(x, ("2*n", 5, "w + 3")), 3, 2, 1, ceil_mode=True),
    "peaks": lambda x: R.nn.max_pool1d(R.reshape(x, ("2*n", 5, "w + 3")), 3, 2),
    "whole": lambda x: R.nn.max_pool2d(R.astype(R.clip(x, -9, 9), "int16"), 2, 2),
    "space": lambda x: R.nn.max_pool3d(R.expand_dims(x, axis=2), (1, 2, 2), 1, (0, 1, 0)),
    "spaces": lambda x: R.nn.avg_pool3d(R.expand_dims(x, axis=2), (1, 2, 2), 1, (0, 1, 0)),
    "flip": lambda x: R.flip(x, 3),
    "tile": lambda x: R.tile(x, (2, 1, 3)),
    "repeat": lambda x: R.concat([R.repeat(x, 2), R.repeat(R.repeat(x, 2, 1), 1)], 0),
    "ordered": lambda x: (
        R.sort(x, 3, descending=True),
        R.argsort(_whole(x), 2, descending=True),
        R.topk(_whole(x), 2, 2),
        R.bucketize(_whole(x), _integers(-3, 0, 2), right=True),
    ),
    "placed": lambda x: (
        R.slice_scatter(x, R.zeros_like(x), 0, 5, axis=2),
        R.scatter_nd(R.reshape(x, ("n*10*(w + 3)",)), _integers([0], [4]), R.const(np.ones(2, "f4")), "add"),
        R.index_tensor(x, [_integers(), _integers()]),
        R.one_hot(_whole(x), R.const(2.5), R.const(-1.0), 3, 1),
        R.dynamic_strided_slice(x, *(_integers(*each) for each in ((0, 1, 4, -1), (9, 2, 0, 0), (1, 1, -2, -1)))),
    ),
    "moved": lambda x: (
        R.nn.pad(x, (0, 1, 0, 0, 2, 0, 0, 3), "constant", 1.5),
        R.nn.pixel_shuffle(R.nn.pad(x, (0, 0, 0, 2, 0, 0, 0, 0)), 2),
        R.reverse_sequence(R.reshape(x, ("n", 10, "w + 3")), R.full(("n",), R.const(3, "int32"))),
        R.nn.batch_flatten(x),
        R.meshgrid([R.const(np.arange(3.0)), R.const(np.arange(2.0))], indexing="xy"),
    ),
    "activated": lambda x: (
        R.nn.elu(x, 0.5),
        R.nn.selu(x),
        R.nn.hardsigmoid(x),
        R.nn.hardswish(x),
        R.nn.softplus(x, 2.0),
        R.nn.prelu(x, R.const(np.array([0.25, -2.0], "f4"))),
        R.nn.dropout(x),
    ),
    "drawn": lambda x: R.random.words(R.const(np.array([7, 2**64 - 1, 3], "u8")), 11),
}


def _norm(bb: rx.BlockBuilder, name: str, training: bool) -> None:
    x = rx.Var("x", IMAGE)
    weights = [rx.Var(f"v{i}", rx.Tensor((2,), "float32")) for i in range(4)]
    with bb.function(name, [x, *weights]):
        gamma, beta, mean, variance = weights
        bb.emit_func_output(R.nn.batch_norm(x, gamma, beta, mean, R.abs(variance), axis=1, training=training))


def _images() -> rx.IRModule:
    """A function per program, and batch norm in training and inference mode."""
    bb = rx.BlockBuilder()
    for name, program in PROGRAMS.items():
        x = rx.Var("x", IMAGE)
        with bb.function(name, [x]):
            bb.emit_func_output(program(x))
    for name in ("trained", "used"):
        _norm(bb, name, name == "trained")
    return bb.get()


def _packed() -> rx.IRModule:
    bb = rx.BlockBuilder()
    vector = rx.Tensor((3,), "float32")
    x = rx.Var("x", vector)
    with bb.function("packed", [x]):
        function = bb.emit(rx.ExternFunc("differential.copy", rx.Callable([vector], vector)))
        first = R.invoke_closure(function, [x])
        bb.emit_func_output(first + R.invoke_closure(function, [x + 1.0]))
    return bb.get()


@functools.cache
def _built(packed: bool) -> tuple[rx.IRModule, rx.Executable]:
    """The module that the generic text gives, and its code."""
    oracle.register_functions()
    text = seed_modules.generic((_packed() if packed else _images()).mlir)
    module = mutants.parsed(Mutant(0, "ir", text))
    module.verify()
    return module, rx.build(module)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PROGRAMS, "trained", "used", "packed"])
def test_native_code_is_compared(name: str) -> None:
    module, executable = _built(name == "packed")
    with module.context:
        infos = [struct_info(type_) for type_ in module[name].type.inputs]
    report: dict[str, Any] = {"reached": [], "skipped": "", "compared": 0}
    for call in (call for seed in range(3) for call in calls_of(name, infos, Random(seed))[:10]):
        report["skipped"] = ""
        oracle._check(module, executable, call, lambda stage: None, report)
        assert "not compared" not in report["skipped"], report
    assert report["compared"] > 0, report
