"""Inputs and outputs of an exported program, with the names and the nesting of the original module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Union

from relax_mlir.dialects.structure import tuple_get_item
from relax_mlir.dialects.types import Prim, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch.sizes import NoDimension, Sizes
from relax_mlir.frontend.torch.torch_arrays import dtype_name
from relax_mlir.frontend.torch.torch_types import ExportedProgram, FakeTensor, Node, TreeSpec
from relax_mlir.symbolic import Dim

_NUMBERED = re.compile(r"(\w+)_(\d+)")
"""Torch's name of an entry of ``*args``."""
_RESULTS = ("USER_OUTPUT", "BUFFER_MUTATION", "USER_INPUT_MUTATION")
_INPUTS = ("USER_INPUT", "PARAMETER", "BUFFER", "CONSTANT_TENSOR")


@dataclass(frozen=True)
class Leaf:
    """One argument of a call of the module, after flattening."""

    node: Node
    """The placeholder in torch's graph."""
    paths: tuple[str, ...]
    """Torch's names of the argument, as in its guards: ``L['past']['keys'][0]``; the last is that of strict export."""
    constant: bool
    """True for a number, string or None that was fixed at export; False for tensors and symbolic integers."""


Tree = Union[Leaf, tuple["Tree", ...]]  # noqa: UP007 - a forward reference has no operator |
"""A nested argument; all kinds of containers are represented as tuples."""


@dataclass(frozen=True)
class Parameter:
    """One argument of ``forward``, by its name."""

    name: str
    tree: Tree

    @property
    def leaves(self) -> Iterator[Leaf]:
        """All leaves in order, constants included."""
        waiting = [self.tree]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Leaf):
                yield item
            else:
                waiting += reversed(item)

    @property
    def values(self) -> Tree | None:
        """The tree without constants; None if nothing is left."""
        return _without_constants(self.tree)


def _without_constants(tree: Tree) -> Tree | None:
    if isinstance(tree, Leaf):
        return None if tree.constant else tree
    kept = tuple(found for item in tree if (found := _without_constants(item)) is not None)
    return kept if kept or not tree else None


@dataclass(frozen=True)
class ProgramSignature:
    """Inputs and outputs of an exported program."""

    parameters: tuple[Parameter, ...]
    weights: tuple[tuple[Any, str], ...]
    """Placeholders of parameters, buffers and constants, with their names in the module."""
    state: tuple[str, ...]
    """The buffers that the program changes, in the order of `changed`."""
    results: tuple[Any, ...]
    """The module's results: arguments of the output node, flattened."""
    out_spec: TreeSpec
    changed: tuple[tuple[str, str, Any], ...]
    """The graph's other results: ``"buffer"`` or ``"input"``, its name, and the node of its new value."""

    @property
    def leaves(self) -> Iterator[Leaf]:
        for parameter in self.parameters:
            yield from parameter.leaves


def read_signature(program: ExportedProgram) -> ProgramSignature:
    """Return the signature of an exported program. Raises `UnsupportedError` for unsupported inputs or outputs."""
    signature = program.graph_signature
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    inputs = []
    weights = []
    for spec in signature.input_specs:
        kind = spec.kind.name
        if kind not in _INPUTS:
            raise UnsupportedError(f"the exported program takes '{spec.arg.name}', a {kind}")
        if kind == "USER_INPUT":
            inputs.append((nodes.get(getattr(spec.arg, "name", None)), spec.arg))
        else:
            weights.append((nodes[spec.arg.name], spec.target))
    results, changed = _results(program)
    return ProgramSignature(
        tuple(_parameters(program, inputs)),
        tuple(weights),
        tuple(name for kind, name, _ in changed if kind == "buffer"),
        tuple(results),
        program.call_spec.out_spec,
        tuple(changed),
    )


def _results(program: ExportedProgram) -> tuple[list[Any], list[tuple[str, str, Any]]]:
    output = next(node for node in program.graph.nodes if node.op == "output")
    results: list[Any] = []
    changed: list[tuple[str, str, Any]] = []
    for spec, item in zip(program.graph_signature.output_specs, output.args[0], strict=True):
        kind = spec.kind.name
        if kind not in _RESULTS:
            raise UnsupportedError(
                f"the exported program has an output of kind {kind}; programs for inference are supported, "
                "export the module after module.eval(), outside of training"
            )
        if kind == "USER_OUTPUT":
            results.append(item)
        else:
            changed.append(("buffer" if kind == "BUFFER_MUTATION" else "input", spec.target, item))
    return results, changed


def _parameters(program: ExportedProgram, inputs: Sequence[tuple[Any, Any]]) -> Iterator[Parameter]:
    """Yield the arguments of ``forward`` with their leaves, in order."""
    import torch.utils._pytree as pytree

    args, kwargs = children(program.call_spec.in_spec)
    names = list(program.module_call_graph[0].signature.forward_arg_names or [])
    positional = children(args)
    keys = list(kwargs.context or [])
    names = names[: len(positional)]
    names += [f"arg{i}" for i in range(len(names), len(positional))]
    waiting = iter(enumerate(inputs))
    for name, spec in zip([*names, *keys], [*positional, *children(kwargs)], strict=True):
        whole = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
        paths = iter([pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(whole)[0]])

        def leaf(name: str = name, paths: Iterator[str] = paths) -> Leaf:
            number, (node, arg) = next(waiting)
            inner = next(paths)
            varied = _NUMBERED.fullmatch(name)
            names = [f"L['{name}']", *([f"L['{varied[1]}'][{varied[2]}]"] if varied else [])]
            known = (*(n + inner for n in names), f"L['flat_args'][{number}]")
            return Leaf(node, known, type(arg).__name__ == "ConstantArgument")

        yield Parameter(re.sub(r"\W", "_", str(name)), _tree(spec, leaf))


def _tree(spec: TreeSpec, leaf: Callable[[], Leaf]) -> Tree:
    return leaf() if spec.is_leaf() else tuple(_tree(child, leaf) for child in children(spec))


def children(spec: TreeSpec) -> list[Any]:
    found = spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs
    return list(found)


def tree_info(tree: Tree, sizes: Sizes) -> StructInfo:
    """Return the struct info of a nested argument without constants."""
    if not isinstance(tree, Leaf):
        return Tuple([tree_info(item, sizes) for item in tree])
    value = tree.node.meta["val"]
    return tensor_info(value, sizes) if hasattr(value, "shape") else Prim("int64", value=sizes.dim(value))


def tensor_info(fake: FakeTensor, sizes: Sizes) -> Tensor:
    """Return the struct info of a torch tensor; sizes without a symbolic expression are unknown."""
    dims: list[Dim | None] = []
    for size in fake.shape:
        try:
            dims.append(sizes.dim(size))
        except NoDimension:
            dims.append(None)
    return Tensor(dims, dtype_name(fake.dtype))


def leaf_names(name: str, tree: Tree) -> Iterator[tuple[Any, str]]:
    """Yield the placeholders of a nested argument without constants, with the names of the parts: ``past[0][1]``."""
    if isinstance(tree, Leaf):
        yield tree.node, name
        return
    for index, item in enumerate(tree):
        yield from leaf_names(f"{name}[{index}]", item)


def unpacked(tree: Tree, value: Value) -> Iterator[tuple[Any, Value]]:
    """Yield the placeholders of a nested argument without constants, with their values."""
    if isinstance(tree, Leaf):
        yield tree.node, value
        return
    for index, item in enumerate(tree):
        yield from unpacked(item, tuple_get_item(value, index))
