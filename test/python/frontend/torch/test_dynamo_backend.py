"""``torch.compile(model, backend="relax_mlir")``: sizes, graph breaks, state, aliases, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomllib
import torch
import torch._dynamo
import torch.nn.functional as F
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch import compile_module, dynamo
from torch import nn

ROOT = Path(__file__).parents[4]
SIZES = (3, 5, 1, 9, 2)


class Block(nn.Module):
    """Products, a norm, attention, a buffer that counts calls, an argument's view as a result."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)
        self.norm = nn.LayerNorm(4)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.calls.add_(1)
        y = self.norm(self.second(F.gelu(self.first(x))))
        query = y[:, None]
        return {
            "y": y + F.scaled_dot_product_attention(query, query, query)[:, 0],
            "view": x.transpose(0, 1),
            "size": x.shape[0],
        }


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The graphs that this project compiles."""
    found: list[Any] = []
    plain = dynamo._compiled

    def counted(graph: Any, options: Any) -> Any:
        found.append(graph)
        return plain(graph, options)

    monkeypatch.setattr(dynamo, "_compiled", counted)
    torch._dynamo.reset()
    yield found
    torch._dynamo.reset()


@torch.no_grad()
def test_one_graph_for_all_sizes(graphs: list[Any]) -> None:
    module = Block().eval()
    run = compile_module(module, fullgraph=True)
    for n in SIZES:
        x = torch.randn(n, 6, 4)
        calls = module.calls.clone()
        got = run(x)
        assert torch.equal(module.calls, calls + 1)
        torch.testing.assert_close(got, module(x), rtol=1e-4, atol=1e-5)
        assert got["view"].data_ptr() == x.data_ptr()
        assert len(graphs) == 1
    module.first.weight.zero_()  # the compiled function sees it
    module.first.bias.fill_(0.5)
    torch.testing.assert_close(run(x)["y"], module(x)["y"], rtol=1e-4, atol=1e-5)


class Broken(nn.Module):
    """A graph break: Python looks at an element."""

    def forward(self, x: Any) -> Any:
        y = x.sin()
        if y.sum() > 0:
            return y.relu() * 2
        return y - 1


@torch.no_grad()
def test_graph_breaks(graphs: list[Any]) -> None:
    module = Broken()
    run = torch.compile(module, backend=dynamo.dynamo_backend, dynamic=True)
    for n in (3, 4, 7):
        for sign in (1, -1):
            x = torch.full((n,), 1.5707 * sign) - 0.3
            torch.testing.assert_close(run(x), module(x))
    assert len(graphs) == 3


def test_graphs_for_training_are_refused(graphs: list[Any]) -> None:
    run = torch.compile(nn.Linear(2, 2), backend=dynamo.dynamo_backend)
    with pytest.raises(Exception, match=r"torch.no_grad\(\)") as caught:
        run(torch.randn(3, 2))
    assert isinstance(caught.value.__cause__, UnsupportedError) or "UnsupportedError" in str(caught.value)
    with torch.inference_mode():
        assert run(torch.randn(3, 2)).shape == (3, 2)


@torch.no_grad()
def test_unsupported_ops_are_listed_with_what_to_do(graphs: list[Any]) -> None:
    run = torch.compile(lambda x: torch.linalg.eigvalsh(x).sin(), backend=dynamo.dynamo_backend)
    with pytest.raises(Exception, match=r"(?s)linalg_eigh.*torch.compiler.disable"):
        run(torch.randn(3, 3))


def test_torch_finds_the_backend_by_its_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entry = project["entry-points"]["torch_dynamo_backends"]["relax_mlir"]
    module, _, name = entry.partition(":")
    assert (module, name) == (dynamo.__name__, dynamo.dynamo_backend.__name__)
