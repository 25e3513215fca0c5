"""Control flow and ops of users."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
import torch
from relax_mlir.error import CheckError, ShapeError
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops import scan, while_loop
from torch.export import Dim
from torch_programs import check, exported

SIZES = ((1, 1), (5, 2), (2, 7), (1, 4))
MATRIX = ({0: Dim("n"), 1: Dim("m")},)
pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns about its prototypes


def matrix(n: int, m: int) -> tuple[torch.Tensor]:
    return (torch.randn(n, m),)


class Cond(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: (x.sin() + 1, x.sum(0)), lambda x: (x.cos(), x.amax(0)), (x,))


class CondOfSizes(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cond(x.shape[0] > 3, lambda x: x + 1, lambda x: x - 1, (x,))


class While(nn.Module):
    def forward(self, x: Any) -> Any:
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))


class Scan(nn.Module):
    def forward(self, x: Any, first: Any) -> Any:
        def step(carried: Any, item: Any) -> Any:
            total = carried * 0.5 + item
            return total, total.sin()

        return scan(step, first, x)


class Map(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return torch_map(lambda a, y: a.sin() @ y, x, y)


def test_cond() -> None:
    check(Cond(), matrix, (*SIZES, *SIZES), MATRIX, example=(3, 4))


def test_a_condition_on_sizes() -> None:
    check(CondOfSizes(), matrix, SIZES, MATRIX, example=(3, 4))


def test_while_loop() -> None:
    check(While(), matrix, SIZES, MATRIX, example=(3, 4))


def test_scan() -> None:
    n, m = Dim("n"), Dim("m")
    shapes = ({0: n, 1: m}, {0: m})
    check(Scan(), lambda n, m: (torch.randn(n, m), torch.randn(m)), SIZES, shapes, example=(3, 4))


def test_map() -> None:
    n, m = Dim("n"), Dim("m")
    shapes = ({0: n, 1: m}, {1: m})
    check(Map(), lambda n, m: (torch.randn(n, m, 4), torch.randn(4, m)), SIZES, shapes, example=(3, 4))


@torch.library.custom_op("relax_mlir_test::twice_plus", mutates_args=())
def twice_plus(x: torch.Tensor, n: int, factor: float = 1.0) -> torch.Tensor:
    return x * 2 + n * factor


@twice_plus.register_fake
def _(x: torch.Tensor, n: int, factor: float = 1.0) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("relax_mlir_test::extremes", mutates_args=())
def extremes(parts: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    whole = torch.cat(parts)
    return whole.amin(0), whole.amax(0)


@extremes.register_fake
def _(parts: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(parts[0][0]), torch.empty_like(parts[0][0])


class CustomOps(nn.Module):
    def forward(self, x: Any) -> Any:
        y = twice_plus(x.sin(), x.shape[0], 2.5) + 1
        return y, *extremes([x, y])


def test_ops_of_users_are_packed_calls() -> None:
    check(CustomOps(), matrix, SIZES, MATRIX, example=(3, 4))


class Grouped(nn.Module):
    """Rows of experts multiplied by their matrices, as in Mixtral: in float32 by an op of transformers."""

    def forward(self, x: Any, matrices: Any, ends: Any) -> Any:
        if x.dtype == torch.bfloat16:
            return torch._grouped_mm(x, matrices, ends)
        return torch.ops.transformers.grouped_mm_fallback(x, matrices, ends)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_grouped_products(dtype: torch.dtype) -> None:
    import transformers.integrations.moe  # noqa: F401 - it registers the op

    ends = torch.tensor([0, 2, 2, 5, 9], dtype=torch.int32)
    matrices = torch.randn(5, 16, 24).to(dtype)
    program = exported(Grouped(), (torch.randn(9, 16).to(dtype), matrices, ends), ({0: Dim("rows")}, None, None))
    module = from_exported_program(program)
    assert "call_pure_packed" not in module.script()
    main = rx.build(module)["main"]
    for rows in (9, 1, 0, 20):
        x = torch.randn(rows, 16).to(dtype)
        cut = ends.clamp(max=rows)
        wanted = torch.zeros(rows, 24, dtype=dtype)
        for matrix, first, last in zip(matrices, [0, *cut.tolist()], cut.tolist(), strict=False):
            wanted[first:last] = x[first:last] @ matrix
        torch.testing.assert_close(main(x, matrices, cut), wanted)  # rows after the last group are zeros
    for wrong, message in (
        ([0, 3, 2, 5, 9], "groups decrease"),
        ([0, 2, 2, 5, 10], "ends behind the last row"),
    ):
        with pytest.raises(CheckError, match=message):
            main(torch.randn(9, 16).to(dtype), matrices, torch.tensor(wrong, dtype=torch.int32))


class Item(nn.Module):
    """A size and a number determined by elements."""

    def forward(self, x: Any, count: Any) -> Any:
        n = count.item()
        torch._check(n >= 1)
        torch._check(n <= x.shape[0])
        return x[:n] * 2, torch.zeros(n, 3)


def test_sizes_that_elements_tell() -> None:
    program = exported(Item(), (torch.randn(8), torch.tensor(3)), ({0: Dim("n", min=1)}, None))
    main = rx.build(from_exported_program(program))["main"]
    for n, count in ((8, 3), (1, 1), (5, 5)):
        x = torch.randn(n)
        first, second = main(x, torch.tensor(count))
        torch.testing.assert_close(first, x[:count] * 2)
        assert second.shape == (count, 3)
    with pytest.raises((CheckError, ShapeError)):
        main(torch.randn(4), torch.tensor(5))


class Nonzero(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.nonzero(), x[x > 0] * 2


def test_places_of_elements() -> None:
    program = exported(Nonzero(), (torch.randn(3, 4),), MATRIX)
    main = rx.build(from_exported_program(program))["main"]
    for n, m in ((3, 4), (1, 1), (0, 2), (2, 9)):
        x = torch.randn(n, m)
        for got, wanted in zip(main(x), Nonzero()(x), strict=True):
            torch.testing.assert_close(got, wanted)
