"""Programs of PyTorch that draw random numbers: distributions, sizes, states of generators, dropout in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch import compile_program, dynamo_backend, from_exported_program
from relax_mlir.random import Generator
from torch import nn
from torch.export import Dim


class Draws(nn.Module):
    """One draw of each op, of as many rows as the argument has."""

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        n = x.shape[0]
        return {
            "rand": torch.rand(n, 50),
            "rand_like": torch.rand_like(x),
            "half": torch.rand(n, 50, dtype=torch.float64),
            "randn": torch.randn(n, 50),
            "randn_like": torch.randn_like(x),
            "randint": torch.randint(7, (n, 50)),
            "between": torch.randint(-5, 6, (n, 50), dtype=torch.int32),
            "randint_like": torch.randint_like(x, 3),
            "bernoulli": torch.bernoulli(torch.full((n, 50), 0.25)),
            "randperm": torch.randperm(n),
            "dropout": nn.functional.dropout(torch.ones_like(x), 0.2, training=True),
            "nothing": nn.functional.dropout(x, 1.0, training=True),
        }


def exported(module: nn.Module, *arguments: torch.Tensor) -> Any:
    rows = Dim("rows")
    return torch.export.export(module, arguments, dynamic_shapes=({0: rows},), strict=False)


@pytest.fixture(scope="module")
def run() -> Any:
    return compile_program(exported(Draws().eval(), torch.randn(4, 50)), generator=Generator(11))


MOMENTS: dict[str, tuple[float, float, float, float]] = {
    "rand": (0.5, 1 / 12, 0, 1),
    "rand_like": (0.5, 1 / 12, 0, 1),
    "half": (0.5, 1 / 12, 0, 1),
    "randn": (0, 1, -8, 8),
    "randn_like": (0, 1, -8, 8),
    "randint": (3, 4, 0, 6),
    "between": (0, 10, -5, 5),
    "randint_like": (1, 2 / 3, 0, 2),
    "bernoulli": (0.25, 0.1875, 0, 1),
    "dropout": (1, 0.25, 0, 1.25),
}
"""Mean, variance, the least and the greatest number that there may be."""


def test_distributions(run: Callable[..., Any]) -> None:
    """dtypes and shapes as torch's; mean and variance within five standard errors."""
    x = torch.randn(1000, 50)
    found, expected = run(x), Draws()(x)
    for name, (mean, variance, least, most) in MOMENTS.items():
        value = found[name]
        assert (value.dtype, value.shape) == (expected[name].dtype, expected[name].shape), name
        numbers = value.double().numpy()
        assert numbers.min() >= least and numbers.max() <= most, name
        assert abs(numbers.mean() - mean) < 5 * np.sqrt(variance / numbers.size), name
        assert abs(numbers.var() / variance - 1) < 0.05, name
    assert sorted(found["randperm"].tolist()) == list(range(1000)) != found["randperm"].tolist()
    assert not found["nothing"].any()
    assert not torch.equal(found["rand"], found["rand_like"])


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_sizes(run: Callable[..., Any], rows: int) -> None:
    found = run(torch.zeros(rows, 50))
    assert all(value.shape[0] == rows for value in found.values())


def test_generator() -> None:
    """Calls go on where the last one stopped; equal states give equal numbers, whatever torch's seed is."""

    class Noise(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls.add_(1)
            return x + torch.randn_like(x)

    module = Noise()
    program = exported(module, torch.zeros(3, 2))
    first = compile_program(program)
    x = torch.zeros(5, 2)
    drawn = [first(x), first(x)]
    assert first.generator.counter == 10 and not torch.equal(*drawn)
    torch.manual_seed(99)
    again = compile_program(program, generator=Generator(0))
    assert torch.equal(again(x), drawn[0]) and torch.equal(again(x), drawn[1])
    main = rx.build(from_exported_program(program))["main"]
    result, (calls, state) = main(x, torch.zeros(()), Generator(0).state)
    assert torch.equal(torch.as_tensor(result), drawn[0]) and int(calls) == 1
    assert np.asarray(state).tolist() == [0, 5, 0]


def test_training_dropout_of_a_layer() -> None:
    """What is kept is scaled, and all else of the layer is torch's."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 200)
            self.dropout = nn.Dropout(0.5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.dropout(self.linear(x))

    module = Layer().train()
    x = torch.randn(30, 8)
    found = compile_program(exported(module, torch.randn(4, 8)))(x)
    plain = module.linear(x).detach()
    kept = found != 0
    torch.testing.assert_close(found[kept], 2 * plain[kept])
    assert abs(float(kept.double().mean()) - 0.5) < 5 * 0.5 / np.sqrt(found.numel())


def test_refused() -> None:
    class Sampled(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.multinomial(x.abs(), 2)

    with pytest.raises(UnsupportedError, match=r"aten\.multinomial\.default"):
        from_exported_program(torch.export.export(Sampled(), (torch.randn(3, 4),)))
    compiled = torch.compile(lambda x: x + torch.rand(3), backend=dynamo_backend)
    with torch.no_grad(), pytest.raises(Exception, match="random numbers in a branch or a loop"):
        compiled(torch.zeros(3))
