"""`compile_program`: compile an exported program to a function that is called like its module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.dialects.attributes import DONATED
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.common import compiling
from relax_mlir.frontend.torch.exported_program import from_exported_program, prepared
from relax_mlir.frontend.torch.program_signature import Leaf, ProgramSignature, Tree, children, read_signature
from relax_mlir.frontend.torch.registry import draws
from relax_mlir.frontend.torch.torch_types import Argument, ExportedProgram, Size, require_torch
from relax_mlir.random import Generator
from relax_mlir.runtime.build import build
from relax_mlir.runtime.executable import Executable

__all__ = ["CompiledProgram", "compile_program"]


class CompiledProgram:
    """A compiled program of ``torch.export``, called like the original module.

    Arguments and results have the module's containers: dictionaries, tuples, dataclasses registered with torch. A
    result that is an argument is returned as the same object. Arguments and buffers that the module modifies in place
    are modified; tensors that share memory with one of these are rejected. Results are tensors without gradients.
    """

    def __init__(
        self,
        program: ExportedProgram,
        signature: ProgramSignature,
        executable: Executable,
        generator: Generator | None = None,
        donated: Sequence[bool] = (),
    ) -> None:
        """`donated`: for each tensor that the program changes, True if ``main`` changes it in place."""
        self.executable = executable
        """The result of `relax_mlir.build`, with the function ``main``."""
        self._main = executable["main"]
        self.generator = generator
        """The source of random numbers, in programs that draw any; its state is kept between calls."""
        self._in_spec = program.call_spec.in_spec
        self._out_spec = signature.out_spec
        self._signature = signature
        self._trees = [parameter.tree for parameter in signature.parameters]
        self._leaves = list(signature.leaves)
        self._constants = [
            (index, spec.arg.value)
            for index, spec in enumerate(
                s for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"
            )
            if type(spec.arg).__name__ == "ConstantArgument"
        ]
        tensors = {**program.state_dict, **program.constants}
        self._state = [tensors[name] for name in signature.state]
        self._places = {leaf.node: index for index, leaf in enumerate(self._leaves) if leaf.node is not None}
        names = {node.name: index for node, index in self._places.items()}
        self._changed = [
            (kind, signature.state.index(name) if kind == "buffer" else names[name], node)
            for kind, name, node in signature.changed
        ]
        self._donated = list(donated) or [False] * len(self._changed)

    def __call__(self, *args: Argument, **kwargs: Argument) -> Argument:
        """Call the program.

        Raises:
            ArgumentError: arguments of another structure, or that share memory with one that the program changes;
                and the errors of ``main``.
        """
        import torch.utils._pytree as pytree

        if kwargs:
            order = children(self._in_spec)[1].context
            kwargs = {name: kwargs[name] for name in order if name in kwargs} | kwargs
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise ArgumentError(
                f"the arguments have the structure {spec}, the program was exported for {self._in_spec}"
            )
        for index, value in self._constants:
            if leaves[index] is not value and leaves[index] != value:
                raise ArgumentError(
                    f"argument {self._leaves[index].paths[0]} is {leaves[index]!r}; "
                    f"the program was exported with {value!r}, which is part of it"
                )
        state = list(self._state)
        self._refuse_overlaps(leaves)
        apart = self._made_dense(leaves, state)
        waiting = iter(leaves)
        given = [_packed(tree, waiting) for tree in self._trees]
        drawn_from = () if self.generator is None else (self.generator.state,)
        found = self._main(*(item for item in given if item is not _DROPPED), *state, *drawn_from)
        result, changed = (found[0], list(found[1])) if self._changed or drawn_from else (found, [])
        if self.generator is not None:
            self.generator.state = _as_torch(changed.pop()).numpy()
        for number, (tensor, dense) in apart.items():
            kind, index, _ = self._changed[number]
            tensor.detach().copy_(dense)
            (state if kind == "buffer" else leaves)[index] = tensor
        known = {node: leaves[index] for node, index in self._places.items()}
        new = iter(changed)
        for (kind, index, node), donated in zip(self._changed, self._donated, strict=True):
            known[node] = state[index] if kind == "buffer" else leaves[index]
            if not donated:
                known[node].detach().copy_(_as_torch(next(new)))
        out = self._results(result, known)
        return pytree.tree_unflatten(out, self._out_spec)

    def _refuse_overlaps(self, leaves: Sequence[Any]) -> None:
        """Reject tensors that share memory with one that the program changes, since it reads their old elements."""
        if not self._changed:
            return
        tensors = [*leaves, *self._state]
        changed = {index if kind == "input" else len(leaves) + index for kind, index, _ in self._changed}
        extents = sorted(
            (*found, number) for number, item in enumerate(tensors) if (found := _extent(item)) is not None
        )
        reaching: list[tuple[int, int]] = []  # what may overlap the next one: its end and its number
        for low, high, number in extents:
            reaching = [(end, other) for end, other in reaching if end > low]
            for _, other in reaching:
                pair = sorted((number, other), key=lambda each: (each not in changed, each))
                if pair[0] in changed and _overlap(tensors[pair[0]], tensors[pair[1]]):
                    first, second = map(self._name, pair)
                    raise ArgumentError(
                        f"{second} shares memory with {first}, which the program changes in place; "
                        f"pass a copy of one of them"
                    )
            reaching.append((high, number))

    def _name(self, number: int) -> str:
        """The name in messages of an argument, or of a buffer, which are counted after them."""
        count = len(self._leaves)
        if number < count:
            return f"argument {self._leaves[number].paths[0]}"
        return f"buffer '{self._signature.state[number - count]}'"

    def _made_dense(self, leaves: list[Any], state: list[Any]) -> dict[int, tuple[Any, Any]]:
        """Replace non-contiguous tensors that ``main`` changes by dense copies; return both by their index."""
        apart: dict[int, tuple[Any, Any]] = {}
        for number, ((kind, index, _), donated) in enumerate(zip(self._changed, self._donated, strict=True)):
            given = state if kind == "buffer" else leaves
            tensor = given[index]
            if donated and hasattr(tensor, "is_contiguous") and not tensor.is_contiguous():
                given[index] = tensor.detach().contiguous()
                apart[number] = tensor, given[index]
        return apart

    def _results(self, result: Argument, known: dict[Any, Any]) -> list[Any]:
        """Return the module's results, flattened. `known` maps nodes to arguments and buffers."""
        values = _flat(result)
        made: dict[Any, Any] = {}
        out: list[Any] = []
        for item in self._signature.results:
            if not hasattr(item, "meta"):
                out.append(item)
                if isinstance(item, int) and not isinstance(item, bool):
                    next(values)
                continue
            value = next(values)
            if item in known:
                out.append(known[item])
            elif item in made:
                out.append(made[item])
            else:
                made[item] = _as_torch(value)
                out.append(made[item])
        return out


def compile_program(
    exported_program: ExportedProgram,
    *,
    copy: bool = False,
    generator: Generator | None = None,
    fallback: bool = True,
    **options: Argument,
) -> CompiledProgram:
    """Import and compile a program of ``torch.export``; the result is called like the original module.

    >>> run = compile_program(torch.export.export(model.eval(), (x,)))
    >>> y = run(x)

    Random numbers come from `generator`, by default one with seed 0. They have torch's distributions, but are not
    torch's numbers. `fallback`: see `from_exported_program`. `options` are those of `relax_mlir.build`. A program that
    is not functional is made so first.
    """
    require_torch()
    program = prepared(exported_program)
    in_place = options.get("exec_mode", "native") == "native"
    module = from_exported_program(
        program, copy=copy, run_ep_decomposition=False, fallback=fallback, donate=in_place
    )
    signature = read_signature(program)
    with compiling(len(program.graph.nodes)):
        executable = build(module, **options)
    own = (generator or Generator(0)) if draws(program.graph_module) else None
    names = module["main"].attributes.get(DONATED, [])
    donated = [bool(item.value) for item in names][len(names) - len(signature.changed) - (own is not None) :]
    return CompiledProgram(program, signature, executable, own, donated[: len(signature.changed)])


def _packed(tree: Tree, waiting: Iterator[Any]) -> Argument:
    """Build an argument of ``main`` from the leaves in `waiting`, with tuples as containers and without constants."""
    if isinstance(tree, Leaf):
        item = next(waiting)
        return _DROPPED if tree.constant else item
    items = [_packed(item, waiting) for item in tree]
    kept = tuple(item for item in items if item is not _DROPPED)
    return kept if kept or not tree else _DROPPED


_DROPPED = object()
"""Marks an argument that is a constant of the program."""


def _extent(item: Argument) -> tuple[int, int] | None:
    """Return the address range of a tensor's elements; None if it has no elements in memory."""
    import torch

    if not isinstance(item, torch.Tensor) or item.numel() == 0 or item.layout is not torch.strided:
        return None
    start = item.data_ptr()
    last = sum((size - 1) * stride for size, stride in zip(item.shape, item.stride(), strict=True))
    return start, start + (last + 1) * item.element_size()


def _overlap(first: Argument, second: Argument) -> bool:
    """True if two tensors have an element in common."""
    return bool(np.shares_memory(_bytes_of(first), _bytes_of(second)))


def _bytes_of(tensor: Argument) -> np.ndarray:
    """Return a view of the memory of a tensor of any dtype."""
    size = tensor.element_size()
    interface = {
        "version": 3,
        "data": (tensor.data_ptr(), False),
        "typestr": f"|V{size}",
        "shape": tuple(tensor.shape),
        "strides": tuple(stride * size for stride in tensor.stride()),
    }
    return np.asarray(type("Memory", (), {"__array_interface__": interface})())


def _flat(result: Argument) -> Iterator[Any]:
    if isinstance(result, tuple | list | tvm_ffi.Array):
        for item in result:
            yield from _flat(item)
    else:
        yield result


def _as_torch(value: Size) -> Argument:
    import torch

    if isinstance(value, torch.Tensor | int | float):
        return value
    return torch.from_dlpack(value)
