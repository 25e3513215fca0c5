"""Modules of PyTorch, exported and imported once, against PyTorch itself at several sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from relax_mlir.frontend.torch import CompiledProgram, compile_program
from torch import nn

torch.set_num_threads(1)

Arguments = tuple[Any, ...]


def exported(module: nn.Module, args: Arguments, dynamic_shapes: Any = None, **kwargs: Any) -> Any:
    """`torch.export.export` without its warnings."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return torch.export.export(module.eval(), args, kwargs or None, dynamic_shapes=dynamic_shapes)


def compiled(module: nn.Module, args: Arguments, dynamic_shapes: Any = None, **options: Any) -> CompiledProgram:
    """`module` exported for `args`, imported and built."""
    if isinstance(module, Calls) and dynamic_shapes is not None:
        dynamic_shapes = (tuple(dynamic_shapes),)  # it takes *args
    program = exported(module, args, dynamic_shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of its decompositions
        return compile_program(program, **options)


def agree(run: CompiledProgram, module: nn.Module, args: Arguments, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Compare one call with that of the module; elements, dtypes, shapes and nesting must equal torch's."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, of statistics of one element
        wanted = module(*args)
    torch.testing.assert_close(run(*args), wanted, rtol=rtol, atol=atol, equal_nan=True)


def check(
    module: nn.Module,
    arguments: Callable[..., Arguments],
    sizes: Iterable[Sequence[int]],
    dynamic_shapes: Any,
    *,
    example: Sequence[int],
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> CompiledProgram:
    """Export `module` for ``arguments(*example)``, and compare one artefact with torch at all `sizes`."""
    torch.manual_seed(0)
    run = compiled(module, arguments(*example), dynamic_shapes)
    for size in (example, *sizes):
        agree(run, module, arguments(*size), rtol, atol)
    return run


class Calls(nn.Module):
    """A module that returns the results of several functions of its arguments: many ops in one program."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *args: Any) -> Any:
        return [function(*args) for function in self.functions]
