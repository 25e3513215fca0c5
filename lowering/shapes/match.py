"""`match_shape`: bind symbols to values, and check at run time what the compiler cannot prove."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.types import (
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    dims_from_attr,
    shape_text,
    struct_info,
)
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Lowered,
    ShapeValue,
    cast,
    handles,
    object_sizes,
    place,
)
from relax_mlir.lowering.shapes.integers import match_integer
from relax_mlir.lowering.shapes.objects import Origin, refine, require_tensor, shape_entries, view
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, ir, tensor
from relax_mlir.symbolic import Dim


@handles("relax.match_shape")
def _match_shape(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info, result = struct_info(op.operands[0].type), struct_info(op.results[0].type)
    if isinstance(info, Prim):
        return match_integer(body, op)
    pattern = dims_from_attr(op.attributes["pattern"])
    site = place(op)
    sizes, known = _sizes(body, op, info, result, site)
    for axis, (dim, size) in enumerate(zip(pattern, sizes, strict=True)):
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None and name not in body.symbols.values:
            body.symbols.define(name, size, f"dimension {axis} of match_shape at {site}")
    proved = True
    for axis, (dim, have, size) in enumerate(zip(pattern, known, sizes, strict=True)):
        if dim is not None and not (have is not None and symbolic.prove_equal(dim, have)):
            proved = False
            _check_dim(body, site, axis, dim, size, pattern, sizes)
    if not isinstance(result, Tensor):
        return [ShapeValue(tuple(sizes))]
    value = body.values[op.operands[0]]
    if isinstance(value, Handle):
        return [view(body, value, result)]
    lowered = body.tensor(op.operands[0])
    return [body.mark(cast(lowered, result.storage_type()), checked=not proved, source=lowered)]


def _sizes(
    body: BodyLowering, op: ir.Operation, info: StructInfo, result: StructInfo, site: str
) -> tuple[list[ir.Value], Sequence[Dim | None]]:
    """Check the value's rank and dtype; return its dimensions, and the expressions known for them."""
    value = body.values[op.operands[0]]
    if isinstance(info, Object):
        assert isinstance(value, Handle)
        origin = Origin(f"{body.symbols.function}: match_shape at {site}: the object", f"expected {result}")
        require_tensor(body, value, origin)
        info = Tensor(None, None)
    if isinstance(info, Tensor):
        assert isinstance(result, Tensor) and result.shape is not None
        if isinstance(value, Handle):
            origin = Origin(
                f"{body.symbols.function}: match_shape at {site}: the tensor", f"expected {result}"
            )
            refine(body, value, info, result, origin)
            unknown = (None,) * len(result.shape)
            return object_sizes(body.declarations, value, len(result.shape)), info.shape or unknown
        assert isinstance(value, ir.Value) and info.shape is not None
        return [tensor.dim(value, index_constant(axis)) for axis in range(len(info.shape))], info.shape
    assert isinstance(info, Shape) and isinstance(result, Shape) and result.values is not None
    if isinstance(value, Handle):
        origin = Origin(f"{body.symbols.function}: match_shape at {site}: the shape", f"expected {result}")
        return shape_entries(body, value, len(result.values), origin), (None,) * len(result.values)
    assert isinstance(value, ShapeValue)
    return list(value.dims), info.values or ()


def _check_dim(
    body: BodyLowering,
    site: str,
    axis: int,
    dim: Dim,
    size: ir.Value,
    pattern: Sequence[Dim | None],
    sizes: Sequence[ir.Value],
) -> None:
    expected = body.symbols.value(dim)
    if expected == size:
        return
    text, values = ("expected " + str(dim), []) if isinstance(dim, int) else body.symbols.explain(dim, 1)
    text = text if isinstance(dim, int) else f"but {text}"
    first = 1 + len(values)
    got = ", ".join(f"{{{first + i}}}" for i in range(len(sizes)))
    message = (
        f"{body.symbols.function}: match_shape at {site}: dimension {axis} is {{0}}, {text} "
        f"(expected {shape_text(tuple(pattern))}, got ({got}))"
    )
    body.declarations.check(
        arith.cmpi(arith.CmpIPredicate.eq, size, expected), "ShapeError", message, [size, *values, *sizes]
    )
