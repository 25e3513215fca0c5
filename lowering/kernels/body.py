"""The scalar body of a `linalg.generic`, evaluated on scalars or on vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relax_mlir.lowering.kernels import emit
from relax_mlir.lowering.kernels.emit import Index, Type, Value
from relax_mlir.mlir import arith, ir, vector

Operation: TypeAlias = Any
Block: TypeAlias = Any

TRAPPING = frozenset(
    f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi")
)
"""Integer division stops the process for a divisor 0, so it must not run on lanes that hold no data."""

NO_LANES = frozenset({"linalg.yield", "linalg.index"})


@dataclass(frozen=True)
class Combiner:
    """How an output is reduced: the operation's name, its neutral element, its `vector.reduction` kind."""

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
        """What the body yields."""
        return list(self.operations[-1].operands)

    @property
    def can_be_emitted(self) -> bool:
        """Whether `evaluate` can build the body (operations with regions it cannot)."""
        return not any(len(op.regions) for op in self.operations)

    @property
    def can_be_vectorised(self) -> bool:
        """Whether every operation works lane by lane on numbers."""
        return all(
            op.name in NO_LANES
            or (op.name.startswith(("arith.", "math.")) and all(_is_number(v.type) for v in _values(op)))
            for op in self.operations
        )

    @property
    def may_trap(self) -> bool:
        """Whether the body must not run on made-up values."""
        return any(op.name in TRAPPING for op in self.operations)

    @property
    def is_light(self) -> bool:
        """Whether the body is small enough for four copies of it in a loop."""
        return len(self.operations) <= 8 and not any(op.name.startswith("math.") for op in self.operations)

    def uses(self, position: int) -> bool:
        """Whether the body reads its argument at this position."""
        return any(True for _ in self.block.arguments[position].uses)

    def combiner(self, result: int, argument: int) -> Combiner | None:
        """How the result at a position reduces into the argument at a position, if that is all it does."""
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
        lanes: int | None,
        contract: bool = False,
    ) -> list[Value]:
        """Emit the body at the insertion point; gives what it yields.

        Args:
            arguments: per argument of the block a scalar or a vector (None: not used).
            index: the iteration number of a loop, for `linalg.index`: a scalar or a vector.
            lanes: the vector length, or None to work on scalars.
            contract: let products and sums become fused multiply-adds.
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
            for old, new in zip(op.results, _emit(op, env, lanes, contract), strict=True):
                env[old] = new
        return [widen(env.get(value, value), lanes) for value in self.results]


def widen(value: Value, lanes: int | None) -> Value:
    """A scalar in all lanes; vectors, and everything if `lanes` is None, as they are."""
    return value if lanes is None or emit.is_vector(value.type) else emit.splat(value, lanes)


def iota(start: Index, lanes: int) -> Value:
    """start, start + 1, … as a vector of `index`."""
    type_ = emit.vector_type(lanes, ir.IndexType.get())
    return arith.AddIOp(emit.splat(emit.index(start), lanes), vector.StepOp(type_).result).result


def _emit(op: Operation, env: Mapping[Value, Value], lanes: int | None, contract: bool) -> list[Value]:
    attributes = {name: op.attributes[name] for name in _attribute_names(op)}
    if op.name == "arith.constant":
        return [widen(arith.ConstantOp(op.results[0].type, attributes["value"]).result, lanes)]
    if contract and op.name in ("arith.addf", "arith.mulf"):
        attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")
    types = [result.type for result in op.results]
    made = ir.Operation.create(
        op.name,
        results=types if lanes is None else [emit.vector_type(lanes, type_) for type_ in types],
        operands=[widen(env.get(operand, operand), lanes) for operand in op.operands],
        attributes=attributes,
        loc=op.location,
    )
    return list(made.results)


def _attribute_names(op: Operation) -> list[str]:
    return [getattr(named, "name", named) for named in op.attributes]


def _values(op: Operation) -> list[Value]:
    return [*op.operands, *op.results]


def _is_number(type_: Type) -> bool:
    return isinstance(type_, (ir.FloatType, ir.IntegerType, ir.IndexType))
