"""Every op of torch's core ATen has a rule, is decomposed by torch, is a size, or is refused by name with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.frontend.torch.decompositions import decompositions
from relax_mlir.frontend.torch.registry import REFUSED, rules
from torch_programs import Calls, exported

PAGE = Path(__file__).parents[4] / "docs" / "torch.md"


def core_ops() -> Iterator[Any]:
    """The ops that functional programs may contain: none that works in place."""
    for name in dir(torch.ops.aten):
        if name.endswith("_") and not name.endswith("__"):
            continue
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else []:
            op = getattr(packet, overload)
            if torch.Tag.core in op.tags:
                yield op


def test_every_core_op_is_imported_or_refused() -> None:
    ops = list(core_ops())
    assert len(ops) > 150
    decomposed = decompositions(set(ops))
    sizes = {str(op) for op in ops if str(op).startswith("aten.sym_")}
    unknown = [str(op) for op in ops if str(op) not in rules() and op not in decomposed]
    assert [name for name in unknown if name not in REFUSED and name not in sizes] == []
    assert not set(REFUSED) & set(rules())


def test_the_page_lists_what_is_refused() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in REFUSED:
        assert f"`{name.removeprefix('aten.')}`" in text, name


@pytest.mark.filterwarnings("ignore")
def test_refused_ops_say_why() -> None:
    module = Calls(
        lambda x: torch.ops.aten._pdist_forward(x[:, None], 2.0),
        lambda x: torch.randn_like(x),
        lambda x: x.as_strided((2,), (2,)).clone(),
        lambda x: torch.fft.rfft(x).abs(),
        lambda x: torch.randperm(3) + x,
    )
    with pytest.raises(UnsupportedError) as caught:
        from_exported_program(exported(module, (torch.randn(3),)))
    message = str(caught.value)
    assert "complex" in message
    for name in ("_pdist_forward", "as_strided"):
        assert f"aten.{name}.default (1×): {REFUSED[f'aten.{name}.default']}" in message
