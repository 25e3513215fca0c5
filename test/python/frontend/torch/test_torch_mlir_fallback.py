"""Ops that torch-mlir lowers: correct at all sizes with all listed dtypes, logged, and refused if it fails."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import sweep
import torch
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch import (
    TorchMlirWarning,
    compile_program,
    from_exported_program,
    graph_importer,
    torch_mlir_fallback,
)
from relax_mlir.frontend.torch.torch_mlir_fallback import LOWERED
from relax_mlir.mlir.torch_lowering import lowered
from torch.export import Dim
from torch_programs import Calls, agree, exported


def arguments(n: int, m: int) -> tuple[Any, ...]:
    """Images, different numbers in each row, places in the rows."""
    rows = torch.stack([torch.randperm(m + 2) - 3 for _ in range(n + 1)])[:n]
    places = torch.randint(0, m + 2, (n, m + 2))
    return torch.randn(n, 2, m + 3, 2 * m + 3), rows, places


def reduced(dtype: torch.dtype, how: str) -> Callable[..., Any]:
    def run(x: Any, rows: Any, places: Any) -> Any:
        values = rows.to(dtype)
        return values.scatter_reduce(1, places, values * 2, how, include_self=False)

    return run


def of_kinds(run: Callable[..., Any], *dtypes: torch.dtype) -> list[Callable[..., Any]]:
    return [lambda *args, dtype=dtype: run(dtype, *args) for dtype in dtypes]


CASES: dict[str, list[Callable[..., Any]]] = {
    "aten._int_mm.default": of_kinds(
        lambda dtype, x, rows, places: torch._int_mm(
            torch.ones(20, 16, dtype=dtype) * x.shape[0], torch.full((16, 8), 3, dtype=dtype)
        ),
        torch.int8,
    ),
    "aten.kthvalue.default": of_kinds(
        lambda dtype, x, rows, places: rows.to(dtype).kthvalue(2, 1), torch.int32, torch.int64
    ),
    "aten.scatter_reduce.two": [
        reduced(torch.float32, "sum"),
        reduced(torch.float64, "mean"),
        reduced(torch.float32, "amax"),
        reduced(torch.float64, "amin"),
        reduced(torch.float64, "prod"),
    ],
}
"""Programs of each op on the list, with its dtypes, and those that are refused without the list."""


def program(*functions: Callable[..., Any]) -> Any:
    n = Dim("n")
    height, width = Dim.DYNAMIC, Dim.DYNAMIC
    shapes = (({0: n, 2: height, 3: width}, {0: n, 1: Dim.DYNAMIC}, {0: n, 1: Dim.DYNAMIC}),)
    return exported(Calls(*functions), arguments(3, 4), shapes)


@pytest.mark.slow
def test_all_ops_of_the_list_at_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_mlir_fallback, "through_child", lowered)  # in this process, which takes less time
    assert set(CASES) == set(LOWERED)
    functions = [function for cases in CASES.values() for function in sweep.every(cases, 2)]
    with pytest.warns(TorchMlirWarning) as told:
        run = compile_program(program(*functions))
    messages = [str(warning.message) for warning in told if warning.category is TorchMlirWarning]
    assert sorted(message.split()[0] for message in messages) == sorted(LOWERED)  # once for each
    assert all(
        warning.filename.endswith("torch_programs.py") for warning in told if warning.category is TorchMlirWarning
    )
    for size in ((3, 4), (0, 5), (1, 0), (1, 1), (7, 9)):
        agree(run, Calls(*functions), arguments(*size))


def test_dtypes_and_refusal() -> None:
    """Ops that are not listed are refused, and so is everything if the fall-back is disabled."""
    floats = program(lambda x, rows, places: x.kthvalue(2, 1))
    listed = program(*CASES["aten.kthvalue.default"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", TorchMlirWarning)
        with pytest.raises(UnsupportedError, match=r"aten.kthvalue.default \(1×\): no rule; at "):
            from_exported_program(floats)
        with pytest.raises(UnsupportedError, match=r"aten.kthvalue.default \(2×\): no rule"):
            from_exported_program(listed, fallback=False)


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        (f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})", r"its process has ended with signal 11"),
        ("import time; time.sleep(60)", r"it takes longer than 0.5 s"),
        ("import sys; sys.exit('cannot do it')", "torch-mlir's lowering: cannot do it"),
        ("print('module {')", "torch-mlir's lowering: .*Unable to parse"),
        ("print('module {}')", "more than one function"),
        (
            "print('func.func @main(%x: memref<?x?xi64>) { %p = memref.alloc() : memref<1xcomplex<f32>> return }')",
            "complex<f32>> is no type of prim funcs",
        ),
    ],
)
def test_children_that_fail(monkeypatch: pytest.MonkeyPatch, worker: str, message: str) -> None:
    monkeypatch.setattr(torch_mlir_fallback, "COMMAND", (sys.executable, "-c", worker))
    monkeypatch.setattr(torch_mlir_fallback, "SECONDS", 0.5 if "sleep" in worker else 60)
    torch_mlir_fallback.through_child.cache_clear()
    try:
        with pytest.raises(UnsupportedError, match=rf"aten.kthvalue.default \(1×\): no rule .*{message}"):
            from_exported_program(program(CASES["aten.kthvalue.default"][0]))
    finally:
        torch_mlir_fallback.through_child.cache_clear()


@pytest.mark.slow
def test_integers_in_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Symbolic integers are arguments of the prim func; control flow shares it with what is outside."""
    name = "aten.roll.default"
    find = graph_importer.find_rule
    monkeypatch.setattr(graph_importer, "find_rule", lambda node: find(node) if str(node.target) != name else None)
    monkeypatch.setattr(torch_mlir_fallback, "LOWERED", {name: frozenset({"float32"})})

    def rolled(x: Any, rows: Any, places: Any) -> Any:
        return x.roll(rows.shape[0] - 1, 3)

    def chosen(x: Any, rows: Any, places: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x.roll(2, 2), (x,))

    with pytest.warns(TorchMlirWarning):
        run = compile_program(program(rolled, chosen))
    for size in ((3, 4), (2, 1), (5, 2)):
        x, *rest = arguments(*size)
        for sign in (1, -1):
            agree(run, Calls(rolled, chosen), (sign * x.abs(), *rest))
