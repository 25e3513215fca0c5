"""Functional ATen: programs without mutation, and ops without a rule as torch's own decomposition of them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from relax_mlir.frontend.torch.functional import is_functional
from relax_mlir.frontend.torch.graph_importer import find_rule, op_name
from relax_mlir.frontend.torch.ignored import is_ignored
from relax_mlir.frontend.torch.refused_ops import REFUSED
from relax_mlir.frontend.torch.registry import rules
from relax_mlir.frontend.torch.requirement import exact_sizes
from relax_mlir.frontend.torch.torch_types import Argument, ExportedProgram, GraphModule

_ROUNDS = 8
"""How often decompositions may lead to ops that need another one."""


def decomposed(program: ExportedProgram, *, functional: bool, known: Collection[str]) -> Argument:
    """`program` in functional form, with those ops decomposed that have no rule, one by one.

    An op that torch cannot decompose stays, and is reported by the import. `known` are ops with rules of users, whose
    names are those of ops in functional form.
    """
    tried: set[Any] = set()
    if functional and (known or not is_functional(program)):
        tried = {op for op in _missing(program.graph_module, known) if _is_kept(op)}
        program = _run(program, decompositions(tried))
    for _ in range(_ROUNDS):
        missing = {op for op in _missing(program.graph_module, known) if op not in tried}
        tried |= missing
        table = decompositions(missing)
        if not table:
            break
        program = _run(program, table)
    return program


def _run(program: ExportedProgram, table: Mapping[Argument, Argument]) -> ExportedProgram:
    """`run_decompositions`, without the warnings that torch gives of its own code.

    It traces again, and would assume anew that sizes are two or more.
    """
    with warnings.catch_warnings(), exact_sizes():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return program.run_decompositions(table)


def _is_kept(op: Argument) -> bool:
    """Whether the functional form has an op as it is: decomposed with the first trace, it needs no second one."""
    return not op._schema.is_mutable and not _is_composite(op)


def decompositions(ops: set[Any]) -> dict[Any, Any]:
    """Torch's decompositions of `ops`, of those that have one."""
    from torch._decomp import decomposition_table

    ops = {op for op in ops if str(op) not in REFUSED}
    found = {op: decomposition_table[op] for op in ops if op in decomposition_table and not _is_prim(op)}
    composite = {op for op in ops if op not in found and hasattr(op, "_schema") and _is_composite(op)}
    return found | {op: partial(_composed, op) for op in composite}


def _is_composite(op: Argument) -> bool:
    """Whether torch computes an op by others, in a kernel for all devices."""
    import torch

    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key))


def _composed(op: Argument, *args: Argument, **kwargs: Argument) -> Argument:
    """Run that kernel. (`op.decompose` would ask for the decomposition that is being made.)"""
    import torch

    return op._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)


def _is_prim(op: Argument) -> bool:
    """Whether torch's decomposition is a primitive of the same name, for which there is no rule either."""
    import torch

    name = op._schema.name.partition("::")[2].removeprefix("special_")
    return name in dir(torch.ops.prims) and f"prims.{name}.default" not in rules()


def _missing(graph_module: GraphModule, known: Collection[str]) -> Iterator[Any]:
    """Ops of a graph, and of those that its control flow calls, that have no rule."""
    for module in graph_module.modules():
        graph = getattr(module, "graph", None)
        for node in graph.nodes if graph is not None else []:
            if node.op != "call_function" or not hasattr(node.target, "_schema") or is_ignored(node):
                continue
            if op_name(node) not in known and find_rule(node) is None:
                yield node.target
