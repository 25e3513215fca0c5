"""Builders of prim func bodies: elementwise ops, slices, padding and views."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from relax_mlir.dialects.attributes import Pattern
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.shapes import reshape
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, lower
from relax_mlir.mlir import arith, cf, ir, linalg, tensor
from relax_mlir.scalars.arithmetic import ScalarRule
from relax_mlir.scalars.linalg_builders import ScalarBody, broadcast_map, generic, identity
from relax_mlir.symbolic import Dim

# The rule of elementwise ops: one ``linalg.generic`` whose body is a scalar rule.


def dtype_of(arg: Arg) -> DType:
    """The dtype of a tensor; the legaliser has checked that it is known."""
    return arg.info.element


def prim_name(op: OpCall, dtype: DType) -> str:
    """Name of the prim func of an op: never that of a C library function, such as ``exp``."""
    return f"{op.args.op}_{dtype.mlir}"


def elementwise(body: ScalarBody) -> Callable[[PrimBody], Sequence[ir.Value]]:
    """The body of a prim func that applies `body` to the scalars of its inputs, which broadcast to its one output."""

    def build(prim: PrimBody) -> Sequence[ir.Value]:
        out_shape = prim.out_infos[0].dims
        rank = len(out_shape)
        maps = [broadcast_map(info.dims, out_shape) for info in prim.in_infos]
        return generic(
            prim.ins,
            maps,
            prim.outs,
            [identity(rank)],
            ["parallel"] * rank,
            lambda *scalars: body(*scalars[: len(prim.ins)]),
        )

    return build


def elementwise_prim(lz: Legalizer, op: OpCall, body: ScalarBody, key: Hashable = ()) -> Sequence[Arg]:
    """Apply `body` to the scalars of the operands, which broadcast. `key`: what else than dtypes `body` depends on."""
    same_shape = all(arg.shape == op.results[0].shape for arg in op.operands)
    pattern: Pattern = "elementwise" if same_shape else "broadcast"
    result = op.results[0].element
    name = prim_name(op, dtype_of(op.operands[0]) if op.operands else result)
    return lz.prim(name, op.operands, op.results, elementwise(body), pattern=pattern, key=key)


def register(rules: dict[str, ScalarRule]) -> None:
    """Legalise each op of the table by its scalar rule, with the dtype of the first operand."""

    def legalize(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
        rule, dtype = rules[op.args.op], dtype_of(op.operands[0])
        return elementwise_prim(lz, op, lambda *scalars: rule(dtype, *scalars))

    lower(*(f"relax.{name}" for name in rules))(legalize)


# Slices of tensors at level T, with static or dynamic offsets and sizes.


Index: TypeAlias = ir.Value
"""An ``index`` value."""


class Window:
    """A slice of a tensor: offsets, sizes and strides, each an int or an ``index`` value."""

    def __init__(self, sizes: Sequence[int | Index]) -> None:
        self.offsets: list[int | Index] = [0] * len(sizes)
        self.sizes = list(sizes)
        self.strides = [1] * len(sizes)

    @classmethod
    def along(cls, axis: int, offset: Index, stride: int, sizes: Sequence[int | Index]) -> Window:
        """All of a tensor, except that it starts at `offset` along `axis`."""
        window = cls(sizes)
        window.offsets[axis], window.strides[axis] = offset, stride
        return window

    def extract(self, source: ir.Value, type_: ir.Type) -> ir.Value:
        """Extract the slice, in a type that may omit dimensions of size 1."""
        dynamic_offsets, offsets = _mixed(self.offsets)
        dynamic_sizes, sizes = _mixed(self.sizes)
        return tensor.extract_slice(type_, source, dynamic_offsets, dynamic_sizes, [], offsets, sizes, self.strides)

    def insert(self, part: ir.Value, into: ir.Value) -> ir.Value:
        """Replace the slice of `into` by `part`."""
        dynamic_offsets, offsets = _mixed(self.offsets)
        dynamic_sizes, sizes = _mixed(self.sizes)
        return tensor.insert_slice(part, into, dynamic_offsets, dynamic_sizes, [], offsets, sizes, self.strides)


def _mixed(values: Sequence[int | Index]) -> tuple[list[Index], list[int]]:
    """The dynamic values, and the static ones with a marker in place of each dynamic one."""
    marker = ir.ShapedType.get_dynamic_size()
    dynamic = [v for v in values if not isinstance(v, int)]
    return dynamic, [v if isinstance(v, int) else marker for v in values]


def sizes_of(prim: PrimBody, value: ir.Value) -> list[int | Index]:
    """The sizes of a tensor of `prim`; static ones as ints."""
    type_ = ir.RankedTensorType(value.type)
    return [
        prim.dim(value, axis) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis) for axis in range(type_.rank)
    ]


def surrounded(
    prim: PrimBody,
    value: ir.Value,
    before: Sequence[int],
    after: Sequence[int],
    fill: float,
    into: ir.Value | None = None,
) -> ir.Value:
    """Pad a tensor of the body with elements `fill` before and after each dimension.

    `into`: the destination, of the padded size; by default a new tensor.
    """
    if not any((*before, *after)):
        return value
    inside, type_ = sizes_of(prim, value), ir.RankedTensorType(value.type)
    element = type_.element_type
    is_float = isinstance(element, ir.FloatType)
    number = ir.FloatAttr.get(element, fill) if is_float else ir.IntegerAttr.get(element, int(fill))
    constant = arith.ConstantOp(element, number).result
    if into is None:
        sizes = [_sum(size, low + high) for size, low, high in zip(inside, before, after, strict=True)]
        into = tensor.empty(sizes, element)
    filled: ir.Value = linalg.fill(constant, outs=[into])
    if 0 in type_.shape:
        return filled
    window = Window(inside)
    window.offsets = list(before)
    return window.insert(value, filled)


def require_windows(prim: PrimBody, op: str, letters: Sequence[str], layout: str) -> None:
    """Assert at run time that dimensions `letters` of the result, whose order is `layout`, have a window."""
    zero = arith.constant(ir.IndexType.get(), 0)
    for letter in letters:
        count = prim.dim(prim.outs[0], layout.index(letter))
        message = f"{op}: in dimension {letter} the window is larger than the padded data"
        some = arith.cmpi(arith.CmpIPredicate.ne, count, zero)
        cf.assert_(some, message, loc=ir.Location.unknown())


def _sum(size: int | Index, more: int) -> int | Index:
    if isinstance(size, int):
        return size + more
    return arith.addi(size, arith.constant(ir.IndexType.get(), more)) if more else size


def is_empty(info: Tensor) -> bool:
    """True if a tensor is statically empty."""
    return any(isinstance(dim, int) and dim == 0 for dim in info.shape or ())


def reshaped(value: Arg, shape: Sequence[Dim]) -> Arg:
    """`value` in another shape of the same number of elements: a view, which level R1 keeps."""
    return Arg(reshape(Value(value.ssa), shape).ssa, Tensor(shape, value.info.dtype))
