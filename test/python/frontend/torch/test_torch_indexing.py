"""Elements at positions given by tensors, updates of them, sorting."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from relax_mlir.error import BoundsError, CheckError
from torch.export import Dim
from torch_programs import Calls, agree, check, compiled


def arguments(n: int, m: int) -> tuple[Any, ...]:
    """A tensor, different rows of it, and columns, some counted from the end."""
    count = min(n, m)
    return torch.randn(n, m, 4), torch.randperm(n)[:count], torch.randint(-m, m, (count,))


class Puts(torch.nn.Module):
    """Slices at positions, along each axis; the tensor is also used afterwards."""

    def forward(self, x: Any, i: Any, new: Any) -> Any:
        first, middle, last = x.clone(), x.clone(), x.clone()
        first[i] = new[:, :1]
        middle[:, i] = 2.0
        last[..., i.clamp(-4, 3)] = 3.0
        return first, middle, last, (x > 0).index_fill(1, i, True), x.sum(2)


def puts(n: int, m: int, k: int) -> tuple[Any, ...]:
    return torch.randn(n, m, 4), torch.randint(-min(n, m), min(n, m), (k,)), torch.randn(k, 3, 4)


def test_slices_at_places() -> None:
    k = Dim("k")
    shapes = ({0: Dim("n", min=1), 1: Dim("m", min=1)}, {0: k}, {0: k})
    run = check(Puts(), puts, ((1, 1, 3), (3, 7, 0), (4, 2, 1)), shapes, example=(6, 5, 4))
    x, _, new = puts(6, 5, 4)
    for wrong in (5, -6, 2**40):
        with pytest.raises(BoundsError):
            run(x, torch.tensor([0, wrong, 1, 2]), new)


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
        lambda x, i, j: x.scatter_reduce(0, i[:, None, None].expand(-1, x.shape[1], 4), x[: i.shape[0]], "amax"),
        lambda x, i, j: x.index_fill(0, i, 2.0),
        lambda x, i, j: x.index_copy(0, i, x[: i.shape[0]] * 2),
        lambda x, i, j: x[x[:, 0, 0] > 0],
    )
    shapes = ({0: Dim("n", min=1), 1: Dim("m", min=1)}, {0: Dim("k", min=1)}, {0: Dim("k", min=1)})
    check(module, arguments, ((2, 2), (5, 3), (3, 7)), shapes, example=(6, 4))


NOT_FROM_THE_END = {
    "take_along_dim": lambda x, i: torch.take_along_dim(x[:, 0], i),
    "embedding": lambda x, i: F.embedding(i, x),
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "scatter": lambda x, i: x.scatter(0, i[:, None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], x),
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2]),
    "one_hot": lambda x, i: F.one_hot(i, 4),
}
FROM_THE_END = {
    "index": lambda x, i: x[i],
    "index of columns": lambda x, i: x.T[:, i],
    "take": lambda x, i: x.flatten()[:4].take(i),
    "index_put": lambda x, i: x.index_put((i,), torch.tensor(1.0)),
    "index_fill": lambda x, i: x.index_fill(0, i, 2.0),
    "index_fill with a tensor": lambda x, i: x.index_fill(0, i, x[0, 0]),
}


@pytest.mark.parametrize("name", [*NOT_FROM_THE_END, *FROM_THE_END])
def test_indices_out_of_range(name: str) -> None:
    """Errors where eager torch has them: some ops refuse negative indices, others count them from the end."""
    module = Calls((NOT_FROM_THE_END | FROM_THE_END)[name])
    x = torch.randn(4, 3)
    run = compiled(module, (x, torch.tensor([0, 3])))
    for indices in ([0, 3], [0, -1], [3, 4], [-5, 0], [2**40, 0]):
        i = torch.tensor(indices)
        refused = indices != [0, 3] and (name in NOT_FROM_THE_END or indices != [0, -1])
        if not refused:
            agree(run, module, (x, i))
            continue
        with pytest.raises((IndexError, RuntimeError)):
            module(x, i)
        with pytest.raises((BoundsError, CheckError), match=r"out of range|one_hot: a class is|begins at"):
            run(x, i)


def test_slices_at_indices() -> None:
    """Scalars and vectors as index, several values for one index, other axes, and tensors of rank 0."""
    module = Calls(
        lambda x, i: x.index_copy(1, i, x[:, :2].neg()),
        lambda x, i: x.index_copy(-1, torch.tensor([2, 2]), x[:, :2].neg()),
        lambda x, i: x.index_copy(0, torch.tensor(1), x[:1].neg()),
        lambda x, i: x[0].index_copy(0, torch.tensor(2), torch.tensor(9.0)),
        lambda x, i: x[0].index_copy(0, torch.tensor(2), x[1, 1:2]),
        lambda x, i: x[0, 0].index_copy(0, torch.tensor([0, 0]), x[1, :2]),
        lambda x, i: x[0, 0].index_copy(0, torch.tensor(0), torch.tensor(9.0)),
        lambda x, i: x.clone().index_copy_(0, i, x[:2].neg()),
        lambda x, i: x.index_fill(1, torch.tensor(-1), 2),
        lambda x, i: (x[0, 0].index_fill(0, i[1:], 2), x[0, 0].index_fill(0, i[:0], x[0, 1])),
        lambda x, i: (x > 0).index_fill(0, i, True),
    )
    arguments = (torch.randn(4, 3), torch.tensor([2, 0]))
    agree(compiled(module, arguments), module, arguments)


def test_places_along_a_dimension_are_broadcast() -> None:
    module = Calls(
        lambda x: torch.take_along_dim(x, torch.tensor([[0, 2]]), 1),
        lambda x: torch.take_along_dim(x[:1], torch.tensor([[0, 2], [1, 1]]), -1),
        lambda x: torch.take_along_dim(x, torch.tensor([[2], [1], [0]]), 0),
        lambda x: torch.take_along_dim(x, torch.tensor([3, 4])),
        lambda x: torch.take_along_dim(x, torch.tensor([[-1, 7, 2**40]]), 1),  # modulo the size
    )
    x = torch.randn(3, 5)
    agree(compiled(module, (x,)), module, (x,))
