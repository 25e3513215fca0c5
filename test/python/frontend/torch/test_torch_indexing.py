"""Elements at places that tensors tell, updates of them, sorting."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.export import Dim
from torch_programs import Calls, check


def arguments(n: int, m: int) -> tuple[Any, ...]:
    """A tensor, different rows of it, and columns, some counted from the end."""
    count = min(n, m)
    return torch.randn(n, m, 4), torch.randperm(n)[:count], torch.randint(-m, m, (count,))


def test_gathers_scatters_and_sorts() -> None:
    module = Calls(
        lambda x, i, j: x[i],
        lambda x, i, j: x[:, j],
        lambda x, i, j: x[i, j],
        lambda x, i, j: x[i[:, None], j[None]],
        lambda x, i, j: x[i, :, 1],
        lambda x, i, j: x.gather(0, i[:, None, None].expand(-1, x.shape[1], 4)),
        lambda x, i, j: x.scatter(0, i[:, None, None].expand(-1, x.shape[1], 4), 5.0),
        lambda x, i, j: x.scatter_add(0, i[:, None, None].expand(-1, x.shape[1], 4), x[: i.shape[0]]),
        lambda x, i, j: x.index_add(0, i, x[: i.shape[0]]),
        lambda x, i, j: x.index_put((i,), torch.tensor(3.0)),
        lambda x, i, j: x.index_put((i, j), torch.ones(4), accumulate=True),
        lambda x, i, j: x.masked_scatter(x > 0, x * 2),
        lambda x, i, j: F.one_hot(i, 40),
        lambda x, i, j: x.sort(0)[0],
        lambda x, i, j: x.sort(1, descending=True),
        lambda x, i, j: x.argsort(2),
        lambda x, i, j: tuple(x.topk(2, 2)),
        lambda x, i, j: tuple(x.topk(2, 2, largest=False)),
        lambda x, i, j: (tuple(x.median(1)), x.median(2, keepdim=True)[0], x.median()),
        lambda x, i, j: torch.isclose(i, i.flip(0), atol=1),
        lambda x, i, j: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
        lambda x, i, j: torch.searchsorted(torch.arange(4.0), x[:, 0].contiguous()),
        lambda x, i, j: torch.slice_scatter(x, torch.zeros(x.shape[0], x.shape[1], 2), 2, 1, 3),
        lambda x, i, j: torch.select_scatter(x, torch.zeros(x.shape[0], x.shape[1]), 2, 1),
        lambda x, i, j: F.embedding(i, x[:, :, 0]),
        lambda x, i, j: x.take(i),
        lambda x, i, j: x.scatter_reduce(
            0, i[:, None, None].expand(-1, x.shape[1], 4), x[: i.shape[0]], "amax"
        ),
        lambda x, i, j: x.index_fill(0, i, 2.0),
        lambda x, i, j: x.index_copy(0, i, x[: i.shape[0]] * 2),
        lambda x, i, j: x[x[:, 0, 0] > 0],
    )
    shapes = ({0: Dim("n", min=1), 1: Dim("m", min=1)}, {0: Dim("k", min=1)}, {0: Dim("k", min=1)})
    check(module, arguments, ((2, 2), (5, 3), (3, 7)), shapes, example=(6, 4))
