"""Sizes as formulas of a function's arguments: which are computable at its entry, equal ones, and their code."""

from __future__ import annotations

from typing import Any

from relax_mlir.lowering.abi.ffi_dtypes import element_bytes
from relax_mlir.mlir import arith, func, ir, memref

Key = tuple[Any, ...]

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

# No memory is larger: sizes are capped here, so that sums of them cannot overflow and allocation fails cleanly.
TOO_LARGE = 1 << 47


class EntrySizes:
    """Keys (equal keys: equal values) and code, at the start of `function`, of index values."""

    def __init__(self, function: func.FuncOp) -> None:
        self.entry = function.body.blocks[0]
        self._keys: dict[ir.Value, Key | None] = {}
        self._code: dict[Key, ir.Value] = {}

    def key(self, value: ir.Value) -> Key | None:
        """What `value` is as a formula of the arguments, or None if it is not known at entry."""
        if value not in self._keys:
            self._keys[value] = self._find_key(value)
        return self._keys[value]

    def _find_key(self, value: ir.Value) -> Key | None:
        if isinstance(value, ir.BlockArgument):
            return ("argument", value.arg_number) if value.owner == self.entry else None
        op = value.owner.operation
        if op.name == "arith.constant":
            return ("constant", str(op.attributes["value"]))
        if op.name == "memref.dim":
            return self._dim_key(op)
        if op.name not in _PURE:
            return None
        operands = [self.key(operand) for operand in op.operands]
        if any(operand is None for operand in operands):
            return None
        if op.name in _COMMUTATIVE:
            operands.sort(key=repr)
        attributes = tuple(sorted(f"{name}={op.attributes[name]}" for name in op.attributes))
        return (op.name, attributes, str(value.type), *operands)

    def _dim_key(self, op: ir.Operation) -> Key | None:
        position = self.key(op.operands[1])
        if position is None or position[0] != "constant":
            return None
        return self._size_key(op.operands[0], int(position[1].split(":")[0]))

    def _size_key(self, source: ir.Value, position: int) -> Key | None:
        type = ir.MemRefType(source.type)
        if not type.is_dynamic_dim(position):
            return ("constant", f"{type.get_dim_size(position)} : index")
        if isinstance(source, ir.BlockArgument):
            return ("dim", source.arg_number, position) if source.owner == self.entry else None
        op = source.owner.operation
        if op.name == "memref.cast":
            return self._size_key(op.operands[0], position)
        if op.name == "memref.alloc":
            dynamic = [i for i in range(type.rank) if type.is_dynamic_dim(i)]
            return self.key(op.operands[dynamic.index(position)])
        return None

    def emit(self, key: Key) -> ir.Value:
        """Code for a key at the insertion point (always the entry's start); each key once."""
        if key not in self._code:
            self._code[key] = self._emit(key)
        return self._code[key]

    def _emit(self, key: Key) -> ir.Value:
        kind = key[0]
        if kind == "argument":
            return self.entry.arguments[key[1]]
        if kind == "constant":
            attribute = ir.Attribute.parse(key[1])
            return arith.ConstantOp(attribute.type, attribute).result
        if kind == "dim":
            return memref.DimOp(self.entry.arguments[key[1]], constant(key[2])).result
        operands = [self.emit(operand) for operand in key[3:]]
        if kind in _DIVISIONS:
            operands[1] = _not_zero(operands[1])
        attributes = dict(item.split("=", 1) for item in key[1])
        parsed = {name: ir.Attribute.parse(text) for name, text in attributes.items()}
        type = ir.Type.parse(key[2])
        return ir.Operation.create(kind, results=[type], operands=operands, attributes=parsed).result

    def bytes_key(self, type: ir.MemRefType, dynamic: list[ir.Value]) -> Key | None:
        """The size of a buffer in bytes: ("bytes", static factor, keys of the dynamic sizes)."""
        keys = [self.key(value) for value in dynamic]
        if any(key is None for key in keys):
            return None
        return ("bytes", static_bytes(type), *sorted(keys, key=repr))

    def emit_bytes(self, key: Key) -> ir.Value:
        """Code for a `bytes_key`."""
        if key not in self._code:
            self._code[key] = checked_product([constant(key[1]), *(self._emit_size(k) for k in key[2:])])
        return self._code[key]

    def _emit_size(self, key: Key) -> ir.Value:
        """Code for a size. A negative one counts as 0: the check further down that refuses it says more."""
        value = self.emit(key)
        return value if key[0] in ("dim", "constant") else arith.MaxSIOp(value, constant(0)).result


def static_bytes(type: ir.MemRefType) -> int:
    """The product of the static sizes and the size of an element."""
    product = element_bytes(type.element_type)
    for i in range(type.rank):
        if not type.is_dynamic_dim(i):
            product *= type.get_dim_size(i)
    return product


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
    """`value`, or 1 instead of 0: code moved to the entry must not trap where the original would not have run."""
    zero = arith.ConstantOp(value.type, ir.IntegerAttr.get(value.type, 0)).result
    one = arith.ConstantOp(value.type, ir.IntegerAttr.get(value.type, 1)).result
    is_zero = arith.CmpIOp(arith.CmpIPredicate.eq, value, zero).result
    return arith.SelectOp(is_zero, one, value).result
