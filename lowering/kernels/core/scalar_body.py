"""The scalar body of a `linalg.generic`, evaluated on scalars or on vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Type, Value
from relax_mlir.mlir import arith, ir

Operation: TypeAlias = ir.Operation
Block: TypeAlias = ir.Block

TRAPPING = frozenset(f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi"))
"""Integer division traps for a divisor of 0, so it must not run on lanes that hold no data."""


@dataclass(frozen=True)
class Place:
    """A position in the vector loop, its number of lanes (None: scalar) and its mask.

    `streamed`: results are written by non-temporal stores, to addresses that are multiples of this many bytes.
    """

    at: Index
    lanes: int | None
    mask: Value | None = None
    streamed: int | None = None


@dataclass(frozen=True)
class Combiner:
    """A reduction: the operation's name, its neutral element, its `vector.reduction` kind."""

    operation: str
    neutral: Callable[[Type], float]
    kind: str


def _least(type_: Type) -> float:
    return -float("inf") if isinstance(type_, ir.FloatType) else -(1 << (type_.width - 1))


def _greatest(type_: Type) -> float:
    return float("inf") if isinstance(type_, ir.FloatType) else (1 << (type_.width - 1)) - 1


_COMBINERS = {
    c.operation: c
    for c in (
        Combiner("arith.addf", lambda _: -0.0, "add"),
        Combiner("arith.addi", lambda _: 0, "add"),
        Combiner("arith.mulf", lambda _: 1.0, "mul"),
        Combiner("arith.muli", lambda _: 1, "mul"),
        Combiner("arith.maximumf", _least, "maximumf"),
        Combiner("arith.minimumf", _greatest, "minimumf"),
        Combiner("arith.maxsi", _least, "maxsi"),
        Combiner("arith.minsi", _greatest, "minsi"),
        Combiner("arith.maxui", lambda _: 0, "maxui"),
        Combiner("arith.minui", lambda _: -1, "minui"),
        Combiner("arith.andi", lambda _: -1, "and"),
        Combiner("arith.ori", lambda _: 0, "or"),
        Combiner("arith.xori", lambda _: 0, "xor"),
    )
}


@dataclass(frozen=True)
class Body:
    """A block of scalar operations that ends in `linalg.yield`."""

    block: Block

    @property
    def operations(self) -> list[Operation]:
        return [op.operation for op in self.block.operations]

    @property
    def results(self) -> list[Value]:
        """The values that the body yields."""
        return list(self.operations[-1].operands)

    @property
    def can_be_emitted(self) -> bool:
        """True if `evaluate` can emit the body: no operation has regions."""
        return not any(len(op.regions) for op in self.operations)

    def can_be_vectorised(self, along: int | None, moved: Collection[int]) -> bool:
        """True if every operation works lane by lane on scalars, or reads consecutive elements of a buffer.

        Args:
            along: the `linalg.index` dimension of the vector loop (None: it has none).
            moved: positions of the arguments that vary from lane to lane.
        """
        varying: set[Value] = {self.block.arguments[position] for position in moved}
        for op in self.operations:
            varies = any(operand in varying for operand in op.operands)
            if op.name == "linalg.index":
                varies = op.attributes["dim"].value == along
            elif op.name == "memref.load":
                if varies and not self._reads_consecutive(op, along, varying):
                    return False
            elif op.name != "linalg.yield" and not _is_lanewise(op):
                return False
            if varies:
                varying.update(op.results)
        return True

    def _reads_consecutive(self, load: Operation, along: int | None, varying: Collection[Value]) -> bool:
        """True if the load's last index is the vector loop's, and no other index varies."""
        buffer, *indices = load.operands
        strides, _ = ir.MemRefType(buffer.type).get_strides_and_offset()
        wide = not isinstance(load.results[0].type, ir.IntegerType) or load.results[0].type.width >= 8
        return (
            wide
            and strides[-1] == 1
            and not any(index in varying for index in indices[:-1])
            and _is_index_of(indices[-1], along)
        )

    @property
    def may_trap(self) -> bool:
        """True if the body must not run on undefined values."""
        return any(op.name in TRAPPING for op in self.operations)

    @property
    def is_light(self) -> bool:
        """True if the body is small enough for four copies of it in a loop."""
        return len(self.operations) <= 8 and not any(op.name.startswith("math.") for op in self.operations)

    def uses(self, position: int) -> bool:
        """True if the body reads its argument at this position."""
        return any(True for _ in self.block.arguments[position].uses)

    def combiner(self, result: int, argument: int) -> Combiner | None:
        """The reduction of a result into an argument, if the body does nothing else with either."""
        uses = list(self.block.arguments[argument].uses)
        owner = self.results[result].owner
        if len(uses) != 1 or isinstance(owner, ir.Block) or uses[0].owner.operation != owner.operation:
            return None
        readers = list(self.results[result].uses)
        return _COMBINERS.get(owner.operation.name) if len(readers) == 1 else None

    def evaluate(
        self,
        arguments: Sequence[Value | None],
        index: Callable[[int], Index],
        place: Place,
        contract: bool = False,
    ) -> list[Value]:
        """Emit the body at the insertion point, and return the yielded values.

        Values that are equal in all lanes are computed as scalars.

        Args:
            arguments: a scalar or a vector per argument of the block (None: unused).
            index: the iteration number of a loop, for `linalg.index`: a scalar or a vector.
            place: the position of the vector loop.
            contract: allow contraction of multiply and add to a fused multiply-add.
        """
        env: dict[Value, Value] = {
            argument: value
            for argument, value in zip(self.block.arguments, arguments, strict=True)
            if value is not None
        }
        for op in self.operations[:-1]:
            if op.name == "linalg.index":
                env[op.results[0]] = emit.index(index(op.attributes["dim"].value))
                continue
            for old, new in zip(op.results, _emit(op, env, place, contract), strict=True):
                env[old] = new
        return [widen(env.get(value, value), place.lanes) for value in self.results]


def widen(value: Value, lanes: int | None) -> Value:
    """Broadcast a scalar to all lanes; vectors, and every value if `lanes` is None, are returned unchanged."""
    return value if lanes is None or emit.is_vector(value.type) else simd.splat(value, lanes)


def iota(start: Index, lanes: int) -> Value:
    """start, start + 1, … as a vector of `index`."""
    return arith.AddIOp(simd.splat(emit.index(start), lanes), simd.steps(lanes)).result


def _emit(op: Operation, env: Mapping[Value, Value], place: Place, contract: bool) -> list[Value]:
    operands = [env.get(operand, operand) for operand in op.operands]
    in_lanes = any(emit.is_vector(operand.type) for operand in operands)
    lanes = place.lanes if in_lanes else None
    if op.name == "memref.load" and lanes is not None:
        buffer, *indices = operands
        return [simd.load(lanes, buffer, *indices[:-1], place.at, where=place.mask)]
    attributes = {name: op.attributes[name] for name in _attribute_names(op)}
    if contract and op.name in ("arith.addf", "arith.mulf"):
        attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")
    types = [result.type for result in op.results]
    made = ir.Operation.create(
        op.name,
        results=types if lanes is None else [emit.vector_type(lanes, type_) for type_ in types],
        operands=[widen(operand, lanes) for operand in operands],
        attributes=attributes,
        loc=op.location,
    )
    return list(made.results)


def _attribute_names(op: Operation) -> list[str]:
    return [getattr(named, "name", named) for named in op.attributes]


def _is_lanewise(op: Operation) -> bool:
    return op.name.startswith(("arith.", "math.")) and all(_is_number(v.type) for v in _values(op))


def _is_index_of(value: Value, loop: int | None) -> bool:
    """True if a value is the `linalg.index` of a loop."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.index":
        return False
    return bool(owner.operation.attributes["dim"].value == loop)


def _values(op: Operation) -> list[Value]:
    return [*op.operands, *op.results]


def _is_number(type_: Type) -> bool:
    return isinstance(type_, (ir.FloatType, ir.IntegerType, ir.IndexType))
