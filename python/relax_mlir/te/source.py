"""The text of tensor expressions in the T language: one block per computation, or plain loops."""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import Expr, IndexVar, Load, Size, nodes
from relax_mlir.te.tensors import ReduceAxis, Reduction, Stage, Tensor, identity

COMBINED = {"sum": "{0} + {1}", "prod": "{0} * {1}", "max": "T.max({0}, {1})", "min": "T.min({0}, {1})"}
RESERVED = frozenset({"R", "T", "I", "cls", "constants", "float", "range", *keyword.kwlist})


def expressions(stage: Stage) -> Iterator[Expr]:
    """All expressions of a computation."""
    for value in stage.values:
        yield from nodes(value.value if isinstance(value, Reduction) else value)


def reduce_axes(stage: Stage) -> list[ReduceAxis]:
    """The axes that the outputs of a computation are reduced over."""
    found = (axis for value in stage.values if isinstance(value, Reduction) for axis in value.axes)
    return list(dict.fromkeys(found))


def stages_of(outputs: Sequence[Tensor]) -> list[Stage]:
    """The computations that `outputs` need, those that others read first."""
    ordered: dict[Stage, None] = {}

    def visit(tensor: Tensor) -> None:
        if tensor.stage is None or tensor.stage in ordered:
            return
        for item in expressions(tensor.stage):
            if isinstance(item, Load):
                visit(item.tensor)
        ordered[tensor.stage] = None

    for output in outputs:
        visit(output)
    return list(ordered)


def read_by(outputs: Sequence[Tensor]) -> list[Tensor]:
    """The tensors whose elements `outputs`, and what they need, are computed of."""
    loads = (item for stage in stages_of(outputs) for item in expressions(stage) if isinstance(item, Load))
    return list(dict.fromkeys(load.tensor for load in loads))


def symbols_of(tensors: Sequence[Tensor], stages: Sequence[Stage]) -> list[str]:
    """Every symbol in shapes, ranges and expressions, in order of appearance."""
    dims: list[Dim] = [dim for tensor in tensors for dim in tensor.shape]
    for stage in stages:
        dims += stage.shape
        dims += [dim for axis in reduce_axes(stage) for dim in (axis.begin, axis.extent)]
        dims += [item.dim for item in expressions(stage) if isinstance(item, Size)]
    return list(dict.fromkeys(name for dim in dims for name in symbolic.symbols(dim)))


@dataclass
class Writer:
    """Writes a prim func of the given parameters, and remembers which line each computation begins on."""

    name: str
    parameters: Sequence[Tensor]
    integers: Sequence[str]
    blocks: bool
    """Blocks with `T.init`, which may become linalg; else plain loops, which begin every element of a reduction."""

    lines: list[str] = field(default_factory=list)
    starts: list[tuple[int, Stage]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    names: dict[Expr | Tensor, str] = field(default_factory=dict)

    def write(self, stages: Sequence[Stage]) -> str:
        """The text of the computations `stages`, in order."""
        tensors = [*self.parameters, *(t for stage in stages for t in stage.tensors)]
        self.taken |= RESERVED | set(symbols_of(tensors, stages)) | {self.name}
        for tensor in self.parameters:
            self.names[tensor] = self.fresh(tensor.name)
        params = [f'{self.names[t]}: T.Buffer({_shape(t)}, "{t.dtype}")' for t in self.parameters]
        params += [f"{name}: T.int64" for name in self.integers]
        self.lines += ["@T.prim_func", f"def {self.name}({', '.join(params)}):"]
        for stage in stages:
            for tensor in stage.tensors:
                if tensor not in self.names:
                    self.names[tensor] = self.fresh(tensor.name)
                    self.add(1, f'{self.names[tensor]} = T.alloc_buffer({_shape(tensor)}, "{tensor.dtype}")')
        for stage in stages:
            for tensor, value in zip(stage.tensors, stage.values, strict=True):
                self.starts.append((len(self.lines) + 1, stage))
                self.computation(stage, tensor, value)
        return "\n".join(self.lines) + "\n"

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def fresh(self, base: str) -> str:
        """A name like `base` that nothing has yet."""
        clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)
        clean = clean if clean[:1].isalpha() else f"t{clean}"
        name = next(
            n
            for n in itertools.chain([clean], (f"{clean}_{i}" for i in itertools.count(1)))
            if n not in self.taken
        )
        self.taken.add(name)
        return name

    def computation(self, stage: Stage, target: Tensor, value: Expr | Reduction) -> None:
        """The loops that fill one output."""
        axes: list[tuple[IndexVar, str, Dim]] = [
            (a, "S", d) for a, d in zip(stage.axes, stage.shape, strict=True)
        ]
        if isinstance(value, Reduction):
            if not self.blocks:
                place = self.loops(axes, target)
                self.add(place[0], f"{place[1]} = {identity(value.combiner, target.dtype).text(self.names)}")
            axes += [(axis, "R", axis.extent) for axis in value.axes]
        depth, element = self.loops(axes, target) if not self.blocks else self.block(axes, target, value)
        if not isinstance(value, Reduction):
            self.add(depth, f"{element} = {self.stored(value)}")
            return
        combined = COMBINED[value.combiner].format(element, self.stored(value.value))
        self.add(depth, f"{element} = {combined}")

    def stored(self, value: Expr) -> str:
        return value.text(self.names)

    def loops(self, axes: Sequence[tuple[IndexVar, str, Dim]], target: Tensor) -> tuple[int, str]:
        """Loops over `axes`; the depth inside, and the element that they are at."""
        variables = [self.fresh(axis.name) for axis, _, _ in axes]
        if variables:
            self.add(1, f"for {', '.join(variables)} in T.grid({', '.join(f'{d}' for _, _, d in axes)}):")
        return (2 if variables else 1), self.bind(axes, variables, target)

    def block(
        self, axes: Sequence[tuple[IndexVar, str, Dim]], target: Tensor, value: Expr | Reduction
    ) -> tuple[int, str]:
        """Loops around a block, with what a reduction begins with."""
        depth, _ = self.loops(axes, target)
        variables = [self.names_of_loops(axis) for axis, _, _ in axes]
        self.add(depth, f'with T.block("{self.names[target]}"):')
        if axes:
            bound = [self.fresh(f"v{axis.name}") for axis, _, _ in axes]
            kinds = "".join(kind for _, kind, _ in axes)
            trailing = "," if len(bound) == 1 else ""
            self.add(
                depth + 1, f'{", ".join(bound)}{trailing} = T.axis.remap("{kinds}", [{", ".join(variables)}])'
            )
            element = self.bind(axes, bound, target)
        else:
            element = self.bind(axes, [], target)
        if isinstance(value, Reduction):
            self.add(depth + 1, "with T.init():")
            self.add(depth + 2, f"{element} = {identity(value.combiner, target.dtype).text(self.names)}")
        return depth + 1, element

    def names_of_loops(self, axis: IndexVar) -> str:
        text = self.names[axis]
        return text.rpartition("+ ")[2].removesuffix(")") if text.startswith("(") else text

    def bind(
        self, axes: Sequence[tuple[IndexVar, str, Dim]], variables: Sequence[str], target: Tensor
    ) -> str:
        """Let index variables be called `variables`; returns the element of `target` there."""
        for (axis, _, _), name in zip(axes, variables, strict=True):
            offset = axis.begin if isinstance(axis, ReduceAxis) else 0
            self.names[axis] = name if offset == 0 else f"({offset} + {name})"
        places = [name for (_, kind, _), name in zip(axes, variables, strict=True) if kind == "S"]
        return f"{self.names[target]}[{', '.join(places) or '()'}]"


def _shape(tensor: Tensor) -> str:
    dims = [str(dim) if isinstance(dim, int) else f'"{dim}"' for dim in tensor.shape]
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"
