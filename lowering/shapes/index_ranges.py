"""What is known of ``index`` values in a prim func on memrefs: whether one lies within a dimension of a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.analysis.prim_calls import prim_params
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

INDEX_CASTS = ("arith.index_cast",)


@dataclass(frozen=True)
class Linear:
    """``sum(coefficient * loop variable) + rest``; `rest` is an expression of the function's symbols."""

    terms: Mapping[ir.Value, int]
    rest: Dim

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + sign * factor
        return Linear({v: f for v, f in terms.items() if f}, self.rest + sign * other.rest)

    def times(self, factor: int) -> Linear:
        return Linear({v: f * factor for v, f in self.terms.items()}, self.rest * factor)


@dataclass
class Ranges:
    """Ranges of the index values of one prim func, whose sizes are symbols: declared ones, else one per dimension."""

    function: func.FuncOp
    shapes: dict[ir.Value, tuple[Dim, ...]] = field(default_factory=dict)
    values: dict[ir.Value, Linear | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arguments = list(self.function.arguments)
        declared = prim_params(self.function)
        for number, argument in enumerate(arguments):
            if declared is not None and declared[number].shape is None:
                self.values[argument] = Linear({}, symbolic.symbol(declared[number].name))
            elif isinstance(argument.type, ir.MemRefType):
                shape = declared[number].shape if declared is not None else None
                self.shapes[argument] = shape if shape is not None else self.own_shape(argument, number)

    @staticmethod
    def own_shape(argument: ir.Value, number: int) -> tuple[Dim, ...]:
        type_ = ir.MemRefType(argument.type)
        return tuple(
            symbolic.symbol(f"arg{number}_{axis}") if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
            for axis in range(type_.rank)
        )

    def within(self, index: ir.Value, buffer: ir.Value, axis: int) -> bool:
        """Whether it is proved that ``0 <= index < size`` of the dimension, wherever the access is reached."""
        size = self.size(buffer, axis)
        value = self.linear(index)
        if value is None or size is None:
            return False
        least, greatest = self.extreme(value, greatest=False), self.extreme(value, greatest=True)
        if least is None or greatest is None:
            return False
        return symbolic.prove_less_equal(0, least) and symbolic.prove_less_equal(greatest, size - 1)

    def size(self, buffer: ir.Value, axis: int) -> Dim | None:
        """The size of a dimension; None if it is no expression of the symbols."""
        if buffer in self.shapes:
            return self.shapes[buffer][axis]
        type_ = ir.MemRefType(buffer.type)
        if not type_.is_dynamic_dim(axis):
            return int(type_.get_dim_size(axis))
        maker = defining_op(buffer)
        if maker is None or maker.name not in ("memref.alloc", "memref.alloca"):
            return None
        number = sum(type_.is_dynamic_dim(a) for a in range(axis))
        found = self.linear(maker.operands[number])
        return found.rest if found is not None and not found.terms else None

    def extreme(self, value: Linear, *, greatest: bool) -> Dim | None:
        """The greatest or the least value, as an expression of the symbols, while all loops run."""
        waiting, rounds = value, 0
        while waiting.terms:
            variable, factor = next(iter(waiting.terms.items()))
            bound = self.end(variable) if (factor > 0) == greatest else self.begin(variable)
            rounds += 1
            if bound is None or rounds > 32:
                return None
            rest = Linear({v: f for v, f in waiting.terms.items() if v != variable}, waiting.rest)
            waiting = rest.plus(bound.times(factor))
        return waiting.rest

    def begin(self, variable: ir.Value) -> Linear | None:
        return self.linear(variable.owner.owner.operands[0])

    def end(self, variable: ir.Value) -> Linear | None:
        stop = self.linear(variable.owner.owner.operands[1])
        return None if stop is None else stop.plus(Linear({}, -1))

    def linear(self, value: ir.Value) -> Linear | None:
        """`value` as a linear form of loop variables; None if it is none."""
        if value not in self.values:
            self.values[value] = None
            try:
                self.values[value] = self.form(value)
            except RelaxError:
                self.values[value] = None
        return self.values[value]

    def form(self, value: ir.Value) -> Linear | None:
        maker = defining_op(value)
        if maker is None:
            owner = value.owner.owner
            is_loop = owner.name == "scf.for" and value == value.owner.arguments[0]
            return Linear({value: 1}, 0) if is_loop else None
        if maker.name == "arith.constant":
            return Linear({}, int(ir.IntegerAttr(maker.attributes["value"]).value))
        if maker.name in ("memref.dim", "tensor.dim"):
            axis = self.linear(maker.operands[1])
            size = (
                self.size(maker.operands[0], axis.rest)
                if axis is not None and isinstance(axis.rest, int)
                else None
            )
            return None if size is None else Linear({}, size)
        return self.arithmetic(maker)

    def arithmetic(self, maker: ir.Operation) -> Linear | None:
        if not maker.name.startswith("arith.") or len(maker.operands) != 2:
            return None
        left, right = (self.linear(operand) for operand in maker.operands)
        if left is None or right is None:
            return None
        if maker.name in ("arith.addi", "arith.subi"):
            return left.plus(right, 1 if maker.name == "arith.addi" else -1)
        if maker.name == "arith.muli":
            if not right.terms and isinstance(right.rest, int):
                return left.times(right.rest)
            if not left.terms and isinstance(left.rest, int):
                return right.times(left.rest)
        if left.terms or right.terms:
            return None
        if maker.name == "arith.muli":
            return Linear({}, left.rest * right.rest)
        if maker.name == "arith.maxsi":
            return Linear({}, symbolic.maximum(left.rest, right.rest))
        if maker.name == "arith.floordivsi" and isinstance(right.rest, int) and right.rest > 0:
            return Linear({}, symbolic.floordiv(left.rest, right.rest))
        return None
