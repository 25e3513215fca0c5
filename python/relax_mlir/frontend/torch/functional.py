"""Check if a program of ``torch.export`` is already in functional form and need not be traced again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relax_mlir.frontend.torch.graph_importer import find_rule
from relax_mlir.frontend.torch.ignored import is_ignored
from relax_mlir.frontend.torch.torch_types import Argument, ExportedProgram, Node

_SWITCHES = ("train", "training", "use_input_stats")
"""Parameters of ops that draw random numbers or change statistics if they are true."""
_CHANCES = ("dropout_p",)
"""Parameters of ops that draw random numbers unless they are 0."""
_STATISTICS = ("batch_norm", "instance_norm")
"""Ops that change their arguments in training, which their schemas do not declare."""
UNMARKED = frozenset(
    f"aten.{name}" if "." in name else f"aten.{name}.default"
    for name in (
        *("_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long"),
        *("_cast_Short", "alpha_dropout", "broadcast_tensors", "cartesian_prod", "conj_physical", "dropout"),
        *(
            "einsum",
            "feature_alpha_dropout",
            "feature_dropout",
            "meshgrid",
            "meshgrid.indexing",
            "sum_to_size",
        ),
        *("type_as", "unflatten_dense_tensors", "unsafe_chunk", "unsafe_split.Tensor"),
        *(f"atleast_{rank}d{kind}" for rank in (1, 2, 3) for kind in ("", ".Sequence")),
        "unsafe_split_with_sizes",
    )
)
"""Ops that may return their operand or a view of it, which their schemas do not declare."""


def is_functional(program: ExportedProgram) -> bool:
    """True if no op changes memory or draws random numbers, each has a rule, and no result may alias another value.

    ``run_decompositions({})``, which traces the program again, would then change nothing that the import uses. Programs
    with control flow, or with weights of tensor subclasses, do not count as functional.
    """
    import torch
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    if any(map(is_traceable_wrapper_subclass, program.state_dict.values())):
        return False
    if sum(isinstance(module, torch.fx.GraphModule) for module in program.graph_module.modules()) != 1:
        return False
    return all(map(_is_pure, program.graph.nodes)) and not _share_results(program)


def _is_pure(node: Node) -> bool:
    if node.op != "call_function":
        return bool(node.op in ("placeholder", "output"))
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return not hasattr(node.target, "py_kernels")  # a higher-order op
    name = str(node.target)
    if not name.startswith(("aten.", "prims.")) or (find_rule(node) is None and not is_ignored(node)):
        return False
    if schema.is_mutable:
        return name == "aten.detach_.default"
    return not _is_drawn_or_counted(node, name)


def _is_drawn_or_counted(node: Node, name: str) -> bool:
    """True if an op draws random numbers or changes statistics."""
    import torch

    draws = torch.Tag.nondeterministic_seeded in node.target.tags
    if not draws and not any(part in name for part in _STATISTICS):
        return False
    given = dict(_arguments(node))
    switches = [given[key] for key in (*_SWITCHES, *_CHANCES) if key in given]
    return any(switches) if switches else draws


def _arguments(node: Node) -> Iterator[tuple[str, Argument]]:
    """Yield the arguments of an op by name, defaults included."""
    for index, parameter in enumerate(node.target._schema.arguments):
        given = node.args[index] if index < len(node.args) else parameter.default_value
        yield parameter.name, node.kwargs.get(parameter.name, given)


def _share_results(program: ExportedProgram) -> bool:
    """True if a result may be an argument or another result, returned unchanged by ops."""
    output = next(node for node in program.graph.nodes if node.op == "output")
    results = [item for item in output.args[0] if hasattr(item, "meta")]
    sources = [_source(item) for item in results]
    moved = {source for item, source in zip(results, sources, strict=True) if item is not source}
    return any(source.op == "placeholder" or sources.count(source) > 1 for source in moved)


def _source(node: Node) -> Node:
    """Return the earliest node that a node may be the same tensor as."""
    while _may_be_operand(node):
        node = node.args[0]
    return node


def _may_be_operand(node: Node) -> bool:
    """True if an op may return its operand itself, as ``x.to(dtype)`` does if there is nothing to convert."""
    import torch

    schema = getattr(node.target, "_schema", None)
    if schema is None or not node.args or not hasattr(node.args[0], "meta"):
        return False
    name = str(node.target)
    marked = any(value.alias_info is not None for value in schema.returns)
    if name != "aten.detach_.default" and name not in UNMARKED:
        key = torch._C.DispatchKey.CompositeImplicitAutograd
        if not marked or name == "aten.reshape.default":
            return False
        if not torch._C._dispatch_has_kernel_for_dispatch_key(node.target.name(), key):
            return False
    return _is_like(node.args[0].meta.get("val"), node.meta.get("val"))


def _is_like(operand: Any, result: Any) -> bool:  # noqa: ANN401 - whatever torch knows of a node
    """True if two values may be the same: tensors of one dtype and rank, or lists."""
    if not hasattr(operand, "shape") or not hasattr(result, "shape"):
        return True
    return bool(operand.dtype == result.dtype and len(operand.shape) == len(result.shape))
