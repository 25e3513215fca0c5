"""Print tensor expressions in the T language: one block per computation, or loops."""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.error import UnsupportedError
from relax_mlir.te.expressions import (
    BOOL,
    DATA_PARALLEL,
    INDEX,
    LITERAL,
    Binary,
    Call,
    Expr,
    IfThenElse,
    IterVar,
    Leaf,
    Load,
    Logical,
    Names,
    ScalarVar,
    fold,
    post_order,
    variables_of,
)
from relax_mlir.te.recurrence import ScanOp
from relax_mlir.te.reductions import Combiner, Reduction
from relax_mlir.te.tensors import ComputeOp, LoopOp, Operation, Tensor, symbols_of

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


RESERVED = frozenset({"R", "T", "I", "cls", "constants", "float", "range", *keyword.kwlist})

TOGETHER = 8
"""Number of rows that are added to a row in one pass, which loads and stores that row once."""


@dataclass
class Writer:
    """Writes a prim func of the given parameters, and records the line where each computation begins."""

    name: str
    parameters: Sequence[Tensor]
    integers: Sequence[str]
    blocks: bool
    """Write blocks with `T.init`, which may become linalg; otherwise loops, which also initialise empty reductions."""

    bodies: Mapping[Operation, Sequence[Expr]] = field(default_factory=dict)
    """Values that replace the bodies of some operations."""

    lines: list[str] = field(default_factory=list)
    starts: list[tuple[int, Operation]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    """The last number used per name prefix."""
    names: dict[Expr | Tensor, str] = field(default_factory=dict)
    loop_bodies: dict[str, Callable[..., None]] = field(default_factory=dict)
    """Bodies of loop operations that the text refers to."""
    depth: int = 1
    """The indentation depth of a computation's statements."""
    fixed: dict[IterVar, str] = field(default_factory=dict)
    """Axes of loops around the computation, with their variables."""

    def write(self, operations: Sequence[Operation]) -> str:
        """The text of the computations `operations`, in order."""
        tensors = [*self.parameters, *(t for op in operations for t in op.outputs)]
        self.taken |= RESERVED | set(symbols_of(tensors, operations)) | {self.name}
        for tensor in self.parameters:
            self.names[tensor] = self.fresh(tensor.name)
        params = [f'{self.names[t]}: T.Buffer({shape_text(t)}, "{t.dtype}")' for t in self.parameters]
        params += [f"{name}: T.int64" for name in self.integers]
        self.lines += ["@T.prim_func", f"def {self.name}({', '.join(params)}):"]
        for op in operations:
            for tensor in tensors_of(op):
                if tensor not in self.names:
                    self.names[tensor] = self.fresh(tensor.name)
                    self.add(
                        1, f'{self.names[tensor]} = T.alloc_buffer({shape_text(tensor)}, "{tensor.dtype}")'
                    )
        for op in operations:
            if isinstance(op, ScanOp):
                self.recurrence(op)
            elif isinstance(op, LoopOp):
                self.statements(op)
            else:
                assert isinstance(op, ComputeOp)
                self.computation(op)
        return "\n".join(self.lines) + "\n"

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def fresh(self, base: str) -> str:
        """An unused name similar to `base`."""
        clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)
        clean = clean if clean[:1].isalpha() else f"t{clean}"
        name = clean
        numbers = itertools.count(self.counts.get(clean, 0) + 1)
        while name in self.taken:
            self.counts[clean] = next(numbers)
            name = f"{clean}_{self.counts[clean]}"
        self.taken.add(name)
        return name

    def computation(self, op: ComputeOp) -> None:
        """Write the loops that fill the outputs, in order; outputs of one reduction share a loop nest."""
        done: set[int] = set()
        for tensor, value in zip(op.outputs, self.bodies.get(op, op.body), strict=True):
            if id(tensor) in done:
                continue
            self.starts.append((len(self.lines) + 1, op))
            if not isinstance(value, Reduction):
                self.elements(op, tensor, value)
                continue
            together = [tensor] if len(value.combiner.lhs) == 1 else self.together(op, value)
            done |= {id(part) for part in together}
            self.reduction(op, value, together)

    def statements(self, op: LoopOp) -> None:
        """Write the statements of an operation that has its own."""
        self.starts.append((len(self.lines) + 1, op))
        read, written = ([self.names[tensor] for tensor in tensors] for tensors in (op.inputs, op.outputs))
        key = f"{op.name}_{id(op)}"
        self.loop_bodies[key] = op.body
        self.add(self.depth, f'constants["{key}"]({", ".join([*read, *written])})')

    def recurrence(self, op: ScanOp) -> None:
        """Write a scan: the initial elements, then, per step, its computations and the state."""
        self.starts.append((len(self.lines) + 1, op))
        begin, end = op.init[0].shape[0], op.outputs[0].shape[0]
        count = begin if symbolic.prove_less_equal(begin, end) else f"T.min({begin}, {end})"
        for target, first in zip(op.outputs, op.init, strict=True):
            names = [self.fresh("i") for _ in target.shape]
            ends = ", ".join([str(count), *map(str, target.shape[1:])])
            self.add(self.depth, f"for {', '.join(names)} in T.grid({ends}):")
            self.add(self.depth + 1, f"{self.element(target, names)} = {self.element(first, names)}")
        for state, target in zip(op.state_placeholder, op.outputs, strict=True):
            self.names[state] = self.names[target]
        step = self.fresh(op.scan_axis.name)
        self.add(self.depth, f"for {step} in range({begin}, {end}):")
        self.depth += 1
        for inner in op.steps:
            self.fixed[inner.axis[0]] = step
            self.computation(inner)
        self.starts.append((len(self.lines) + 1, op))
        for target, later in zip(op.outputs, op.update, strict=True):
            names = [self.fresh("i") for _ in target.shape[1:]]
            if names:
                self.add(
                    self.depth, f"for {', '.join(names)} in T.grid({', '.join(map(str, target.shape[1:]))}):"
                )
            place = [step, *names]
            self.add(
                self.depth + bool(names), f"{self.element(target, place)} = {self.element(later, place)}"
            )
        self.depth -= 1

    def together(self, op: ComputeOp, value: Reduction) -> list[Tensor]:
        """The tensors of all results of one reduction, in order."""
        found: dict[int, Tensor] = {}
        for tensor, other in zip(op.outputs, self.bodies.get(op, op.body), strict=True):
            if isinstance(other, Reduction) and other.combiner is value.combiner:
                found.setdefault(other.value_index, tensor)
        return [found[number] for number in sorted(found)]

    def elements(self, op: ComputeOp, target: Tensor, value: Expr) -> None:
        """Write an output whose elements are expressions."""
        depth, places = self.block(op.axis, target) if self.blocks else self.independent_loops(op.axis)
        self.store(depth, [self.element(target, places)], [value])

    def reduction(self, op: ComputeOp, value: Reduction, targets: Sequence[Tensor]) -> None:
        """Write the outputs of a reduction."""
        axes = [*op.axis, *value.axis]
        if self.blocks:
            depth, places = self.block(axes, targets[0])
            elements = [self.element(target, places) for target in targets]
            self.add(depth, "with T.init():")
            self.store(depth + 1, elements, value.initial)
        else:
            depth, places = self.loops(op.axis)
            elements = [self.element(target, places) for target in targets]
            self.store(depth, elements, value.initial)
            if self.reduced_by_lines(op, value, targets):
                return
            depth, places = self.loops(axes)
            elements = [self.element(target, places) for target in targets]
        self.combine(depth, value.combiner, elements, value.source)

    def combine(
        self, depth: int, combiner: Combiner, elements: Sequence[str], source: Sequence[Expr]
    ) -> None:
        """Combine values with the current elements."""
        for var, element in zip(combiner.lhs, elements, strict=True):
            self.names[var] = element
        for var, part in zip(combiner.rhs, source, strict=True):
            self.names[var] = self.written(depth, part)
            if not _is_one_operation(combiner):
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

    def loops(self, axes: Sequence[IterVar]) -> tuple[int, list[str]]:
        """Write loops over `axes`; return the depth inside, and the index of the current element."""
        own = [axis for axis in axes if axis not in self.fixed]
        variables = {axis: self.fresh(axis.name) for axis in own}
        if own:
            ends = ", ".join(f"{axis.dom.extent}" for axis in own)
            self.add(self.depth, f"for {', '.join(variables.values())} in T.grid({ends}):")
        places = self.bind(axes, [variables.get(axis) or self.fixed[axis] for axis in axes])
        return self.depth + bool(own), places

    def reduced_by_lines(self, op: ComputeOp, value: Reduction, targets: Sequence[Tensor]) -> bool:
        """Write a reduction along one axis in a step of a scan, with the last two dimensions innermost.

        Returns False if it is not such a reduction. Several rows are added to a row in one pass, which reuses them
        while they are cached. Each element is summed in the order of the axis.
        """
        own = [axis for axis in op.axis if axis not in self.fixed]
        if len(own) == len(op.axis) or len(own) < 2 or len(value.axis) != 1:
            return False
        if len(targets) != 1 or not _is_one_operation(value.combiner):
            return False
        (along,) = value.axis
        variables = {axis: self.fresh(axis.name) for axis in (*own, along)}
        *outer, line, inner = own
        extent = along.dom.extent
        whole = f"({extent}) // {TOGETHER}"
        for begin, end, count in (("0", whole, TOGETHER), (f"{whole} * {TOGETHER}", f"{extent}", 1)):
            depth = self.depth
            if outer:
                names, ends = [variables[axis] for axis in outer], [f"{axis.dom.extent}" for axis in outer]
                self.add(depth, f"for {', '.join(names)} in T.grid({', '.join(ends)}):")
                depth += 1
            self.add(depth, f"for {variables[along]} in range({begin}, {end}):")
            self.add(depth + 1, f"for {variables[line]} in range({line.dom.extent}):")
            places = [
                variables[along] if count == 1 else f"({variables[along]} * {count} + {number})"
                for number in range(count)
            ]
            self.lines_added(depth + 2, value, (op.axis, targets[0]), {**variables, along: ""}, inner, places)
        return True

    def lines_added(
        self,
        depth: int,
        value: Reduction,
        target: tuple[Sequence[IterVar], Tensor],
        variables: Mapping[IterVar, str],
        inner: IterVar,
        places: Sequence[str],
    ) -> None:
        """Write the loop over `inner` that combines an element with those at `places` of the reduced axis."""
        axes, tensor = target
        (along,), (lhs,), (rhs,) = value.axis, value.combiner.lhs, value.combiner.rhs
        parts: list[str] = []
        for place in places:
            known = {**variables, along: place}
            found = self.bind(
                [*axes, along], [known.get(axis) or self.fixed[axis] for axis in (*axes, along)]
            )
            parts.append(self.written(depth, self.factored(depth, value.source[0], inner)))
        own = self.element(tensor, found)
        text = own
        for part in parts:
            self.names[lhs], self.names[rhs] = text, part
            text = self.written(depth, value.combiner.result[0])
        self.add(depth, f"for {variables[inner]} in T.vectorized({inner.dom.extent}):")
        self.add(depth + 1, f"{own} = {text}")

    def factored(self, depth: int, source: Expr, inner: IterVar) -> Expr:
        """Bind factors of a product that do not depend on `inner` to local scalars."""
        if not (isinstance(source, Binary) and source.operator == "*"):
            return source
        children = list(source.children)
        for number, child in enumerate(children):
            if not isinstance(child, Leaf) and all(axis is not inner for axis in variables_of(child)):
                scalar = ScalarVar("factor", child.kind)
                self.names[scalar] = self.fresh("factor")
                self.add(depth, f"{self.names[scalar]} = {self.written(depth, child)}")
                children[number] = scalar
        return source.rebuilt(children)

    def independent_loops(self, axes: Sequence[IterVar]) -> tuple[int, list[str]]:
        """Write annotated loops over independent elements: the outer loop parallel, the innermost vectorised.

        If the lowering cannot prove them independent, it runs them as serial loops.
        """
        own = [axis for axis in axes if axis not in self.fixed]
        if not own:
            return self.loops(axes)
        if len(own) < len(axes):  # a step of a scan has too few rows for threads
            return self.vector_loops(axes, own)
        variables = [self.fresh(axis.name) for axis in axes]
        ends = [f"{axis.dom.extent}" for axis in axes]
        depth = self.depth
        if len(axes) > 1:
            self.add(depth, f"for {variables[0]} in T.parallel({ends[0]}):")
            depth += 1
        if len(axes) > 2:
            self.add(depth, f"for {', '.join(variables[1:-1])} in T.grid({', '.join(ends[1:-1])}):")
            depth += 1
        self.add(depth, f"for {variables[-1]} in T.vectorized({ends[-1]}):")
        return depth + 1, self.bind(axes, variables)

    def vector_loops(self, axes: Sequence[IterVar], own: Sequence[IterVar]) -> tuple[int, list[str]]:
        """Write loops over the axes that have none yet, the last one vectorised."""
        variables = {axis: self.fresh(axis.name) for axis in own}
        names, ends = list(variables.values()), [f"{axis.dom.extent}" for axis in own]
        depth = self.depth
        if len(own) > 1:
            self.add(depth, f"for {', '.join(names[:-1])} in T.grid({', '.join(ends[:-1])}):")
            depth += 1
        self.add(depth, f"for {names[-1]} in T.vectorized({ends[-1]}):")
        return depth + 1, self.bind(axes, [variables.get(axis) or self.fixed[axis] for axis in axes])

    def block(self, axes: Sequence[IterVar], target: Tensor) -> tuple[int, list[str]]:
        """Write loops around a block."""
        variables = [self.fresh(axis.name) for axis in axes]
        if variables:
            self.add(
                1, f"for {', '.join(variables)} in T.grid({', '.join(f'{a.dom.extent}' for a in axes)}):"
            )
        depth = 2 if variables else 1
        self.add(depth, f'with T.block("{self.names[target]}"):')
        if not axes:
            return depth + 1, []
        bound = [self.fresh(f"v{axis.name}") for axis in axes]
        kinds = "".join("S" if axis.iter_type == DATA_PARALLEL else "R" for axis in axes)
        trailing = "," if len(bound) == 1 else ""
        self.add(
            depth + 1, f'{", ".join(bound)}{trailing} = T.axis.remap("{kinds}", [{", ".join(variables)}])'
        )
        return depth + 1, self.bind(axes, bound)

    def bind(self, axes: Sequence[IterVar], variables: Sequence[str]) -> list[str]:
        """Name index variables `variables`; return the names of those of the outputs."""
        for axis, name in zip(axes, variables, strict=True):
            begin = axis.dom.begin
            self.names[axis] = name if begin == 0 else f"({begin} + {name})"
        return [n for axis, n in zip(axes, variables, strict=True) if axis.iter_type == DATA_PARALLEL]

    def element(self, target: Tensor, places: Sequence[str]) -> str:
        return f"{self.names[target]}[{', '.join(places) or '()'}]"


def tensors_of(op: Operation) -> list[Tensor]:
    """The tensors that an operation fills: its outputs, and the intermediate tensors of a scan's steps."""
    inner = [tensor for step in op.steps for tensor in step.outputs] if isinstance(op, ScanOp) else []
    return [*inner, *op.outputs]


def _is_one_operation(combiner: Combiner) -> bool:
    """True if the result is a single operator or function of the two values."""
    result, operands = combiner.result[0], (*combiner.lhs, *combiner.rhs)
    return (
        len(combiner.result) == 1
        and isinstance(result, Binary | Call)
        and len(result.children) == 2
        and all(child is operand for child, operand in zip(result.children, operands, strict=True))
    )


def shape_text(tensor: Tensor) -> str:
    """The shape in the T language."""
    dims = [str(dim) if isinstance(dim, int) else f'"{dim}"' for dim in tensor.shape]
    return f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"
