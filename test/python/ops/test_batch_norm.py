"""batch_norm against torch, with the moving averages and with those of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import TOLERANCE
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]
CASES: tuple[tuple[tuple[int | str, ...], int, dict[str, Any]], ...] = (
    (("n", "c", "h", 3), 1, {"training": False}),
    (("n", "h", "c"), -1, {"training": False, "scale": False}),
    (("n", "c"), 1, {"training": False, "center": False, "epsilon": 0.1}),
    (("n", "c", "h", 3), 1, {}),
    (("n", "h", "c"), 2, {"momentum": 0.25, "scale": False, "center": False}),
    (("c", "n"), 0, {"momentum": 0.0}),
)
SIZES = ({"n": 2, "c": 3, "h": 5}, {"n": 1, "c": 1, "h": 17}, {"n": 9, "c": 8, "h": 1})


def expected(x: Array, parameters: list[Array], axis: int, options: dict[str, Any]) -> list[Array]:
    """The result of torch in float64; its moving variance is the unbiased one, TVM's is not."""
    data = torch.tensor(np.moveaxis(x, axis, 1).astype(np.float64))
    gamma, beta, mean, variance = (torch.tensor(p.astype(np.float64)) for p in parameters)
    training, momentum = options.get("training", True), options.get("momentum", 0.1)
    found = torch.nn.functional.batch_norm(
        data,
        mean.clone(),
        variance.clone(),
        gamma if options.get("scale", True) else None,
        beta if options.get("center", True) else None,
        training=training,
        eps=options.get("epsilon", 1e-5),
    )
    averages = [mean.numpy(), variance.numpy()]
    if training:
        others = [i for i in range(data.ndim) if i != 1]
        batch = [data.numpy().mean(tuple(others)), data.numpy().var(tuple(others))]
        averages = [(1 - momentum) * old + momentum * new for old, new in zip(averages, batch, strict=True)]
    return [np.moveaxis(found.numpy(), 1, axis), *averages]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_what_torch_computes(dtype: str) -> None:
    others = ("float64", "float16", "bfloat16")
    cases = CASES if dtype == "float32" else sweep.turn(dtype, others, CASES[:4:3])
    bb = rx.BlockBuilder()
    for number, (shape, axis, options) in enumerate(cases):
        x = rx.Var("x", Tensor(shape, dtype))
        parameters = [rx.Var(f"p{i}", Tensor(("c",), dtype)) for i in range(4)]
        with bb.function(f"norm_{number}", [x, *parameters]):
            bb.emit_func_output(R.nn.batch_norm(x, *parameters, axis, **options))
    executable = rx.build(bb.get())
    rng, kind = np.random.default_rng(4), dtypes.dtype(dtype).numpy
    for number, (shape, axis, options) in enumerate(cases):
        for sizes in SIZES:
            given = [sizes[d] if isinstance(d, str) else d for d in shape]
            if options.get("training", True) and np.prod(given) == given[axis]:
                continue  # torch requires two elements per channel
            x = rng.uniform(-2, 2, given).astype(kind)
            parameters = [rng.uniform(0.5, 2, sizes["c"]).astype(kind) for _ in range(4)]
            found = [to_numpy(r) for r in executable[f"norm_{number}"](x, *parameters)]
            for one, want in zip(found, expected(x, parameters, axis, options), strict=True):
                assert (one.dtype, one.shape) == (x.dtype, want.shape)
                tolerance = 8 * TOLERANCE[dtype]
                np.testing.assert_allclose(
                    one.astype(np.float64), want, tolerance, tolerance, err_msg=f"{shape} {options} {sizes}"
                )


def test_no_elements() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", "c"), "float32"))
    parameters = [rx.Var(f"p{i}", Tensor(("c",), "float32")) for i in range(4)]
    with bb.function("main", [x, *parameters]):
        bb.emit_func_output(R.nn.batch_norm(x, *parameters, 1))
    main = rx.build(bb.get())["main"]
    ones = np.ones(3, "f4")
    found = [to_numpy(r) for r in main(np.ones((0, 3), "f4"), ones, ones, ones, ones)]
    assert found[0].shape == (0, 3)
    assert np.isnan(found[1]).all() and np.isnan(found[2]).all()
    none = np.ones(0, "f4")
    assert [r.shape for r in main(np.ones((2, 0), "f4"), none, none, none, none)] == [(2, 0), (0,), (0,)]


@pytest.mark.parametrize(
    ("data", "parameter", "options", "error"),
    [
        (Tensor(("n", 4), "float32"), Tensor((3,), "float32"), {"axis": 1}, ShapeError),
        (Tensor(("n", 4), "float32"), Tensor((4,), "float32"), {"axis": 2}, RelaxError),
        (Tensor(("n", 4), "float32"), Tensor((4,), "float16"), {"axis": 1}, DTypeError),
        (Tensor(("n", 4), "int32"), Tensor((4,), "int32"), {"axis": 1}, DTypeError),
        (Tensor(("n", 4), "float32"), Tensor((4,), "float32"), {"axis": 1, "training": 2}, ArgumentError),
        (Tensor(("n", 4), "float32"), Tensor((4,), "float32"), {"axis": 1, "momentum": "x"}, ArgumentError),
    ],
)
def test_wrong_arguments(
    data: Tensor, parameter: Tensor, options: dict[str, Any], error: type[RelaxError]
) -> None:
    bb = rx.BlockBuilder()
    x, p = rx.Var("x", data), rx.Var("p", parameter)
    with pytest.raises(error), bb.function("main", [x, p]):
        bb.emit_func_output(R.nn.batch_norm(x, p, p, p, p, **options))
