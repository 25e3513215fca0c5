"""Activations with parameters, and composite ones, against torch; and their fusion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import FLOATS, Array, Suite, numbers, special_values
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.passes.fusion.fuse_ops import FuseOps
from torch.nn import functional as F

TOLERANCE = {"float32": 2e-6, "float64": 1e-13}


def by_torch(function: Callable[..., Any], *more: Any) -> Callable[[Array], Array]:
    """A function of torch on float64."""
    return lambda x: np.asarray(function(torch.from_numpy(np.array(x)), *more).numpy())


ACTIVATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "leakyrelu": (R.nn.leakyrelu, by_torch(F.leaky_relu)),
    "leakyrelu_alpha": (lambda x: R.nn.leakyrelu(x, -0.25), by_torch(F.leaky_relu, -0.25)),
    "elu": (R.nn.elu, by_torch(F.elu)),
    "elu_alpha": (lambda x: R.nn.elu(x, 0.3), by_torch(F.elu, 0.3)),
    "selu": (R.nn.selu, by_torch(F.selu)),
    "softplus": (R.nn.softplus, by_torch(F.softplus)),
    "softplus_beta": (lambda x: R.nn.softplus(x, 2.5, 3.0), by_torch(F.softplus, 2.5, 3.0)),
    "hardswish": (R.nn.hardswish, by_torch(F.hardswish)),
    "hardsigmoid": (R.nn.hardsigmoid, by_torch(F.hardsigmoid)),
    "hardsigmoid_onnx": (
        lambda x: R.nn.hardsigmoid(x, 0.2, 0.4),
        lambda x: np.clip(x * 0.2 + 0.4, 0, 1),
    ),
    "mish": (R.nn.mish, by_torch(F.mish)),
    "relu6": (R.nn.relu6, by_torch(F.relu6)),
}


def test_what_torch_gives() -> None:
    suite = Suite()
    line = np.concatenate([np.linspace(-120, 120, 61), np.linspace(-7, 7, 41), np.linspace(-1e-3, 1e-3, 11)])
    for dtype in FLOATS:
        kind = dtypes.dtype(dtype).numpy
        for name in sweep.turn(dtype, sweep.partners(dtype, FLOATS), list(ACTIVATIONS)):
            build, reference = ACTIVATIONS[name]
            suite.add(
                name,
                build,
                reference,
                [Tensor(("n",), dtype)],
                inputs=[[special_values(dtype)], [line.astype(kind)]],
                tolerance=TOLERANCE.get(dtype),
            )
    suite.add("scalar", R.nn.mish, by_torch(F.mish), [Tensor((), "float32")])
    suite.run()


def test_small_results_keep_their_digits() -> None:
    """Results near 0 must have small relative errors."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.make_tuple(R.nn.softplus(x), R.nn.elu(x), R.nn.mish(x)))
    given = np.concatenate([-np.linspace(1, 80, 200), -np.logspace(-30, 0, 100)]).astype(np.float32)
    found = rx.build(bb.get())["main"](given)
    wide = torch.from_numpy(given).double()
    for have, want in zip(found, (F.softplus(wide), F.elu(wide), F.mish(wide)), strict=True):
        np.testing.assert_allclose(np.from_dlpack(have), want.numpy(), rtol=2e-6, atol=1e-37)


def prelu(axis: int) -> Callable[[Array, Array], Array]:
    def compute(x: Array, alpha: Array) -> Array:
        slopes = alpha.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
        return np.where(x > 0, x, x * slopes).astype(x.dtype)

    return compute


def test_prelu() -> None:
    dtypes = (*FLOATS, "int32", "uint8")
    for dtype in dtypes:
        suite = Suite.of(dtype, dtypes)
        data, own, one = Tensor(("n", "m", 3), dtype), Tensor(("m",), dtype), Tensor((1,), dtype)
        suite.add("prelu", R.nn.prelu, prelu(1), [data, own])
        suite.add("last", lambda x, a: R.nn.prelu(x, a, -1), prelu(2), [data, Tensor((3,), dtype)])
        suite.add("one", R.nn.prelu, prelu(1), [data, one])
        suite.add("vector", lambda x, a: R.nn.prelu(x, a, 0), prelu(0), [own, own])
        suite.run()


def test_relu6_of_integers() -> None:
    suite = Suite()
    for dtype in ("int8", "uint8", "int64"):
        suite.add(
            dtype, R.nn.relu6, lambda x: np.clip(x, 0, 6), [Tensor(("n",), dtype)], draw=numbers(-20, 20)
        )
    suite.run()


def calls(build: Callable[..., Any], params: list[Tensor]) -> int:
    """The number of called prim funcs after fusion."""
    suite = Suite()
    suite.add("main", build, build, params, sizes=())
    mod = suite.module()
    mod.apply_(LegalizeOps())
    mod.apply_(FuseOps())
    return str(mod.mlir).count("relax.call_tir")


@pytest.mark.parametrize(
    "build",
    [
        lambda x, a: R.exp(R.nn.leakyrelu(R.add(x, a))),
        lambda x, a: R.exp(R.nn.softplus(R.nn.mish(R.add(x, a)))),
        lambda x, a: R.nn.hardswish(R.nn.elu(R.nn.prelu(x, a))),
        lambda x, a: R.nn.leakyrelu(R.nn.leakyrelu(x, 0.5), 0.25),
    ],
)
def test_chains_are_one_kernel(build: Callable[..., Any]) -> None:
    params = [Tensor(("n", "m"), "float32"), Tensor(("m",), "float32")]
    assert calls(build, params) == 1


def test_behind_a_product() -> None:
    """Activations become the epilogue of a GEMM."""
    params = [Tensor(("n", 5), "float32"), Tensor((5, "m"), "float32")]

    def build(x: Any, w: Any) -> Any:
        return R.nn.leakyrelu(R.nn.hardswish(R.matmul(x, w)))

    assert calls(build, params) == 1
    suite = Suite()
    suite.add("main", build, lambda x, w: by_torch(F.leaky_relu)(by_torch(F.hardswish)(x @ w)), params)
    suite.run()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x, i: R.nn.leakyrelu(i), DTypeError, "nn_leakyrelu: operand 'data' has dtype int32"),
        (lambda x, i: R.nn.elu(x, "a"), ArgumentError, "elu: 'alpha' is 'a'"),
        (lambda x, i: R.nn.softplus(x, 0.0), ArgumentError, "beta is 0"),
        (lambda x, i: R.nn.prelu(x, i), DTypeError, "nn_prelu"),
        (lambda x, i: R.nn.prelu(x, x), ShapeError, "operand 'alpha' is .* expected one dimension"),
        (
            lambda x, i: R.nn.prelu(x, R.ones((3,)), 0),
            ShapeError,
            "'alpha' has 3 elements, expected n, dimension 0",
        ),
        (lambda x, i: R.nn.prelu(x, R.ones((3,)), 2), ShapeError, "axis 2 is out of range"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    x, i = rx.Var("x", Tensor(("n", 4), "float32")), rx.Var("i", Tensor((4,), "int32"))
    with pytest.raises(error, match=message), bb.function("main", [x, i]):
        bb.emit_func_output(build(x, i))
