"""Integer values, which are ``index`` values at level T."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.loops import lower_bound
from relax_mlir.dialects.structure import INTEGER_OPS
from relax_mlir.dialects.types import dims_from_attr
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, handles, place
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, ir, tensor


def as_index(value: ir.Value) -> ir.Value:
    """An integer as ``index``."""
    index = ir.IndexType.get()
    return value if value.type == index else arith.index_cast(index, value)


def match_integer(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """Lower `match_shape` of an integer: its symbol gets a value, which is checked to be non-negative."""
    (dim,) = dims_from_attr(op.attributes["pattern"])
    assert dim is not None
    value = as_index(body.tensor(op.operands[0]))
    name = symbolic.linear_definition(dim)
    site = place(op)
    if name is None or name in body.symbols.values:
        expected = body.symbols.value(dim)
        text, values = body.symbols.explain(dim, 1) if not isinstance(dim, int) else (str(dim), [])
        message = f"{body.symbols.function}: match_shape at {site}: the integer is {{0}}, but {text}"
        equal = arith.cmpi(arith.CmpIPredicate.eq, value, expected)
        body.declarations.check(equal, "ShapeError", message, [value, *values])
        return [value]
    size, lowest = value, lower_bound(op.operands[0])
    if lowest is None or not symbolic.prove_less_equal(0, lowest):
        message = (
            f"{body.symbols.function}: {site}: the integer {name} is {{0}}; a symbol stands for zero or more"
        )
        positive = arith.cmpi(arith.CmpIPredicate.sge, value, index_constant(0))
        body.declarations.check(positive, "ShapeError", message, [value])
        size = arith.maxsi(
            value, index_constant(0)
        )  # memory may be allocated by formulas of it before the check
    body.symbols.define(name, size, f"the integer of match_shape at {site}")
    return [value]


@handles(*INTEGER_OPS)
def _arithmetic(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    operands = [as_index(body.tensor(operand)) for operand in op.operands]
    if op.name == "arith.floordivsi":
        message = (
            f"{body.symbols.function}: {place(op)}: division by {{0}}; divisors of integers are positive"
        )
        positive = arith.cmpi(arith.CmpIPredicate.sgt, operands[1], index_constant(0))
        body.declarations.check(positive, "ShapeError", message, [operands[1]])
    is_comparison = op.name == "arith.cmpi"
    attributes = {"predicate": op.attributes["predicate"]} if is_comparison else {}
    type_ = op.results[0].type if is_comparison else ir.IndexType.get()
    new = ir.Operation.create(op.name, results=[type_], operands=operands, attributes=attributes)
    return [new.results[0]]


@handles("tensor.from_elements")
def _from_elements(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    type_ = ir.RankedTensorType(op.results[0].type)
    values = [body.tensor(operand) for operand in op.operands]
    values = [
        arith.index_cast(type_.element_type, v) if isinstance(v.type, ir.IndexType) else v for v in values
    ]
    return [tensor.from_elements(type_, values)]
