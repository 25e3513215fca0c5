"""Buffer sizes that are formulas of a function's arguments, and code that computes them at its entry."""

from __future__ import annotations

from collections.abc import Iterable

from relax_mlir.lowering.abi.ffi_dtypes import element_bytes
from relax_mlir.lowering.memory.size_formulas import Argument, Bytes, Computed, Constant, DimOf, Formula
from relax_mlir.lowering.memory.workspace_layout import ALIGNMENT
from relax_mlir.mlir import arith, func, ir, memref

_PURE = frozenset(
    f"arith.{name}"
    for name in [
        "addi",
        "subi",
        "muli",
        "divsi",
        "divui",
        "floordivsi",
        "ceildivsi",
        "ceildivui",
        "remsi",
        "remui",
        "minsi",
        "maxsi",
        "minui",
        "maxui",
        "select",
        "cmpi",
        "index_cast",
        "index_castui",
        "andi",
        "ori",
        "xori",
        "extsi",
        "extui",
        "trunci",
        "shli",
        "shrsi",
        "shrui",
    ]
) | {"affine.apply", "affine.min", "affine.max"}
_COMMUTATIVE = frozenset(
    {"arith.addi", "arith.muli", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"}
)
_DIVISIONS = frozenset(
    f"arith.{n}" for n in ["divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui"]
)

# An upper bound on memory. Sizes saturate here, so that their sums cannot overflow and allocation fails cleanly.
TOO_LARGE = 1 << 47


class EntrySizes:
    """Formulas of integers, and their code at the entry of `function`; the `Arithmetic` of layouts as code."""

    def __init__(self, function: func.FuncOp) -> None:
        self.entry = function.body.blocks[0]
        self._formulas: dict[ir.Value, Formula | None] = {}
        self._code: dict[Formula | Bytes, ir.Value] = {}
        self._constants: dict[int, ir.Value] = {}

    def formula(self, value: ir.Value) -> Formula | None:
        """`value` as a formula of the arguments, or None if it is not known at entry."""
        if value not in self._formulas:
            self._formulas[value] = self._find(value)
        return self._formulas[value]

    def _find(self, value: ir.Value) -> Formula | None:
        if isinstance(value, ir.BlockArgument):
            return Argument(value.arg_number) if value.owner == self.entry else None
        op = value.owner.operation
        if op.name == "arith.constant":
            return Constant(str(op.attributes["value"]))
        if op.name == "memref.dim":
            return self._dim(op)
        if op.name not in _PURE:
            return None
        operands = _all_known(map(self.formula, op.operands))
        if operands is None:
            return None
        if op.name in _COMMUTATIVE:
            operands.sort(key=repr)
        attributes = tuple(sorted((name, str(op.attributes[name])) for name in op.attributes))
        return Computed(op.name, attributes, str(value.type), tuple(operands))

    def _dim(self, op: ir.Operation) -> Formula | None:
        position = self.formula(op.operands[1])
        return self._size(op.operands[0], position.value) if isinstance(position, Constant) else None

    def _size(self, source: ir.Value, position: int) -> Formula | None:
        type = ir.MemRefType(source.type)
        if not type.is_dynamic_dim(position):
            return Constant.index(type.get_dim_size(position))
        if isinstance(source, ir.BlockArgument):
            return DimOf(source.arg_number, position) if source.owner == self.entry else None
        op = source.owner.operation
        if op.name == "memref.cast":
            return self._size(op.operands[0], position)
        if op.name == "memref.alloc":
            dynamic = [i for i in range(type.rank) if type.is_dynamic_dim(i)]
            return self.formula(op.operands[dynamic.index(position)])
        return None

    def emit(self, formula: Formula) -> ir.Value:
        """Emit code for a formula at the insertion point (always the entry's start), once per formula."""
        if formula not in self._code:
            self._code[formula] = self._emit(formula)
        return self._code[formula]

    def _emit(self, formula: Formula) -> ir.Value:
        if isinstance(formula, Argument):
            return self.entry.arguments[formula.number]
        if isinstance(formula, Constant):
            attribute = ir.Attribute.parse(formula.attribute)
            return arith.ConstantOp(attribute.type, attribute).result
        if isinstance(formula, DimOf):
            return memref.DimOp(self.entry.arguments[formula.argument], constant(formula.axis)).result
        operands = [self.emit(operand) for operand in formula.operands]
        if formula.op in _DIVISIONS:
            operands[1] = _not_zero(operands[1])
        parsed = {name: ir.Attribute.parse(text) for name, text in formula.attributes}
        type = ir.Type.parse(formula.type)
        return ir.Operation.create(formula.op, results=[type], operands=operands, attributes=parsed).result

    def bytes_of(self, type: ir.MemRefType, dynamic: Iterable[ir.Value]) -> Bytes | None:
        """The size of a buffer with the given dynamic sizes; None if it is not known at entry."""
        sizes = _all_known(map(self.formula, dynamic))
        return None if sizes is None else Bytes(static_bytes(type), tuple(sorted(sizes, key=repr)))

    def bytes(self, size: Bytes) -> ir.Value | int:
        if size.is_static:
            return size.factor
        if size not in self._code:
            self._code[size] = checked_product([constant(size.factor), *map(self._emit_size, size.sizes)])
        return self._code[size]

    def _emit_size(self, formula: Formula) -> ir.Value:
        """Emit code for a size. A negative size counts as 0; a later check rejects it with a better message."""
        value = self.emit(formula)
        return value if isinstance(formula, DimOf | Constant) else arith.MaxSIOp(value, constant(0)).result

    def maximum(self, a: ir.Value | int, b: ir.Value | int) -> ir.Value | int:
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return arith.MaxUIOp(self.index(a), self.index(b)).result

    def aligned(self, size: ir.Value | int) -> ir.Value | int:
        if isinstance(size, int):
            return -(-size // ALIGNMENT) * ALIGNMENT
        up = arith.AddIOp(size, constant(ALIGNMENT - 1)).result
        return arith.AndIOp(up, constant(-ALIGNMENT)).result

    def add(self, a: ir.Value | int, b: ir.Value | int) -> ir.Value | int:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return arith.AddIOp(self.index(a), self.index(b)).result

    def index(self, value: ir.Value | int) -> ir.Value:
        """`value` as an SSA value; equal integers share a constant."""
        if not isinstance(value, int):
            return value
        if value not in self._constants:
            self._constants[value] = constant(value)
        return self._constants[value]


def _all_known(formulas: Iterable[Formula | None]) -> list[Formula] | None:
    """The formulas, or None if one of them is None."""
    found = []
    for formula in formulas:
        if formula is None:
            return None
        found.append(formula)
    return found


def static_bytes(type: ir.MemRefType) -> int:
    """The product of the static sizes and the element size, capped at TOO_LARGE."""
    product = element_bytes(type.element_type)
    for i in range(type.rank):
        if not type.is_dynamic_dim(i):
            product *= type.get_dim_size(i)
    return min(product, TOO_LARGE)


def constant(value: int) -> ir.Value:
    return arith.ConstantOp(ir.IndexType.get(), ir.IntegerAttr.get(ir.IndexType.get(), value)).result


def checked_product(factors: list[ir.Value]) -> ir.Value:
    """The product of non-negative index values, or TOO_LARGE if it (or a factor, as unsigned) is larger."""
    limit = constant(TOO_LARGE)
    product = factors[0]
    for factor in factors[1:]:
        low, high = arith.MulUIExtendedOp(product, factor).results
        fits = arith.CmpIOp(arith.CmpIPredicate.eq, high, constant(0)).result
        product = arith.SelectOp(fits, low, limit).result
        product = arith.MinUIOp(product, limit).result
    return product


def _not_zero(value: ir.Value) -> ir.Value:
    """`value`, or 1 instead of 0: code hoisted to the entry must not trap where the original would not have run."""
    zero = arith.ConstantOp(value.type, ir.IntegerAttr.get(value.type, 0)).result
    one = arith.ConstantOp(value.type, ir.IntegerAttr.get(value.type, 1)).result
    is_zero = arith.CmpIOp(arith.CmpIPredicate.eq, value, zero).result
    return arith.SelectOp(is_zero, one, value).result
