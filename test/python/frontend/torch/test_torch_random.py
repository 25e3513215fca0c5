"""Programs of PyTorch that draw random numbers: distributions, sizes, states of generators, dropout in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from relax_mlir.error import CheckError
from relax_mlir.frontend.torch import compile_program, dynamo_backend, export_program, from_exported_program
from relax_mlir.random import Generator
from torch import nn
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops import scan, while_loop
from torch.export import Dim


class Draws(nn.Module):
    """One draw of each op, with as many rows as the argument."""

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
"""Mean, variance, minimum and maximum."""


@pytest.mark.slow
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
    """Calls continue the sequence of the last one; equal states give equal numbers, regardless of torch's seed."""

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
    """Kept elements are scaled, and the rest of the layer equals torch's."""

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


class Classes(nn.Module):
    """Classes by probabilities, which have a 0; as many as another argument is long."""

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, ...]:
        k = count.shape[0]
        return (
            torch.multinomial(x, 1),
            torch.multinomial(x[0], 2000, replacement=True),
            torch.multinomial(x.half(), k, replacement=True),
            torch.multinomial(x, k),
        )


@pytest.mark.slow
def test_multinomial() -> None:
    shares = torch.tensor([1.0, 0.0, 2.0, 5.0])
    shapes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    example = shares.repeat(3, 1), torch.zeros(3)
    program = export_program(Classes(), example, dynamic_shapes=shapes)
    run = compile_program(program, generator=Generator(3))
    rows = shares.repeat(2000, 1)
    first, many, several, different = run(rows, torch.zeros(3))
    wanted = Classes()(rows, torch.zeros(3))
    for found, other in zip((first, many, several, different), wanted, strict=True):
        assert (found.dtype, found.shape) == (other.dtype, other.shape)
    for drawn in (first.flatten(), many, several[:, 0], different[:, 0]):
        counts = torch.bincount(drawn, minlength=4)
        expected = 2000 * shares / 8
        assert counts[1] == 0
        assert (counts - expected).abs().max() < 5 * np.sqrt(2000 / 4), counts
    assert (different.sort(1)[0] == torch.tensor([0, 2, 3])).all()
    for size, count in ((1, 1), (1, 0), (4, 2)):
        assert run(shares.repeat(size, 1), torch.zeros(count))[3].shape == (size, count)
    with pytest.raises(CheckError, match="multinomial: a probability is negative, infinite or NaN"):
        run(-rows, torch.zeros(3))
    with pytest.raises(CheckError, match="multinomial: the probabilities of a row are all 0"):
        run(0 * rows, torch.zeros(3))


class InBodies(nn.Module):
    """Draws in bodies of control flow: zeros are passed in, and distinct numbers are returned."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        def draw(row: torch.Tensor) -> torch.Tensor:
            return torch.rand_like(row)

        before = torch.rand_like(x)
        (chosen,) = torch.cond(x.sum() > -1, lambda x: (torch.rand_like(x),), lambda x: (x - 1,), (x,))
        _, looped = while_loop(
            lambda i, x: i < 2, lambda i, x: (i + 1, x * 16 + torch.rand_like(x)), (torch.tensor(0), x)
        )
        carried, stacked = scan(lambda c, row: (draw(row), draw(row) + c * 0), x[0], x)
        return before, chosen, looped, carried, stacked, torch_map(draw, x), torch.rand_like(x)


@pytest.mark.filterwarnings("ignore")  # torch warns about its prototypes
@pytest.mark.slow
def test_bodies_of_control_flow() -> None:
    """Each iteration continues the sequence of the last one; a branch advances the state only if it is taken."""
    run = compile_program(exported(InBodies(), torch.zeros(3, 4)))
    found = [value.flatten() for value in run(torch.zeros(2, 4))]
    numbers = torch.cat(found)
    assert len(set(numbers.tolist())) == numbers.numel() == 6 * 8 + 4
    blocks = run.generator.counter
    run(torch.full((2, 4), -1.0))
    assert run.generator.counter - blocks == blocks - 2  # 8 numbers are 2 blocks


def test_torch_compile() -> None:
    """Each call draws new numbers, by a seed from torch's generator."""
    compiled = torch.compile(lambda x: (x + torch.rand(3), nn.functional.dropout(x + 1, 0.5)), backend=dynamo_backend)
    with torch.no_grad():
        torch.manual_seed(1)
        first, second = compiled(torch.zeros(3)), compiled(torch.zeros(3))
        torch.manual_seed(1)
        again = compiled(torch.zeros(3))
    torch.testing.assert_close(again, first, rtol=0, atol=0)
    assert not torch.equal(first[0], second[0]) and set(first[1].tolist()) <= {0.0, 2.0}
