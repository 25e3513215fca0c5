"""Print the statements of schedules in the T language, and relate them to lines of the user's source."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.location import name_of, renamed, unnamed
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import ops_of
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer
from relax_mlir.mlir import ir
from relax_mlir.te.expressions import (
    BOOL,
    INDEX,
    LITERAL,
    Expr,
    IfThenElse,
    Leaf,
    Load,
    Logical,
    Names,
    fold,
    post_order,
)
from relax_mlir.te.loops import Loops, is_one_operation
from relax_mlir.te.prim_func import RESERVED
from relax_mlir.te.reductions import Combiner
from relax_mlir.te.tensors import FreshNames, Operation, Tensor

MAX_DEPTH = 30
"""Maximum nesting depth of parentheses in a text."""
MAX_NODES = 400
"""Maximum number of nodes in an expression's text before shared parts are bound to names."""
SHARED_NODES = 4
"""Minimum number of nodes of a shared part that is bound to a name."""
MAX_TEXTS = 50_000
"""Maximum number of parts of an expression; a part used under two conditions counts twice."""

ALWAYS = ""
"""The condition of unconditional parts."""


@dataclass(frozen=True)
class Text:
    """A text with its depth and number of nodes."""

    text: str
    depth: int = 1
    nodes: int = 1


@dataclass
class Locals:
    """Splits one expression into assignments of local scalars, in `lines`, and a remaining text.

    A part that reads elements under a condition keeps that condition if it is bound to a name.
    """

    names: Names
    fresh: Callable[[str], str]
    lines: list[str] = field(default_factory=list)
    uses: dict[int, int] = field(default_factory=dict)
    reads: dict[int, bool] = field(default_factory=dict)
    texts: dict[tuple[int, str], Text] = field(default_factory=dict)
    """The text of each expression under each condition."""
    guards: dict[tuple[str, str], str] = field(default_factory=dict)
    """The names of conjunctions of two conditions."""

    def text(self, root: Expr) -> str:
        """The text of `root`; `lines` receives the assignments before it."""
        depths: dict[int, int] = {}
        sizes: dict[int, int] = {}
        for item in post_order(root):
            depths[id(item)] = 1 + max((depths[id(child)] for child in item.children), default=0)
            sizes[id(item)] = 1 + sum(sizes[id(child)] for child in item.children)
        small = depths[id(root)] <= MAX_DEPTH and sizes[id(root)] <= MAX_NODES
        if small and not _tests_index(root):
            return fold(root, lambda item, parts: item.format(self.names, parts))
        return self.cut(root)

    def cut(self, root: Expr) -> str:
        """The text of an expression that is too large for one line."""
        for item in post_order(root):
            self.reads[id(item)] = isinstance(item, Load) or any(self.reads[id(c)] for c in item.children)
            for child in item.children:
                self.uses[id(child)] = self.uses.get(id(child), 0) + 1
        waiting: list[tuple[Expr, str, Iterator[int]]] = [(root, ALWAYS, iter(range(len(root.children))))]
        while waiting:
            item, guard, numbers = waiting[-1]
            number = next(numbers, None)
            if number is None:
                waiting.pop()
                self.texts[id(item), guard] = self.written(item, guard, item is root)
                continue
            child, below = item.children[number], self.guard(item, number, guard)
            if len(self.texts) > MAX_TEXTS:
                raise UnsupportedError(
                    f"an expression needs {MAX_TEXTS} parts and more, since the same parts are used under many "
                    "different conditions; compute a part of it as a tensor of its own"
                )
            if (id(child), below) not in self.texts:
                waiting.append((child, below, iter(range(len(child.children)))))
        return self.texts[id(root), ALWAYS].text

    def written(self, item: Expr, guard: str, is_root: bool) -> Text:
        """The text of an expression whose children have been formatted."""
        parts = [
            self.texts[id(child), self.guard(item, number, guard)]
            for number, child in enumerate(item.children)
        ]
        found = Text(
            item.format(self.names, [part.text for part in parts]),
            1 + max((part.depth for part in parts), default=0),
            1 + sum(part.nodes for part in parts),
        )
        is_shared = self.uses.get(id(item), 0) > 1 and found.nodes >= SHARED_NODES
        if is_root or not (is_shared or found.depth >= MAX_DEPTH or found.nodes >= MAX_NODES):
            return found
        return self.bound(item, found.text, guard)

    def guard(self, item: Expr, number: int, guard: str) -> str:
        """The condition of child `number` of `item`, if `item` is computed under `guard`."""
        part = item.children[number]
        if not self.reads[id(part)] or (id(part), ALWAYS) in self.texts:
            return ALWAYS  # safe unconditionally, or already computed
        if not isinstance(item, IfThenElse | Logical) or number == 0:
            return guard
        first = item.children[0]
        key = id(first), guard if self.reads[id(first)] else ALWAYS
        known = self.texts[key]
        if not isinstance(first, Leaf) and not known.text.isidentifier():
            known = self.texts[key] = self.bound(first, known.text, key[1])
        holds = item.operator == "and" if isinstance(item, Logical) else number == 1
        test = known.text if holds else f"(not {known.text})"
        if guard == ALWAYS:
            return test
        if (guard, test) not in self.guards:
            name = self.guards[guard, test] = self.fresh("t")
            self.lines.append(f"{name} = ({guard} and {test})")
        return self.guards[guard, test]

    def bound(self, item: Expr, text: str, guard: str) -> Text:
        """Bind a local scalar to the value of `item` if `guard` holds, otherwise to zero."""
        if guard != ALWAYS:
            zero = (
                "False"
                if item.kind == BOOL
                else "0"
                if item.kind in (INDEX, LITERAL)
                else f"T.{item.kind}(0)"
            )
            text = f"T.if_then_else({guard}, {text}, {zero})"
        name = self.fresh("t")
        self.lines.append(f"{name} = {text}")
        return Text(name)


def _tests_index(root: Expr) -> bool:
    """True if a condition tests an index: both must be the same SSA value, so that the access can be proved."""
    items = list(post_order(root))
    indices = {id(index) for item in items if isinstance(item, Load) for index in item.children}
    return any(
        isinstance(item, IfThenElse) and any(id(part) in indices for part in post_order(item.children[0]))
        for item in items
    )


@dataclass
class Writer:
    """Writes statements of a prim func, and records the line where each computation begins."""

    name: str
    parameters: Sequence[Tensor]
    integers: Sequence[str]
    lines: list[str] = field(default_factory=list)
    starts: list[tuple[int, Operation]] = field(default_factory=list)
    fresh: FreshNames = field(default_factory=lambda: FreshNames(RESERVED))
    names: dict[Expr | Tensor, str] = field(default_factory=dict)
    loop_bodies: dict[str, Callable[..., None]] = field(default_factory=dict)
    """Emit the loops of operations that are no statements of the text."""

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def operation(self, depth: int, op: Operation) -> None:
        """Write a call that emits the loops of an operation that schedules do not change."""
        self.starts.append((len(self.lines) + 1, op))
        inner = [tensor for step in op.parts for tensor in step.outputs]
        tensors = [*op.input_tensors, *op.outputs]

        def body(builder: LoopBuilder, *buffers: Buffer) -> None:
            known = dict(zip(tensors, buffers, strict=True))
            known |= {tensor: builder.alloc(tensor.shape, tensor.dtype, tensor.name) for tensor in inner}
            Loops(builder, known).emit(op)

        key = f"{op.name}_{id(op)}"
        self.loop_bodies[key] = body
        self.add(depth, f'constants["{key}"]({", ".join(self.names[tensor] for tensor in tensors)})')

    def combine(
        self, depth: int, combiner: Combiner, elements: Sequence[str], source: Sequence[Expr]
    ) -> None:
        """Combine values with the current elements."""
        for var, element in zip(combiner.lhs, elements, strict=True):
            self.names[var] = element
        for var, part in zip(combiner.rhs, source, strict=True):
            self.names[var] = self.written(depth, part)
            if not is_one_operation(combiner):
                name = self.fresh(var.name)
                self.add(depth, f"{name} = {self.names[var]}")
                self.names[var] = name
        self.store(depth, elements, combiner.result)

    def written(self, depth: int, value: Expr) -> str:
        """The text of an expression, after writing the local scalars that it uses."""
        cut = Locals(self.names, self.fresh)
        text = cut.text(value)
        for line in cut.lines:
            self.add(depth, line)
        return text

    def store(self, depth: int, elements: Sequence[str], values: Sequence[Expr]) -> None:
        """Store values in elements; several values are all computed before the first store."""
        texts = [self.written(depth, value) for value in values]
        if len(texts) > 1:
            names = [self.fresh("t") for _ in texts]
            for name, text in zip(names, texts, strict=True):
                self.add(depth, f"{name} = {text}")
            texts = names
        for element, text in zip(elements, texts, strict=True):
            self.add(depth, f"{element} = {text}")

    def element(self, target: Tensor, places: Sequence[str]) -> str:
        return f"{self.names[target]}[{', '.join(places) or '()'}]"


def shape_text(tensor: Tensor) -> str:
    """The shape in the T language."""
    dims = [str(dim) if isinstance(dim, int) else f'"{dim}"' for dim in tensor.shape]
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"


FILE = "<te>"
"""The file name of the text."""


def locate(module: IRModule, name: str, writer: Writer) -> None:
    """Replace the ops' locations in the text by the user's locations."""
    starts = [start for start, _ in writer.starts]
    with module.context:
        for op in ops_of(module[name].operation):
            title, place = name_of(op.location), unnamed(op.location)
            if isinstance(place, ir.FileLineColLoc) and place.filename != FILE:
                continue
            line = _line(place)
            before = bisect.bisect_right(starts, line)
            made_by = writer.starts[before - 1][1] if before else writer.starts[-1][1]
            op.location = renamed(title, ir.Location.file(*made_by.position, 0))


def _line(location: ir.Location) -> int:
    return int(location.start_line) if isinstance(location, ir.FileLineColLoc) else 0
