"""Captured values in terms of the symbols of the function that takes the closures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.closures import bind_symbols
from relax_mlir.dialects.types import Callable as CallableInfo
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, struct_info, substitute
from relax_mlir.ir_queries import fresh_name
from relax_mlir.mlir import func, ir
from relax_mlir.passes.closures.lambda_lift import used_symbols
from relax_mlir.passes.closures.sources import Known, Path
from relax_mlir.symbolic import Dim


def in_terms_of(
    target: func.FuncOp, arguments: Tuple, known: dict[Path, Known]
) -> dict[Path, Sequence[StructInfo]]:
    """Struct infos of the captured values of closures, for `target`, which is called with `arguments`.

    A size that the call binds to a symbol of `target` is expressed by that symbol, so that equalities of the caller
    hold in the function. An expression over the function's symbols is kept; any other size is a new symbol.
    """
    captured = [_info(value) for source in known.values() for value in source.captured]
    mapping = bind_symbols([struct_info(type_) for type_ in target.type.inputs], arguments.fields)
    names = {str(dim): name for name, dim in reversed(mapping.items())}
    alone = {name for info in captured for dim in _dims(info) if (name := symbolic.linear_definition(dim))}
    taken = used_symbols(target.operation)

    def rename(dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        if str(dim) not in names:
            symbols = symbolic.symbols(dim)
            wanted = symbolic.linear_definition(dim)
            if wanted is None and all(name in alone or name in names for name in symbols):
                return symbolic.substitute(dim, {name: rename(symbolic.symbol(name)) for name in symbols})
            wanted = wanted or "size"
            names[str(dim)] = fresh_name(wanted, taken)
            taken.add(names[str(dim)])
        return symbolic.symbol(names[str(dim)])

    return {
        path: [_map_dims(_info(value), rename) for value in source.captured] for path, source in known.items()
    }


def _info(value: ir.Value) -> StructInfo:
    return struct_info(value.type)


def _dims(info: StructInfo) -> Iterator[Dim]:
    """The dimensions in a value, from which its symbols are read."""
    if isinstance(info, Tuple):
        for item in info.fields:
            yield from _dims(item)
    elif isinstance(info, Tensor | Shape):
        dims = info.shape if isinstance(info, Tensor) else info.values
        yield from (dim for dim in dims or () if dim is not None)


def _map_dims(info: StructInfo, rename: Callable[[Dim], Dim]) -> StructInfo:
    if isinstance(info, Tensor) and info.shape is not None:
        return Tensor([None if dim is None else rename(dim) for dim in info.shape], info.dtype)
    if isinstance(info, Shape) and info.values is not None:
        return Shape([None if dim is None else rename(dim) for dim in info.values])
    if isinstance(info, Tuple):
        return Tuple([_map_dims(item, rename) for item in info.fields])
    if isinstance(info, CallableInfo):
        return substitute(info, {name: rename(symbolic.symbol(name)) for name in info.symbols()})
    return info
