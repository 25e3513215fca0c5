"""`match_shape`: symbols get values, and what the compiler cannot prove is checked at run time."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects.types import Prim, Shape, Tensor, dims_from_attr, shape_text, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, ShapeValue, cast, handles, place
from relax_mlir.lowering.shapes.integers import match_integer
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, ir, tensor
from relax_mlir.symbolic import Dim


@handles("relax.match_shape")
def _match_shape(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.operands[0].type)
    if isinstance(info, Prim):
        return match_integer(body, op)
    pattern = dims_from_attr(op.attributes["pattern"])
    if isinstance(info, Tensor):
        if info.shape is None or info.dtype is None:
            raise UnsupportedError(
                f"{where(op)}: match_shape: the tensor is {info}; native code needs its rank and dtype"
            )
        lowered = body.tensor(op.operands[0])
        sizes = [tensor.dim(lowered, index_constant(axis)) for axis in range(len(pattern))]
        known: Sequence[Dim | None] = info.shape
    else:
        shape = body.values[op.operands[0]]
        assert isinstance(shape, ShapeValue) and isinstance(info, Shape)
        sizes, known = list(shape.dims), info.values or ()
    site = place(op)
    for axis, (dim, size) in enumerate(zip(pattern, sizes, strict=True)):
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None and name not in body.symbols.values:
            body.symbols.define(name, size, f"dimension {axis} of match_shape at {site}")
    proved = True
    for axis, (dim, have, size) in enumerate(zip(pattern, known, sizes, strict=True)):
        if dim is not None and not (have is not None and symbolic.prove_equal(dim, have)):
            proved = False
            _check_dim(body, site, axis, dim, size, pattern, sizes)
    result = struct_info(op.results[0].type)
    if isinstance(result, Tensor):
        return [body.mark(cast(lowered, result.storage_type()), checked=not proved, source=lowered)]
    return [ShapeValue(tuple(sizes))]


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
    body.hooks.check(
        arith.cmpi(arith.CmpIPredicate.eq, size, expected), "ShapeError", message, [size, *values, *sizes]
    )
