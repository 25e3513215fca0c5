"""Detection of programs that are in functional form already; both import paths give the same results and aliases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sweep
import torch
from relax_mlir.frontend.torch import CompiledProgram, compile_program, decompositions
from relax_mlir.frontend.torch.decompositions import is_functional
from torch import nn
from torch_programs import Calls, agree, exported

X, FLAT = torch.arange(6.0).reshape(2, 3), torch.arange(4.0)
GIVEN = nn.BatchNorm2d(2)

FUNCTIONAL: dict[str, tuple[Callable[..., Any], Any]] = {
    "nothing to convert, of values in between": (lambda x: (x + 1).to(torch.float32), X),
    "conversions": (lambda x: x.to(torch.float64), X),
    "views": (lambda x: x.reshape(3, 2), X),
    "statistics that stay": (GIVEN.eval(), torch.arange(8.0).reshape(1, 2, 2, 2)),
    "constants": (lambda x: x + torch.tensor([1.0, 2.0, 3.0]), X),
    "pieces": (lambda x: x.chunk(2)[1] * 2, FLAT),
    "attention": (lambda x: nn.functional.scaled_dot_product_attention(x, x, x), X.reshape(1, 1, 2, 3)),
}
OTHERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "changes of memory": (lambda x: (x * 2).add_(1), X),
    "the argument itself": (lambda x: x.to(torch.float32), X),
    "no dropout": (lambda x: nn.functional.dropout(x, 0.5, False), X),
    "the argument itself, flat": (lambda x: x.flatten(), FLAT),
    "the argument itself, after another op": (lambda x: x.to(torch.float32).contiguous(), X),
    "one tensor twice": (lambda x: [y := x + 1, y.to(torch.float32)], X),
    "control flow": (lambda x: torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,)), X),
    "ops without a rule": (lambda x: torch.special.entr(x), X),
}
ITSELF = ("the argument itself", "no dropout", "the argument itself, flat")


@pytest.mark.parametrize("name", sweep.quick([*FUNCTIONAL, *OTHERS], *[*FUNCTIONAL][::2], *[*OTHERS][::2]))
def test_ways_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, x = (FUNCTIONAL | OTHERS)[name]
    module = function if isinstance(function, nn.Module) else Calls(function)
    program = exported(module, (x,))
    assert is_functional(program) == (name in FUNCTIONAL)
    runs = [compile_program(program)]
    agree(runs[0], module, (x,))
    if name in ITSELF:
        assert runs[0](x)[0] is x
    if name in FUNCTIONAL:
        monkeypatch.setattr(decompositions, "is_functional", lambda program: False)
        runs.append(compile_program(program))
        agree(runs[1], module, (x,))
        assert _aliases(runs[0], x) == _aliases(runs[1], x)


def _aliases(run: CompiledProgram, x: torch.Tensor) -> list[bool]:
    given = run(x)
    found = given if isinstance(given, list) else [given]
    return [item is other for item in found for other in (x, *found)]


def test_training() -> None:
    """Dropout that draws, and batch norm that changes its statistics, which its schema does not say."""
    for module, x in ((nn.Dropout(0.5), X), (nn.BatchNorm2d(2), torch.ones(2, 2, 2, 2))):
        assert not is_functional(torch.export.export(module.train(), (x,)))


def test_a_program_is_traced_once_more_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decompositions produce ops that are composite, or have a decomposition: all are handled in one trace."""

    def function(x: torch.Tensor) -> Any:
        y = (x * 2).relu_()
        pieces = nn.functional.unfold(y, 3, padding=1).chunk(3, 1)
        loss = nn.functional.huber_loss(x, y) + torch.logaddexp(x, y).sum()
        return pieces[0] + pieces[2], loss, nn.functional.adaptive_max_pool2d(x, (2, 3))

    x = torch.arange(50.0).reshape(1, 2, 5, 5) / 10 - 2
    runs = []
    trace = decompositions._run
    monkeypatch.setattr(decompositions, "_run", lambda *given: runs.append(given) or trace(*given))
    agree(compile_program(exported(Calls(function), (x,))), Calls(function), (x,))
    assert len(runs) == 1
