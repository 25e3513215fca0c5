"""Prim funcs on buffers that move and multiply whole windows, for rules of ops that no Relax op expresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.types import DimLike
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar
from relax_mlir.mlir import ir
from relax_mlir.te.prim_func import Function, new_module
from relax_mlir.te.tensors import Tensor, placeholder

Parameter = tuple[str, Sequence[DimLike], str]
"""Name, shape and dtype."""


def add_prim_func(builder: BlockBuilder, name: str, parameters: Sequence[Parameter], body: Callable[..., None]) -> None:
    """Add the prim func `name`, unless the module has it; `body` gets a `LoopBuilder` and the parameters' buffers."""
    if name in builder.symbol_names():
        return
    tensors = [placeholder(shape, dtype, own) for own, shape, dtype in parameters]

    def emit(b: LoopBuilder, buffers: dict[Tensor, Buffer]) -> None:
        body(b, *(buffers[tensor] for tensor in tensors))

    module = new_module(builder.mod.context)
    with module.context, ir.InsertionPoint(module.mlir.body), ir.Location.unknown():
        Function(name, tensors, (), {tensor: tensor.name for tensor in tensors}).emit(emit)
    builder.add_func(module, name)


def window(
    buffer: Buffer, begin: Sequence[int | Scalar], sizes: Sequence[int | Scalar], rank: int | None = None
) -> ir.Value:
    """The elements of `buffer` from `begin` on, as a memref with strides of the last `rank` dimensions.

    The other dimensions have size 1.
    """
    dynamic = int(ir.ShapedType.get_dynamic_size())
    offsets, lengths = ([item.ssa for item in items if isinstance(item, Scalar)] for items in (begin, sizes))
    shape = [dynamic if isinstance(size, Scalar) else size for size in sizes][-(rank or buffer.rank) :]
    layout = ir.StridedLayoutAttr.get(dynamic, [dynamic] * (len(shape) - 1) + [1])
    static = {
        "static_offsets": [dynamic if isinstance(item, Scalar) else item for item in begin],
        "static_sizes": [dynamic if isinstance(item, Scalar) else item for item in sizes],
        "static_strides": [1] * buffer.rank,
    }
    found: ir.Value = ir.Operation.create(
        "memref.subview",
        results=[ir.MemRefType.get(shape, ir.ShapedType(buffer.ssa.type).element_type, layout=layout)],
        operands=[buffer.ssa, *offsets, *lengths],
        attributes={name: ir.DenseI64ArrayAttr.get(numbers) for name, numbers in static.items()}
        | {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(offsets), len(lengths), 0])},
    ).results[0]
    return found
